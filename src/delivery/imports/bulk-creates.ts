// Decides whether new products are sent in bulk imports, and how large the imports are.
//
// Imports are used where they save requests: enough new products are due, and the lists that have to be read for the
// imports cost less than single creates. The first import has one new product. The other
// products follow in imports only when a complete list shows the first one exactly once. Until then they are sent one
// by one.

import type { ImportProof } from '../../domain/delivery/import-proof.ts';
import type { Outcome } from '../../domain/delivery/outcome.ts';
import { hasTrait } from '../../domain/delivery/reason.ts';
import type { ClaimedRequest, DeliveryName } from '../../domain/ports/claim.ts';
import type { ImportLedger } from '../../domain/ports/ledger/import-ledger.ts';
import type { UnconfirmedDelivery } from '../../domain/ports/unconfirmed.ts';
import type { Profile } from '../../domain/profile.ts';
import type { Clock } from '../../lib/clock.ts';
import type { JsonValue } from '../../lib/json.ts';
import { createFirstImport } from './first-import.ts';
import { createImportSize } from './import-size.ts';

export interface BulkCreates {
  /** Decides whether imports are used for the new products that wait. Call it before requests are admitted. */
  prepare(waiting: number): Promise<void>;
  /** How many products one import may take: changed ones, or new ones as `createForm` says. */
  sizeMax(): number;
  /** The smallest number of new products in an import. Fewer new products are sent one by one. */
  fewest(): number;
  /** How the next new product is sent: alone, alone in an import as the import proof, or with others in an import. */
  createForm(): 'alone' | 'proof' | 'import';
  /** Call it when this delivery is sent as the import proof. */
  beginProof(delivery: DeliveryName): void;
  /** Call it when the delivery was not sent as the import proof after all. */
  giveBack(delivery: DeliveryName): void;
  isProof(request: Pick<ClaimedRequest, 'operation' | 'members'>): boolean;
  /** Learns from the answer to any request. */
  answered(request: ClaimedRequest, outcome: Outcome): void;
  /**
   * Learns from a complete list that was read for an imported product. @param ids the ids of the products that the list
   * shows
   */
  looked(delivery: UnconfirmedDelivery, ids: readonly JsonValue[]): Promise<void>;
  /** Reports that no list shows an imported product, and that no later list will show it. */
  absent(delivery: UnconfirmedDelivery): Promise<void>;
  /**
   * Until when an import may still make a product that no list shows, by the wall clock; null if that time is unknown.
   *
   * @param delivery an imported product
   */
  mayMakeUntil(delivery: UnconfirmedDelivery): Promise<number | null>;
}

export interface BulkCreatesOptions {
  ledger: ImportLedger;
  profile: Profile;
  /** Whether the lists of the API may be read. */
  canRead: () => boolean;
  /** Whether the API accepts bulk imports from the key. */
  canImport: () => boolean;
  clock: Pick<Clock, 'ticks' | 'now'>;
}

/** Whether imports save requests is decided again after this time. */
const LOOK_AGAIN_MS = 10_000;
/** For this long after an import was split, its members may be due again for smaller imports. */
const SPLIT_MS = 600_000;
/** At most this many due products are counted. */
const DUE_MAX = 10_000;
/** The size of a page of a list where the profile leaves it to the API. */
const USUAL_PAGE = 100;

