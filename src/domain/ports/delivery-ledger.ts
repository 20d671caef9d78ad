import type { Reason } from '../reason.ts';
import type { ClaimedRequest, DeliveryName } from './claim.ts';
import type { RequestSettlement, Settled } from './decision.ts';
import type { Denials, DueDelivery, LeftAway, SuspendedWork, WorkOf } from './due.ts';

/** Deliveries on their way: what is due, claims and settlements. Each method is one whole transaction. */
export interface DeliveryLedger {
  /** Due deliveries in the order of their ids after `afterId`; those whose time has not come, or that are held, are left out. */
  dueDeliveries(request: { afterId: number; limit: number; held?: SuspendedWork }): Promise<DueDelivery[]>;
  /**
   * One of them from anywhere: `place` in [0, 1) says how far on, by the order of their ids. Null where none is found there.
   */
  someDueDelivery(request: { place: number; held?: SuspendedWork }): Promise<DueDelivery | null>;
  /** Those of them that a person has asked for and may be waiting for. */
  dueByHand(request: { limit: number; held?: SuspendedWork }): Promise<DueDelivery[]>;
  /**
   * When the next delivery becomes due, or the next doubt may be looked at, but for what is held: 0 for something that has
   * been due all along, null when nothing is scheduled. With `after`, what was due at that time is left out.
   */
  nextDueAt(request?: { after?: number; held?: SuspendedWork; of?: WorkOf | undefined }): Promise<number | null>;
  /**
   * What is left to be sent of which the API has not been able to take anything since before a time; null where anything
   * else is scheduled that is not held.
   */
  leftAway(request: { before: number; held?: SuspendedWork; of?: WorkOf | undefined }): Promise<LeftAway | null>;
  /** How many of these deliveries are claimed and have not ended. */
  countSending(of: WorkOf): Promise<number>;
  /** Whether one of these creates is suspended until a list of the platform was read. */
  hasSuspended(of: WorkOf): Promise<boolean>;
  /** Whether a delivery could be claimed at the moment, unlike most others after a claim of several at once. */
  isDue(deliveryId: number): Promise<boolean>;
  /** What the API has said of a delivery's scope before. */
  denialsOf(deliveryId: number): Promise<Denials>;
  /** How much is held. */
  countSuspended(held: SuspendedWork): Promise<{ due: number; inDoubt: number }>;
  /**
   * Marks deliveries as sending. Each list becomes one request: the deliveries of a bulk import as many as fit, and any other
   * write alone. What is not due under the named revision, or may not be sent now, is left out, and a list of which nothing is
   * left gives no request. Call it before any network I/O; grouped with other claims and settles into one fsync.
   */
  claim(requests: readonly (readonly DeliveryName[])[]): Promise<ClaimedRequest[]>;
  /**
   * Commits what became of deliveries, stages what is desired by now, and releases what waited for their items. Gives one
   * entry for each settlement, in their order.
   */
  settle(requests: readonly RequestSettlement[]): Promise<Settled[]>;
  /** Takes out of the way what cannot be attempted, for a person: what may have been sent is in doubt, the rest rejected. */
  putAside(request: { deliveryId: number; reason: Reason }): Promise<void>;
  /**
   * Asks again for what a gate has blocked and whose time has come, as new revisions; passports only where their products
   * are complete. Gives how many deliveries that staged, and whether more are left to look at.
   */
  recheckBlocked(request: { limit: number }): Promise<{ staged: number; more: boolean }>;
}
