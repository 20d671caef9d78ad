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