export function createBulkCreates({ ledger, profile, canRead, canImport, clock }: BulkCreatesOptions): BulkCreates {
  const { creates, createsMin, membersMax, settlesWithinMs, lostSettlesWithinMs } = profile.imports;
  const size = createImportSize(membersMax);
  let isOn = false;
  let lookAt = Number.NEGATIVE_INFINITY;
  /** Imports stay in use until this time, because the members of an import that was split come back. */
  let splitUntil = Number.NEGATIVE_INFINITY;
  let provingLookAt = Number.NEGATIVE_INFINITY;
  const isSplitting = (): boolean => clock.ticks() < splitUntil;

  const first = createFirstImport({
    ledger,
    clock,
    onConclusion(proof) {
      lookAt = Number.NEGATIVE_INFINITY;
      if (proof.state !== 'proven') isOn = false;
    },
  });

  async function savesRequests(proof: ImportProof): Promise<boolean> {
    const { due, listed } = await ledger.importGain({ dueMax: DUE_MAX });
    const pages = Math.ceil((listed + due) / (profile.list.pageSize ?? USUAL_PAGE));
    const isListedAfterwards = proof.state !== 'proven' || !proof.answersIds;
    const lists = (proof.state === 'proven' ? 0 : pages) + (isListedAfterwards ? pages : 0);
    return Math.ceil(due / size.now()) + lists < due;
  }

  return {
    async prepare(waiting) {
      await first.store();
      if (first.isUnderWay() && clock.ticks() >= provingLookAt) {
        provingLookAt = clock.ticks() + LOOK_AGAIN_MS;
        await first.forgetSettled();
      }
      if (waiting === 0 && !isSplitting()) isOn = false;
      if (creates === 'off' || isOn || waiting < createsMin || clock.ticks() < lookAt) return;
      lookAt = clock.ticks() + LOOK_AGAIN_MS;
      const proof = await first.proof();
      isOn = !isPutOff(proof, clock.now()) && canRead() && (await savesRequests(proof));
    },

    sizeMax: () => size.now(),
    // The last rows of a split import are sent one by one: single requests then cost less than the lists that further
    // imports would need.
    fewest: () => (isSplitting() ? createsMin : 1),

    createForm() {
      const proof = first.known();
      if (!isOn || proof === null || !canImport()) return 'alone';
      if (proof.state === 'proven') return 'import';
      return first.isUnderWay() ? 'alone' : 'proof';
    },

    beginProof: (delivery) => first.begin(delivery),
    giveBack: (delivery) => first.giveBack(delivery),
    isProof: ({ operation, members: [member] }) =>
      operation === 'product.import' && member !== undefined && first.is(member),

    answered(request, outcome) {
      if (request.operation === 'product.import') size.answered(request, outcome);
      if (isSplit(request, outcome)) {
        splitUntil = clock.ticks() + SPLIT_MS;
        isOn = first.known()?.state === 'proven';
      }
      first.answered(request, outcome);
      const changed = changedIn(request, outcome);
      if (changed !== null) first.overwrote(changed);
    },

    looked: (delivery, ids) => first.looked(delivery, ids),
    absent: (delivery) => first.absent(delivery),

    async mayMakeUntil({ reason, sentAt }) {
      if (reason.code === 'import_refused' || reason.code === 'import_exists') return 0;
      // If the time of the answer is unknown, the request counts as ended when its time limit has passed.
      const endedAt = reason.since ?? sentAt + profile.timeouts.totalMs;
      if (settlesWithinMs !== null) return endedAt + settlesWithinMs;
      const proof = await first.proof();
      const isKnownByAnswer = proof.state === 'proven' && proof.answersIds;
      return isKnownByAnswer && !hasTrait(reason, 'may_come_late') ? endedAt + lostSettlesWithinMs : null;
    },
  };
}

/**
 * The products that an import of new products has changed instead of creating, because they were at the platform
 * before; null if there are none.
 */
function changedIn({ members }: ClaimedRequest, outcome: Outcome): string | null {
  if (outcome.kind !== 'accepted' || members[0]?.operation !== 'product.create') return null;
  const effects = (outcome.members ?? []).map((member) => (member.kind === 'accepted' ? member.effect : null));
  const changed = members[effects.indexOf('updated')];
  if (changed !== undefined) return `the product ${changed.naturalKey ?? changed.key}`;
  return effects.includes('mixed') ? 'some products' : null;
}

/** True if members of an import of new products are sent again in smaller imports. */
function isSplit({ members }: ClaimedRequest, outcome: Outcome): boolean {
  if (members.length < 2 || members[0]?.operation !== 'product.create') return false;
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

/** True if imports may not be tried now. A clock that is set back must not make the wait longer. */
function isPutOff(proof: ImportProof, now: number): boolean {
  if (proof.state === 'failed') return true;
  return proof.state === 'postponed' && now >= proof.at && now < proof.until;
}
