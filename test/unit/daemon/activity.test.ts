import { describe, expect, it, vi } from 'vitest';
import {
  type Activity,
  type ActivityHour,
  addLatency,
  compareLatency,
  HOUR_MS,
  medianLatency,
  nothingIn,
} from '../../../src/domain/activity.ts';
import type { CountedActivity } from '../../../src/domain/ports/ledger/care-ledger.ts';
import type { ProgressEvent } from '../../../src/domain/ports/progress.ts';
import { createActivity } from '../../../src/observe/activity.ts';
import { createManualClock, type ManualClock } from '../../support/time/manual-clock.ts';

const MINUTE_MS = 60_000;
const request = (outcome = 'accepted', latencyMs: number | null = 35): ProgressEvent => ({
  type: 'request',
  operation: 'product.create',
  outcome,
  retry: false,
  latencyMs,
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
  failedAgain: false,
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

function counting(clock: ManualClock = createManualClock()) {
  const stored: CountedActivity[] = [];
  const warn = vi.fn<(fields: object, message: string) => void>();
  let refusal: Error | null = null;
  const activity = createActivity({
    ledger: {
      async storeActivity(counted) {
        if (refusal !== null) throw refusal;
        stored.push(structuredClone(counted));
      },
    },
    countPassports: async () => ({ published: 7 }),
    clock,
    log: { warn },
  });
  const refuse = (error: Error | null) => {
    refusal = error;
  };
  return { activity, clock, stored, warn, refuse };
}

describe('the activity of a process', () => {
  it('counts requests, refusals, deliveries, failures and rows by the hour, and stores them once a minute', async () => {
    const { activity, clock, stored } = counting();
    for (const event of [request(), request('throttled'), settled('delivered'), settled('rejected'), settled('due')])
      activity.observe(event);
    activity.observe(page(100));
    activity.observe(page(250));
    activity.look();
    expect(stored).toEqual([]);

    clock.advance(MINUTE_MS);
    activity.look();
    await vi.waitUntil(() => stored.length > 0);
    const [{ hours, passports }] = stored as [CountedActivity];
    expect(hours).toEqual([expect.objectContaining({ requests: 2, refused: 1, delivered: 1, failed: 1, rows: 250 })]);
    expect(hours[0]?.hour).toBe(Date.UTC(2026, 0, 1));
    expect(passports).toEqual({ published: 7 });

    activity.observe(request());
    await activity.end();
    expect(stored[1]?.hours).toEqual([expect.objectContaining({ requests: 1, rows: 0 })]);
  });

  it('adds to what the ledger has what is not stored yet, and counts nothing twice while it is being stored', async () => {
    const clock = createManualClock();
    let isStoring = false;
    let isStored: () => void = () => undefined;
    const storing = new Promise<void>((resolve) => {
      isStored = resolve;
    });
    const activity = createActivity({
      ledger: {
        storeActivity() {
          isStoring = true;
          return storing;
        },
      },
      countPassports: async () => ({}),
      clock,
      log: { warn: vi.fn<() => void>() },
    });
    const hour = clock.now();
    const span = { from: hour, to: hour };
    const counted = { since: null, storedAt: null, hours: [] };
    const requests = (of: Activity) => of.hours.map((one) => one.requests);
    activity.observe(request());
    expect(activity.upToNow(counted, span)).toMatchObject({ since: hour, storedAt: hour, hours: [{ requests: 1 }] });
    expect(activity.upToNow(counted, { from: hour + 1, to: hour + 1 }).hours).toEqual([]);

    clock.advance(MINUTE_MS);
    activity.look();
    await vi.waitUntil(() => isStoring);
    activity.observe(request());
    const had: ActivityHour = { ...nothingIn(hour), requests: 5 };
    expect(requests(activity.upToNow({ since: 0, storedAt: hour, hours: [had] }, span))).toEqual([7]);
    const has = { since: 0, storedAt: clock.now(), hours: [{ ...had, requests: 6 }] };
    expect(requests(activity.upToNow(has, span))).toEqual([7]);
    expect(had.requests).toBe(5);
    isStored();
    await activity.end();
  });

  it('counts the rows of the next run of a source from its beginning', async () => {
    const { activity, stored } = counting();
    activity.observe(page(100));
    activity.observe({ type: 'run_ended', source: 'erp', result: 'complete' });
    activity.observe(page(30));
    await activity.end();
    expect(stored[0]?.hours[0]?.rows).toBe(130);
  });

  it('keeps counts that could not be stored, reports it once, and stores them with the next ones', async () => {
    const { activity, clock, stored, warn, refuse } = counting();
    refuse(new Error('The disk is full.'));
    for (let minute = 0; minute < 3; minute += 1) {
      activity.observe(request());
      clock.advance(MINUTE_MS);
      activity.look();
      await vi.waitUntil(() => warn.mock.calls.length > 0);
      await activity.end();
    }
    expect(warn).toHaveBeenCalledOnce();
    refuse(null);
    await activity.end();
    expect(stored.map(({ hours }) => hours[0]?.requests)).toEqual([3]);
  });

  it('stores the passports once an hour where nothing happens, and nothing at the end', async () => {
    const { activity, clock, stored } = counting();
    clock.advance(HOUR_MS - 1);
    activity.look();
    clock.advance(1);
    activity.look();
    await vi.waitUntil(() => stored.length > 0);
    await activity.end();
    expect(stored).toEqual([expect.objectContaining({ hours: [], passports: { published: 7 } })]);
  });

  it('counts in the hour that the clock shows, also after the clock was set back', async () => {
    const { activity, clock, stored } = counting();
    activity.observe(request());
    clock.jump(-2 * HOUR_MS);
    activity.observe(request());
    activity.observe(request());
    await activity.end();
    expect(stored[0]?.hours.map(({ requests }) => requests)).toEqual([1, 2]);
  });

  it('gives the rate of the last ten seconds, and that of deliveries since the process began', () => {
    const { activity, clock } = counting();
    for (let second = 0; second < 10; second += 1) {
      for (let n = 0; n < 4; n += 1) activity.observe(request());
      activity.observe(settled('delivered'));
      clock.advance(1000);
    }
    expect(activity.requestsPerSecond()).toBe(4);
    expect(activity.deliveredPerSecond()).toBe(1);
    clock.advance(60_000);
    expect(activity.requestsPerSecond()).toBe(0);
  });

  it('gives the latencies of accepted single writes of the last ten minutes', () => {
    const { activity, clock } = counting();
    activity.observe(request('accepted', 5000));
    clock.advance(10 * MINUTE_MS);
    for (const event of [
      request('accepted', 400),
      request('throttled', 1),
      request('accepted', null),
      request('accepted', Number.NaN),
      request('accepted', -3),
      { ...request('accepted', 60_000), operation: 'product.import' } as ProgressEvent,
    ])
      activity.observe(event);
    const { 'product.create': latencies = {}, ...others } = activity.latencies();
    expect(others).toEqual({});
    expect(Object.values(latencies)).toEqual([1]);
    expect(medianLatency(latencies)).toBeCloseTo(400, -2);
  });
});

describe('the median of latencies', () => {
  it.each([0.2, 1, 7, 35, 412, 9_000, 120_000])(
    'the median of latencies of about %d ms is as long, within a tenth',
    (ms) => {
      const latencies = {};
      for (let n = 0; n < 100; n += 1) addLatency(latencies, 'product.create', ms * (0.99 + n / 5000));
      const median = medianLatency((latencies as Record<string, Record<string, number>>)['product.create'] ?? {}) ?? 0;
      expect(median).toBeGreaterThan(ms < 1 ? 0 : ms * 0.9);
      expect(median).toBeLessThan(Math.max(1.1, ms * 1.1));
    },
  );

  it('the median of no latency is not known', () => {
    expect([medianLatency({}), medianLatency({ 5: 0 })]).toEqual([null, null]);
  });
});

describe('the latency of the platform against its usual one', () => {
  const now = Date.UTC(2026, 0, 8, 12, 30);
  const of = (operation: string, ms: number, count: number) => {
    const latencies = {};
    for (let n = 0; n < count; n += 1) addLatency(latencies, operation, ms);
    return latencies;
  };
  const hour = (hoursAgo: number, latencies: ActivityHour['latencies']): ActivityHour => ({
    hour: Math.floor(now / HOUR_MS) * HOUR_MS - hoursAgo * HOUR_MS,
    requests: 0,
    refused: 0,
    delivered: 0,
    failed: 0,
    rows: 0,
    latencies,
  });

  it('the latency is compared for the operation with the most answers, with hours that are over for an hour', () => {
    const latest = { ...of('passport.publish', 400, 30), ...of('product.create', 40, 20) };
    const found = compareLatency(
      latest,
      [
        hour(30, of('passport.publish', 390, 120)),
        hour(2, of('product.create', 35, 500)),
        hour(1, of('passport.publish', 5, 9000)),
      ],
      now,
    );
    expect(found?.operation).toBe('passport.publish');
    expect(found?.now).toBeCloseTo(400, -2);
    expect(found?.usual).toBeCloseTo(390, -2);
  });

  it('the latency is not known after too few answers, and what is usual is not known of too few', () => {
    expect(compareLatency(of('product.create', 40, 19), [], now)).toBeNull();
    const few = [hour(30, of('product.create', 35, 99))];
    expect(compareLatency(of('product.create', 40, 20), few, now)?.usual).toBeNull();
  });
});
