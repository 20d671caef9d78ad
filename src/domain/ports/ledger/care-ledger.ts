import type { ApiWait } from '../../delivery/api-wait.ts';
import type { DaemonNotes } from '../daemon-notes.ts';

/** How much history is kept. */
export interface HistoryLimits {
  /** The age of runs and events in days. */
  keepDays?: number | undefined;
  /** The size of the ledger, above which the oldest events are removed. */
  maxBytes?: number | undefined;
}

/** Maintains the ledger itself. Each method is one whole transaction. */
export interface CareLedger {
  /**
   * Marks as unconfirmed the deliveries that an earlier process was sending; they are read back after the delay. Also
   * stages again the changes of products that were staged under another `productUpdate`. Call it once after taking the
   * lock.
   */
  recover(settlingDelayMs: number): Promise<{ voided: number }>;
  /** Stores the wait that the API has asked for, so that other processes can show it; null when it is over. */
  noteApiWait(wait: ApiWait | null): Promise<void>;
  /** Stores a note of the daemon for other processes; null removes it. */
  noteDaemon<Name extends keyof DaemonNotes>(name: Name, note: DaemonNotes[Name] | null): Promise<void>;
  /**
   * Prunes the history of items, runs and events.
   *
   * @param limits limits in addition to the fixed ones. Each call removes a bounded part, so that other work can
   *   continue
   */
  prune(limits?: HistoryLimits): Promise<void>;
  /**
   * Resolves when the writes that were begun earlier have ended, and their callers have gone on. A read sees a write
   * before its caller knows that it is stored.
   */
  writesEnded(): Promise<void>;
  /**
   * Finds out whether the ledger can be written: its disk is not full, no write was refused in the last seconds, and a
   * small write is committed.
   *
   * @throws Fault `ledger.unwritable`, or the fault of the refused write
   */
  touch(): Promise<void>;
  close(): Promise<void>;
}
