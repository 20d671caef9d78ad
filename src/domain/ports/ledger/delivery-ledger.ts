import type { Operation } from '../../delivery/operation.ts';
import type { Reason } from '../../delivery/reason.ts';
import type { NewClaim, ToClaim } from '../claim.ts';
import type { RequestSettlement, Settled } from '../decision.ts';
import type { Denials, DueDelivery, LeftAway, SuspendedWork, WorkOf } from '../due.ts';

export interface DeadLetterRequest {
  deliveryId: number;
  revision: number;
  reason: Reason;
  isOneOfMany: boolean;
}

/** Due deliveries, claims and settlements. Each method is one whole transaction. */
export interface DeliveryLedger {
  /**
   * Deliveries that may be sent now and have an id above `afterId`, in the order of their ids. Suspended deliveries are
   * left out.
   */
  dueDeliveries(request: { afterId: number; limit: number; suspended?: SuspendedWork }): Promise<DueDelivery[]>;
  /**
   * One due delivery from any place: `place` in [0, 1) is the share of ids to skip. Null if no delivery is found there.
   */
  someDueDelivery(request: { place: number; suspended?: SuspendedWork }): Promise<DueDelivery | null>;
  /** Due deliveries that a person has asked for and may be waiting for. */
  dueByHand(request: { limit: number; suspended?: SuspendedWork }): Promise<DueDelivery[]>;
  /**
   * When the next delivery becomes due, or the next unconfirmed delivery may be looked up; suspended deliveries do not
   * count. 0 if a delivery is due now, null if nothing is scheduled. With `after`, deliveries that were due by then are
   * left out.
   */
  nextDueAt(request?: { after?: number; suspended?: SuspendedWork; of?: WorkOf | undefined }): Promise<number | null>;
  /**
   * The remaining deliveries, if the API has not been able to accept any of them since before a time. Null if another
   * delivery is scheduled and not suspended.
   */
  leftAway(request: { before: number; suspended?: SuspendedWork; of?: WorkOf | undefined }): Promise<LeftAway | null>;
  /** How many of these deliveries are being sent. */
  countSending(of: WorkOf): Promise<number>;
  /** Whether one of these creates is suspended until a list of the platform was read. */
  hasSuspended(of: WorkOf): Promise<boolean>;
  /** Those of these deliveries that could be claimed now: they are due, and no other process or claim has taken them. */
  dueAmong(deliveryIds: readonly number[]): Promise<ReadonlySet<number>>;
  /** How the API has refused the scopes of these deliveries before, by their ids. */
  denialsOf(deliveryIds: readonly number[]): Promise<ReadonlyMap<number, Denials>>;
  /** How many deliveries are suspended. */
  countSuspended(suspended: SuspendedWork): Promise<{ due: number; unconfirmed: number }>;
  /**
   * Marks deliveries as sending. A delivery that is not due under the named revision, or may not be sent now, is left out.
   * A list without deliveries gives no request. The members of an import that is sent again may be in other lists, or in
   * none. Call it before any network I/O. Claims and settles share their fsyncs.
   */
  claim(lists: readonly ToClaim[]): Promise<NewClaim[]>;
  /**
   * Commits the new states of deliveries, stages newer payloads, and releases deliveries that waited for these items.
   * Returns one entry for each settlement, in the same order.
   */
  settle(requests: readonly RequestSettlement[]): Promise<Settled[]>;
  /** The operations whose answers have repeated what was sent, under the present profile. */
  echoedOperations(): Promise<Operation[]>;
  /** Notes that an answer to this operation has repeated what was sent. */
  storeEcho(operation: Operation): Promise<void>;
  /**
   * Dead-letters a delivery that throws. It becomes unconfirmed if it may have been sent, else rejected. An item with
   * another revision is not changed. With `isOneOfMany` it is unknown which delivery of a bulk import is at fault, so
   * the delivery is first tried alone.
   */
  deadLetter(request: DeadLetterRequest): Promise<void>;
  /**
   * Stages blocked deliveries whose time has come again, as new revisions. A passport is only staged if its product is
   * complete. Returns how many deliveries were staged, and whether more blocked deliveries are left.
   */
  recheckBlocked(request: { limit: number }): Promise<{ staged: number; more: boolean }>;
}
