import type { Clock } from '../../../src/lib/clock.ts';

/** A clock that jumps to the next sleeper as soon as nothing else is going on: days pass in seconds. */
export interface VirtualTime extends Clock {
  /** Lets time pass until `done` says so, or this many milliseconds have. */
  pass(ms: number, done?: () => boolean): Promise<void>;
}

interface Sleeper {
  until: number;
  wake: () => void;
}

export function createVirtualTime(startMs = Date.UTC(2027, 0, 15)): VirtualTime {
  let now = startMs;
  const sleeping = new Set<Sleeper>();

  /** Whatever goes on by itself does so: a transaction of the ledger takes a turn of the event loop. */
  async function settle(): Promise<void> {
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }

  function next(): number {
    let earliest = Number.POSITIVE_INFINITY;
    for (const { until } of sleeping) earliest = Math.min(earliest, until);
    return earliest;
  }

  return {
    now: () => now,
    ticks: () => now,
    sleep(ms, signal) {
      return new Promise((resolve) => {
        if (signal?.aborted) {
          resolve();
          return;
        }
        const wake = (): void => {
          sleeping.delete(sleeper);
          signal?.removeEventListener('abort', wake);
          resolve();
        };
        const sleeper: Sleeper = { until: now + ms, wake };
        signal?.addEventListener('abort', wake, { once: true });
        sleeping.add(sleeper);
      });
    },
    async pass(ms, done = () => false) {
      const end = now + ms;
      for (;;) {
        await settle();
        if (done() || now >= end) return;
        now = Math.max(now, Math.min(end, next()));
        for (const sleeper of sleeping) if (sleeper.until <= now) sleeper.wake();
      }
    },
  };
}
