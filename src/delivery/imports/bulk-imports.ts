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
  type Overwritten,
  provenSize,
} from '../../domain/delivery/import-proof.ts';
import type { Operation } from '../../domain/delivery/operation.ts';
import type { MemberOutcome, Outcome } from '../../domain/delivery/outcome.ts';
import { hasTrait } from '../../domain/delivery/stored-reason.ts';
import { remoteIdText } from '../../domain/item.ts';
import type {
  ClaimedDelivery,
  ClaimedRequest,
  Decision,
  DeliveryName,
  UnconfirmedDelivery,
} from '../../domain/ports/deliveries.ts';
import type { ImportLedger } from '../../domain/ports/ledger/delivery-ledger.ts';
import type { Profile } from '../../domain/profile.ts';
import type { Clock } from '../../lib/clock.ts';
import type { JsonValue } from '../../lib/json.ts';
import { createImportSize, fewestRequests } from './import-size.ts';
import { createImportTrial, type ImportTrial } from './import-trial.ts';

interface BulkImportsOptions {
  ledger: ImportLedger;
  profile: Profile;
  /** Whether the lists of the API may be read. */
  canRead: () => boolean;
  /** Whether a list can show changed products. */
  canShowChanges: () => boolean;
  /** Whether the API accepts bulk imports from the key. */
  canImport: () => boolean;
  clock: Clock;
}

/** The best size of imports is computed again after this time. */
const LOOK_AGAIN_MS = 10_000;
/** For this long after an import was split, its members may be due again for smaller imports. */
const SPLIT_MS = 600_000;
/** At most this many due products are counted. */
const DUE_MAX = 10_000;

