import type { Clock } from '../../../src/lib/clock.ts';

/**
 * Time that moves only when all work has come to rest, from one timer to the next. Nothing in a model run waits for the
 * machine: the same script gives the same run.
 */
export interface VirtualTime extends Clock {
  /** Calls back after `ms`, unless what it gives is called first. Timers of one instant go off in the order they were set. */
  after(ms: number, callback: () => void): () => void;
  /** Something happened that may lead to more at this instant. */
  stir(): void;
  /** Lets everything happen that happens at this instant. */
  settle(): Promise<void>;
  /** Goes on to the next timers, and lets everything happen then. False where there are none. */
  step(): Promise<boolean>;
  /** Goes on for `ms`. */
  pass(ms: number): Promise<void>;
  /** Sets the wall clock forward, or back. Nothing waits longer or less for it: ticks go on as they did. */
  set(byMs: number): void;
}

interface Timer {
  at: number;
  order: number;
  callback: () => void;
}

/** What happens at one instant is over in far fewer rounds of the event loop. */
const ROUNDS_MAX = 20_000;

export function createVirtualTime(startMs: number): VirtualTime {
  /** In ticks, which begin with the wall clock and part from it where that is set. */
  let at = startMs;
  let aheadMs = 0;
  let orders = 0;
  let stirs = 0;
  const timers = new Set<Timer>();

  function next(): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of timers) {
      if (!first || timer.at < first.at || (timer.at === first.at && timer.order < first.order)) first = timer;
    }
    return first;
  }

  function after(ms: number, callback: () => void): () => void {
    orders += 1;
    const timer = { at: at + Math.max(0, ms), order: orders, callback };
    timers.add(timer);
    return () => void timers.delete(timer);
  }

  /** The ledger commits in immediates, everything else goes on in promises: two rounds without a stir are rest. */
  async function settle(): Promise<void> {
    let quiet = 0;
    for (let round = 0; quiet < 2; round += 1) {
      if (round > ROUNDS_MAX) throw new Error('Work goes round in circles without any time passing.');
      const before = stirs;
      await new Promise<void>((resolve) => void setImmediate(resolve));
      quiet = stirs === before ? quiet + 1 : 0;
    }
  }

  async function step(): Promise<boolean> {
    const first = next();
    if (!first) return false;
    at = first.at;
    const due = [...timers].filter((timer) => timer.at === at).sort((a, b) => a.order - b.order);
    // One of them may cancel another.
    for (const timer of due) if (timers.delete(timer)) timer.callback();
    await settle();
    return true;
  }

  return {
    now: () => at + aheadMs,
    ticks: () => at,
    after,
    stir() {
      stirs += 1;
    },
    settle,
    step,
    sleep(ms, signal) {
      return new Promise((resolve) => {
        if (signal?.aborted) {
          resolve();
          return;
        }
        const wake = (): void => {
          cancel();
          signal?.removeEventListener('abort', wake);
          resolve();
        };
        const cancel = after(ms, wake);
        signal?.addEventListener('abort', wake, { once: true });
      });
    },
    async pass(ms) {
      const until = at + ms;
      await settle();
      for (let timer = next(); timer && timer.at <= until; timer = next()) await step();
      at = until;
    },
    set(byMs) {
      aheadMs += byMs;
    },
  };
}
