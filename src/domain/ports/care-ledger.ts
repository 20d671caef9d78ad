import type { ApiWait } from '../api-wait.ts';

/** The care of the ledger itself. Each method is one whole transaction. */
export interface CareLedger {
  /**
   * Ends the leases of processes that are gone: a delivery in `sending` becomes unconfirmed, and is looked up after the delay.
   * Changes of products that were staged under another `productUpdate` of the profile are staged again. Call it once after
   * taking the lock.
   */
  recover(settlingDelayMs: number): Promise<{ voided: number }>;
  /** Stores the wait that the API has asked for, so that other processes can show it; null when it is over. */
  noteApiWait(wait: ApiWait | null): Promise<void>;
  /** Prunes the history of items, runs and events. */
  prune(): Promise<void>;
  /**
   * Commits a small write, to find out whether the ledger can be written.
   *
   * @throws Fault `ledger.unwritable`
   */
  touch(): Promise<void>;
  close(): Promise<void>;
}
