// The one gate through which every request with the API key goes. The admission asks `admit` for deliveries. All other
// requests wait in `turn`: pages of lists, counts, read-backs, publications, PDFs, reports and probes.
//
// While both kinds wait, they take turns: neither a long list nor a long queue of deliveries stops the other. A
// delivery that does not ask again soon after its slot has come loses its turn.

import type { Pacing, Turn } from '../../domain/ports/target.ts';
import type { Clock } from '../../lib/clock.ts';
import { observationOf } from '../observation.ts';
import type { LearntRate } from './learnt-rate.ts';

/** The learnt rate, which also gives turns to requests beside the deliveries. */
export interface RequestGate extends LearntRate, Pacing {}

/** The admission asks again when its slot has come. A timer may be this late. */
const LATE_MS = 25;

interface Waiting {
  /** The request gets its turn, or learns that it gets none. */
  end: (turn: Turn) => void;
}

export function createRequestGate(rate: LearntRate, clock: Clock): RequestGate {
  const queue = new Set<Waiting>();
  let last: 'delivery' | 'other' = 'other';
  /** When the next slot of a waiting delivery comes; null while no delivery waits. */
  let deliveryAt: number | null = null;
  /** Why the API has refused a request the last time. */
  let message = '';
  let isServing = false;
  let timer = new AbortController();

  /** Gives the first waiting request its turn if its slot has come. @returns the milliseconds until then, or 0 */
  function serveFirst(now: number): number {
    const [first] = queue;
    if (first === undefined) return 0;
    const waitMs = rate.admit(now);
    if (waitMs > 0) return waitMs;
    queue.delete(first);
    last = 'other';
    first.end({ granted: true, ended: (outcome, advisedRate) => learn(outcome, advisedRate, now) });
    return 0;
  }

  function learn(outcome: Parameters<typeof observationOf>[0], advisedRate: number | null, sentAt: number): void {
    const now = clock.ticks();
    if (outcome.kind === 'throttled') message = outcome.detail.message;
    rate.observe(observationOf(outcome, null, advisedRate), now - sentAt, now);
  }

  /** A long wait ends the waiting requests: a person who has asked for one of them learns of the wait at once. */
  function refuseAll(now: number): void {
    const { until, askAgainAt } = rate.wait(now) ?? { until: null, askAgainAt: now };
    for (const { end } of queue) end({ granted: false, waitMs: (until ?? askAgainAt) - now, message });
    queue.clear();
  }

  /** How long a request waits because a delivery has its turn. */
  function yieldMs(now: number): number {
    if (last === 'delivery' || deliveryAt === null) return 0;
    return Math.max(0, deliveryAt + LATE_MS - now);
  }

  async function serve(): Promise<void> {
    isServing = true;
    while (queue.size > 0) {
      const now = clock.ticks();
      if (rate.closedForMs(now) > 0 && rate.wait(now) !== null) {
        refuseAll(now);
        break;
      }
      const waitMs = yieldMs(now) || serveFirst(now);
      if (waitMs === 0) continue;
      timer = new AbortController();
      await clock.sleep(Math.ceil(waitMs), timer.signal);
    }
    isServing = false;
  }

  return {
    ...rate,

    admit(now) {
      const isOthersTurn = queue.size > 0 && last === 'delivery';
      const waitMs = (isOthersTurn ? serveFirst(now) : 0) || rate.admit(now);
      deliveryAt = waitMs > 0 ? now + waitMs : null;
      if (waitMs === 0) last = 'delivery';
      return waitMs;
    },

    turn(signal) {
      return new Promise((resolve) => {
        const stop = (): void => {
          queue.delete(waiting);
          timer.abort('stopped');
          waiting.end({ granted: false, waitMs: null, message: '' });
        };
        const waiting: Waiting = {
          end(turn) {
            signal?.removeEventListener('abort', stop);
            resolve(turn);
          },
        };
        if (signal?.aborted) {
          stop();
          return;
        }
        signal?.addEventListener('abort', stop, { once: true });
        queue.add(waiting);
        if (!isServing) void serve();
      });
    },
  };
}
