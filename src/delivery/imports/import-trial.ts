// The proofs that bulk imports may be used for one use: for new products, or for changed ones.
//
// An import is a proof if it has more products than any import that a list has confirmed, or if its answer has another
// form. A complete list then has to show each of its products exactly once. The sizes grow step by step, so a platform
// that doubles, mixes up or loses the products of imports does so to the products of one proof.

import {
  type ImportProof,
  type ImportUse,
  isKnownForm,
  isMadeBeforeAnswer,
  isPutOff,
  nextProofSize,
  provenSize,
  UNTRIED,
} from '../../domain/delivery/import-proof.ts';
import type { MemberOutcome, Outcome } from '../../domain/delivery/outcome.ts';
import { remoteIdText } from '../../domain/item.ts';
import type { ClaimedRequest, DeliveryName } from '../../domain/ports/deliveries.ts';
import type { ImportLedger } from '../../domain/ports/ledger/delivery-ledger.ts';
import type { Clock } from '../../lib/clock.ts';
import type { JsonValue } from '../../lib/json.ts';

/** The products of one proof. */
interface Proving {
  /** How many products the import had. */
  size: number;
  /** Until when other products wait for the proof, by `ticks` of the clock. */
  waitUntil: number;
  /** The products that no list has shown yet, by delivery, with the ids that the answer has named. */
  awaited: Map<number, { revision: number; answeredId: JsonValue }>;
  /** True if the answer has named each product. */
  answersIds: boolean;
  form: readonly string[];
  /** True if an answer was taken without proof. */
  isTaken: boolean;
  /** True if there was no answer. The list still shows whether the import has made a second product. */
  isLost: boolean;
}

/** After several imports without a result, the next one is tried after this time. */
const PUT_OFF_MS = 3_600_000;
/** At most this many first imports in a row may have no result. */
const FIRST_MAX = 3;
/** At most this many imports in a row may have no result. */
const FAILURES_MAX = 10;
/** After this many in a row, an import of so few products is the last one: smaller imports would save little. */
const SMALL = { failures: 3, size: 3 };
/** Other products wait for a proof of several products for at most this time. */
const WAIT_MAX_MS = 10_000;
/** While imports are put off, the ledger is read again after this time: a person may have asked for another import. */
const LOOK_AGAIN_MS = 10_000;

