import type { Clock } from '../lib/clock.ts';
import type { EventBus } from '../observe/event-bus.ts';

/** The pause after something has happened. */
const SHORTEST_MS = 40;
/** The pause after a time in which nothing has happened, for example while the API asks to wait. */
const LONGEST_MS = 640;

export interface PauseBetweenLooks {
  /**
   * Resolves when it is time to look again: after `SHORTEST_MS` if something has happened since the last look, and otherwise
   * at the next event. Without an event each pause is twice as long as the one before it, up to `LONGEST_MS`.
   *
   * @param leastMs the pause is at least this long
   */
  rest(abort: AbortSignal, leastMs?: number): Promise<void>;
  end(): void;
}

/** Pauses that cost little CPU time while nothing happens, and that end soon after something has happened. */
export function createPauseBetweenLooks(bus: Pick<EventBus, 'subscribe'>, clock: Clock): PauseBetweenLooks {
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
        await clock.sleep(nextMs - firstMs, AbortSignal.any([abort, wake.signal]));
      }
      nextMs = hasHappened ? SHORTEST_MS : Math.min(LONGEST_MS, nextMs * 2);
      hasHappened = false;
    },
    end: unsubscribe,
  };
}
