import { describe, expect, it } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../src/domain/activity.ts';
import type { HistoryDocument } from '../../../src/operations/history.ts';
import { activityChart } from '../../../src/web/pages/history/activity-chart.ts';
import { funnelChart } from '../../../src/web/pages/history/funnel-chart.ts';
import { historyPage } from '../../../src/web/pages/history/history-routes.ts';
import { latencyChart } from '../../../src/web/pages/history/latency.ts';
import { passportsChart } from '../../../src/web/pages/history/passports-chart.ts';
import { runsChart } from '../../../src/web/pages/history/runs-chart.ts';

const NOW = Date.UTC(2026, 2, 1, 6, 20);
const TODAY = Date.UTC(2026, 2, 1);
const HOSTILE = '<img src=x onerror=alert(1)>';
const text = (markup: string): string =>
  markup
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
const bars = (markup: string) => markup.match(/<rect class="(?:solid|patterned|empty)/g)?.length ?? 0;

const run = (day: number, more: Partial<HistoryDocument['runDays'][number]>): HistoryDocument['runDays'][number] => ({
  source: 'erp',
  day,
  runs: 1,
  complete: 0,
  failed: 0,
  guarded: 0,
  held: 0,
  interrupted: 0,
  running: 0,
  changed: 0,
  ...more,
});
const hour = (at: number, more: Partial<HistoryDocument['hours'][number]>): HistoryDocument['hours'][number] => ({
  hour: at,
  rows: 0,
  requests: 0,
  refused: 0,
  delivered: 0,
  failed: 0,
  medianMs: null,
  ...more,
});

const EMPTY: HistoryDocument = {
  since: null,
  asOf: null,
  hours: [],
  latency: null,
  passportDays: [],
  runDays: [],
  funnel: {
    rows: 0,
    quarantined: 0,
    items: 0,
    delivered: 0,
    products: 0,
    complete: 0,
    published: 0,
    kinds: [],
    passports: {},
  },
};

describe('the page of the history', () => {
  it('says that there is nothing yet, instead of empty pictures', () => {
    const { markup } = historyPage(EMPTY, { now: NOW, passportsWanted: true });
    expect(markup).not.toContain('role="img"');
    for (const sentence of [
      'No passport was counted yet.',
      'No source was read',
      'The platform was sent nothing',
      'Nothing was counted yet.',
    ])
      expect(text(markup)).toContain(sentence);
    expect(markup).not.toMatch(/NaN|Infinity|undefined/);
  });

  it('shows hostile names and huge numbers as text', () => {
    const { markup } = historyPage(
      {
        ...EMPTY,
        runDays: [run(TODAY, { source: HOSTILE, complete: 1, changed: Number.MAX_SAFE_INTEGER })],
        passportDays: [{ day: TODAY, counts: { published: Number.MAX_SAFE_INTEGER, blocked: 1 } }],
        hours: [hour(TODAY, { refused: Number.MAX_SAFE_INTEGER, medianMs: 1e9 })],
      },
      { now: NOW, passportsWanted: true },
    );
    expect(markup).not.toContain('<img');
    expect(markup).toContain('&lt;img src=x');
    expect(markup).not.toMatch(/NaN|Infinity|undefined/);
  });
});

describe('the picture of the passports', () => {
  const days = [
    { day: TODAY - 2 * DAY_MS, counts: { published: 3, incomplete: 1 } },
    { day: TODAY, counts: { published: 4, incomplete: 0 } },
  ];

  it('has a bar for each state of each day, a gap for a day without a count, and the figures as a table', () => {
    const { markup } = passportsChart(days, { today: TODAY, shown: 90 });
    const [picture = ''] = markup.split('<figcaption');
    expect(bars(picture)).toBe(3);
    const places = Array.from(picture.matchAll(/<rect [^>]*x="([\d.]+)%"/g), ([, x]) => Number(x));
    expect(places).toEqual([96.67, 96.67, 98.89]);
    expect(text(markup)).toContain('90 days in UTC, at most 4 passports. 88 days without a count are empty.');
    expect(text(markup)).toMatch(/2026-03-01 4 0 2026-02-27 3 1$/);
  });

  it('tells the states apart by patterns, and not by colour alone', () => {
    const { markup } = passportsChart(
      [{ day: TODAY, counts: { published: 1, initialized: 1, unpublished: 1, incomplete: 1, blocked: 1, none: 1 } }],
      { today: TODAY, shown: 90 },
    );
    const fills = new Set(
      Array.from(markup.matchAll(/<rect class="(\w+) \w+"(?: fill="url\(#(\w+)-)?/g), ([, look, fill]) => fill ?? look),
    );
    expect(fills.size).toBe(6);
  });
});

describe('the picture of the sources', () => {
  it('shows the worst result of a day as a letter, and how many rows changed as a pattern', () => {
    const { markup } = runsChart(
      [
        run(TODAY - 4 * DAY_MS, { complete: 1 }),
        run(TODAY - 3 * DAY_MS, { complete: 1, changed: 100 }),
        run(TODAY - 2 * DAY_MS, { runs: 3, complete: 1, failed: 1, guarded: 1 }),
        run(TODAY - DAY_MS, { guarded: 1 }),
        run(TODAY, { interrupted: 1 }),
        run(TODAY, { source: 'plm', running: 1 }),
      ],
      { today: TODAY, shown: 28 },
    );
    const letters = Array.from(markup.matchAll(/text-anchor="middle">(\w)</g), ([, letter]) => letter);
    expect(letters).toEqual(['F', 'H', 'I', 'R']);
    expect(markup).toContain('class="empty good"');
    expect(markup).toContain('class="solid good"');
    const shown = text(markup);
    expect(shown).toContain('2026-02-27 erp failed 3 1 1 0 0');
    expect(shown).toContain('2026-03-01 plm running 1 0 0 0 0');
    expect(markup).toContain('href="/runs?source=erp"');
  });
});

describe('the picture of the way from rows to passports', () => {
  const funnel = {
    rows: 100,
    quarantined: 8,
    items: 150,
    delivered: 120,
    products: 40,
    complete: 30,
    published: 25,
    kinds: [{ kind: 'product' as const, items: 40, delivered: 38 }],
    passports: { published: 25, initialized: 5, incomplete: 10 },
  };

  it('shows what has come so far and what has not, with links to the lists that have the same figures', () => {
    const { markup } = funnelChart(funnel, { passportsWanted: true });
    const shown = text(markup);
    for (const step of [
      'Rows without an error: 92, 8 with an error',
      'Items made from them: 150',
      'Items delivered: 120, 30 not delivered',
      'Products complete: 30, 10 not complete',
      'Passports published: 25, 5 not public yet',
    ])
      expect(shown).toContain(step);
    for (const [href, count] of [
      ['/attention?type=quarantine', '8'],
      ['/items?kind=product', '40'],
      ['/items?kind=product&amp;state=delivered', '38'],
      ['/passports?state=incomplete', '10'],
      ['/passports?state=published', '25'],
    ])
      expect(markup).toContain(`href="${href}">${count}</a>`);
  });

  it('has no steps of passports where the config wants none', () => {
    expect(text(funnelChart(funnel, { passportsWanted: false }).markup)).not.toContain('Passports');
  });
});

describe('the picture of the platform', () => {
  it('has the median and the refused requests of each hour, without hours before the shown ones', () => {
    const present = NOW - (NOW % HOUR_MS);
    const { markup } = latencyChart(
      [
        hour(present - 168 * HOUR_MS, { medianMs: 35, refused: 1 }),
        hour(present - HOUR_MS, { medianMs: 35, requests: 10 }),
        hour(present, { medianMs: 412, requests: 20, refused: 4 }),
      ],
      { now: NOW, days: 7 },
    );
    expect(bars(markup.split('<figcaption')[0] ?? '')).toBe(3);
    expect(text(markup)).toContain('Median, at most 410 ms');
    expect(text(markup)).toContain('Refused with 429, at most 4 an hour');
    expect(text(markup)).toContain('2026-03-01 06:00 410 ms 20 4 2026-03-01 05:00 35 ms 10 0');
  });
});

describe('the chart of the last 24 hours', () => {
  const present = NOW - (NOW % HOUR_MS);
  const shown = (hours: HistoryDocument['hours'], since = TODAY - 30 * DAY_MS) =>
    activityChart({ hours, since, asOf: NOW - 30_000 }, NOW).markup;

  it('has the same figures as a table, of each hour of a day', () => {
    const markup = shown([hour(present - 24 * HOUR_MS, { delivered: 9 }), hour(present, { delivered: 5, failed: 2 })]);
    expect(markup).toContain('role="img"');
    expect(bars(markup.split('<figcaption')[0] ?? '')).toBe(2);
    expect(markup.match(/<th scope="row">/g)).toHaveLength(24);
    expect(text(markup)).toContain('0 rows read, 0 requests, 0 refused (429), 5 delivered, 2 failed.');
  });

  it('says from when to when it has counted', () => {
    expect(text(shown([hour(present, { delivered: 1 })]))).toMatch(
      /^Counted from 2026-02-28 07:00 UTC to 2026-03-01 06:19 UTC \. 0 rows read/,
    );
    expect(text(shown([hour(present, { delivered: 1 })], NOW - 600_000))).toMatch(
      /^Counted from 2026-03-01 06:10 UTC to 2026-03-01 06:19 UTC \. What was done before is not counted here\./,
    );
  });

  it.each([
    ['nothing has happened', {}, 'Nothing was read and nothing was sent in this time.'],
    ['a run has only read rows', { rows: 1_234 }, 'No item was delivered or has failed, so there is no chart.'],
  ])('has no chart where %s', (_, last, sentence) => {
    const markup = shown([hour(present, last)]);
    expect(markup).not.toContain('<svg');
    expect(text(markup)).toContain(sentence);
  });
});
