// How fast the platform answers and how fast deliveries end, counted again from every single answer.

import type { ProgressEvent } from '../../../../src/domain/ports/progress.ts';
import type { Clock } from '../../../../src/lib/clock.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** The present latency is that of so many minutes, the present one included. */
const LATEST_MINUTES = 10;

interface AnswerTime {
  at: number;
  ms: number;
}

export interface Speed {
  /** Deliveries per second, of the present minute and the one before. */
  perSecond: number;
  /** The answers of each kind of write in the last ten minutes, and the medians in milliseconds. */
  latencies: Record<string, { answers: number; now: number; usual: number }>;
}

export function createSpeedBook(clock: Pick<Clock, 'now'>) {
  const answers = new Map<string, AnswerTime[]>();
  const delivered: number[] = [];
  let startedAt = clock.now();

  const minuteOf = (at: number) => Math.floor(at / MINUTE_MS);

  return {
    /** Call it when a daemon starts. It knows nothing of the last minutes. */
    begin(): void {
      startedAt = clock.now();
    },
    observe(event: ProgressEvent): void {
      const at = clock.now();
      if (event.type === 'settled' && event.state === 'delivered') delivered.push(at);
      if (event.type !== 'request' || event.outcome !== 'accepted' || event.latencyMs === null) return;
      if (event.operation === 'product.import') return;
      const times = answers.get(event.operation) ?? [];
      answers.set(event.operation, times);
      times.push({ at, ms: event.latencyMs });
    },
    read(): Speed {
      const now = clock.now();
      const present = minuteOf(now);
      const begin = Math.max((present - 1) * MINUTE_MS, startedAt);
      const lately = delivered.filter((at) => at >= begin).length;
      const latencies = Array.from(answers, ([operation, times]) => {
        const latest = times.filter(({ at }) => at >= startedAt && minuteOf(at) > present - LATEST_MINUTES);
        const before = times.filter(({ at }) => Math.floor(at / HOUR_MS) * HOUR_MS + HOUR_MS <= now - HOUR_MS);
        return [operation, { answers: latest.length, now: medianOf(latest), usual: medianOf(before) }] as const;
      });
      return {
        perSecond: lately / Math.max(1, (now - begin) / 1000),
        latencies: Object.fromEntries(latencies),
      };
    },
  };
}

/** The time within which half of the answers came; 0 without answers. */
function medianOf(times: readonly AnswerTime[]): number {
  return times.map(({ ms }) => ms).toSorted((a, b) => a - b)[Math.ceil(times.length / 2) - 1] ?? 0;
}