export function createBulkImports(options: BulkImportsOptions) {
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

  const trialOf = (use: ImportUse) =>
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
    const gain = await ledger.importGain({ use, dueMax: DUE_MAX });
    return fewestRequests(gain, { proof, sizeMax: size.now(), list: profile.list, now: clock.now() }).size;
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

  /**
   * Until when an import may still make a product that no list shows, by the wall clock; null if that time is unknown.
   *
   * @param delivery an imported product
   */
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

  const proving = (): Operation[] => (changes.isUnderWay() ? ['product.import'] : []);

  return {
    /** Decides how imports are used for the products that wait. Call it before requests are admitted. */
    async prepare(waiting: Record<ImportUse, number>) {
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

    /** The most products that the next import with this operation may have; 0 if its products are sent alone. */
    sizeMax: (operation: Operation) => (operation === 'product.create' ? createsMax() : changesMax()),
    // The last rows of a split import are sent one by one: single requests then cost less than the lists that further
    // imports would need.
    /** The smallest number of new products in an import. Fewer new products are sent one by one. */
    fewest: () => (isSplitting() ? createsMin : 1),
    /** The operations that wait for as long as the list of a proof cannot be read. */
    proving,
    /** The operations that wait for the list of a proof now. */
    paused: (): Operation[] => [...proving(), ...(creates.isWorthWaiting() ? (['product.create'] as const) : [])],

    /** Call it when these deliveries are sent as one import. */
    begin(deliveries: readonly (DeliveryName & { operation: Operation })[]) {
      const [first] = deliveries;
      if (first !== undefined) trialFor(first.operation).begin(deliveries);
    },
    /** Call it when the deliveries were not sent after all. */
    giveBack(deliveries: readonly DeliveryName[]) {
      for (const trial of trials) trial.giveBack(deliveries);
    },
    /** True if a list has to show the products of this answered import, whatever the answer says. */
    isProof: (request: Pick<ClaimedRequest, 'operation' | 'members'>) =>
      request.operation === 'product.import' && trials.some((trial) => trial.isProof(request)),

    /** True if the answer to an import of changed products is taken without proof, because no list could be read. */
    isTaken(): boolean {
      const proof = changes.known();
      return proof.state === 'proven' && proof.isTaken === true;
    },

    /** Learns from the answer to any request. */
    answered(request: ClaimedRequest, outcome: Outcome) {
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

    /**
     * Learns from a complete list that was read for an imported new product. @param ids the ids of the products that the
     * list shows
     */
    async looked(delivery: UnconfirmedDelivery, ids: readonly JsonValue[]) {
      await creates.load();
      const [listed] = ids;
      if (ids.length > 1) {
        creates.giveBack([delivery]);
        creates.fail({ message: seconds(delivery, ids.length) });
      }
      if (ids.length === 1 && listed !== undefined) creates.shown({ ...delivery, name: nameOf(delivery) }, listed);
      await creates.store();
    },

    /** Learns from what was decided about a changed product after a complete list. */
    async lookedAtChange(delivery: UnconfirmedDelivery, decision: Decision) {
      await changes.load();
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

    /** Reports that the answer about a changed product was taken, because no list can be read. */
    async tookChange(delivery: UnconfirmedDelivery) {
      await changes.load();
      changes.taken(delivery);
      await changes.store();
    },

    /** Reports that no list shows an imported new product, and that no later list will show it. */
    async absent(delivery: UnconfirmedDelivery) {
      // A restart forgets which products the proof has.
      if (delivery.reason.code === 'import_proof') creates.fail({ message: neverShown(delivery) });
      creates.notShown(delivery, neverShown(delivery));
      await creates.store();
    },

    mayMakeUntil,
    /** True if an import of this many changed products may be sent again without reading the list first. */
    mayRepeat: async (count: number): Promise<boolean> => count <= provenSize(await changes.load()),
  };
}

export type BulkImports = ReturnType<typeof createBulkImports>;

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

/** At most this many products are named. All of them are marked as adopted, so `items` lists them. */
const NAMED_MAX = 20;

type Failure = Pick<Extract<ImportProof, { state: 'failed' }>, 'message' | 'overwrote'>;

/**
 * The products that an import of new products has changed, because the platform had them already; null if there are none.
 * Products of earlier imports are named too.
 */
function overwritten(request: ClaimedRequest, outcome: Outcome, known: ImportProof): Failure | null {
  const changed = membersWith(request, outcome, ({ effect }) => effect === 'updated' || effect === 'mixed');
  if (changed.length === 0) return null;
  const before: Overwritten = (known.state === 'failed' && known.overwrote) || { count: 0, names: [] };
  const isMixed = membersWith(request, outcome, ({ effect }) => effect === 'mixed').length > 0;
  const names = [...before.names, ...changed.map(shortNameOf)].slice(0, NAMED_MAX);
  const overwrote: Overwritten = {
    count: before.count + changed.length,
    names,
    ...((isMixed || before.isAtMost === true) && { isAtMost: true }),
  };
  return { message: messageOf(overwrote), overwrote };
}

/** A changed product of which an import says that it was created under another id; null if there is none. */
function createdAgain(request: ClaimedRequest, outcome: Outcome): Failure | null {
  const [second] = membersWith(
    request,
    outcome,
    ({ effect, remoteId }, member) =>
      effect === 'created' &&
      remoteId !== null &&
      member.remoteId !== null &&
      remoteIdText(remoteId) !== remoteIdText(member.remoteId),
  );
  if (second === undefined) return null;
  return {
    message: `An import of changed products did not update the product ${shortNameOf(second)}, and made a second product.`,
  };
}

function membersWith(
  { members }: ClaimedRequest,
  outcome: Outcome,
  matches: (result: MemberOutcome & { kind: 'accepted' }, member: ClaimedDelivery) => boolean,
): ClaimedDelivery[] {
  const results = outcome.kind === 'accepted' ? (outcome.members ?? []) : [];
  return members.filter((member, at) => {
    const result = results[at];
    return result?.kind === 'accepted' && matches(result, member);
  });
}

const shortNameOf = ({ naturalKey, key }: ClaimedDelivery): string => (naturalKey ?? key).slice(0, 100);

function messageOf({ count, names, isAtMost }: Overwritten): string {
  const which = `${names.join(', ')}${count > names.length ? ` and ${count - names.length} more` : ''}`;
  const what = count === 1 ? 'a product' : `${isAtMost === true ? 'some of these ' : ''}${count} products`;
  return `Imports of new products have changed ${what} that the platform had already: ${which}. What is found there is adopted.`;
}
