// Clients that people use today, for comparison. The libraries read the clock and set timers themselves, so each algorithm is
// written again for virtual time. The parts that a library leaves to its caller follow the library's documentation.

import { retryAfterMs } from '../../../src/lib/retry-after.ts';
import type { Cell } from './simulation/cells.ts';
import type { SimAnswer, SimClient } from './simulation/simulate.ts';

/** Decides when a single request is sent. */
interface Pace {
  /** Milliseconds to wait; 0 sends. */
  take(now: number): number;
  answered(ok: boolean, now: number): void;
  /** How long a refused request waits before it is sent again. */
  restMs(attempt: number, retryAfterMs: number | null, now: number): number;
}

const WORKERS = 32;

/** Workers that each send one request at a time, and wait with it when it is refused. */
function workers(pace: Pace): SimClient {
  let busy = 0;
  let attempts = 0;
  let resting: number[] = [];
  return {
    concurrency: () => WORKERS,
    admit(now) {
      resting = resting.filter((until) => until > now);
      if (busy + resting.length >= WORKERS) return resting.length === 0 ? 5 : Math.min(...resting) - now;
      const waitMs = pace.take(now);
      if (waitMs === 0) busy += 1;
      return waitMs;
    },
    observe({ status, headers }: SimAnswer, _sentAt, now) {
      busy -= 1;
      const ok = status === 200;
      pace.answered(ok, now);
      attempts = ok ? 0 : attempts + 1;
      if (ok) return;
      const restMs = pace.restMs(Math.min(attempts, 10), status === 429 ? retryAfterMs(headers, 0) : null, now);
      resting.push(now + Math.max(1, restMs));
    },
  };
}

/** Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015: nothing is paced. */
function fullJitter(random: () => number): SimClient {
  return workers({
    take: () => 0,
    answered: () => undefined,
    restMs: (attempt, asked) => Math.max(asked ?? 0, random() * Math.min(60_000, 1000 * 2 ** attempt)),
  });
}

/** Chiu and Jain, 1989: a request per second more each second, half as many on a refusal. */
function aimd(): SimClient {
  let rate = 10;
  let next = 0;
  let stopped = 0;
  let raisedAt = 0;
  let halvedAt = Number.NEGATIVE_INFINITY;
  return {
    concurrency: () => WORKERS,
    admit(now) {
      if (now < stopped) return stopped - now;
      if (now < next) return next - now;
      next = Math.max(next, now - 1000 / rate) + 1000 / rate;
      return 0;
    },
    observe({ status, headers }, _sentAt, now) {
      if (status === 200 && now - raisedAt >= 1000) {
        rate += 1;
        raisedAt = now;
      }
      if (status !== 429) return;
      stopped = Math.max(stopped, now + (retryAfterMs(headers, 0) ?? 0));
      if (now - halvedAt < 1000) return;
      rate = Math.max(0.5, rate / 2);
      halvedAt = now;
      raisedAt = now;
    },
  };
}

/** Adaptive mode of the AWS SDKs (`DefaultRateLimiter` of `@smithy/util-retry`, and the standard retries beside it). */
function awsAdaptive(random: () => number): SimClient {
  const [beta, scale, smooth, leastFill] = [0.7, 0.4, 0.8, 0.5];
  let limiting = false;
  let tokens = 0;
  let fill = leastFill;
  let capacity = 1;
  let filledAt = 0;
  let lastMax = 0;
  let throttledAt = 0;
  let measured = 0;
  let counted = 0;
  let bucket = 0;

  function refill(now: number): void {
    tokens = Math.min(capacity, tokens + ((now - filledAt) / 1000) * fill);
    filledAt = now;
  }

  return workers({
    take(now) {
      if (!limiting) return 0;
      refill(now);
      if (tokens < 1) return ((1 - tokens) / fill) * 1000;
      tokens -= 1;
      return 0;
    },
    answered(ok, now) {
      const half = Math.floor(now / 500) / 2;
      counted += 1;
      if (half > bucket) {
        measured = (counted / (half - bucket)) * smooth + measured * (1 - smooth);
        counted = 0;
        bucket = half;
      }
      let rate: number;
      if (ok) {
        const plateau = Math.cbrt((lastMax * (1 - beta)) / scale);
        rate = scale * ((now - throttledAt) / 1000 - plateau) ** 3 + lastMax;
      } else {
        lastMax = limiting ? Math.min(measured, fill) : measured;
        throttledAt = now;
        rate = lastMax * beta;
        limiting = true;
      }
      refill(now);
      fill = Math.max(Math.min(rate, 2 * measured), leastFill);
      capacity = Math.max(fill, 1);
      tokens = Math.min(tokens, capacity);
    },
    restMs: (attempt, asked) => Math.max(asked ?? 0, random() * Math.min(20_000, 500 * 2 ** attempt)),
  });
}

const AGAIN_MS = 1000;

/** `p-throttle` with the rate as its limit in each second. A refused request is sent again a second later. */
function pThrottle({ rate }: Cell): SimClient {
  let windowAt = Number.NEGATIVE_INFINITY;
  let used = 0;
  return workers({
    take(now) {
      if (now - windowAt > 1000) {
        windowAt = now;
        used = 0;
      }
      if (used >= rate) return windowAt + 1000 - now + 0.001;
      used += 1;
      return 0;
    },
    answered: () => undefined,
    restMs: (_attempt, asked) => asked ?? AGAIN_MS,
  });
}

/** `bottleneck` with the rate as its `minTime`. A refused request is sent again a second later. */
function bottleneck({ rate }: Cell): SimClient {
  let next = 0;
  return workers({
    take(now) {
      if (now < next) return next - now;
      next = Math.max(next, now) + 1000 / rate;
      return 0;
    },
    answered: () => undefined,
    restMs: (_attempt, asked) => asked ?? AGAIN_MS,
  });
}

export const BASELINES: Record<string, (random: () => number, cell: Cell) => SimClient> = {
  'plain AIMD': aimd,
  'full-jitter backoff': fullJitter,
  'AWS adaptive': awsAdaptive,
  'p-throttle, given the rate': (_random, cell) => pThrottle(cell),
  'bottleneck, given the rate': (_random, cell) => bottleneck(cell),
};
