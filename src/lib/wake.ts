import type { Clock } from './clock.ts';

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
    /** Resolves after `ms` milliseconds, or as soon as `wake` was called since `look`. */
    async rest(ms: number): Promise<void> {
      if (isWoken) return;
      timer = new AbortController();
      await clock.sleep(ms, timer.signal);
      timer = null;
    },
    /** Resolves as soon as `wake` was called since `look`, however long that takes. */
    async untilWoken(): Promise<void> {
      if (isWoken) return;
      timer = new AbortController();
      const { signal } = timer;
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      timer = null;
    },
  };
}

export type Wake = ReturnType<typeof createWake>;
