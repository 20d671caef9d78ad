import { isLedgerFault } from '../domain/faults.ts';
import type { Clock } from '../lib/clock.ts';
import type { Fault } from '../lib/errors.ts';

/** How long a run rests while the ledger cannot be written, or the map queue takes nothing. */
export interface WritableWait {
  clock: Clock;
  waitMs: number;
  /** Called when a rest begins, with the reason, and with null when the work goes on. */
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
export async function untilWritable<T>(work: () => Promise<T>, wait: WritableWait, abort: AbortSignal): Promise<T> {
  const rest = createRest(wait);
  for (;;) {
    try {
      const done = await work();
      rest.overdue(null);
      return done;
    } catch (error) {
      if (!isPassing(error) || abort.aborted || rest.overdue(error) !== null) throw error;
      await wait.clock.sleep(AGAIN_MS, abort);
    }
  }
}

/** Keeps the time of one rest. */
export interface Rest {
  /** Takes what keeps the work from going on, or null where nothing does. Gives it back once it has lasted too long. */
  overdue(reason: Fault | null): Fault | null;
}

export function createRest({ clock, waitMs, onPause }: WritableWait): Rest {
  let since: number | null = null;
  return {
    overdue(reason) {
      if (reason === null) {
        if (since !== null) onPause(null);
        since = null;
        return null;
      }
      if (since === null) onPause(reason);
      since ??= clock.ticks();
      return clock.ticks() - since >= waitMs ? reason : null;
    },
  };
}

function isPassing(error: unknown): error is Fault {
  return isLedgerFault(error) && (error.code === 'ledger.unwritable' || error.code === 'ledger.held');
}