export function createImportTrial(
  use: ImportUse,
  options: {
    ledger: ImportLedger;
    clock: Clock;
    onConclusion: (proof: ImportProof) => void;
  },
) {
  const { ledger, clock, onConclusion } = options;
  let known: ImportProof | null = null;
  /** False while the last conclusion is not stored in the ledger. */
  let isStored = true;
  let lookAt = Number.NEGATIVE_INFINITY;
  /** The read of the ledger that is under way. A second one would await the products of a lost proof twice. */
  let reading: Promise<void> | null = null;
  const provings = new Set<Proving>();

  /** The last conclusion. */
  const present = (): ImportProof => known ?? UNTRIED;
  const provingOf = ({ id, revision }: DeliveryName): Proving | undefined =>
    [...provings].find(({ awaited }) => awaited.get(id)?.revision === revision);

  function remember(proof: ImportProof): void {
    known = proof;
    isStored = false;
  }

  function conclude(proof: ImportProof): void {
    remember(proof);
    onConclusion(proof);
  }

  /** Imports are not used any more. */
  function fail(proof: Omit<Extract<ImportProof, { state: 'failed' }>, 'state' | 'at'>): void {
    // The first cause is shown, and all products that were changed.
    if (present().state === 'failed' && proof.overwrote === undefined) return;
    const answersIds = isMadeBeforeAnswer(present());
    conclude({ ...(answersIds && { answersIds }), ...proof, state: 'failed', at: clock.now() });
  }

  /**
   * An import had no result. After several of them in a row, imports are put off, or not used any more. Changed products
   * can only be sent in imports, so each of them uses its own attempts, and only changes that no list shows count.
   */
  function failed(why: { message: string; size: number; isRefusal: boolean }): void {
    const proof = present();
    if (proof.state !== 'untried' && proof.state !== 'proven') return;
    const failures = (proof.failures ?? 0) + 1;
    const isFirst = proof.state === 'untried';
    const isLast = isFirst
      ? failures >= FIRST_MAX
      : failures >= FAILURES_MAX || (why.size <= SMALL.size && failures >= SMALL.failures);
    if (!isLast) return remember({ ...proof, failures });
    const message = `${failures} bulk imports of ${WORDS[use]} in a row had no result. ${why.message}`;
    if (isFirst && why.isRefusal) fail({ message });
    else putOff(message);
  }

  function putOff(message: string): void {
    const at = clock.now();
    const answersIds = isMadeBeforeAnswer(present());
    conclude({ state: 'postponed', message, at, until: at + PUT_OFF_MS, ...(answersIds && { answersIds }) });
  }

  /** The import was worked on: earlier failures do not count any more. */
  function worked(): void {
    const proof = present();
    if (proof.state !== 'proven' || proof.failures === undefined) return;
    const { failures: _, ...rest } = proof;
    remember(rest);
  }

  function finish(proving: Proving): void {
    provings.delete(proving);
    const proof = present();
    if (proving.isLost || isPutOff(proof, clock.now())) return;
    const before = proof.state === 'proven' ? proof : { size: 0, answersIds: true, form: [], isTaken: undefined };
    const isTaken = proving.isTaken || before.isTaken === true;
    conclude({
      state: 'proven',
      size: Math.max(before.size, proving.size),
      answersIds: before.answersIds && proving.answersIds,
      form: [...new Set([...before.form, ...proving.form])].toSorted(),
      ...(isTaken && { isTaken }),
    });
  }

  function seen(proving: Proving, { id }: DeliveryName): void {
    proving.awaited.delete(id);
    if (proving.awaited.size === 0) finish(proving);
  }

  /** The products of an accepted import await a list if the import is a proof. */
  function accepted({ members }: ClaimedRequest, outcome: Outcome & { kind: 'accepted' | 'refused' }): void {
    const results = members.map((_, at): MemberOutcome => outcome.members?.[at] ?? { kind: 'unknown' });
    const form = outcome.kind === 'accepted' ? (outcome.form ?? []) : [];
    const proof = present();
    const awaited = new Map<number, Proving['awaited'] extends Map<number, infer One> ? One : never>();
    for (const [at, { id, revision }] of members.entries()) {
      const result = results[at];
      if (result?.kind === 'refused' || result === undefined) continue;
      awaited.set(id, { revision, answeredId: result.kind === 'accepted' ? result.remoteId : null });
    }
    const isKnown = members.length <= provenSize(proof) && isKnownForm(proof, form);
    // A refusal of products because of their own data shows nothing about imports.
    if (isKnown || awaited.size === 0 || outcome.kind === 'refused') return worked();
    const isNamed = (result: MemberOutcome): boolean =>
      result.kind === 'accepted' && (use === 'changes' || result.remoteId !== null);
    const answersIds = results.every((result) => result.kind === 'refused' || isNamed(result));
    prove({ size: members.length, awaited, answersIds, form, isLost: false });
    worked();
  }

  function prove(proving: Omit<Proving, 'waitUntil' | 'isTaken'>): void {
    // The list of the first proof is read after a while, so other products use the time.
    const isWorthWaiting = proving.size > 1 && !proving.isLost;
    const waitUntil = isWorthWaiting ? clock.ticks() + WAIT_MAX_MS : Number.NEGATIVE_INFINITY;
    provings.add({ ...proving, waitUntil, isTaken: false });
  }

  function lost({ members }: { members: readonly DeliveryName[] }): void {
    const awaited = new Map(members.map(({ id, revision }) => [id, { revision, answeredId: null }]));
    prove({ size: members.length, awaited, answersIds: false, form: [], isLost: true });
  }

  async function read(): Promise<void> {
    lookAt = clock.ticks() + LOOK_AGAIN_MS;
    const stored = (await ledger.importProofs())[use];
    const lostBefore = known === null ? await ledger.lostImports(use) : [];
    // A conclusion that is not stored yet is newer.
    if (isStored) known = stored;
    // The list has to show the products of an earlier process's proof before a further proof is sent.
    for (const members of lostBefore) if (members.length > provenSize(present())) lost({ members });
  }

  return {
    /** Reads what the ledger knows. Call it before the other functions. While imports are put off, it is read again. */
    async load(): Promise<ImportProof> {
      const isDue = known === null || (isPutOff(known, clock.now()) && clock.ticks() >= lookAt);
      if (isDue && isStored) await (reading ??= read().finally(() => (reading = null)));
      // The wait is over, so the next import is a proof again.
      if (known?.state === 'postponed' && !isPutOff(known, clock.now())) conclude(UNTRIED);
      return present();
    },
    known: present,
    /** Stores the last conclusion. */
    async store() {
      if (isStored || known === null) return;
      const stored = known;
      await ledger.storeImportProof(use, stored);
      isStored = known === stored;
    },
    /** The most products that the next import may have; 0 while imports are put off, or only a proof may follow. */
    sizeMax(): number {
      const proof = present();
      return provings.size > 0 ? provenSize(proof) : nextProofSize(proof, clock.now());
    },
    /** True while products are sent as a proof, or their list is awaited. */
    isUnderWay: () => provings.size > 0,
    /**
     * True while other products should wait for a proof of several products, because larger imports may follow soon.
     */
    isWorthWaiting: () => [...provings].some(({ waitUntil }) => clock.ticks() < waitUntil),
    /** Call it when these deliveries are sent as one import. */
    begin(deliveries: readonly DeliveryName[]) {
      if (deliveries.length <= provenSize(present())) return;
      const awaited = new Map(deliveries.map(({ id, revision }) => [id, { revision, answeredId: null }]));
      prove({ size: deliveries.length, awaited, answersIds: false, form: [], isLost: false });
    },
    giveBack(deliveries: readonly Pick<DeliveryName, 'id'>[]) {
      for (const proving of provings) {
        if (deliveries.some(({ id }) => proving.awaited.has(id))) provings.delete(proving);
      }
    },
    /** Forgets the products of proofs that a person has settled, because no list is read for them any more. */
    async forgetSettled() {
      for (const proving of provings) {
        for (const [id, { revision }] of proving.awaited) {
          if (!(await ledger.isOpen({ id, revision }))) proving.awaited.delete(id);
        }
        if (proving.awaited.size === 0) provings.delete(proving);
      }
    },
    isProof: ({ members }: Pick<ClaimedRequest, 'members'>) =>
      members.some((member) => provingOf(member) !== undefined),

    answered(request: ClaimedRequest, outcome: Outcome) {
      const begun = new Set(request.members.flatMap((member) => provingOf(member) ?? []));
      for (const proving of begun) provings.delete(proving);
      if (request.operation !== 'product.import') return;
      const size = request.members.length;
      switch (outcome.kind) {
        case 'accepted':
          accepted(request, outcome);
          break;
        // The import was not processed.
        case 'throttled':
        case 'unavailable':
          break;
        case 'denied':
          if (begun.size > 0 && use === 'creates')
            failed({ message: said('was not allowed', outcome), size, isRefusal: false });
          break;
        case 'refused':
        case 'gated':
        case 'exists':
          if (outcome.kind === 'refused' && outcome.members !== undefined) accepted(request, outcome);
          // The API has no such import, so the next one would be refused as well.
          else if (outcome.kind === 'refused' && outcome.endpoint && use === 'changes') {
            putOff(`The API does not accept bulk imports. ${said('was refused', outcome)}`);
          } else if (use === 'creates') {
            failed({ message: said('was refused', outcome), size, isRefusal: true });
          }
          break;
        case 'in_flight':
        case 'ambiguous':
          if (begun.size > 0) lost(request);
          if (use === 'creates') failed({ message: said('had no usable answer', outcome), size, isRefusal: false });
          break;
      }
    },

    /** Call it when a complete list has shown a product exactly once, under this id. */
    shown(delivery: DeliveryName & { name: string }, id: JsonValue) {
      const proving = provingOf(delivery);
      const answeredId = proving?.awaited.get(delivery.id)?.answeredId ?? null;
      if (proving === undefined) return;
      if (answeredId !== null && remoteIdText(answeredId) !== remoteIdText(id)) {
        provings.delete(proving);
        fail({ message: otherId(delivery.name, answeredId, id), answersIds: false });
        return;
      }
      seen(proving, delivery);
    },

    /** Call it when no list can show the product of a proof, and its answer was taken without proof. */
    taken(delivery: DeliveryName) {
      const proving = provingOf(delivery);
      if (proving === undefined) return;
      proving.isTaken = true;
      seen(proving, delivery);
    },

    /** Forgets a proof without a list, because a list can be read now. */
    forgetTaken() {
      const proof = present();
      if (proof.state === 'proven' && proof.isTaken === true) conclude(UNTRIED);
    },

    /** Call it when no list will show the product of a proof, or not with its content. */
    notShown(delivery: DeliveryName, message: string) {
      const proving = provingOf(delivery);
      if (proving === undefined) return;
      provings.delete(proving);
      if (proving.isLost) return;
      if (use === 'creates') fail({ message });
      else failed({ message, size: proving.size, isRefusal: true });
    },

    fail,
  };
}

export type ImportTrial = ReturnType<typeof createImportTrial>;

const WORDS: Record<ImportUse, string> = { creates: 'new products', changes: 'changed products' };

/** @param what what happened to the last import */
function said(what: string, outcome: Outcome): string {
  return `The last one ${what}${'detail' in outcome ? `: ${outcome.detail.message}` : '.'}`;
}

function otherId(name: string, answered: JsonValue, listed: JsonValue): string {
  return `The answer to an import gave the product ${name} the id ${remoteIdText(answered)}, and the list shows it with the id ${remoteIdText(listed)}.`;
}
