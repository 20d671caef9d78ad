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

/** The reason that ends a rest early. A text costs less than an error with its stack. */
const WOKEN = 'woken';

/** Lets a loop rest until something has changed. The loop calls `look`, looks for work, and calls `rest`. */
export function createWake(clock: Pick<Clock, 'sleep'>) {
  let isWoken = false;
  let timer: AbortController | null = null;
  return {
    /** Call it when something has changed. */
    wake(): void {
      isWoken = true;
      timer?.abort(WOKEN);
    },
    /** From here on, a `wake` ends the next rest, even if that rest has not begun yet. */
    look(): void {
      isWoken = false;
    },
    /** Resolves as soon as `wake` was called since `look`, and after `ms` milliseconds at the latest; null for no limit. */
    async rest(ms: number | null): Promise<void> {
      if (isWoken) return;
      timer = new AbortController();
      const { signal } = timer;
      if (ms === null) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      else await clock.sleep(ms, signal);
      timer = null;
    },
  };
}

export type Wake = ReturnType<typeof createWake>;

/** Bounds of an exponential backoff, in milliseconds. */
interface BackoffLimits {
  baseMs: number;
  capMs: number;
}

/**
 * Full jitter: a uniformly random wait between 0 and the exponential bound, so that clients that failed together do not
 * retry together. Source: Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
 *
 * @param attempt how many attempts have failed so far, from 1
 * @param random a number in [0, 1)
 * @returns milliseconds to wait
 */
export function fullJitterMs(attempt: number, limits: BackoffLimits, random: number): number {
  const bound = Math.min(limits.capMs, limits.baseMs * 2 ** Math.min(attempt - 1, 30));
  return Math.floor(random * bound);
}
