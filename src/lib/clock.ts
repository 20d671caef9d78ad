/** Time as the code sees it. Passed in everywhere, so that tests run in virtual time. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /**
   * Milliseconds since some instant, on a monotonic clock: for waits, limits and ages that stay in this process. It
   * stands still while the machine sleeps.
   */
  ticks(): number;
  /** Resolves after `ms` milliseconds, or as soon as the signal aborts: the caller looks at the signal itself. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A time of the wall clock, as the ledger has it, converted to the monotonic clock of this process. */
export function ticksAt(clock: Pick<Clock, 'now' | 'ticks'>, at: number): number {
  return clock.ticks() - (clock.now() - at);
}

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  ticks: () => performance.now(),
  sleep(ms, signal) {
    if (signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal?.addEventListener('abort', end, { once: true });
    });
  },
};
