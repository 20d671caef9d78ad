// What the ledger is told of what became of a delivery.

import type { JsonValue } from '../../lib/json.ts';
import type { Reason } from '../reason.ts';
import type { ClaimName, DeliveryName } from './claim.ts';
import type { ContactEntry } from './first-contact.ts';
import type { NamedDelivery } from './unconfirmed.ts';

/** What becomes of a delivery after an attempt, a read-back or a person's word. */
export type Decision =
  /**
   * The write took effect. With `contentKnown: false` only the item's presence is known (a create met one that was there
   * before): it is bound, and its content is written as an update. With `shown` it is nobody's that we know of: it is adopted
   * with what the list shows under its key, and nothing is written unasked. `shownAs` says in which other form the platform
   * shows the natural key.
   */
  | {
      kind: 'delivered';
      remoteId: JsonValue;
      contentKnown: boolean;
      by: 'answer' | 'read_back' | 'person';
      shown?: readonly ContactEntry[];
      shownAs?: string;
    }
  /**
   * The same revision goes out again at `dueAt`; `spend` says whether it uses an attempt. With `uncertain` an earlier send
   * of it turns out to have arrived, so that it has to be followed to its end.
   */
  | { kind: 'retry'; dueAt: number; spend: boolean; uncertain?: true; reason: Reason }
  /** `nextLookAt` is when a read-back may begin; null when nothing but a person can tell. */
  | { kind: 'unconfirmed'; nextLookAt: number | null; spend: boolean; reason: Reason }
  /**
   * `absent` says that the write is proven not to have taken effect; otherwise sending it again is only safe. `refund`
   * gives back the attempt that the doubt has cost: the API was away for all.
   */
  | { kind: 'resend'; dueAt: number; absent: boolean; refund?: boolean; reason: Reason }
  /** `recheckAt` is when it is asked again by itself; left out for what no time can change. */
  | { kind: 'blocked'; recheckAt?: number; reason: Reason }
  /** `absent` says that the write is proven not to have taken effect, whatever was open before. */
  | { kind: 'rejected'; reason: Reason; absent?: true }
  /** With `open` an attempt may have taken effect, and a new revision may take its place all the same. */
  | { kind: 'parked'; reason: Reason; open?: true }
  /** A person leaves the platform as it is: nothing more is sent of it until something else is desired. */
  | { kind: 'ignored'; reason: Reason };

/** What becomes of one delivery. */
export interface Settlement extends DeliveryName {
  decision: Decision;
  /**
   * Given for a manual resolution, which also ends stuck deliveries: the delivery as it was looked up. A delivery that has
   * changed since stays as it is. Other decisions end deliveries that are in flight or unconfirmed.
   */
  seen?: Pick<NamedDelivery, 'state' | 'sentAt' | 'reason'>;
  /** What the clock showed when the decision was made. It may be set before the decision is stored, and waits go by this. */
  decidedAt?: number;
}

/** What becomes of all members of a request, in one transaction: none of them changes state without the others. */
export interface RequestSettlement {
  /** The claim that was answered; null for what was read back, or resolved by a person. A stale claim changes nothing. */
  claim: ClaimName | null;
  settlements: readonly Settlement[];
  /**
   * Whether a bulk import stays what it is, to be sent again with the same bytes and key once its members are due. Only while
   * nobody knows whether it arrived; otherwise its members are put into other imports at their next claim.
   */
  keep: boolean;
  /** How many may share an import with each of these members from now on; null for as many as before. */
  groupMax: number | null;
}

export interface Settled extends DeliveryName {
  /** Deliveries that became due: the follower, and those that waited for this item. */
  released: number;
  /** False when the delivery had changed since and the decision was not stored. */
  applied: boolean;
  /** The decision that was stored in place of the given one, because another item has the remote id already. */
  instead?: Decision;
}
