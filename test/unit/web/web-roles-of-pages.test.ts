import { describe, expect, it } from 'vitest';
import type { PassportRow } from '../../../src/domain/ports/ledger/dashboard-views.ts';
import type { RunView } from '../../../src/domain/ports/ledger/ledger-views.ts';
import { confirmPage, passportActions, passportsPage } from '../../../src/web/pages/passports/passports-pages.ts';
import { runPage, runsPage } from '../../../src/web/pages/runs/runs-pages.ts';

const RUN: RunView = {
  id: 3,
  source: 'erp',
  trigger: 'cli',
  startedAt: 0,
  endedAt: null,
  result: null,
  error: null,
  streams: [],
  askedBy: 'anna',
};
const PASSPORT: PassportRow = {
  product: 'P-1',
  remoteId: 7,
  naturalKey: 'SKU-1',
  name: 'Kettle',
  source: 'erp',
  state: 'published',
  blockers: [],
  reason: null,
  since: 0,
};

describe('what a page offers', () => {
  const listed = { rows: [PASSPORT], next: null, total: { count: 1, atLeast: false } };
  const shown = { listed, counts: { published: 1 }, quarantined: [], warning: null };
  const passports = { ...shown, query: new URLSearchParams(), sources: ['erp'], csrf: 'c' };

  it('a page offers no form that publishes to a person who may only look', () => {
    const template = 'https://p.example.com/{id}';
    expect(passportsPage({ ...passports, template, operates: false }).markup).not.toContain('method="post"');
    expect(passportsPage({ ...passports, template, operates: true }).markup).toContain('action="/passports/confirm"');
    const at = { product: 'P-1', naturalKey: null, remoteId: 7, acknowledged: 'published' as const };
    const seen = passportActions(at, { csrf: 'c', operates: false, template }).markup;
    expect(seen).toContain('href="https://p.example.com/7"');
    expect(seen).not.toContain('<form');
  });

  it('a page offers no button that starts or stops a run to a person who may only look', () => {
    const view = { query: new URLSearchParams(), sources: [{ id: 'erp', streams: [] }], csrf: 'c', now: 5000 };
    const runs = { rows: [RUN], next: null, total: { count: 1, atLeast: false } };
    const shown = (operates: boolean, running: string[]) =>
      runsPage({ ...view, listed: runs, running: new Map(running.map((source) => [source, 1])), operates }).markup;
    expect(shown(false, [])).not.toContain('method="post"');
    expect(shown(true, [])).toContain('action="/runs/start"');
    expect(shown(true, ['erp'])).toContain('action="/runs/stop"');
  });

  it('a page offers one list of sources instead of a wall of buttons, and a button for the source of the filter', () => {
    const sources = Array.from({ length: 59 }, (_, at) => ({ id: `plant-${at}`, streams: [] }));
    const runs = { rows: [], next: null, total: { count: 0, atLeast: false } };
    const view = { sources, csrf: 'c', now: 5000, listed: runs, running: new Map([['plant-3', 7]]), operates: true };
    const shown = (query: string) => runsPage({ ...view, query: new URLSearchParams(query) }).markup;
    const starts = (markup: string) => markup.match(/action="\/runs\/start"/g)?.length ?? 0;
    expect(starts(shown(''))).toBe(1);
    expect(
      shown('')
        .match(/<form class="inline".*?<\/form>/s)?.[0]
        .match(/<option/g),
    ).toHaveLength(58);
    expect(shown('')).toContain('Stop the run of plant-3');
    expect(shown('source=plant-4')).toContain('Run plant-4 now');
    expect(shown('source=plant-4')).not.toContain('Stop the run');
  });

  it('a page offers to stop a run that is running, and nothing for a source that the config does not have', () => {
    const changedItems = { count: 2, atLeast: false };
    const held = { decidable: 'export' as const, refused: [], isConfigured: true };
    const view = { run: RUN, changedItems, ...held, operates: true, csrf: 'c', now: 9000 };
    expect(runPage({ ...view, isRunning: true }).markup).toContain('action="/runs/stop"');
    const over = runPage({ ...view, isRunning: false }).markup;
    expect(over).toContain('href="/runs/accept?source=erp"');
    expect(over).toContain('interrupted');
    expect(runPage({ ...view, isRunning: false, isConfigured: false }).markup).not.toContain('method="post"');
  });

  it('a page offers nothing to confirm where nothing would change', () => {
    const view = { status: 'published' as const, examples: [], warning: null, hold: null, fields: [], csrf: 'c' };
    expect(confirmPage({ ...view, counts: { published: 4, incomplete: 2 } }).markup).toContain('Nothing would change.');
    expect(confirmPage({ ...view, counts: { published: 4, incomplete: 2, initialized: 1 } }).markup).toContain(
      '>Publish 1 passport</button>',
    );
  });
});
