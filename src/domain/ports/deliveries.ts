// Deliveries that are due, and those that are suspended while the API refuses their scope.
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import type { DeliveryState, SettleState } from '../delivery/delivery.ts';
import type { Operation } from '../delivery/operation.ts';
import type { UnprovenCause } from '../delivery/outcome.ts';
import type { Reason, ReasonCode } from '../delivery/stored-reason.ts';
import type { ItemRef, SubjectKind } from '../item.ts';
import type { NaturalKey } from '../natural-key.ts';
import type { ContactEntry } from './ledger/contact-ledger.ts';
import type { EncodedImport, EncodedWrite, Write } from './target.ts';

/** A due delivery, with the values that a `deliver` job contains. */
export interface DueDelivery {
  id: number;
  kind: SubjectKind;
  key: string;
  revision: number;
  operation: Operation;
  source: string;
}

/** Deliveries that are suspended while the API refuses their scope. */
export interface SuspendedWork {
  /** Deliveries of these operations. */
  operations: readonly Operation[];
  /**
   * Unconfirmed deliveries that only a read-back can settle: those of these operations, and those of these kinds whose
   * reason has one of these codes.
   */
  unconfirmed: {
    operations: readonly Operation[];
    kinds: readonly SubjectKind[];
    reasons: readonly ReasonCode[];
    /**
     * True if deliveries that were answered are suspended too: their list fails, and may be readable later. Otherwise they are
     * decided about without the list.
     */
    answered?: true;
  };
}

/** Selects the deliveries of all items of these sources, or of the passports of these products. */
export type WorkOf = { sources: readonly string[] } | { passportsOf: readonly string[] };

/** Earlier refusals of the scope that a delivery needs. */
export interface Denials {
  /** When the API last refused the scope to the delivery; null if its last answer was another one. */
  at: number | null;
  /** True if the API refused the scope only for this delivery's item, and the delivery is now sent again. */
  isAskedAgain: boolean;
}

/** Deliveries that the API does not take, although it answers. */
export interface LeftAway {
  count: number;
  /** The delivery that has waited for the longest time. */
  first: DueDelivery & { reason: Reason; dueAt: number };
}

// Deliveries that are claimed to be sent.

/** Names a delivery and its revision. */
export interface DeliveryName {
  id: number;
  revision: number;
}

/** Deliveries that may be sent as one request. */
export interface ToClaim {
  deliveries: readonly DeliveryName[];
  /**
   * True for a bulk import: as many of the deliveries as fit become one request. False for other writes: each delivery
   * becomes a request. Changed products are always sent in an import.
   */
  asImport: boolean;
}

/** Names one claim of a request. The request keeps its id, bytes and key while the same bytes may be sent again. */
export interface ClaimName {
  request: number;
  /** How many times the request was claimed, including this claim. */
  sends: number;
}

/** A claimed request: its deliveries are `sending`, and its path, bytes and key are stored (I2). */
export interface ClaimedRequest extends ClaimName, EncodedWrite {
  /** The operation of the request; `product.import` also if the members are creates. */
  operation: Operation;
  idempotencyKey: string;
  /**
   * The members in the order of the body. A bulk import has several members with one operation, `product.import` or
   * `product.create`; any other request has one member.
   */
  members: ClaimedDelivery[];
}

/** A claimed request, as the ledger returns it. */
export interface NewClaim extends ClaimedRequest {
  /** The index of the list that the claim has made the request for. */
  list: number;
}

export interface ClaimedDelivery extends DueDelivery {
  /** The natural key that is sent; null if there is none. */
  naturalKey: string | null;
  /** The platform's id of the item; null before there is one. */
  remoteId: JsonValue;
  attempts: number;
  /** The most products that its import may have, after an earlier import was refused as a whole; null for no limit. */
  groupMax: number | null;
  /** True if it is unknown whether an earlier attempt took effect. */
  uncertain: boolean;
  /** Since when the API has answered that it is working on this request; null if its last answer was another one. */
  busySince: number | null;
  /**
   * Since when the API could not accept this delivery; null if its last answer was another one. An answer that asks to
   * wait does not change this time.
   */
  awaySince: number | null;
}

/** Encodes a write for the API. Pure, because the claim calls it inside its transaction. */
export type Encode = (write: Write) => EncodedWrite;

/** Encodes the whole payloads of an import's members, as many of them as fit. Pure. */
export type EncodeImport = (members: readonly JsonObject[]) => EncodedImport;

/** What a delivery asks for, beside what the platform has acknowledged. */
export interface IntendedWrite {
  desired: JsonObject;
  /** Null if the platform has acknowledged nothing yet. */
  before: JsonObject | null;
  /** The items that it names, with their ids at the platform. */
  refs: readonly (ItemRef & { remoteId: JsonValue })[];
}

/** An item whose delivery is not sent before a person or another item changes something. */
export interface LeftItem {
  id: number;
  kind: SubjectKind;
  key: string;
  naturalKey: string | null;
  source: string;
  state: DeliveryState;
  reason: Reason | null;
  /** When an unconfirmed write is looked up, in milliseconds since the epoch; 0 if a person decides. */
  dueAt: number;
}

/** A product whose passport is public. */
export interface PublicProduct {
  id: number;
  key: string;
  naturalKey: string | null;
  source: string;
  /** The id of the passport at the platform. */
  passportId: JsonValue;
}

// Unconfirmed deliveries, which may have arrived, and the manual resolution of deliveries that are stuck.

