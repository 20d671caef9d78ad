import type { Clock } from '../../../src/lib/clock.ts';

/**
 * A clock that goes from one timer to the next when no other work is left. So days pass in seconds, and the speed of
 * the machine does not matter.
 */
export interface VirtualTime extends Clock {
  /**
   * Calls `callback` after `ms`. The returned function cancels the call. Timers of the same instant run in the order in
   * which they were set.
   */
  after(ms: number, callback: () => void): () => void;
  /** Reports that something has happened that may lead to further work at this instant. */
  stir(): void;
  /** Waits until all work of this instant is done. */
  settle(): Promise<void>;
  /** Lets `ms` pass, or less if `isDone` returns true earlier. */
  pass(ms: number, isDone?: () => boolean): Promise<void>;
  /** Sets the wall clock forward or back. `ticks` and all waits are as before. */
  set(byMs: number): void;
}

interface Timer {
  at: number;
  order: number;
  callback: () => void;
}

/** A limit. The work of one instant needs far fewer rounds of the event loop. */
const ROUNDS_MAX = 20_000;

/**
 * After this many rounds of the event loop without a call of `stir`, all work counts as done. A commit of the ledger
 * takes one or two rounds.
 */
const QUIET_ROUNDS = 3;

export function createVirtualTime(startMs = Date.UTC(2027, 0, 15)): VirtualTime {
  /** The present time in ticks. Ticks begin at the time of the wall clock. `set` moves only the wall clock. */
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

  async function settle(): Promise<void> {
    let quiet = 0;
    for (let round = 0; quiet < QUIET_ROUNDS; round += 1) {
      if (round > ROUNDS_MAX) throw new Error('Work goes on without an end while no time passes.');
      const before = stirs;
      await new Promise<void>((resolve) => void setImmediate(resolve));
      quiet = stirs === before ? quiet + 1 : 0;
    }
  }

  async function runTimersAt(instant: number): Promise<void> {
    at = instant;
    const due = [...timers].filter((timer) => timer.at === at).sort((a, b) => a.order - b.order);
    // One timer may cancel another one of the same instant.
    for (const timer of due) if (timers.delete(timer)) timer.callback();
    await settle();
  }

  return {
    now: () => at + aheadMs,
    ticks: () => at,
    after,
    stir() {
      stirs += 1;
    },
    settle,
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
    async pass(ms, isDone = () => false) {
      const until = at + ms;
      await settle();
      for (let timer = next(); timer && timer.at <= until && !isDone(); timer = next()) await runTimersAt(timer.at);
      if (!isDone()) at = until;
    },
    set(byMs) {
      aheadMs += byMs;
    },
  };
}
