import type { Outcome } from '../domain/delivery/outcome.ts';
import type { ClaimedRequest } from '../domain/ports/claim.ts';
import type { Clock } from '../lib/clock.ts';
import type { Slot } from './admission/slots.ts';

/** A request that has ended. */
export interface Answered {
  request: ClaimedRequest;
  outcome: Outcome;
  latencyMs: number;
  /** In milliseconds since the epoch. */
  times: { sentAt: number; answeredAt: number };
  /** True if the API refuses this request a scope that it grants to others. */
  forbidden: boolean;
  slot: Slot;
}

/** Gathers answers into groups, so that one commit settles many deliveries. */
export interface Answers {
  add(one: Answered): void;
  /** Resolves to the next group of answers, after a short wait for more. Resolves to an empty group after `close`. */
  next(): Promise<Answered[]>;
  /** How many answers wait to be settled. */
  count(): number;
  close(): void;
}

/** A group waits at most this long for more answers. */
const LINGER_MS = 2;
/** A group only waits if at least this many more answers can be expected during the wait. */
const EXPECTED_MIN = 8;
/** A group of this size gains nothing by becoming larger. */
const GROUP_MAX = 48;

/** @param options.underWay how many requests have no answer yet */
export function createAnswers({ underWay, clock }: { underWay: () => number; clock: Clock }): Answers {
  let gathered: Answered[] = [];
  let isClosed = false;
  let isLingering = false;
  /** Wakes `next` from its wait. */
  let notify: () => void = () => undefined;
  /** How long the requests of the last group took. */
  let usualMs = Number.POSITIVE_INFINITY;

  function isWorthWaiting(): boolean {
    const expected = (underWay() * LINGER_MS) / Math.max(LINGER_MS, usualMs);
    return gathered.length < GROUP_MAX && expected >= EXPECTED_MIN;
  }

  /** Resolves at the next answer. */
  function changed(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    notify = resolve;
    return promise;
  }

  /**
   * Waits for more answers. One turn of the event loop brings many, and if answers come quickly, a short time brings
   * more.
   */
  async function linger(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    if (!isWorthWaiting()) return;
    const timer = new AbortController();
    const late = clock.sleep(LINGER_MS, timer.signal);
    isLingering = true;
    let isLate = false;
    void late.then(() => {
      isLate = true;
      notify();
    });
    while (!isLate && isWorthWaiting()) await changed();
    isLingering = false;
    timer.abort('ended');
  }

  return {
    add(one) {
      gathered.push(one);
      if (!isLingering || !isWorthWaiting()) notify();
    },
    async next() {
      while (gathered.length === 0 && !isClosed) await changed();
      if (gathered.length > 0) await linger();
      const group = gathered;
      gathered = [];
      if (group.length > 0) usualMs = group.reduce((sum, { latencyMs }) => sum + latencyMs, 0) / group.length;
      return group;
    },
    count: () => gathered.length,
    close() {
      isClosed = true;
      notify();
    },
  };
}
