// Decides whether new products are sent in bulk imports, and how large the imports are.
//
// Imports are used where they save requests: enough new products are due, and the lists that have to be read for the imports
// cost less than single creates. Proof comes before trust. The first import has one new product. Only when a complete list shows
// that product exactly once, the others follow in imports. Until then they are sent one by one.

import type { ImportProof } from '../../domain/import-proof.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { ClaimedRequest, DeliveryName } from '../../domain/ports/claim.ts';
import type { ImportLedger } from '../../domain/ports/import-ledger.ts';
import type { UnconfirmedDelivery } from '../../domain/ports/unconfirmed.ts';
import type { Profile } from '../../domain/profile.ts';
import { hasTrait } from '../../domain/reason.ts';
import { remoteIdText } from '../../domain/remote-id.ts';
import type { Clock } from '../../lib/clock.ts';
import type { JsonValue } from '../../lib/json.ts';
import { createImportSize } from './import-size.ts';

export interface BulkCreates {
  /** Decides whether imports are used for the new products that wait. Call it before requests are admitted. */
  prepare(waiting: number): Promise<void>;
  /** How many products one import may take: changed ones, or new ones as `createForm` says. */
  sizeMax(): number;
  /** How the next new product is sent: alone, as the import that has to prove itself, or with others in an import. */
  createForm(): 'alone' | 'proof' | 'import';
  /** This delivery is sent as the proof. */
  beginProof(delivery: DeliveryName): void;
  /** The delivery was not sent after all. */
  giveBack(delivery: DeliveryName): void;
  isProof(request: Pick<ClaimedRequest, 'operation' | 'members'>): boolean;
  /** Learns from the answer to any request. */
  answered(request: ClaimedRequest, outcome: Outcome): void;
  /** Learns from a complete list that was read for an imported product. @param ids those of the products that it shows */
  looked(delivery: UnconfirmedDelivery, ids: readonly JsonValue[]): Promise<void>;
  /** No list shows an imported product, and none can be expected to. */
  absent(delivery: UnconfirmedDelivery): Promise<void>;
  /**
   * Until when an import may still make a product that no list shows, by the wall clock; null where that is not known. @param
   * delivery an imported product
   */
  mayMakeUntil(delivery: UnconfirmedDelivery): Promise<number | null>;
}

export interface BulkCreatesOptions {
  ledger: ImportLedger;
  profile: Profile;
  /** Whether the lists of the API may be read. */
  canRead: () => boolean;
  clock: Pick<Clock, 'ticks' | 'now'>;
}

/** Whether imports save requests is decided again after this time. */
const LOOK_AGAIN_MS = 10_000;
/** So many due products are counted at most. */
const DUE_MAX = 10_000;
/** The size of a page of a list where the profile leaves it to the API. */
const USUAL_PAGE = 100;
/** After the loss of several first imports the next one is tried after this time. */
const AFTER_LOSSES_MS = 3_600_000;
/** So many first imports may be lost or refused. */
const TRIES_MAX = 3;

