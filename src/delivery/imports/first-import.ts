// The first import of a new product, which has to prove that imports may be used for new products.

import type { ImportProof } from '../../domain/delivery/import-proof.ts';
import type { MemberOutcome, Outcome } from '../../domain/delivery/outcome.ts';
import type { ClaimedRequest, DeliveryName } from '../../domain/ports/claim.ts';
import type { ImportLedger } from '../../domain/ports/ledger/import-ledger.ts';
import type { UnconfirmedDelivery } from '../../domain/ports/unconfirmed.ts';
import { remoteIdText } from '../../domain/remote-id.ts';
import type { Clock } from '../../lib/clock.ts';
import type { JsonValue } from '../../lib/json.ts';

export interface FirstImport {
  /**
   * What is known about imports: the last conclusion of this process, or the one that an earlier process has stored in
   * the ledger.
   */
  proof(): Promise<ImportProof>;
  /** The last conclusion; null before the ledger was read. */
  known(): ImportProof | null;
  /** Stores the last conclusion. */
  store(): Promise<void>;
  /** True while a product is sent as the proof, or its list is awaited. */
  isUnderWay(): boolean;
  begin(delivery: DeliveryName): void;
  giveBack(delivery: Pick<DeliveryName, 'id'>): void;
  /** Forgets a proof that a person has settled, because no list is read for it any more. */
  forgetSettled(): Promise<void>;
  is(delivery: DeliveryName): boolean;
  answered(request: ClaimedRequest, outcome: Outcome): void;
  looked(delivery: UnconfirmedDelivery, ids: readonly JsonValue[]): Promise<void>;
  absent(delivery: UnconfirmedDelivery): Promise<void>;
  /** Call it when an answer says that an import has changed these products instead of creating them. */
  overwrote(products: string): void;
}

/** The product that was imported as the proof. */
interface Proving extends DeliveryName {
  /** The id that the answer has named. */
  answeredId: JsonValue;
  /** True if there was no answer. The list still shows whether the import has made a second product. */
  isLost: boolean;
}

/** After several first imports that were lost or denied, the next one is tried after this time. */
const PUT_OFF_MS = 3_600_000;
/** At most this many first imports may be lost or refused. */
const TRIES_MAX = 3;

export function createFirstImport(options: {
  ledger: Pick<ImportLedger, 'importProof' | 'storeImportProof' | 'isOpen'>;
  clock: Pick<Clock, 'now'>;
  onConclusion: (proof: ImportProof) => void;
}): FirstImport {
  const { ledger, clock, onConclusion } = options;
  let known: ImportProof | null = null;
  /** False while the last conclusion is not stored in the ledger. */
  let isStored = true;
  let proving: Proving | null = null;
  let tries = 0;

  async function store(): Promise<void> {
    if (isStored || known === null) return;
    await ledger.storeImportProof(known);
    isStored = true;
  }

  function conclude(proof: ImportProof): void {
    known = proof;
    isStored = false;
    proving = null;
    onConclusion(proof);
  }

  const fail = (message: string): void => conclude({ state: 'failed', message, at: clock.now() });

  /** Lets another product be imported as the proof. After several proofs without a result, imports are put off. */
  function tryAnother(message: string, failure: 'failed' | 'postponed'): void {
    proving = null;
    tries += 1;
    if (tries < TRIES_MAX) return;
    tries = 0;
    const at = clock.now();
    if (failure === 'failed') fail(message);
    else conclude({ state: 'postponed', message, at, until: at + PUT_OFF_MS });
  }

  const is = ({ id, revision }: DeliveryName): boolean => proving?.id === id && proving.revision === revision;

  return {
    async proof() {
      known ??= await ledger.importProof();
      return known;
    },
    known: () => known,
    store,
    isUnderWay: () => proving !== null,
    begin({ id, revision }) {
      proving = { id, revision, answeredId: null, isLost: false };
    },
    giveBack({ id }) {
      if (proving?.id === id) proving = null;
    },
    async forgetSettled() {
      const asked = proving;
      if (asked !== null && !(await ledger.isOpen(asked)) && proving === asked) proving = null;
    },
    is,

    answered(request, outcome) {
      const [first] = request.members;
      if (proving === null || first === undefined || !is(first)) return;
      switch (request.operation === 'product.import' ? outcome.kind : 'throttled') {
        case 'accepted': {
          const member = memberOf(outcome);
          // The refusal of a single product shows nothing about imports.
          if (member?.kind === 'refused') proving = null;
          else proving.answeredId = member?.kind === 'accepted' ? member.remoteId : null;
          break;
        }
        // The import was not processed, or its product was sent alone in the end.
        case 'throttled':
        case 'unavailable':
          proving = null;
          break;
        case 'denied':
          tryAnother(said('was not allowed', outcome), 'postponed');
          break;
        case 'refused':
        case 'gated':
        case 'exists':
          tryAnother(said('was refused', outcome), 'failed');
          break;
        case 'in_flight':
        case 'ambiguous':
          proving.isLost = true;
          break;
      }
    },

    async looked(delivery, ids) {
      const [listed] = ids;
      if (ids.length > 1) fail(seconds(delivery, ids.length));
      // A restart forgets the answer to the proof, so another product is imported as the proof.
      else if (listed !== undefined && proving !== null && is(delivery)) {
        const { answeredId, isLost } = proving;
        if (isLost) tryAnother(LOST, 'postponed');
        else if (answeredId === null || remoteIdText(answeredId) === remoteIdText(listed)) {
          conclude({ state: 'proven', answersIds: answeredId !== null });
        } else fail(anotherId(delivery, answeredId, listed));
      }
      await store();
    },

    async absent(delivery) {
      if (delivery.reason.code === 'import_proof') fail(neverShown(delivery));
      else if (is(delivery) && proving?.isLost === true) tryAnother(LOST, 'postponed');
      await store();
    },

    overwrote(products) {
      fail(`An import of new products has changed ${products} that the platform had already.`);
    },
  };
}

const LOST = `The answers to ${TRIES_MAX} first imports of a new product were lost.`;

/** @param what what happened to the first imports */
function said(what: string, outcome: Outcome): string {
  const answer = 'detail' in outcome ? ` The last answer: ${outcome.detail.message}` : '';
  return `The first import of a new product ${what} ${TRIES_MAX} times.${answer}`;
}

/** The result for the only product of an import. */
function memberOf(outcome: Outcome): MemberOutcome | undefined {
  return outcome.kind === 'accepted' ? outcome.members?.[0] : undefined;
}

function anotherId({ naturalKey, key }: UnconfirmedDelivery, answered: JsonValue, listed: JsonValue): string {
  return `The answer to the first import gave the product ${naturalKey ?? key} the id ${remoteIdText(answered)}, and the list shows it with the id ${remoteIdText(listed)}.`;
}

function seconds({ naturalKey, key }: UnconfirmedDelivery, count: number): string {
  return `The platform's list shows ${count} products with the key ${naturalKey ?? key} after an import of one product.`;
}

function neverShown({ naturalKey, key }: UnconfirmedDelivery): string {
  return `The first import had the product ${naturalKey ?? key}. Neither its answer nor the list has shown the product.`;
}
