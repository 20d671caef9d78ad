// What was done in each hour and the passports of each day are in the ledger, and outlast the process.

import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { type ActivityHour, DAY_MS, HOUR_MS, nothingIn } from '../../../src/domain/activity.ts';
import type { RunResult } from '../../../src/domain/ports/intake.ts';
import { createDashboard } from '../../../src/ledger/dashboard/dashboard-views.ts';
import { items, product } from '../../support/ledger/items.ts';
import { FORMS, NO_PASSPORTS, useLedger } from '../../support/ledger/ledger.ts';
import { stageRows } from '../../support/ledger/records.ts';

const fixture = useLedger();
const EVER = { from: 0, to: Number.MAX_SAFE_INTEGER };
const hourAt = (at: number, counts: Partial<ActivityHour> = {}): ActivityHour => ({
  ...nothingIn(at - (at % HOUR_MS)),
  ...counts,
});

function views() {
  const db = new Database(fixture.file, { readonly: true });
  const { views: asked } = createDashboard(db, NO_PASSPORTS, FORMS);
  const answer = {
    ...asked.activity(EVER),
    ...asked.history({ passportsFrom: 0, runsFrom: 0, to: Number.MAX_SAFE_INTEGER }),
  };
  db.close();
  return answer;
}

function store(hours: ActivityHour[], passports = {}, since = fixture.clock.now()): Promise<void> {
  return fixture.ledger.storeActivity({ since, hours, passports });
}

describe('the activity in the ledger', () => {
  it('adds what the processes that work one after the other have counted, and knows since when and as of when', async () => {
    const begun = fixture.clock.now();
    const counts = { requests: 2, refused: 1, delivered: 3, failed: 4, rows: 5 };
    await store([hourAt(begun, { ...counts, latencies: { 'product.create': { 40: 2 } } })]);
    await fixture.reopen();
    fixture.clock.advance(HOUR_MS);
    const later = fixture.clock.now();
    const latencies = { 'product.create': { 40: 1, 41: 1 }, 'passport.init': { 60: 1 } };
    await store([hourAt(begun, { ...counts, latencies }), hourAt(later, { delivered: 1 })]);

    const { since, storedAt, hours } = views();
    expect([since, storedAt]).toEqual([begun, later]);
    expect(hours).toEqual([
      hourAt(begun, {
        requests: 4,
        refused: 2,
        delivered: 6,
        failed: 8,
        rows: 10,
        latencies: { 'product.create': { 40: 3, 41: 1 }, 'passport.init': { 60: 1 } },
      }),
      hourAt(later, { delivered: 1 }),
    ]);
  });

  it('keeps the newest hours and days only, by their order and not by the clock', async () => {
    const now = fixture.clock.now();
    const hours = Array.from({ length: 2161 }, (_, at) => hourAt(now - at * HOUR_MS, { rows: at }));
    await store(hours);
    expect(views().hours).toHaveLength(2160);
    expect(views().hours[0]?.rows).toBe(2159);
    for (let day = 0; day < 102; day += 1) {
      await store([], { published: day });
      fixture.clock.advance(DAY_MS);
    }
    expect(views().passportDays).toHaveLength(100);
    // A clock that is set far ahead, as before it gets the time of the network, deletes nothing.
    fixture.clock.jump(40 * 365 * DAY_MS);
    await store([hourAt(fixture.clock.now(), { rows: 1 })], { published: 1 });
    expect(views().hours).toHaveLength(2160);
    expect(views().passportDays).toHaveLength(100);
    expect(views().passportDays.at(-2)?.counts.published).toBe(101);
  });

  it('counts after the clock was set back, and does not say that it began in the future', async () => {
    const ahead = fixture.clock.now();
    await store([hourAt(ahead, { rows: 1 })], { published: 5 });
    fixture.clock.jump(-3 * DAY_MS);
    const now = fixture.clock.now();
    await store([hourAt(now, { rows: 2 }), hourAt(ahead, { rows: 4 })], { published: 6 }, ahead);
    const { since, storedAt, hours, passportDays } = views();
    expect([since, storedAt]).toEqual([now, now]);
    expect(hours.map(({ rows }) => rows)).toEqual([2, 5]);
    expect(passportDays.map(({ counts }) => counts.published)).toEqual([6, 5]);
  });

  it('has the last counts of the passports of each day, with the states that have none, and no row for a day without a count', async () => {
    const day = fixture.clock.now() - (fixture.clock.now() % DAY_MS);
    await store([], { published: 3, incomplete: 2 });
    await store([], { published: 4 });
    fixture.clock.advance(2 * DAY_MS);
    await store([], {});
    expect(views().passportDays).toEqual([
      { day, counts: { blocked: 0, incomplete: 0, initialized: 0, none: 0, published: 4, unpublished: 0 } },
      {
        day: day + 2 * DAY_MS,
        counts: { blocked: 0, incomplete: 0, initialized: 0, none: 0, published: 0, unpublished: 0 },
      },
    ]);
  });

  it('counts the rows that the sources have', async () => {
    await stageRows(fixture.ledger, { 1: items(product('1')), 2: items(product('2')) });
    expect(views().rows).toBe(2);
  });
});

describe('the runs of each day', () => {
  async function run(result: RunResult | null): Promise<number> {
    const { runId } = await fixture.ledger.startRun({
      source: 'erp',
      trigger: 'schedule',
      streams: ['default'],
      mappingRevision: 'r1',
    });
    if (result !== null)
      await fixture.ledger.endRun({ runId, result, ...(result === 'failed' ? { error: 'No.' } : {}) });
    return runId;
  }

  it('counts the runs of a day by result, a run without an end before the newest one as interrupted', async () => {
    const day = fixture.clock.now() - (fixture.clock.now() % DAY_MS);
    for (const result of ['complete', 'failed', 'interrupted', 'held', null, 'complete'] as const) await run(result);
    const guarded = await run('complete');
    const db = new Database(fixture.file);
    db.prepare("UPDATE run_streams SET guarded = 'Half is gone.', changed = 9 WHERE run_id = ?").run(guarded);
    db.close();
    fixture.clock.advance(DAY_MS);
    await run(null);
    expect(views().runDays).toEqual([
      { source: 'erp', day, runs: 7, complete: 2, failed: 1, guarded: 1, held: 1, interrupted: 2, open: 0, changed: 9 },
      {
        source: 'erp',
        day: day + DAY_MS,
        runs: 1,
        complete: 0,
        failed: 0,
        guarded: 0,
        held: 0,
        interrupted: 0,
        open: 1,
        changed: 0,
      },
    ]);
  });
});
