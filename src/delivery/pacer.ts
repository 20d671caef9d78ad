import pLimit from 'p-limit';
import type { Clock } from '../lib/clock.ts';
import type { Breaker } from './breaker.ts';
import type { RateController } from './rate-controller.ts';
import { rateSignalOf, type Signal } from './signal.ts';

/**
 * Lets requests through as rate controller and breaker admit them, with a bounded number under way. While the breaker is
 * open, each canary begins with a question that writes nothing: as long as that fails, no delivery goes out to fail with
 * it.
 */
export interface Pacer {
  /**
   * Runs `send` once it may go out. Resolves to null, without running it, when the signal aborts first or nobody wants it
   * any more: that is asked each time before a request is admitted. What `send` tells of the answer goes back to
   * controller and breaker.
   */
  run<T>(
    send: () => Promise<{ value: T; signal: Signal }>,
    options: { abort: AbortSignal; wanted: () => Promise<boolean> },
  ): Promise<T | null>;
  /**
   * Whether the API is there as far as is known, and has answered something at or after `since` where one is given. Asks
   * it, where that is open and a request may go out now; never waits for its turn.
   */
  answers(since: number | null, abort: AbortSignal): Promise<boolean>;
}

export interface PacerOptions {
  controller: RateController;
  breaker: Breaker;
  /** Asks the API something that writes nothing, once. */
  ping: (abort: AbortSignal) => Promise<Signal>;
  concurrency: number;
  clock: Clock;
}

export function createPacer({ controller, breaker, ping, concurrency, clock }: PacerOptions): Pacer {
  const limit = pLimit(concurrency);
  /** One after the other: the first in line asks, and the others need not. */
  const door = pLimit(1);

  function admit(): number {
    const now = clock.ticks();
    const waitMs = breaker.admit(now);
    if (waitMs > 0) return waitMs;
    const turnMs = controller.admit(now);
    // Given back: the canary shall not be held by one that waits for its turn.
    if (turnMs > 0) breaker.observe({ kind: 'unused' }, now);
    return turnMs;
  }

  function observe(signal: Signal): void {
    const now = clock.ticks();
    breaker.observe(signal, now);
    controller.observe(rateSignalOf(signal), now);
  }

  async function asks(abort: AbortSignal): Promise<boolean> {
    let heard: Signal = { kind: 'unused' };
    try {
      heard = await ping(abort);
    } finally {
      observe(heard);
    }
    return heard.kind === 'answered';
  }

  async function admitted(abort: AbortSignal, wanted: () => Promise<boolean>): Promise<boolean> {
    while (!abort.aborted && (await wanted())) {
      const waitMs = admit();
      if (waitMs > 0) await clock.sleep(waitMs, abort);
      else if (breaker.openSince() === null || (await asks(abort))) return true;
    }
    return false;
  }

  return {
    run: (send, { abort, wanted }) =>
      limit(async () => {
        if (!(await door(() => admitted(abort, wanted)))) return null;
        let heard: Signal = { kind: 'unused' };
        try {
          const { value, signal } = await send();
          heard = signal;
          return value;
        } finally {
          observe(heard);
        }
      }),

    async answers(since, abort) {
      if (breaker.isWell() && (since === null || breaker.hasAnsweredSince(since))) return true;
      if (admit() > 0 || !(await asks(abort))) return false;
      // It was admitted to find out, and nothing else follows from here.
      breaker.observe({ kind: 'unused' }, clock.ticks());
      return true;
    },
  };
}
