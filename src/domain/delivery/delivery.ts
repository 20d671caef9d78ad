// The life of a delivery, one intended write at the API:
//
//                 ┌────────┐ ┌───────────────┐ 429, 503, never sent, denied, returned
//                 ▼        │ ▼               │
//   staged ──► waiting ──► due ──► sending ──┼──► delivered
//                                            ├──► blocked | rejected | parked
//                                            └──► in_doubt ──► due | delivered | blocked | rejected | parked
//
// The picture shows what happens to a delivery that is sent. This list has every change of a state:
//
//   waiting ──► due | in_doubt | superseded
//   due ──► waiting | sending | in_doubt | rejected | superseded
//   sending ──► due | in_doubt | delivered | blocked | rejected | parked
//   in_doubt ──► due | delivered | blocked | rejected | parked
//   blocked ──► delivered | rejected | superseded
//   rejected ──► in_doubt | delivered | superseded
//   parked ──► delivered | rejected | superseded
//
// `waiting`: a ref has no remote id yet. `in_doubt`: unconfirmed, the request was sent, and no answer or list has confirmed
// its effect.
// `sending` is committed before the first byte is sent, so after a crash the request may have reached the API, and the
// delivery is unconfirmed. An item has at most one open delivery (I3). While this delivery is sending or unconfirmed, a
// change of the item is only stored. The next delivery is staged when this one is settled.
//
// A delivery that cannot be attempted is rejected before it is sent. A newer revision supersedes a delivery only if
// nothing of it is in flight and nothing of it has arrived.
//
// A person may make a blocked, rejected or parked change by hand at the platform and settle the delivery as delivered. A
// delivery that a person ends otherwise is superseded until the item's desired content changes.
//
// In a ledger restored from a backup, waiting and due deliveries may have been sent since the backup, so they are
// unconfirmed. A create that was refused because its item exists is also unconfirmed if no list has shown the item: the
// next run looks it up again.
import { sha256Url } from '../../lib/hash.ts';
import { fault } from '../faults.ts';
import type { SubjectKind } from '../item.ts';
import { STATES } from '../words/states.ts';
import type { Operation } from './operation.ts';

export type DeliveryState = keyof typeof STATES;
export const DELIVERY_STATES = Object.keys(STATES) as DeliveryState[];

export const DELIVERY_EVENTS = [
  /** Every ref has a remote id now. */
  'refs_arrived',
  /** A ref has lost its remote id, or never had one. */
  'refs_missing',
  /** A worker takes the delivery; committed before any byte is sent. */
  'claim',
  /** The write is known to have taken effect, or a person has made the change by hand. */
  'accept',
  /** The write had no effect, and the same revision is sent again later. */
  'retry',
  /** It is unknown whether the write took effect. */
  'unconfirmed',
  /** The item has to be looked up first: the ledger was restored from a backup, or the create was refused. */
  'look_up',
  /** The same revision of an unconfirmed delivery may be sent again. */
  'resend',
  /** A business rule of the platform refuses the write, or the API has no such write. */
  'block',
  /** The data is wrong, the delivery cannot be attempted, or a person reports that the write did not arrive. */
  'reject',
  /** The delivery has reached its retry limit. */
  'exhaust',
  /** A newer revision replaces the delivery, or a person ends it. */
  'supersede',
] as const;
export type DeliveryEvent = (typeof DELIVERY_EVENTS)[number];

/** The states that an open delivery can have. */
export const OPEN_STATES = ['waiting', 'due', 'sending', 'in_doubt', 'blocked', 'rejected', 'parked'] as const;

/** Open states in which the API may have received the write. Such a delivery is settled before a newer one is staged. */
export const IN_FLIGHT_STATES: readonly DeliveryState[] = ['sending', 'in_doubt'];

type Row = Record<DeliveryEvent, DeliveryState | null>;

/** The row of a state that no event changes. The rows of the other states begin with a copy of it. */
const END: Row = {
  refs_arrived: null,
  refs_missing: null,
  claim: null,
  accept: null,
  retry: null,
  unconfirmed: null,
  look_up: null,
  resend: null,
  block: null,
  reject: null,
  exhaust: null,
  supersede: null,
};

