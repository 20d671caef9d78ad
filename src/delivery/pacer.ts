import pLimit from 'p-limit';
import type { Clock } from '../lib/clock.ts';
import type { RateController, RateSignal } from './rate-controller.ts';

/** Lets requests through as the rate controller admits them, with a bounded number under way. */
export interface Pacer {
  /**
   * Runs `send` once it may go out. Resolves to null, without running it, when the signal aborts first. What `send` tells
   * of the answer goes back to the controller.
   */
  run<T>(send: () => Promise<{ value: T; signal: RateSignal }>, abort: AbortSignal): Promise<T | null>;
}

export function createPacer(options: { controller: RateController; concurrency: number; clock: Clock }): Pacer {
  const { controller, clock } = options;
  const limit = pLimit(options.concurrency);

  async function admitted(abort: AbortSignal): Promise<boolean> {
    while (!abort.aborted) {
      const waitMs = controller.admit(clock.now());
      if (waitMs === 0) return true;
      await clock.sleep(waitMs, abort);
    }
    return false;
  }

  return {
    run: (send, abort) =>
      limit(async () => {
        if (!(await admitted(abort))) return null;
        let heard: RateSignal = { kind: 'unused' };
        try {
          const { value, signal } = await send();
          heard = signal;
          return value;
        } finally {
          controller.observe(heard, clock.now());
        }
      }),
  };
}
