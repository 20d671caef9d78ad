/** The source of time for all code. It is a parameter everywhere, so that tests can run in virtual time. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /**
   * Milliseconds since some instant, on a monotonic clock: for waits, limits and ages that stay in this process. It
   * stops while the machine sleeps.
   */
  ticks(): number;
  /** Resolves after `ms` milliseconds, or as soon as the signal aborts. The caller checks the signal. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A time of the wall clock, such as one in the ledger, converted to the monotonic clock of this process. */
export function ticksAt(clock: Pick<Clock, 'now' | 'ticks'>, at: number): number {
  return clock.ticks() - (clock.now() - at);
}

/** The clock of this machine. */
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
