import type { Clock } from '../../lib/clock.ts';
import type { RateController, RateSignal } from '../rate/rate-controller.ts';
import type { Breaker } from './breaker.ts';
import { rateSignalOf, type Signal } from './signal.ts';
import { createWaitingLine, type Waiting } from './waiting-line.ts';

/**
 * Sends requests as the rate controller and the breaker admit them, with a bounded number in flight. Requests wait in a
 * priority queue, and only its first is offered for admission. While the breaker is open, or during a wait of more than a
 * minute, each probe begins with a read: as long as the read fails, no delivery is sent. While the API is failing, deliveries
 * that have not failed go before deliveries that have, since those may be at fault.
 */
export interface Pacer {
  /**
   * Runs `send` for a delivery once it is admitted. Resolves to null without running it if the signal aborts first, or if the
   * delivery is no longer wanted: that is checked before each admission. The signal that `send` returns goes to controller
   * and breaker.
   */
  run<T>(
    send: () => Promise<{ value: T; signal: Signal }>,
    options: { delivery: number; abort: AbortSignal; wanted: () => boolean | Promise<boolean>; urgent?: boolean },
  ): Promise<T | null>;
  /**
   * Whether the API is there as far as is known, and has answered something at or after `since` where one is given. Asks
   * it, where that is open and a request may go out now; never waits for its turn. False while it has asked to wait.
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
  /** How many requests may be under way at most, whatever the controller allows. */
  concurrency: number;
  clock: Clock;
}

/** So many questions fail before a delivery goes out all the same: the question may fail alone. */
const TRUST_MAX = 10;
/** While all places are taken the line waits for one to become free, and looks by itself this often. */
const FULL_POLL_MS = 1000;
/** What is under way for so long hangs. */
const HANGS_MS = 1000;