export function createBulkCreates({ ledger, profile, canRead, clock }: BulkCreatesOptions): BulkCreates {
  const { creates, createsMin, membersMax, settlesWithinMs } = profile.imports;
  const size = createImportSize(membersMax);
  /** Null before it was read from the ledger. */
  let known: ImportProof | null = null;
  /** False while the ledger does not have what was concluded last. */
  let isStored = true;
  let isOn = false;
  let lookAt = Number.NEGATIVE_INFINITY;
  /** The product that was imported as the proof, and the id that the answer has named. */
  let proving: (DeliveryName & { answeredId: JsonValue }) | null = null;
  let tries = 0;

  async function current(): Promise<ImportProof> {
    known ??= await ledger.importProof();
    return known;
  }

  async function store(): Promise<void> {
    if (isStored || known === null) return;
    await ledger.storeImportProof(known);
    isStored = true;
  }

  function conclude(proof: ImportProof): void {
    known = proof;
    isStored = false;
    proving = null;
    lookAt = Number.NEGATIVE_INFINITY;
    if (proof.state !== 'proven') isOn = false;
  }

  const fail = (message: string): void => conclude({ state: 'failed', message, at: clock.now() });

  /** Another product is imported as the proof. After some refusals imports are not used. */
  function tryAnother(outcome: Outcome): void {
    proving = null;
    tries += 1;
    if (tries < TRIES_MAX) return;
    tries = 0;
    const isLost = outcome.kind === 'ambiguous' || outcome.kind === 'in_flight';
    if (!isLost) {
      const message = 'detail' in outcome ? outcome.detail.message : '';
      fail(`${TRIES_MAX} first imports of a new product were lost or refused. The last answer: ${message}`);
      return;
    }
    const at = clock.now();
    const message = `The answers to ${TRIES_MAX} first imports of a new product were lost.`;
    conclude({ state: 'postponed', message, at, until: at + AFTER_LOSSES_MS });
  }

  function isProving({ id, revision }: DeliveryName): boolean {
    return proving?.id === id && proving.revision === revision;
  }

  async function savesRequests(proof: ImportProof): Promise<boolean> {
    const { due, listed } = await ledger.importGain({ dueMax: DUE_MAX });
    const pages = Math.ceil((listed + due) / (profile.list.pageSize ?? USUAL_PAGE));
    const isListedAfterwards = proof.state !== 'proven' || !proof.answersIds;
    const lists = (proof.state === 'proven' ? 0 : pages) + (isListedAfterwards ? pages : 0);
    return Math.ceil(due / size.now()) + lists < due;
  }

  return {
    async prepare(waiting) {
      await store();
      if (waiting === 0) isOn = false;
      if (creates === 'off' || isOn || waiting < createsMin || clock.ticks() < lookAt) return;
      lookAt = clock.ticks() + LOOK_AGAIN_MS;
      const proof = await current();
      isOn = !isPutOff(proof, clock.now()) && canRead() && (await savesRequests(proof));
    },

    sizeMax: () => size.now(),

    createForm() {
      if (!isOn || known === null) return 'alone';
      if (known.state === 'proven') return 'import';
      return proving === null ? 'proof' : 'alone';
    },

    beginProof({ id, revision }) {
      proving = { id, revision, answeredId: null };
    },

    giveBack({ id }) {
      if (proving?.id === id) proving = null;
    },

    isProof: ({ operation, members: [first] }) =>
      operation === 'product.import' && first !== undefined && isProving(first),

    answered(request, outcome) {
      const [first] = request.members;
      if (request.operation === 'product.import') size.answered(request, outcome);
      if (proving === null || first === undefined || !isProving(first)) return;
      switch (request.operation === 'product.import' ? outcome.kind : 'throttled') {
        case 'accepted':
          proving.answeredId = idIn(outcome);
          break;
        // The import was not processed, or its product was sent alone in the end.
        case 'throttled':
        case 'unavailable':
        case 'denied':
          proving = null;
          break;
        // The import is looked up, and shows nothing about later ones.
        case 'refused':
        case 'gated':
        case 'exists':
        case 'in_flight':
        case 'ambiguous':
          tryAnother(outcome);
          break;
      }
    },

    async looked(delivery, ids) {
      const [listed] = ids;
      if (ids.length > 1) fail(seconds(delivery, ids.length));
      // After a restart the answer to the proof is not known any more, so that another product is imported as the proof.
      else if (listed !== undefined && proving !== null && isProving(delivery)) {
        const { answeredId } = proving;
        if (answeredId === null || remoteIdText(answeredId) === remoteIdText(listed)) {
          conclude({ state: 'proven', answersIds: answeredId !== null });
        } else fail(anotherId(delivery, answeredId, listed));
      }
      await store();
    },

    async absent(delivery) {
      if (delivery.reason.code !== 'import_proof') return;
      fail(neverShown(delivery));
      await store();
    },

    async mayMakeUntil({ reason, sentAt }) {
      if (reason.code === 'import_refused' || reason.code === 'import_exists') return 0;
      // Without the time of the answer, the request has ended when its time limit has passed.
      if (settlesWithinMs !== null) return (reason.since ?? sentAt + profile.timeouts.totalMs) + settlesWithinMs;
      const proof = await current();
      const isKnownByAnswer = proof.state === 'proven' && proof.answersIds;
      return isKnownByAnswer && !hasTrait(reason, 'may_come_late') ? 0 : null;
    },
  };
}

/** True if imports may not be tried now. A clock that was set back does not put them off for longer than they were. */
function isPutOff(proof: ImportProof, now: number): boolean {
  if (proof.state === 'failed') return true;
  return proof.state === 'postponed' && now >= proof.at && now < proof.until;
}

/** The id in the answer to an import of one product. */
function idIn(outcome: Outcome): JsonValue {
  const member = outcome.kind === 'accepted' ? outcome.members?.[0] : undefined;
  return member?.kind === 'accepted' ? member.remoteId : null;
}

function anotherId({ naturalKey, key }: UnconfirmedDelivery, answered: JsonValue, listed: JsonValue): string {
  return `The answer to the first import gave the product ${naturalKey ?? key} the id ${remoteIdText(answered)}, and the list shows it with the id ${remoteIdText(listed)}.`;
}

function seconds({ naturalKey, key }: UnconfirmedDelivery, count: number): string {
  return `The platform's list shows ${count} products with the key ${naturalKey ?? key} after an import of one.`;
}

function neverShown({ naturalKey, key }: UnconfirmedDelivery): string {
  return `The first import had the product ${naturalKey ?? key}. Neither its answer nor the list has shown the product.`;
}
