import type { Clock } from '../../../src/lib/clock.ts';

/** A clock that only a test moves. */
export interface ManualClock extends Clock {
  /** Lets `ms` pass, and ends the sleeps that are over. */
  advance(ms: number): void;
  /** Sets the wall clock forward or back by `ms`. Waits take as long as before. */
  jump(ms: number): void;
  /** Resolves when this many calls of `sleep` wait at the same time. */
  sleepers(count: number): Promise<void>;
}

export function createManualClock(startMs = Date.UTC(2026, 0, 1)): ManualClock {
  let passedMs = 1_000_000;
  let wallMs = startMs - passedMs;
  const sleeping = new Set<{ until: number; wake: () => void }>();
  const watchers = new Set<{ count: number; notify: () => void }>();
  return {
    now: () => wallMs + passedMs,
    ticks: () => passedMs,
    sleep(ms, signal) {
      return new Promise((resolve) => {
        const sleeper = {
          until: passedMs + ms,
          wake: () => {
            sleeping.delete(sleeper);
            signal?.removeEventListener('abort', sleeper.wake);
            resolve();
          },
        };
        if (signal?.aborted) {
          resolve();
          return;
        }
        signal?.addEventListener('abort', sleeper.wake, { once: true });
        sleeping.add(sleeper);
        for (const watcher of watchers) if (sleeping.size >= watcher.count) watcher.notify();
      });
    },
    advance(ms) {
      passedMs += ms;
      for (const sleeper of sleeping) if (sleeper.until <= passedMs) sleeper.wake();
    },
    jump(ms) {
      wallMs += ms;
    },
    sleepers(count) {
      return new Promise((resolve) => {
        if (sleeping.size >= count) {
          resolve();
          return;
        }
        const watcher = {
          count,
          notify: () => {
            watchers.delete(watcher);
            resolve();
          },
        };
        watchers.add(watcher);
      });
    },
  };
}