export function createPacer({ controller, breaker, ping, concurrency, clock }: PacerOptions): Pacer {
  const line = createWaitingLine();
  /** Requests, in the order in which they went out. */
  const underWay = new Set<{ begunAt: number }>();
  let serving = false;
  /** Ends the rest of the line, when there is one. */
  let stir: () => void = () => undefined;
  let polling = false;
  /** Questions that have failed since a delivery went out, and how many must before one goes all the same. */
  const trust = { failed: 0, needed: TRUST_MAX };

  /** A request that hangs holds one of all places, and none of the few that the rate needs. */
  function isFull(): boolean {
    if (underWay.size >= concurrency) return true;
    const now = clock.ticks();
    let hanging = 0;
    for (const { begunAt } of underWay) {
      if (now - begunAt < HANGS_MS) break;
      hanging += 1;
    }
    return underWay.size - hanging >= controller.concurrency(now);
  }

  const mayBeAtFault = ({ delivery }: Waiting): boolean => breaker.isSuspect(delivery);
  const first = (): Waiting | undefined => line.first(breaker.isWell() ? null : mayBeAtFault);

  /** Milliseconds to wait; 0 admits a request, of both controller and breaker. */
  function turn(): number {
    const now = clock.ticks();
    const waitMs = breaker.admit(now);
    if (waitMs > 0) return waitMs;
    const turnMs = controller.admit(now);
    // Given back: the canary shall not be held by one that waits for its turn.
    if (turnMs > 0) breaker.observe({ kind: 'unused' }, now);
    return turnMs;
  }

  /** What the end of a request tells the controller. What the API says to a delivery that is at fault by itself holds up no other. */
  function tell(signal: Signal, now: number): RateSignal {
    breaker.observe(signal, now);
    const subject = signal.kind === 'failed' ? signal.subject : null;
    const isOwn = typeof subject === 'number' && breaker.isExcused(subject);
    return isOwn ? { kind: 'unused' } : rateSignalOf(signal);
  }

  /** Runs what was admitted, to its end. */
  async function underway<T>(
    work: () => Promise<{ value: T; signal: Signal }>,
    toldBy: (signal: Signal, told: RateSignal, now: number) => RateSignal | null = (_, told) => told,
  ): Promise<T> {
    const request = { begunAt: clock.ticks() };
    underWay.add(request);
    let heard: Signal = { kind: 'unused' };
    try {
      const { value, signal } = await work();
      heard = signal;
      return value;
    } finally {
      underWay.delete(request);
      const now = clock.ticks();
      const told = toldBy(heard, tell(heard, now), now);
      if (told !== null) controller.observe(told, now - request.begunAt, now);
      stir();
    }
  }

  /** Runs a delivery that was admitted. */
  function deliver<T>(send: () => Promise<{ value: T; signal: Signal }>): Promise<T> {
    const isBlind = trust.needed !== TRUST_MAX;
    return underway(async () => {
      const sent = await send();
      // The question was wrong: the next outage is looked into by a delivery at once.
      if (isBlind && sent.signal.kind === 'answered') trust.needed = 1;
      return sent;
    });
  }

  /** Whether only a read is sent: the API is away, or a long wait goes on. */
  const asksFirst = (): boolean => breaker.openSince() !== null || controller.wait(clock.ticks()) !== null;

  /**
   * What a probe's read shows the controller. During a long wait a read that fails is repeated as late as one that is refused.
   * A read that is answered does not end the wait, because the limit may be one of writes: a delivery has to follow.
   */
  function toldByQuestion(signal: Signal, told: RateSignal, now: number): RateSignal | null {
    if (controller.wait(now) === null) return told;
    if (signal.kind === 'answered') return null;
    return told.kind === 'unused' ? { kind: 'throttled', retryAfterMs: null, away: true } : told;
  }

  async function asks(abort: AbortSignal): Promise<boolean> {
    const ask = async () => {
      const signal = await ping(abort);
      return { value: signal, signal };
    };
    const answer = await underway(ask, toldByQuestion);
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

  /** Resolves when the line is stirred: a place may be free, or an urgent one has come. */
  function stirred(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    stir = resolve;
    return promise;
  }

  /** Looks by itself as well: what hangs gives its place back without a word. One timer serves many requests. */
  async function poll(abort: AbortSignal): Promise<void> {
    if (polling) return;
    polling = true;
    await clock.sleep(FULL_POLL_MS, abort);
    polling = false;
    stir();
  }

  async function rest(ms: number, abort: AbortSignal): Promise<void> {
    const timer = new AbortController();
    const wake = (): void => timer.abort();
    stir = wake;
    abort.addEventListener('abort', wake, { once: true });
    try {
      if (!abort.aborted) await clock.sleep(ms, timer.signal);
    } finally {
      abort.removeEventListener('abort', wake);
      stir = () => undefined;
    }
  }

  type Fate = () => void;

  /** What becomes of the one whose turn it is: null while it has to stay. */
  async function decide(
    { abort, admit, leave, fail }: Waiting,
    wanted: boolean | Promise<boolean>,
  ): Promise<Fate | null> {
    try {
      if (!(await wanted)) return leave;
      if (isFull()) {
        void poll(abort);
        await stirred();
        return null;
      }
      const waitMs = turn();
      // Whole milliseconds, as timers have them: a clock need not move for the fraction of one.
      if (waitMs > 0) await rest(Math.ceil(waitMs), abort);
      else if (!asksFirst() || (await asks(abort)) || isWorthATry()) return admit;
      return null;
    } catch (error) {
      return () => fail(error);
    }
  }

  /** The same, at once for what has to wait for nothing. */
  function fateOf(one: Waiting): Fate | Promise<Fate | null> {
    if (one.abort.aborted) return one.leave;
    const wanted = one.wanted();
    const goesAtOnce = wanted === true && !isFull() && !asksFirst() && turn() === 0;
    return goesAtOnce ? one.admit : decide(one, wanted);
  }

  /** One at a time is asked about: the first in line asks, and the others need not. Never rejects. */
  async function serve(): Promise<void> {
    if (serving) return;
    serving = true;
    for (let one = first(); one !== undefined; one = first()) {
      const fate = fateOf(one);
      const settled = fate instanceof Promise ? await fate : fate;
      if (settled === null) continue;
      line.remove(one);
      settled();
    }
    serving = false;
  }

  return {
    run: (send, { delivery, abort, wanted, urgent = false }) =>
      new Promise((resolve, reject) => {
        line.add({
          delivery,
          urgent,
          abort,
          wanted,
          admit: () => void deliver(send).then(resolve, reject),
          leave: () => resolve(null),
          fail: reject,
        });
        if (urgent) stir();
        void serve();
      }),

    heard(signal) {
      const now = clock.ticks();
      // It asked the controller for no turn; that others are to wait it tells all the same.
      const told = tell(signal, now);
      if (told.kind === 'throttled') controller.observe(told, 0, now);
    },

    async answers(since, abort) {
      // Whoever reads after this does not ask for turns: it has to wait as the others do where the API has asked for that.
      if (controller.closedForMs(clock.ticks()) > 0) return false;
      const waited = controller.wait(clock.ticks()) !== null;
      if (!waited && breaker.isWell() && (since === null || breaker.hasAnsweredSince(since))) return true;
      if (turn() > 0 || !(await asks(abort))) return false;
      // It was admitted to find out, and nothing else follows from here.
      breaker.observe({ kind: 'unused' }, clock.ticks());
      if (waited) controller.observe({ kind: 'ok' }, 0, clock.ticks());
      return true;
    },
  };
}
