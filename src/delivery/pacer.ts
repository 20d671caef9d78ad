import pLimit from 'p-limit';
import type { Clock } from '../lib/clock.ts';
import type { RateController, RateSignal } from './rate-controller.ts';

/** Lets requests through as the rate controller admits them, with a bounded number under way. */
export interface Pacer {
  /**
   * Runs `send` once it may go out. Resolves to null, without running it, when the signal aborts first or nobody wants it
   * any more: that is asked each time before a request is admitted. What `send` tells of the answer goes back to the
   * controller.
   */
  run<T>(
    send: () => Promise<{ value: T; signal: RateSignal }>,
    options: { abort: AbortSignal; wanted: () => Promise<boolean> },
  ): Promise<T | null>;
}

export function createPacer(options: { controller: RateController; concurrency: number; clock: Clock }): Pacer {
  const { controller, clock } = options;
  const limit = pLimit(options.concurrency);

  async function admitted(abort: AbortSignal, wanted: () => Promise<boolean>): Promise<boolean> {
    while (!abort.aborted && (await wanted())) {
      const waitMs = controller.admit(clock.ticks());
      if (waitMs === 0) return true;
      await clock.sleep(waitMs, abort);
    }
    return false;
  }

  return {
    run: (send, { abort, wanted }) =>
      limit(async () => {
        if (!(await admitted(abort, wanted))) return null;
        let heard: RateSignal = { kind: 'unused' };
        try {
          const { value, signal } = await send();
          heard = signal;
          return value;
        } finally {
          controller.observe(heard, clock.ticks());
        }
      }),
  };
}
