import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/observe/metrics.ts';
import { causesOf, type Figures, type Standing } from '../../../src/observe/standing.ts';
import { attentionCard } from '../../../src/web/pages/overview/attention-card.ts';

const STANDING: Standing = {
  otherForms: [],
  renewableInMs: 0,
  items: { product: { delivered: 3, superseded: 1 }, material: {}, bom_item: { blocked: 2 } },
  passports: { incomplete: 1 },
  unconfirmedPassports: 0,
  quarantined: 0,
  held: [],
  guarded: [
    {
      source: 'erp',
      stream: 'boms',
      runId: 4,
      since: 0,
      missing: 9,
      read: 1,
      released: 0,
      creates: 0,
      gone: [],
      isLeft: false,
      isOlder: false,
      message: '9 of 10 are <missing>.',
    },
  ],
  failedRuns: [{ source: 'pim', error: 'The file is gone.' }],
  suspended: [
    { kind: 'product', creates: 7, listed: 0, reason: { code: 'unlisted', message: 'The list was <refused>.' } },
    { kind: 'material', creates: 2, listed: 40, reason: null },
  ],
  refused: [{ operation: 'passport.publish', count: 5, reason: { code: 'denied_scope', message: 'No.' } }],
  missing: { product: 2, bom_item: 1 },
  paddedKeys: [],
  formerSources: ['<old>'],
  missingOutcomes: [
    { kind: 'product', outcome: 'kept', count: 2 },
    { kind: 'bom_item', outcome: 'kept', count: 1 },
    { kind: 'product', outcome: 'unpublishing', count: 4 },
  ],
  queues: null,
  api: 'ok',
  apiWait: null,
  refusedScopes: [],
  sources: [],
};

const FIGURES: Figures = {
  ...STANDING,
  standing: STANDING,
  now: 0,
  streams: [{ source: 'erp', stream: 'boms' }],
  counts: {
    items: [{ source: 'erp', kind: 'product', state: 'superseded', count: 1 }],
    passports: [],
    quarantined: [],
    missing: [{ source: 'erp', kind: 'product', count: 2 }],
    dueSince: [],
  },
  left: null,
  running: [],
  learntRate: null,
  ledgerBytes: { database: 0, log: 0 },
  ledgerFreeBytes: null,
  backup: null,
  alerts: [],
  notices: [],
  config: { loadedAt: 0, refused: false },
};

describe('how a ledger stands', () => {
  it('the state of a ledger is shown by every cause that needs a person, and by no other', () => {
    expect(causesOf(STANDING)).toEqual([
      { cause: 'failed_run', count: 1, command: 'dpp-sync sync pim' },
      { cause: 'guarded', count: 1, command: 'dpp-sync status' },
      { cause: 'suspended', count: 7, command: 'dpp-sync status' },
      { cause: 'refused', count: 5, command: 'dpp-sync check' },
      { cause: 'blocked', count: 2, command: 'dpp-sync items --state blocked' },
      { cause: 'passport_incomplete', count: 1, command: 'dpp-sync items --state incomplete' },
    ]);
  });

  it('the state of a ledger is in the metrics: guards, missing items and ended writes', async () => {
    const text = await createMetrics({ version: '1', figures: async () => FIGURES }).text();
    expect(text).toContain('dpp_sync_guard_held{source="erp",stream="boms"} 1');
    expect(text).toContain('dpp_sync_missing_items{source="erp",kind="product"} 2');
    expect(text).toContain('dpp_sync_missing_items{source="erp",kind="material"} 0');
    expect(text).toContain('dpp_sync_items{source="erp",kind="product",state="superseded"} 1');
  });

  it('the metrics count a write without an answer once, and not each look-up that finds nothing', async () => {
    const metrics = createMetrics({ version: '1', figures: async () => FIGURES });
    const settled = {
      type: 'settled',
      kind: 'product',
      key: '1',
      revision: 2,
      operation: 'product.update',
      state: 'in_doubt',
      attempts: 1,
      status: null,
      latencyMs: null,
      reason: null,
      failedAgain: false,
    } as const;
    metrics.observe({ ...settled, times: { sentAt: 0, answeredAt: 1 } });
    metrics.observe({ ...settled, times: null });
    const text = await metrics.text();
    expect(text).toContain('dpp_sync_deliveries_settled_total{operation="product.update",state="in_doubt"} 1\n');
  });

  it('the state of a ledger is on the first page, with text from outside escaped', () => {
    const { markup } = attentionCard({
      standing: STANDING,
      operates: true,
      causes: [],
      causeCount: 0,
      stuck: [],
    });
    expect(markup).toContain('The export of erp/boms has only ');
    expect(markup).toContain('9 of 10 are &lt;missing&gt;.');
    expect(markup).toContain('href="/runs/accept?source=erp"');
    expect(markup).toContain('7 products</a> are not created. The list was &lt;refused&gt;.');
    expect(markup).not.toContain('materials</a> are not created');
    expect(markup).toContain('3 items</a> are missing from the source: kept at the platform until a person decides.');
    expect(markup).toContain('4 items</a> are missing from the source: to be unpublished.');
    expect(markup).toContain('The source &lt;old&gt; is no longer in the config.');
    expect(markup).not.toContain('Nothing.');
  });
});
