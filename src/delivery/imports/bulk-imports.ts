// Decides whether products are sent in bulk imports, and how large the imports are.
//
// New products are sent in imports where imports save requests: enough new products are due, and the lists that have to
// be read for the imports cost less than single creates. Changed products are always sent in imports. Both uses prove
// themselves step by step (`import-trial.ts`). While the first proof of new products awaits its list, others are sent one
// by one. While a larger one awaits its list, they wait for some seconds, because the imports after it need fewer
// requests. Changed products always wait.

import {
  type ImportProof,
  type ImportUse,
  isMadeBeforeAnswer,
  isPutOff,
  provenSize,
} from '../../domain/delivery/import-proof.ts';
import type { Operation } from '../../domain/delivery/operation.ts';
import type { Outcome } from '../../domain/delivery/outcome.ts';
import { hasTrait } from '../../domain/delivery/reason.ts';
import type { ClaimedRequest, DeliveryName } from '../../domain/ports/claim.ts';
import type { Decision } from '../../domain/ports/decision.ts';
import type { ImportLedger } from '../../domain/ports/ledger/import-ledger.ts';
import type { UnconfirmedDelivery } from '../../domain/ports/unconfirmed.ts';
import type { Profile } from '../../domain/profile.ts';
import type { Clock } from '../../lib/clock.ts';
import type { JsonValue } from '../../lib/json.ts';
import { bestSize } from './import-plan.ts';
import { createImportSize } from './import-size.ts';
import { createImportTrial, type ImportTrial } from './import-trial.ts';
import { createdAgain, overwritten } from './overwritten.ts';

export interface BulkImports {
  /** Decides how imports are used for the products that wait. Call it before requests are admitted. */
  prepare(waiting: Record<ImportUse, number>): Promise<void>;
  /** The most products that the next import with this operation may have; 0 if its products are sent alone. */
  sizeMax(operation: Operation): number;
  /** The smallest number of new products in an import. Fewer new products are sent one by one. */
  fewest(): number;
  /** The operations that wait for the list of a proof. */
  paused(): Operation[];
  /** Call it when these deliveries are sent as one import. */
  begin(deliveries: readonly (DeliveryName & { operation: Operation })[]): void;
  /** Call it when the deliveries were not sent after all. */
  giveBack(deliveries: readonly DeliveryName[]): void;
  /** True if a list has to show the products of this answered import, whatever the answer says. */
  isProof(request: Pick<ClaimedRequest, 'operation' | 'members'>): boolean;
  /** True if the answer to an import of changed products is taken without proof, because no list could be read. */
  isTaken(): boolean;
  /** Learns from the answer to any request. */
  answered(request: ClaimedRequest, outcome: Outcome): void;
  /**
   * Learns from a complete list that was read for an imported new product. @param ids the ids of the products that the
   * list shows
   */
  looked(delivery: UnconfirmedDelivery, ids: readonly JsonValue[]): Promise<void>;
  /** Learns from what was decided about a changed product after a complete list. */
  lookedAtChange(delivery: UnconfirmedDelivery, decision: Decision): Promise<void>;
  /** Reports that the answer about a changed product was taken, because no list can be read. */
  tookChange(delivery: UnconfirmedDelivery): Promise<void>;
  /** Reports that no list shows an imported new product, and that no later list will show it. */
  absent(delivery: UnconfirmedDelivery): Promise<void>;
  /**
   * Until when an import may still make a product that no list shows, by the wall clock; null if that time is unknown.
   *
   * @param delivery an imported product
   */
  mayMakeUntil(delivery: UnconfirmedDelivery): Promise<number | null>;
  /** True if an import of this many changed products may be sent again without reading the list first. */
  mayRepeat(count: number): Promise<boolean>;
}

export interface BulkImportsOptions {
  ledger: ImportLedger;
  profile: Profile;
  /** Whether the lists of the API may be read. */
  canRead: () => boolean;
  /** Whether a list can show changed products. */
  canShowChanges: () => boolean;
  /** Whether the API accepts bulk imports from the key. */
  canImport: () => boolean;
  clock: Pick<Clock, 'ticks' | 'now'>;
}

/** The best size of imports is computed again after this time. */
const LOOK_AGAIN_MS = 10_000;
/** For this long after an import was split, its members may be due again for smaller imports. */
const SPLIT_MS = 600_000;
/** At most this many due products are counted. */
const DUE_MAX = 10_000;
/** The size of a page of a list where the profile leaves it to the API. */
const USUAL_PAGE = 100;

