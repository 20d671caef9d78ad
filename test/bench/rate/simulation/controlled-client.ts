import { advisedRate } from '../../../../src/api/answers/retries.ts';
import { createOutage } from '../../../../src/delivery/admission/outage.ts';
import type { Observation } from '../../../../src/delivery/observation.ts';
import { createLearntRate } from '../../../../src/delivery/rate/learnt-rate.ts';
import { throttledForMs } from '../../../../src/lib/retry-after.ts';
import type { SimAnswer, SimClient } from './simulate.ts';

/** The rate controller together with the outage detection, as the health of the API uses them. */
export function controlledClient(random: () => number, maxRate: number | null = null): SimClient {
  const controller = createLearntRate(maxRate, random);
  const outage = createOutage(random);
  let next = 0;

  function observationOf({ status, headers }: SimAnswer): Observation {
    if (status === null) return { kind: 'failed', subject: (next += 1), retryAfterMs: null };
    if (status === 503) {
      return { kind: 'failed', subject: (next += 1), is503: true, retryAfterMs: throttledForMs(headers, 0) };
    }
    const rate = advisedRate(headers);
    const advice = rate === null ? {} : { advisedRate: rate };
    if (status === 200) return { kind: 'answered', by: 'write', ...advice };
    return { kind: 'throttled', retryAfterMs: throttledForMs(headers, 0), ...advice };
  }

  return {
    admit(now) {
      const waitMs = outage.admit(now);
      if (waitMs > 0) return waitMs;
      const slotMs = controller.admit(now);
      if (slotMs > 0) outage.observe({ kind: 'unused' }, now);
      return slotMs;
    },
    concurrency: (now) => controller.concurrency(now),
    observe(answer, sentAt, now) {
      const observation = observationOf(answer);
      outage.observe(observation, now);
      controller.observe(observation, now - sentAt, now);
    },
  };
}