/** The total transition table: every state by every event; null means that the event cannot happen there. */
export const TRANSITIONS: Record<DeliveryState, Row> = {
  waiting: { ...END, refs_arrived: 'due', refs_missing: 'waiting', look_up: 'in_doubt', supersede: 'superseded' },
  due: {
    ...END,
    refs_arrived: 'due',
    refs_missing: 'waiting',
    claim: 'sending',
    look_up: 'in_doubt',
    reject: 'rejected',
    supersede: 'superseded',
  },
  sending: {
    ...END,
    accept: 'delivered',
    retry: 'due',
    unconfirmed: 'in_doubt',
    look_up: 'in_doubt',
    block: 'blocked',
    reject: 'rejected',
    exhaust: 'parked',
  },
  in_doubt: {
    ...END,
    accept: 'delivered',
    unconfirmed: 'in_doubt',
    look_up: 'in_doubt',
    resend: 'due',
    block: 'blocked',
    reject: 'rejected',
    exhaust: 'parked',
  },
  delivered: END,
  blocked: { ...END, accept: 'delivered', reject: 'rejected', supersede: 'superseded' },
  rejected: { ...END, accept: 'delivered', look_up: 'in_doubt', supersede: 'superseded' },
  parked: { ...END, accept: 'delivered', reject: 'rejected', supersede: 'superseded' },
  superseded: END,
};

/**
 * The state after an event.
 *
 * @throws Fault `internal` when the table has no such transition: a defect, never a condition of the data.
 */
export function transition(state: DeliveryState, event: DeliveryEvent): DeliveryState {
  const next = TRANSITIONS[state][event];
  if (next === null) throw fault('internal', `A delivery that is ${state} cannot take the event "${event}".`);
  return next;
}

/** The values on which an idempotency key depends. None of them changes between the attempts of one revision. */
interface KeyParts {
  epoch: string;
  target: string;
  operation: Operation;
  /**
   * The ledger's id of the item or request. An id is never used again, because an item that was deleted and comes back
   * counts its revisions from one.
   */
  subject: number;
  naturalKey: string;
  payloadHash: string;
  revision: number;
}

/** The characters of an idempotency key. */
export const IDEMPOTENCY_KEY = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * The idempotency key of a revision: 43 characters of `[A-Za-z0-9_-]`.
 *
 * I2: no part depends on an attempt, a clock, a host or an API key. Because of the revision, a content that is sent a
 * second time (A → B → A) does not get the answer to the first A again. Because of the epoch, a rebuilt ledger does not
 * get the answers to the old one.
 */
export function idempotencyKey(parts: KeyParts): string {
  const { epoch, target, operation, subject, naturalKey, payloadHash, revision } = parts;
  return sha256Url(
    [epoch, target, operation, String(subject), naturalKey, payloadHash, String(revision)]
      .map((part) => `${part.length}:${part}`)
      .join(''),
  );
}

// Manual resolutions: the ways in which a person may settle a delivery that needs one.

/** The states of deliveries that a person can settle. Due deliveries and deliveries in flight need no person. */
export const SETTLE_STATES = ['in_doubt', 'blocked', 'rejected', 'parked', 'waiting'] as const;
export type SettleState = (typeof SETTLE_STATES)[number];

/**
 * `delivered`: the platform has the write. `rejected`: the platform does not have the write. `ignored`: the platform is
 * not changed, and nothing is sent before the desired payload changes.
 */
export const RESOLUTIONS = ['delivered', 'rejected', 'ignored'] as const;
export type Resolution = (typeof RESOLUTIONS)[number];

const EVENTS: Record<Resolution, DeliveryEvent> = { delivered: 'accept', rejected: 'reject', ignored: 'supersede' };

export function isSettleState(state: DeliveryState): state is SettleState {
  return SETTLE_STATES.some((one) => one === state);
}

/**
 * Whether a person can settle a delivery in this way. A delivery that may have arrived cannot be ignored, since a later
 * write could double it (I6). A passport cannot be ignored either; a person uses `unpublish` instead.
 */
export function mayBeSettled(
  { kind, state, uncertain }: { kind: SubjectKind; state: SettleState; uncertain: boolean },
  resolution: Resolution,
): boolean {
  if (TRANSITIONS[state][EVENTS[resolution]] === null) return false;
  return resolution !== 'ignored' || (!uncertain && kind !== 'passport');
}
