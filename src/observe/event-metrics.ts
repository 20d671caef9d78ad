import { OPERATIONS } from '../domain/delivery/operation.ts';
import type { ProgressEvent } from '../domain/ports/progress.ts';
import { createRowsRead } from './event-counts.ts';
import type { Instruments } from './metric-definitions.ts';

export const RUN_RESULTS = ['complete', 'failed', 'interrupted'] as const;

const OUTCOMES = [
  'accepted',
  'exists',
  'throttled',
  'unavailable',
  'ambiguous',
  'gated',
  'in_flight',
  'refused',
  'denied',
] as const;
/** The states that a delivery can have after an attempt. */
const SETTLED = ['delivered', 'due', 'in_doubt', 'blocked', 'rejected', 'parked'] as const;

/** The metrics that events change. */
export function createEventMetrics({ counter, histogram }: Instruments) {
  const requests = counter('requests_total');
  const throttled = counter('api_throttled_total');
  const settled = counter('deliveries_settled_total');
  const duration = histogram('request_duration_seconds');
  const records = counter('records_total');
  const runs = counter('runs_total');
  for (const operation of OPERATIONS) {
    for (const outcome of OUTCOMES) requests.inc({ operation, outcome }, 0);
    for (const state of SETTLED) settled.inc({ operation, state }, 0);
    duration.zero({ operation });
  }
  const rowsRead = createRowsRead();

  function observePage(page: ProgressEvent & { type: 'page' }): void {
    const { source, stream, changed } = page;
    records.inc({ source, stream, result: 'read' }, rowsRead.of(page));
    records.inc({ source, stream, result: 'changed' }, changed);
  }

  return {
    observe(event: ProgressEvent) {
      if (event.type === 'request') {
        requests.inc({ operation: event.operation, outcome: event.outcome });
        if (event.outcome === 'throttled') throttled.inc();
      } else if (event.type === 'page') observePage(event);
      else if (event.type === 'run_ended') {
        rowsRead.ended(event.source);
        runs.inc({ source: event.source, result: event.result });
      } else if (event.type === 'settled') {
        settled.inc({ operation: event.operation, state: event.state });
        if (event.latencyMs !== null) duration.observe({ operation: event.operation }, event.latencyMs / 1000);
      }
    },
    /** Creates the series of each stream of the config, so that the first event is an increase from 0. */
    begin(streams: readonly { source: string; stream: string }[]) {
      for (const { source, stream } of streams) {
        for (const result of RUN_RESULTS) runs.inc({ source, result }, 0);
        for (const result of ['read', 'changed']) records.inc({ source, stream, result }, 0);
      }
    },
  };
}
