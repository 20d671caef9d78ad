import { isLedgerFault } from '../domain/faults.ts';
import type { Clock } from '../lib/clock.ts';
import type { Fault } from '../lib/errors.ts';

/** How long a run waits while the ledger cannot be written or the `map` queue takes no jobs. */
export interface WritableWait {
  clock: Clock;
  waitMs: number;
  /** Called with the reason when a wait begins, and with null when the work continues. */
  onPause: (reason: Fault | null) => void;
}

/** The ledger is tried again after this time. */
const AGAIN_MS = 1000;

/**
 * Repeats `work` while the ledger cannot be written. A full disk may have room again soon, and a failed run would begin
 * again only at its next schedule. Each call of `work` is one transaction, so a failed call changes nothing. Does not
 * wait for a damaged ledger.
 *
 * @throws the error of `work` after the wait has ended or an abort
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

/** Measures how long a wait lasts. */
export function createRest({ clock, waitMs, onPause }: WritableWait) {
  let since: number | null = null;
  return {
    /**
     * Call it with the reason of the wait, or with null when there is none. Returns the reason once the wait has lasted
     * too long.
     */
    overdue(reason: Fault | null): Fault | null {
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
