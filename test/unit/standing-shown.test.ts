import { describe, expect, it } from 'vitest';
import { causesOf } from '../../src/observe/causes.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import type { Figures, Standing } from '../../src/observe/standing.ts';
import { statusPage } from '../../src/web/pages/overview/status-page.ts';

const STANDING: Standing = {
  items: { product: { delivered: 3, superseded: 1 }, material: {}, bom_item: { blocked: 2 } },
  passports: { incomplete: 1 },
  quarantined: 0,
  guarded: [
    {
      source: 'erp',
      stream: 'boms',
      runId: 4,
      since: 0,
      missing: 9,
      read: 1,
      released: 0,
      message: '9 of 10 are <missing>.',
    },
  ],
  failedRuns: [{ source: 'pim', error: 'The file is gone.' }],
  suspended: [
    { kind: 'product', creates: 7, listed: 0, reason: { code: 'unlisted', message: 'The list was <refused>.' } },
    { kind: 'material', creates: 2, listed: 40, reason: null },
  ],
  missing: { product: 2, bom_item: 1 },
  queues: null,
  api: 'ok',
  apiWait: null,
  refusedScopes: [],
  sources: [],
};

const FIGURES: Figures = {
  now: 0,
  streams: [{ source: 'erp', stream: 'boms' }],
  counts: {
    items: [{ source: 'erp', kind: 'product', state: 'superseded', count: 1 }],
    passports: [],
    quarantined: [],
    missing: [{ source: 'erp', kind: 'product', count: 2 }],
    dueSince: [],
  },
  running: [],
  learntRate: null,
  ledgerBytes: { database: 0, log: 0 },
  ledgerFreeBytes: null,
  backup: null,
  config: { loadedAt: 0, refused: false },
};

describe('how a ledger stands', () => {
  it('is told by every cause that needs a person, and by no other', () => {
    expect(causesOf(STANDING)).toEqual([
      { cause: 'failed_run', count: 1, command: 'dpp-sync sync pim' },
      { cause: 'guarded', count: 1, command: 'dpp-sync sync --accept erp' },
      { cause: 'suspended', count: 7, command: 'dpp-sync status' },
      { cause: 'blocked', count: 2, command: 'dpp-sync items --state blocked' },
      { cause: 'passport_incomplete', count: 1, command: 'dpp-sync items --state incomplete' },
    ]);
  });

  it('is in the metrics: guards, missing items and ended writes', async () => {
    const text = await createMetrics({ version: '1', figures: async () => FIGURES }).text(STANDING);
    expect(text).toContain('dpp_sync_guard_held{source="erp",stream="boms"} 1');
    expect(text).toContain('dpp_sync_missing_items{source="erp",kind="product"} 2');
    expect(text).toContain('dpp_sync_missing_items{source="erp",kind="material"} 0');
    expect(text).toContain('dpp_sync_items{source="erp",kind="product",state="superseded"} 1');
  });

  it('is on the status page, with the commands and what came from outside escaped', () => {
    const page = statusPage({
      health: { status: 'ok', ledger: 'ok', queue: 'ok', api: 'ok' },
      standing: STANDING,
      running: [],
      pausedQueues: [],
      lost: null,
      trouble: null,
      stuck: [],
      refusal: null,
      refusedScopes: [],
      baseUrl: 'https://dpp.example.com',
      version: '1',
      startedAt: 0,
      now: 0,
    }).markup;
    expect(page).toContain('The guard holds erp/boms: 9 of 10 are &lt;missing&gt;.');
    expect(page).toContain('dpp-sync sync --accept erp');
    expect(page).toContain('<b class="warn">7</b> products are not created. The list was &lt;refused&gt;.');
    expect(page).not.toContain('materials are not created');
    expect(page).toMatch(/<b class="warn">3<\/b> items are missing from the source/);
    expect(page).not.toContain('Nothing.');
  });
});
