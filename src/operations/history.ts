// What happened over time: the pictures of the dashboard, as figures.

import { z } from 'zod';
import { type ActivityHour, compareLatency, countLatencies, DAY_MS, medianLatency } from '../domain/activity.ts';
import { ITEM_KINDS } from '../domain/item.ts';
import type { PassportCounts as Passports } from '../domain/passport.ts';
import type { RunDay } from '../domain/ports/ledger/dashboard-views.ts';
import type { ItemCounts } from '../domain/ports/ledger/ledger-standing.ts';
import { Count, PassportCounts, Time } from './documents.ts';
import { defineOperation } from './operation.ts';
import type { OperationContext } from './runtime.ts';

/** So many days are shown. The hours are of the last week, and the runs of the last four weeks. */
export const SHOWN_DAYS = { passports: 90, runs: 28, hours: 7 };

const Hour = z.strictObject({
  hour: Time.describe('When the hour begins.'),
  rows: Count.describe('Rows that were read from sources.'),
  requests: Count,
  refused: Count.describe('Requests that the API refused with 429.'),
  delivered: Count,
  failed: Count,
  medianMs: z
    .number()
    .nullable()
    .describe('Half of the accepted writes took less, in milliseconds. Bulk imports do not count.'),
});

const Latency = z.strictObject({
  operation: z.string().describe('The operation with the most answers in the last ten minutes.'),
  now: z.number().describe('The median of its answers in the last ten minutes, in milliseconds.'),
  usual: z.number().nullable().describe('Its median in the last seven days; null if too few answers are known.'),
});

const Runs = z.strictObject({
  source: z.string(),
  day: Time,
  runs: Count,
  complete: Count,
  failed: Count,
  guarded: Count,
  held: Count.describe('Runs that would have done more than `approve` allows.'),
  interrupted: Count,
  running: Count,
  changed: Count,
});

const Document = z.strictObject({
  since: Time.nullable().describe('When the counting of the hours began.'),
  asOf: Time.nullable().describe('When the hours were counted last. The other figures are of now.'),
  hours: z.array(Hour).describe('The hours of the last seven days in which something happened.'),
  latency: Latency.nullable().describe('Null if the last minutes had too few answers.'),
  passportDays: z
    .array(z.strictObject({ day: Time, counts: PassportCounts }))
    .describe(
      'The last 90 days in UTC. A day on which nothing was counted is absent. The last day has the figures of now.',
    ),
  runDays: z
    .array(Runs)
    .describe(
      'The runs of the last 28 days, by source and by the day in UTC on which they began. The ledger keeps the last 400 runs of a source, so the first day of a source that runs often may not be whole.',
    ),
  funnel: z.strictObject({
    rows: Count.describe('Rows that the sources have.'),
    quarantined: Count.describe('Those of them that are in quarantine.'),
    items: Count.describe('Products, materials and BOM items.'),
    delivered: Count,
    products: Count,
    complete: Count.describe('Products whose passport does not wait for a complete product.'),
    published: Count,
    kinds: z.array(z.strictObject({ kind: z.enum(ITEM_KINDS), items: Count, delivered: Count })),
    passports: PassportCounts,
  }),
});
export type HistoryDocument = z.output<typeof Document>;

export const showHistory = defineOperation({
  name: 'show-history',
  kind: 'look',
  tag: 'ledger',
  role: 'viewer',
  summary: 'Shows what was done in each hour, the passports and the runs of each day, and how far the rows have come.',
  at: 'GET /history',
  request: z.strictObject({}),
  result: Document,
  async run(_, { runtime: { reads }, clock, daemon }: OperationContext): Promise<HistoryDocument> {
    const now = clock.now();
    const today = now - (now % DAY_MS);
    const from = (days: number) => today - (days - 1) * DAY_MS;
    const [activity, history, items, passports, quarantined] = await Promise.all([
      reads.activity({ from: now - SHOWN_DAYS.hours * DAY_MS, to: now }),
      reads.history({ passportsFrom: from(SHOWN_DAYS.passports), runsFrom: from(SHOWN_DAYS.runs), to: now }),
      reads.itemCounts(),
      reads.passportCounts({}),
      reads.quarantinedCount(),
    ]);
    const { since, storedAt, hours } = activity;
    const running = daemon?.running() ?? [];
    return {
      since,
      asOf: storedAt,
      hours: hours.map(hourOf),
      latency: daemon === null ? null : compareLatency(daemon.activity.latencies(), hours, now),
      passportDays: [
        ...history.passportDays.filter(({ day }) => day < today),
        ...(sumOf(passports) === 0 ? [] : [{ day: today, counts: passports }]),
      ],
      runDays: history.runDays.map((day) => runsOf(day, running.includes(day.source))),
      funnel: { rows: history.rows, quarantined, ...itemSteps(items), ...passportSteps(passports), passports },
    };
  },
});

function hourOf({ hour, rows, requests, refused, delivered, failed, latencies }: ActivityHour) {
  const all: Record<string, number> = {};
  for (const counts of Object.values(latencies))
    for (const [name, count] of Object.entries(counts)) all[name] = (all[name] ?? 0) + count;
  return {
    hour,
    rows,
    requests,
    refused,
    delivered,
    failed,
    medianMs: countLatencies(all) === 0 ? null : medianLatency(all),
  };
}

function runsOf({ open, interrupted, ...day }: RunDay, isRunning: boolean) {
  return { ...day, interrupted: interrupted + (isRunning ? 0 : open), running: isRunning ? open : 0 };
}

function itemSteps(counts: ItemCounts) {
  const kinds = ITEM_KINDS.map((kind) => ({
    kind,
    items: sumOf(counts[kind]),
    delivered: counts[kind].delivered ?? 0,
  }));
  return {
    items: kinds.reduce((sum, { items }) => sum + items, 0),
    delivered: kinds.reduce((sum, { delivered }) => sum + delivered, 0),
    kinds,
  };
}

function passportSteps(passports: Passports): { products: number; complete: number; published: number } {
  const products = sumOf(passports);
  const { none = 0, incomplete = 0, published = 0 } = passports;
  return { products, complete: products - none - incomplete, published };
}

function sumOf(counts: Partial<Record<string, number>>): number {
  return Object.values(counts).reduce<number>((sum, count = 0) => sum + count, 0);
}
