import type { Clock } from '../lib/clock.ts';
import type { Breaker } from './breaker.ts';
import type { RateController } from './rate-controller.ts';
import { rateSignalOf, type Signal } from './signal.ts';

/**
 * Lets requests through as rate controller and breaker admit them, with a bounded number under way. They wait in line, the
 * urgent ones before the others, and only the first is asked about. While the breaker is open, each canary begins with a
 * question that writes nothing: as long as that fails, no delivery goes out to fail with it.
 */
export interface Pacer {
  /**
   * Runs `send` once it may go out. Resolves to null, without running it, when the signal aborts first or nobody wants it
   * any more: that is asked each time before a request is admitted. What `send` tells of the answer goes back to
   * controller and breaker.
   */
  run<T>(
    send: () => Promise<{ value: T; signal: Signal }>,
    options: { abort: AbortSignal; wanted: () => Promise<boolean>; urgent?: boolean },
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
  /** How many requests may be under way at most, whatever the controller allows. */
  concurrency: number;
  clock: Clock;
}

/** Somebody in line. `admit` lets the request go out, `leave` sends it away, `fail` passes on why it cannot be asked about. */
interface Waiting {
  abort: AbortSignal;
  wanted: () => Promise<boolean>;
  admit: () => void;
  leave: () => void;
  fail: (error: unknown) => void;
}

/** While all places are taken the line waits for one to become free, and looks by itself this often. */
const FULL_POLL_MS = 1000;

export function createPacer({ controller, breaker, ping, concurrency, clock }: PacerOptions): Pacer {
  const line = { urgent: [] as Waiting[], bulk: [] as Waiting[] };
  let underWay = 0;
  let serving = false;
  /** Ends the rest of the line, when there is one. */
  let stir: () => void = () => undefined;

  const isFull = (): boolean => underWay >= Math.min(concurrency, controller.concurrency(clock.ticks()));

  /** Milliseconds to wait; 0 admits a request, of both controller and breaker. */
  function turn(): number {
    const now = clock.ticks();
    if (isFull()) return FULL_POLL_MS;
    const waitMs = breaker.admit(now);
    if (waitMs > 0) return waitMs;
    const turnMs = controller.admit(now);
    // Given back: the canary shall not be held by one that waits for its turn.
    if (turnMs > 0) breaker.observe({ kind: 'unused' }, now);
    return turnMs;
  }

  function observe(signal: Signal, begunAt: number): void {
    const now = clock.ticks();
    breaker.observe(signal, now);
    controller.observe(rateSignalOf(signal), now - begunAt, now);
  }

  /** Runs what was admitted, to its end. */
  async function underway<T>(work: () => Promise<{ value: T; signal: Signal }>): Promise<T> {
    const begunAt = clock.ticks();
    underWay += 1;
    let heard: Signal = { kind: 'unused' };
    try {
      const { value, signal } = await work();
      heard = signal;
      return value;
    } finally {
      underWay -= 1;
      observe(heard, begunAt);
      stir();
    }
  }

  const asks = (abort: AbortSignal): Promise<boolean> =>
    underway(async () => {
      const signal = await ping(abort);
      return { value: signal.kind === 'answered', signal };
    });

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

  /** What becomes of the first in line: null while it has to stay there. */
  async function decide(first: Waiting): Promise<(() => void) | null> {
    try {
      if (isFull()) await rest(FULL_POLL_MS, first.abort);
      if (first.abort.aborted || !(await first.wanted())) return first.leave;
      const waitMs = turn();
      // Whole milliseconds, as timers have them: a clock need not move for the fraction of one.
      if (waitMs > 0) await rest(Math.ceil(waitMs), first.abort);
      else if (breaker.openSince() === null || (await asks(first.abort))) return first.admit;
      return null;
    } catch (error) {
      return () => first.fail(error);
    }
  }

  /** One at a time is asked about: the first in line asks, and the others need not. Never rejects. */
  async function serve(): Promise<void> {
    if (serving) return;
    serving = true;
    for (let first = line.urgent[0] ?? line.bulk[0]; first; first = line.urgent[0] ?? line.bulk[0]) {
      const fate = await decide(first);
      if (fate === null) continue;
      const queue = line.urgent.includes(first) ? line.urgent : line.bulk;
      queue.splice(queue.indexOf(first), 1);
      fate();
    }
    serving = false;
  }

  return {
    run: (send, { abort, wanted, urgent = false }) =>
      new Promise((resolve, reject) => {
        const queue = urgent ? line.urgent : line.bulk;
        queue.push({
          abort,
          wanted,
          admit: () => void underway(send).then(resolve, reject),
          leave: () => resolve(null),
          fail: reject,
        });
        if (urgent) stir();
        void serve();
      }),

    async answers(since, abort) {
      if (breaker.isWell() && (since === null || breaker.hasAnsweredSince(since))) return true;
      if (turn() > 0 || !(await asks(abort))) return false;
      // It was admitted to find out, and nothing else follows from here.
      breaker.observe({ kind: 'unused' }, clock.ticks());
      return true;
    },
  };
}
