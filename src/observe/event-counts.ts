import type { ProgressEvent } from '../domain/ports/progress.ts';

/** Requests to the API since the process began. */
export interface RequestCounts {
  sent: number;
  throttled: number;
  retried: number;
}

/** Counts requests to the API; subscribe `observe` to an event bus. */
export function createRequestCounts(): { counts: RequestCounts; observe: (event: ProgressEvent) => void } {
  const counts: RequestCounts = { sent: 0, throttled: 0, retried: 0 };
  return {
    counts,
    observe(event) {
      if (event.type !== 'request') return;
      counts.sent += 1;
      if (event.outcome === 'throttled') counts.throttled += 1;
      if (event.retry) counts.retried += 1;
    },
  };
}

/** Computes how many rows each page of a run has read, because an event reports the sum of the stream. */
export function createRowsRead() {
  const readBefore = new Map<string, Map<string, number>>();
  return {
    of({ source, stream, read }: ProgressEvent & { type: 'page' }): number {
      const streams = readBefore.get(source) ?? new Map<string, number>();
      const rows = Math.max(0, read - (streams.get(stream) ?? 0));
      readBefore.set(source, streams.set(stream, read));
      return rows;
    },
    /** Call it when a run has ended, because the next run counts from 0. */
    ended: (source: string) => void readBefore.delete(source),
  };
}