export function createBulkImports(options: BulkImportsOptions): BulkImports {
  const { ledger, profile, canRead, canShowChanges, canImport, clock } = options;
  const { creates: areAllowed, createsMin, membersMax, settlesWithinMs, lostSettlesWithinMs } = profile.imports;
  const size = createImportSize(membersMax);
  /** The best sizes of imports: 0 while new products are sent one by one. */
  const best: Record<ImportUse, number> = { creates: 0, changes: 1 };
  const lookAt: Record<ImportUse, number> = { creates: Number.NEGATIVE_INFINITY, changes: Number.NEGATIVE_INFINITY };
  /** Imports stay in use until this time, because the members of an import that was split come back. */
  let splitUntil = Number.NEGATIVE_INFINITY;
  let provingLookAt = Number.NEGATIVE_INFINITY;
  const isSplitting = (): boolean => clock.ticks() < splitUntil;

  const trialOf = (use: ImportUse): ImportTrial =>
    createImportTrial(use, {
      ledger,
      clock,
      onConclusion(proof) {
        lookAt[use] = Number.NEGATIVE_INFINITY;
        if (proof.state === 'untried') size.beginAgain();
        if (use === 'creates' && isPutOff(proof, clock.now())) best.creates = 0;
      },
    });
  const creates = trialOf('creates');
  const changes = trialOf('changes');
  const trials = [creates, changes];
  const trialFor = (operation: Operation): ImportTrial => (operation === 'product.create' ? creates : changes);

  async function plan(use: ImportUse, proof: ImportProof): Promise<number> {
    lookAt[use] = clock.ticks() + LOOK_AGAIN_MS;
    const pageSize = profile.list.pageSize ?? USUAL_PAGE;
    const gain = await ledger.importGain({ use, dueMax: DUE_MAX });
    return bestSize(gain, { proof, sizeMax: size.now(), pageSize, now: clock.now() });
  }

  async function prepareCreates(waiting: number): Promise<void> {
    if (waiting === 0 && !isSplitting() && best.creates > 0) {
      best.creates = 0;
      lookAt.creates = Number.NEGATIVE_INFINITY;
    }
    if (areAllowed === 'off' || waiting < createsMin || clock.ticks() < lookAt.creates || !canRead()) return;
    // While imports are in use, only larger ones become the best.
    best.creates = Math.max(best.creates, await plan('creates', creates.known()));
  }

  async function prepareChanges(waiting: number): Promise<void> {
    if (waiting === 0) return;
    if (canShowChanges()) changes.forgetTaken();
    if (clock.ticks() < lookAt.changes) return;
    best.changes = Math.max(1, await plan('changes', changes.known()));
  }

  function createsMax(): number {
    if (best.creates === 0 || !canImport()) return 0;
    const most = Math.min(best.creates, size.now(), creates.sizeMax());
    // Only the first proof has one product.
    return most === 1 && creates.known().state === 'proven' ? 0 : most;
  }

  function changesMax(): number {
    // The ledger blocks changed products while they may not be imported.
    if (isPutOff(changes.known(), clock.now())) return size.now();
    return Math.max(1, Math.min(best.changes, size.now(), changes.sizeMax()));
  }

  async function mayMakeUntil({ reason, sentAt }: UnconfirmedDelivery): Promise<number | null> {
    if (reason.code === 'import_refused' || reason.code === 'import_exists') return 0;
    // If the time of the answer is unknown, the request counts as ended when its time limit has passed.
    const endedAt = reason.since ?? sentAt + profile.timeouts.totalMs;
    if (settlesWithinMs !== null) return endedAt + settlesWithinMs;
    const isKnownByAnswer = isMadeBeforeAnswer(await creates.load());
    // The answer to a later proof has named the product, so it was made before the answer, or never.
    const mayComeLate = hasTrait(reason, 'may_come_late') && reason.code !== 'import_proof';
    return isKnownByAnswer && !mayComeLate ? endedAt + lostSettlesWithinMs : null;
  }

  return {
    async prepare(waiting) {
      if (waiting.creates >= createsMin) await creates.load();
      if (waiting.changes > 0) await changes.load();
      for (const trial of trials) await trial.store();
      if (trials.some((trial) => trial.isUnderWay()) && clock.ticks() >= provingLookAt) {
        provingLookAt = clock.ticks() + LOOK_AGAIN_MS;
        for (const trial of trials) await trial.forgetSettled();
      }
      await prepareCreates(waiting.creates);
      await prepareChanges(waiting.changes);
    },

    sizeMax: (operation) => (operation === 'product.create' ? createsMax() : changesMax()),
    // The last rows of a split import are sent one by one: single requests then cost less than the lists that further
    // imports would need.
    fewest: () => (isSplitting() ? createsMin : 1),
    paused: () => [
      ...(changes.isUnderWay() ? (['product.import'] as const) : []),
      ...(creates.isWorthWaiting() ? (['product.create'] as const) : []),
    ],

    begin(deliveries) {
      const [first] = deliveries;
      if (first !== undefined) trialFor(first.operation).begin(deliveries);
    },
    giveBack(deliveries) {
      for (const trial of trials) trial.giveBack(deliveries);
    },
    isProof: (request) => request.operation === 'product.import' && trials.some((trial) => trial.isProof(request)),

    isTaken() {
      const proof = changes.known();
      return proof.state === 'proven' && proof.isTaken === true;
    },

    answered(request, outcome) {
      const operation = request.members[0]?.operation;
      if (operation !== 'product.create' && operation !== 'product.import') return;
      if (request.operation === 'product.import') size.answered(request, outcome);
      const trial = trialFor(operation);
      trial.answered(request, outcome);
      if (trial === creates && isSplit(request, outcome)) {
        splitUntil = clock.ticks() + SPLIT_MS;
        const isProven = creates.known().state === 'proven';
        best.creates = isProven ? Math.max(best.creates, provenSize(creates.known())) : 0;
      }
      const failure =
        trial === creates ? overwritten(request, outcome, creates.known()) : createdAgain(request, outcome);
      if (failure !== null) trial.fail(failure);
    },

    async looked(delivery, ids) {
      const [listed] = ids;
      if (ids.length > 1) {
        creates.giveBack([delivery]);
        creates.fail({ message: seconds(delivery, ids.length) });
      }
      if (ids.length === 1 && listed !== undefined) creates.shown({ ...delivery, name: nameOf(delivery) }, listed);
      await creates.store();
    },

    async lookedAtChange(delivery, decision) {
      switch (decision.kind) {
        case 'delivered':
          changes.shown({ ...delivery, name: nameOf(delivery) }, decision.remoteId);
          break;
        case 'blocked':
          changes.giveBack([delivery]);
          if (decision.reason.code === 'not_upserted') changes.fail({ message: notUpdated(delivery) });
          break;
        // The product is sent again, or is not looked up any more.
        case 'resend':
          changes.giveBack([delivery]);
          break;
        case 'unconfirmed':
          if (decision.nextLookAt === null) changes.notShown(delivery, unchanged(delivery));
          break;
        case 'parked':
        case 'rejected':
          changes.notShown(delivery, unchanged(delivery));
          break;
        case 'retry':
        case 'ignored':
          break;
      }
      await changes.store();
    },

    async tookChange(delivery) {
      changes.taken(delivery);
      await changes.store();
    },

    async absent(delivery) {
      // A restart forgets which products the proof has.
      if (delivery.reason.code === 'import_proof') creates.fail({ message: neverShown(delivery) });
      creates.notShown(delivery, neverShown(delivery));
      await creates.store();
    },

    mayMakeUntil,
    mayRepeat: async (count) => count <= provenSize(await changes.load()),
  };
}

/** True if members of an import of new products are sent again in smaller imports. */
function isSplit({ members }: ClaimedRequest, outcome: Outcome): boolean {
  if (members.length < 2) return false;
  switch (outcome.kind) {
    case 'refused':
    case 'gated':
    case 'exists':
    case 'in_flight':
    case 'ambiguous':
      return true;
    case 'accepted':
    case 'throttled':
    case 'unavailable':
    case 'denied':
      return false;
  }
}

const nameOf = ({ naturalKey, key }: UnconfirmedDelivery): string => naturalKey ?? key;

function seconds(delivery: UnconfirmedDelivery, count: number): string {
  return `The platform's list shows ${count} products with the key ${nameOf(delivery)} after an import of one such product.`;
}

function neverShown(delivery: UnconfirmedDelivery): string {
  return `An import had the new product ${nameOf(delivery)}. No list has shown the product.`;
}

function notUpdated(delivery: UnconfirmedDelivery): string {
  return `An import of changed products did not update the product ${nameOf(delivery)}, and made a second product.`;
}

function unchanged(delivery: UnconfirmedDelivery): string {
  return `No list has shown the change of the product ${nameOf(delivery)}.`;
}
