import pLimit, { type LimitFunction } from 'p-limit';
import type { Clock } from '../lib/clock.ts';
import type { Breaker } from './breaker.ts';
import type { RateController } from './rate-controller.ts';
import { rateSignalOf, type Signal } from './signal.ts';

/**
 * Lets requests through as rate controller and breaker admit them, with a bounded number under way. While the breaker is
 * open, each canary begins with a question that writes nothing: as long as that fails, no delivery goes out to fail with
 * it. Where the API is not well, deliveries that have not failed go before those that have and may be at fault.
 */
export interface Pacer {
  /**
   * Runs `send` for a delivery once it may go out. Resolves to null, without running it, when the signal aborts first or
   * nobody wants it any more: that is asked each time before a request is admitted. What `send` tells of the answer goes
   * back to controller and breaker.
   */
  run<T>(
    send: () => Promise<{ value: T; signal: Signal }>,
    options: { delivery: number; abort: AbortSignal; wanted: () => Promise<boolean> },
  ): Promise<T | null>;
  /**
   * Whether the API is there as far as is known, and has answered something at or after `since` where one is given. Asks
   * it, where that is open and a request may go out now; never waits for its turn.
   */
  answers(since: number | null, abort: AbortSignal): Promise<boolean>;
  /** Takes in what a request has told that went out beside: a list that was read. */
  heard(signal: Signal): void;
}

export interface PacerOptions {
  controller: RateController;
  breaker: Breaker;
  /** Asks the API something that writes nothing, once. */
  ping: (abort: AbortSignal) => Promise<Signal>;
  concurrency: number;
  clock: Clock;
}

type Door = 'fresh' | 'suspect';

/** So many questions fail before a delivery goes out all the same: the question may fail alone. */
const TRUST_MAX = 10;

export function createPacer({ controller, breaker, ping, concurrency, clock }: PacerOptions): Pacer {
  let underWay = 0;
  let freed = Promise.withResolvers<void>();
  /** At each one after the other: the first in line asks, and the others need not. */
  const doors = { fresh: pLimit(1), suspect: pLimit(1) };
  /** Questions that have failed since a delivery went out, and how many must before one goes all the same. */
  const trust = { failed: 0, needed: TRUST_MAX };

  function admit(): number {
    const now = clock.ticks();
    const waitMs = breaker.admit(now);
    if (waitMs > 0) return waitMs;
    const turnMs = controller.admit(now);
    // Given back: the canary shall not be held by one that waits for its turn.
    if (turnMs > 0) breaker.observe({ kind: 'unused' }, now);
    return turnMs;
  }

  function heard(signal: Signal): void {
    const now = clock.ticks();
    breaker.observe(signal, now);
    // What the API says to a delivery that is at fault by itself holds up no other.
    const subject = signal.kind === 'failed' ? signal.subject : null;
    const isOwn = typeof subject === 'number' && breaker.isExcused(subject);
    controller.observe(isOwn ? { kind: 'unused' } : rateSignalOf(signal), now);
  }

  async function asks(abort: AbortSignal): Promise<boolean> {
    let answer: Signal = { kind: 'unused' };
    try {
      answer = await ping(abort);
    } finally {
      heard(answer);
    }
    if (answer.kind === 'answered') Object.assign(trust, { failed: 0, needed: TRUST_MAX });
    if (answer.kind === 'failed') trust.failed += 1;
    return answer.kind === 'answered';
  }

  /**
   * Where the question fails and writes are taken, nothing but a write can find out. In an outage that costs a few a day, as
   * each that fails doubles the questions before the next.
   */
  function isWorthATry(): boolean {
    if (trust.failed < trust.needed) return false;
    Object.assign(trust, { failed: 0, needed: trust.needed * 2 });
    return true;
  }

  const isAtDoor = ({ activeCount, pendingCount }: LimitFunction): boolean => activeCount + pendingCount > 0;

  function release(): void {
    underWay -= 1;
    freed.resolve();
    freed = Promise.withResolvers();
  }

  /** Waits at the head of a door, without a place among those under way. Resolves to true with one. */
  async function admitted(door: Door, abort: AbortSignal, wanted: () => Promise<boolean>): Promise<boolean> {
    while (!abort.aborted && (await wanted())) {
      if (underWay >= concurrency) {
        await freed.promise;
        continue;
      }
      const stepsBack = door === 'suspect' && !breaker.isWell() && isAtDoor(doors.fresh);
      const waitMs = stepsBack ? STEP_BACK_MS : admit();
      if (waitMs > 0) await clock.sleep(waitMs, abort);
      else if (await mayGo(abort)) return true;
    }
    return false;
  }

  /** With a place taken; gives it back where nothing goes out. */
  async function mayGo(abort: AbortSignal): Promise<boolean> {
    underWay += 1;
    let goes = false;
    try {
      goes = breaker.openSince() === null || (await asks(abort)) || isWorthATry();
      return goes;
    } finally {
      if (!goes) release();
    }
  }

  return {
    heard,

    async run(send, { delivery, abort, wanted }) {
      const door: Door = breaker.isSuspect(delivery) ? 'suspect' : 'fresh';
      if (!(await doors[door](() => admitted(door, abort, wanted)))) return null;
      const isBlind = trust.needed !== TRUST_MAX;
      let told: Signal = { kind: 'unused' };
      try {
        const { value, signal } = await send();
        told = signal;
        return value;
      } finally {
        heard(told);
        // The question was wrong: the next outage is looked into by a delivery at once.
        if (isBlind && told.kind === 'answered') trust.needed = 1;
        release();
      }
    },

    async answers(since, abort) {
      if (breaker.isWell() && (since === null || breaker.hasAnsweredSince(since))) return true;
      if (admit() > 0 || !(await asks(abort))) return false;
      // It was admitted to find out, and nothing else follows from here.
      breaker.observe({ kind: 'unused' }, clock.ticks());
      return true;
    },
  };
}

/** How often one that steps back for others looks whether they are gone. */
const STEP_BACK_MS = 250;
