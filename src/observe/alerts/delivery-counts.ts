import type { ProgressEvent } from '../../domain/ports/progress.ts';
import type { Clock } from '../../lib/clock.ts';
import { hasFailed } from '../event-bus.ts';

/** What has become of the deliveries of the last hour. */
export interface DeliveryCounts {
  delivered: number;
  /** Those that were rejected, blocked or given up, without those that had failed before for the same reason. */
  failed: number;
  /** False in the first hour of the process: deliveries of an earlier process are not counted. */
  isWhole: boolean;
}

const CELL_MS = 5 * 60_000;
const HOUR_MS = 60 * 60_000;

/** Counts the deliveries of the last hour, in spans of five minutes. */
export function createDeliveryCounts(clock: Pick<Clock, 'ticks'>) {
  const startedAt = clock.ticks();
  const spans = new Map<number, { delivered: number; failed: number }>();
  const present = (): number => Math.floor(clock.ticks() / CELL_MS);

  function dropOutdated(): void {
    for (const span of spans.keys()) if (span <= present() - HOUR_MS / CELL_MS) spans.delete(span);
  }

  return {
    /** Subscribe it to an event bus. */
    observe(event: ProgressEvent) {
      if (event.type !== 'settled') return;
      const isFailed = hasFailed(event);
      if (!isFailed && event.state !== 'delivered') return;
      dropOutdated();
      const counts = spans.get(present()) ?? { delivered: 0, failed: 0 };
      counts[isFailed ? 'failed' : 'delivered'] += 1;
      spans.set(present(), counts);
    },
    ofLastHour(): DeliveryCounts {
      dropOutdated();
      const sum = { delivered: 0, failed: 0, isWhole: clock.ticks() - startedAt >= HOUR_MS };
      for (const { delivered, failed } of spans.values()) {
        sum.delivered += delivered;
        sum.failed += failed;
      }
      return sum;
    },
  };
}
