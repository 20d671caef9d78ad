import { advisedRate } from '../../../src/api/advised-rate.ts';
import { throttledForMs } from '../../../src/api/retry-after.ts';
import { createBreaker } from '../../../src/delivery/admission/breaker.ts';
import { rateSignalOf, type Signal } from '../../../src/delivery/admission/signal.ts';
import { createRateController } from '../../../src/delivery/rate/rate-controller.ts';
import type { SimAnswer, SimClient } from './simulate.ts';

/** The rate controller behind the breaker, combined as the pacer combines them. */
export function controlledClient(random: () => number, maxRate: number | null = null): SimClient {
  const controller = createRateController(maxRate, random);
  const breaker = createBreaker(random);
  let next = 0;

  function signalOf({ status, headers }: SimAnswer): Signal {
    if (status === null) return { kind: 'failed', subject: (next += 1), retryAfterMs: null };
    const rate = advisedRate(headers);
    const advice = rate === null ? {} : { advisedRate: rate };
    if (status === 200) return { kind: 'answered', by: 'write', ...advice };
    return { kind: 'throttled', retryAfterMs: throttledForMs(headers, 0), ...advice };
  }

  return {
    admit(now) {
      const waitMs = breaker.admit(now);
      if (waitMs > 0) return waitMs;
      const slotMs = controller.admit(now);
      if (slotMs > 0) breaker.observe({ kind: 'unused' }, now);
      return slotMs;
    },
    concurrency: (now) => controller.concurrency(now),
    observe(answer, sentAt, now) {
      const signal = signalOf(answer);
      breaker.observe(signal, now);
      controller.observe(rateSignalOf(signal), now - sentAt, now);
    },
  };
}
