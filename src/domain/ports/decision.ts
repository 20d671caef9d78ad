// The decisions about deliveries that were sent or resolved. The ledger stores them.

import type { JsonValue } from '../../lib/json.ts';
import type { UnprovenCause } from '../delivery/evidence.ts';
import type { Reason } from '../delivery/reason.ts';
import type { ClaimName, DeliveryName } from './claim.ts';
import type { ContactEntry } from './first-contact.ts';
import type { NamedDelivery } from './unconfirmed.ts';

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
}
