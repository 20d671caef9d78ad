import { isLedgerFault } from '../domain/faults.ts';
import type { Clock } from '../lib/clock.ts';
import type { Fault } from '../lib/errors.ts';

/** How a ledger that cannot be written for now is borne with. */
export interface Patience {
  clock: Clock;
  /** How long it is waited for. */
  waitMs: number;
  /** Called when the waiting begins, with the reason, and with null when the work is done. */
  onPause: (reason: Fault | null) => void;
}

/** How soon the ledger is tried again. */
const AGAIN_MS = 1000;

/**
 * Does some work on the ledger, again and again while the ledger cannot be written: a disk that is full has room again some
 * day, and a run that was given up would wait for its next schedule. Each call of `work` is one transaction, so what failed
 * left nothing behind. A damaged ledger is not waited for.
 *
 * @throws what `work` throws, once the time is over or `abort` is
 */
export async function untilWritable<T>(
  work: () => Promise<T>,
  { clock, waitMs, onPause }: Patience,
  abort: AbortSignal,
): Promise<T> {
  let pausedAt: number | null = null;
  for (;;) {
    try {
      const done = await work();
      if (pausedAt !== null) onPause(null);
      return done;
    } catch (error) {
      if (!isPassing(error) || abort.aborted) throw error;
      if (pausedAt === null) onPause(error);
      pausedAt ??= clock.ticks();
      if (clock.ticks() - pausedAt >= waitMs) throw error;
      await clock.sleep(AGAIN_MS, abort);
    }
  }
}

function isPassing(error: unknown): error is Fault {
  return isLedgerFault(error) && (error.code === 'ledger.unwritable' || error.code === 'ledger.held');
}
