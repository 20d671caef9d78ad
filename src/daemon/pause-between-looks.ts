import type { Clock } from '../lib/clock.ts';
import { withAnySignal } from '../lib/with-any-signal.ts';
import type { EventBus } from '../observe/event-bus.ts';

/** The pause after something has happened. */
const SHORTEST_MS = 40;
/** The longest pause while nothing happens, for example while the API asks to wait. */
const LONGEST_MS = 640;
/** The longest pause as a share of the time after which the sync gives up, so that it gives up in time. */
const SHARE_OF_WAIT = 0.1;

export interface PauseBetweenLooks {
  /**
   * Resolves when it is time to look again: after `SHORTEST_MS` if something has happened since the last look, and otherwise
   * at the next event. Without an event each pause is twice as long as the one before it, up to the longest one.
   *
   * @param leastMs the pause is at least this long
   */
  rest(abort: AbortSignal, leastMs?: number): Promise<void>;
  end(): void;
}

/**
 * Pauses that cost little CPU time while nothing happens, and that end soon after something has happened.
 *
 * @param waitMs how long the sync waits for something that does not happen
 */
export function createPauseBetweenLooks(
  bus: Pick<EventBus, 'subscribe'>,
  { clock, waitMs }: { clock: Clock; waitMs: number },
): PauseBetweenLooks {
  const longestMs = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, SHARE_OF_WAIT * waitMs));
  let hasHappened = false;
  let nextMs = SHORTEST_MS;
  let wake = new AbortController();
  const unsubscribe = bus.subscribe(() => {
    hasHappened = true;
    wake.abort('event');
  });

  return {
    async rest(abort, leastMs = 0) {
      const firstMs = Math.max(SHORTEST_MS, leastMs);
      await clock.sleep(firstMs, abort);
      if (!hasHappened && !abort.aborted && nextMs > firstMs) {
        wake = new AbortController();
        await withAnySignal([abort, wake.signal], (signal) => clock.sleep(nextMs - firstMs, signal));
      }
      nextMs = hasHappened ? SHORTEST_MS : Math.min(longestMs, nextMs * 2);
      hasHappened = false;
    },
    end: unsubscribe,
  };
}
