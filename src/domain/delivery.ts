// The life of a delivery, one intended write at the API:
//
//   staged ──► waiting ──► due ──► sending ──► delivered
//                 ▲         ▲ │        │
//                 └─────────┘ │        ├──► in_doubt ──► due | delivered | blocked | rejected | parked
//                             │        ├──► blocked | rejected | parked
//                             │        └──► due            (429, 503, never sent, denied, handed back)
//                             ├─ rejected, where it cannot even be attempted
//                             └─ superseded, from every state in which nothing is in flight and nothing has arrived
//
// A person may make a blocked, rejected or parked change by hand at the platform and settle the delivery as delivered. A
// delivery that a person ends otherwise is superseded, until the item's desired content changes.
//
// In a ledger restored from a backup, deliveries that wait or are due may have been sent since the backup: they become
// `in_doubt`. So does a create that was refused because its item exists, if no list has shown the item: the next run looks again.
// `waiting`: a ref has no remote id yet. `sending` is committed before the first byte goes out, so after a crash it means
// that the request may have reached the API: the lease is voided and the delivery is in doubt. An item has at most one
// open delivery (I3): while one is sending or in doubt a new desire is only noted, and settling it stages the follower.

import { sha256Url } from '../lib/hash.ts';
import { fault } from './faults.ts';
import type { ItemKind } from './item.ts';

export const DELIVERY_STATES = [
  'waiting',
  'due',
  'sending',
  'in_doubt',
  'delivered',
  'blocked',
  'rejected',
  'parked',
  'superseded',
] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

export const DELIVERY_EVENTS = [
  /** Every ref has a remote id now. */
  'refs_arrived',
  /** A ref has lost its remote id, or never had one. */
  'refs_missing',
  /** A worker takes the delivery; committed before any byte goes out. */
  'claim',
  /** The write is known to have taken effect, or a person says that it was done by hand. */
  'accept',
  /** No effect is possible and the same revision goes out again later. */
  'retry',
  /** Nobody knows whether the write took effect. */
  'unconfirmed',
  /** The ledger was restored, and may have forgotten that it sent this; or a refused create is looked for again. */
  'suspect',
  /** A doubt is settled: sending the same revision again is safe. */
  'resend',
  /** A business rule at the API, or a write that the API does not have, holds it. */
  'block',
  /** The data is wrong, nothing can be sent of it, or a person says that it did not arrive. */
  'reject',
  /** The delivery's own retry limit is spent. */
  'exhaust',
  /** A newer revision takes its place, or a person ends it. */
  'supersede',
] as const;
export type DeliveryEvent = (typeof DELIVERY_EVENTS)[number];

/** The states in which an item's one open delivery can be. */
export const OPEN_STATES = ['waiting', 'due', 'sending', 'in_doubt', 'blocked', 'rejected', 'parked'] as const;

/** Open states in which bytes may be at the API: never superseded, only followed. */
export const IN_FLIGHT_STATES: readonly DeliveryState[] = ['sending', 'in_doubt'];

type Row = Record<DeliveryEvent, DeliveryState | null>;

/** A state that nothing leaves; the others name what they add to it. */
const END: Row = {
  refs_arrived: null,
  refs_missing: null,
  claim: null,
  accept: null,
  retry: null,
  unconfirmed: null,
  suspect: null,
  resend: null,
  block: null,
  reject: null,
  exhaust: null,
  supersede: null,
};

/** The total transition table: every state by every event; null means that the event cannot happen there. */
export const TRANSITIONS: Record<DeliveryState, Row> = {
  waiting: { ...END, refs_arrived: 'due', refs_missing: 'waiting', suspect: 'in_doubt', supersede: 'superseded' },
  due: {
    ...END,
    refs_arrived: 'due',
    refs_missing: 'waiting',
    claim: 'sending',
    suspect: 'in_doubt',
    reject: 'rejected',
    supersede: 'superseded',
  },
  sending: {
    ...END,
    accept: 'delivered',
    retry: 'due',
    unconfirmed: 'in_doubt',
    suspect: 'in_doubt',
    block: 'blocked',
    reject: 'rejected',
    exhaust: 'parked',
  },
  in_doubt: {
    ...END,
    accept: 'delivered',
    unconfirmed: 'in_doubt',
    suspect: 'in_doubt',
    resend: 'due',
    block: 'blocked',
    reject: 'rejected',
    exhaust: 'parked',
  },
  delivered: END,
  blocked: { ...END, accept: 'delivered', reject: 'rejected', supersede: 'superseded' },
  rejected: { ...END, accept: 'delivered', suspect: 'in_doubt', supersede: 'superseded' },
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

/**
 * The writes that the API knows or that an item can need. `product.update` and `bom_item.update` have no endpoint: changed
 * products go out together as one `product.import`, where the profile says that an import updates.
 */
export const OPERATIONS = [
  'product.create',
  'product.update',
  'product.import',
  'material.create',
  'material.update',
  'bom_item.create',
  'bom_item.update',
  'passport.init',
  'passport.publish',
  'passport.unpublish',
] as const;
export type Operation = (typeof OPERATIONS)[number];

/** The kind of item that an operation is about: a passport is one of a product. */
export function kindOf(operation: Operation): ItemKind {
  const subject = operation.slice(0, operation.indexOf('.'));
  return subject === 'passport' ? 'product' : (subject as ItemKind);
}

/** All that an idempotency key depends on. Nothing of it changes between attempts of one revision. */
export interface KeyParts {
  epoch: string;
  target: string;
  operation: Operation;
  /**
   * The ledger's own number of what is written, which no other thing ever has: an item that was dropped and comes back
   * counts its revisions anew.
   */
  subject: number;
  naturalKey: string;
  payloadHash: string;
  revision: number;
}

/** What an idempotency key is made of. */
export const IDEMPOTENCY_KEY = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * The idempotency key of a revision: 43 characters of `[A-Za-z0-9_-]`.
 *
 * I2: derived from nothing that an attempt, a clock, a host or an API key could change. The revision keeps A → B → A
 * from replaying the answer to the first A; the epoch keeps a rebuilt ledger from replaying those of the old one.
 */
export function idempotencyKey(parts: KeyParts): string {
  const { epoch, target, operation, subject, naturalKey, payloadHash, revision } = parts;
  return sha256Url(
    [epoch, target, operation, String(subject), naturalKey, payloadHash, String(revision)]
      .map((part) => `${part.length}:${part}`)
      .join(''),
  );
}
