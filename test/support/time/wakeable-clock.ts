import { type Clock, systemClock } from '../../../src/lib/clock.ts';

/** The clock of this machine, whose sleeps a test can end early. */
export interface WakeableClock extends Clock {
  /** Ends all present sleeps. */
  wake(): void;
}

export function createWakeableClock(): WakeableClock {
  const sleeping = new Set<AbortController>();
  return {
    ...systemClock,
    async sleep(ms, signal) {
      const sleeper = new AbortController();
      sleeping.add(sleeper);
      const end = () => sleeper.abort();
      if (signal?.aborted) end();
      signal?.addEventListener('abort', end, { once: true });
      await systemClock.sleep(ms, sleeper.signal);
      signal?.removeEventListener('abort', end);
      sleeping.delete(sleeper);
    },
    wake() {
      for (const sleeper of sleeping) sleeper.abort();
    },
  };
}