/** An unconfirmed delivery that may be looked up now. */
export interface UnconfirmedDelivery extends DueDelivery {
  /** The item's present natural key; for a passport that of its product. */
  naturalKey: string | null;
  /** The natural key of the item that was sent. */
  sentKey: NaturalKey | null;
  /** For a passport: the remote id of its product. */
  productId: JsonValue;
  reason: Reason;
  /** When the delivery was last sent, or last looked up without a result. */
  since: number;
  /** When it was last claimed to be sent. */
  sentAt: number;
  attempts: number;
  /**
   * The import of changed products in which the delivery may have arrived, if that import is sent again unchanged; null
   * otherwise.
   */
  importId: number | null;
  /** True for a new product that was sent in an import. */
  isImportedCreate: boolean;
  /** Only for a `product.import` and a `material.update`; null for other operations. */
  sent: SentContent | null;
}

/** The content that an import or a change has sent for an item, to be compared with the content at the API. */
export interface SentContent {
  /** The whole payload, null for fields to clear. */
  payload: JsonObject;
  /** The fields that should change; null if it is unknown what the API had before. */
  changed: string[] | null;
  /** The values that the API had before, as far as they are known. */
  former: JsonObject;
  remoteId: JsonValue;
}

/** A delivery that a person may settle. */
export interface NamedDelivery extends DueDelivery {
  state: SettleState;
  /** True while it is unknown whether an attempt took effect. */
  uncertain: boolean;
  /** When the delivery was last sent; null if never. */
  sentAt: number | null;
  /** The natural key that was sent; for a passport the natural key of its product. */
  naturalKey: string | null;
  reason: Reason;
}

/** The deliveries that a person selects. */
export interface NamedSelection {
  state: SettleState;
  kind: SubjectKind | null;
  source: string | null;
}

/** The missing items that a person selects; a value of null does not narrow the selection. */
export interface MissingSelection {
  name: string | null;
  kind: SubjectKind | null;
  source: string | null;
}

// The decisions about deliveries that were sent or resolved. The ledger stores them.

/** What was decided about a delivery after an attempt, a read-back or a manual resolution. */
export type Decision =
  /**
   * The write took effect. With `contentKnown: false` a create has met an existing item, and only its presence is
   * known: the item gets its remote id, and its content is written as an update. With `shown` the existing item does
   * not belong to this ledger: it is adopted with the content that the list shows, and nothing is written before a
   * person accepts it. `shownAs` says what the platform shows in another form than it was sent, or under another id than
   * it was answered. With `unproven` the answer was taken although it proves too little.
   */
  | {
      kind: 'delivered';
      remoteId: JsonValue;
      contentKnown: boolean;
      by: 'answer' | 'read_back' | 'person';
      shown?: readonly ContactEntry[];
      shownAs?: string;
      unproven?: UnprovenCause;
    }
  /**
   * The same revision is sent again at `dueAt`. `spend` is true if it uses an attempt. With `uncertain` the answer shows
   * that an earlier request of this revision may have arrived.
   */
  | { kind: 'retry'; dueAt: number; spend: boolean; uncertain?: true; reason: Reason }
  /** It is unknown whether the write took effect. A read-back may begin at `nextLookAt`; null if only a person can find out. */
  | { kind: 'unconfirmed'; nextLookAt: number | null; spend: boolean; reason: Reason }
  /**
   * An unconfirmed write is sent again at `dueAt`. With `absent` it is proven to have had no effect; otherwise sending it
   * again does no harm. `refund` gives back the attempt, because the API was away for all requests.
   */
  | { kind: 'resend'; dueAt: number; absent: boolean; refund?: boolean; reason: Reason }
  /** The delivery is blocked, and sent again at `recheckAt`. Without `recheckAt` only a person can help. */
  | { kind: 'blocked'; recheckAt?: number; reason: Reason }
  /** The API has refused the write. With `absent` no earlier attempt took effect either. */
  | { kind: 'rejected'; reason: Reason; absent?: true }
  /**
   * The attempts are used up. With `open` one of the attempts may have taken effect, and a new revision may still
   * replace this one.
   */
  | { kind: 'parked'; reason: Reason; open?: true }
  /**
   * A person has ended the delivery without a change at the platform. Nothing is sent before the desired payload
   * changes.
   */
  | { kind: 'ignored'; reason: Reason };

/** The decision about one delivery. */
export interface Settlement extends DeliveryName {
  decision: Decision;
  /**
   * Only for a manual resolution: the values of the delivery that the person saw. A delivery that has changed since is
   * not settled. A manual resolution also ends stuck deliveries; other decisions only end deliveries that are in flight
   * or unconfirmed.
   */
  seen?: Pick<NamedDelivery, 'state' | 'sentAt' | 'reason'>;
  /**
   * The wall clock at the decision. Waits are counted from this time, because somebody may change the clock before the
   * decision is stored.
   */
  decidedAt?: number;
}

/** The decisions about all members of a request. They are stored in one transaction, all or none. */
export interface RequestSettlement {
  /** The claim that was answered; null after a read-back or a manual resolution. An older claim changes nothing. */
  claim: ClaimName | null;
  settlements: readonly Settlement[];
  /**
   * True to send a bulk import again with the same bytes and key, because it is unknown whether it arrived. Otherwise its
   * members are put into other imports when they are claimed next.
   */
  keep: boolean;
  /** The new limit for the size of the imports with these members; null to keep the present one. */
  groupMax: number | null;
}

export interface Settled extends DeliveryName {
  /** How many deliveries became due: the next one of this item, and those that waited for its remote id. */
  released: number;
  /** False if the delivery had changed, so that the decision was not stored. */
  applied: boolean;
  /** The decision that was stored instead, because another item already has the remote id. */
  instead?: Decision;
  /** True if the last revision was the same write and failed for the same reason, so that nothing is new. */
  failedAgain?: true;
}
