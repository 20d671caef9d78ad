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
