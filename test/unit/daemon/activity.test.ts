import { describe, expect, it } from 'vitest';
import type { ProgressEvent } from '../../../src/domain/ports/progress.ts';
import { createActivity } from '../../../src/observe/activity.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';

const HOUR_MS = 3_600_000;
const request = (outcome = 'accepted'): ProgressEvent => ({
  type: 'request',
  operation: 'product.create',
  outcome,
  retry: false,
});
const settled = (state: 'delivered' | 'rejected' | 'due'): ProgressEvent => ({
  type: 'settled',
  revision: 1,
  times: null,
  kind: 'product',
  key: 'A',
  operation: 'product.create',
  state,
  status: 201,
  latencyMs: 5,
  reason: null,
});
const page = (read: number): ProgressEvent => ({
  type: 'page',
  source: 'erp',
  stream: 'products',
  read,
  changed: 0,
  done: null,
  total: null,
});

describe('the activity of the last 24 hours', () => {
  it('the activity of the last 24 hours counts requests, refusals, deliveries, failures and rows in spans of the asked length', () => {
    const clock = createManualClock();
    const activity = createActivity(clock);
    for (const event of [request(), request('throttled'), settled('delivered'), settled('rejected'), settled('due')])
      activity.observe(event);
    activity.observe(page(100));
    activity.observe(page(250));
    const spans = activity.spans(60);
    expect(spans).toHaveLength(24);
    const last = spans.at(-1);
    expect(last).toMatchObject({ requests: 2, refused: 1, delivered: 1, failed: 1, rows: 250 });
    expect((last?.at ?? 1) % HOUR_MS).toBe(0);
    expect(spans.slice(0, -1).every(({ requests, rows }) => requests === 0 && rows === 0)).toBe(true);
  });

  it('the activity of the last 24 hours counts the rows of the next run of a source from its beginning', () => {
    const clock = createManualClock();
    const activity = createActivity(clock);
    activity.observe(page(100));
    activity.observe({ type: 'run_ended', source: 'erp', result: 'complete' });
    activity.observe(page(30));
    expect(activity.spans(15).at(-1)?.rows).toBe(130);
  });

  it('the activity of the last 24 hours forgets what is older than a day, and does not mistake it for the same minute of today', () => {
    const clock = createManualClock();
    const activity = createActivity(clock);
    activity.observe(request());
    clock.advance(23 * HOUR_MS);
    const sum = () => activity.spans(15).reduce((total, { requests }) => total + requests, 0);
    expect(sum()).toBe(1);
    clock.advance(HOUR_MS);
    expect(sum()).toBe(0);
    activity.observe(request());
    expect(sum()).toBe(1);
  });

  it('the activity gives the rate of the last ten seconds, and that of deliveries since the process began', () => {
    const clock = createManualClock();
    const activity = createActivity(clock);
    for (let second = 0; second < 10; second += 1) {
      for (let n = 0; n < 4; n += 1) activity.observe(request());
      activity.observe(settled('delivered'));
      clock.advance(1000);
    }
    expect(activity.requestsPerSecond()).toBe(4);
    expect(activity.deliveredPerSecond()).toBe(1);
    clock.advance(10_000);
    expect(activity.requestsPerSecond()).toBe(0);
  });
});
