// A page of the dashboard reads as many times for 200 rows as for 10.

import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import type { MapResult } from '../../../src/domain/mapping.ts';
import type { DashboardViews, Listed, ListPage } from '../../../src/domain/ports/ledger/dashboard-views.ts';
import { createDashboard } from '../../../src/ledger/dashboard/dashboard-views.ts';
import { bomItem, items, product } from '../../support/ledger/items.ts';
import { createLedgerFixture, FORMS, NO_PASSPORTS, useLedger } from '../../support/ledger/ledger.ts';
import { stageRows } from '../../support/ledger/records.ts';
import { countStatements } from '../support/statement-counter.ts';

const FEW = 10;
const MANY = 200;
const RULES = { ...NO_PASSPORTS, init: 'when-complete', publish: 'auto' } as const;

/** Products, each with a BOM item; the first product has one for each of the others. Rows in quarantine, each for its own cause. */
function rowsOf(count: number): Record<string, MapResult> {
  const numbers = Array.from({ length: count }, (_, at) => at);
  const products = numbers.map((at) => [`p${at}`, items(product(`P${at}`), bomItem(`B${at}`, `P${at}`, 'M'))] as const);
  const parts = numbers.slice(1).map((at) => [`b${at}`, items(bomItem(`P0-${at}`, 'P0', `P${at}`))] as const);
  const refused = numbers.map((at): [string, MapResult] => {
    const issues = [{ code: 'field.required' as const, message: 'No.', field: `field_${at}` }];
    return [`q${at}`, { status: 'quarantined', issues, blockedProducts: [`P${at}`] }];
  });
  const alike = numbers.map((at): [string, MapResult] => {
    return [
      `r${at}`,
      { status: 'quarantined', issues: [{ code: 'unit.unknown', message: 'No.' }], blockedProducts: [] },
    ];
  });
  return Object.fromEntries([...products, ...parts, ...refused, ...alike]);
}

const largest = (views: DashboardViews): string => views.causes({})[0]?.id ?? '';
const PAGES: Record<string, (views: DashboardViews, limit: number, given: string) => { length: number }> = {
  'a list of items': (views, limit) => views.items({}, { limit }).rows,
  'a list of items in a state': (views, limit) => views.items({ state: 'waiting' }, { limit }).rows,
  'a search of items': (views, limit) => views.items({ search: 'Product' }, { limit }).rows,
  'a list of passports': (views, limit) => views.passports({}, { limit }).rows,
  'a list of incomplete passports': (views, limit) => views.passports({ state: 'incomplete' }, { limit }).rows,
  'the causes': (views) => views.causes({}),
  'the members of a cause': (views, limit, cause) => views.causeMembers(cause, { limit }).rows,
  'a list of rows in quarantine': (views, limit) => views.quarantine({}, { limit }).rows,
  'rows in quarantine by their ids': (views, limit) =>
    views.quarantinedRows(Array.from({ length: limit * 4 }, (_, at) => at)),
  'a list of runs': (views, limit) => views.runs({}, { limit }).rows,
  'the answer to why a passport is not published': (views, limit) => {
    views.why('P0');
    return { length: limit };
  },
  'the tree of a product': (views, limit) => views.itemDetail('product', 'P0')?.bom?.children.slice(0, limit) ?? [],
};

async function counted(count: number): Promise<Record<string, number>> {
  const fixture = createLedgerFixture({ rules: RULES });
  const db = new Database(fixture.file, { readonly: true });
  try {
    await stageRows(fixture.ledger, rowsOf(count));
    for (let run = 1; run < count; run += 1) {
      const { runId } = await fixture.ledger.startRun({
        source: 'erp',
        trigger: 'cli',
        streams: ['default'],
        mappingRevision: 'r1',
      });
      await fixture.ledger.endRun({ runId, result: 'failed', error: 'No.' });
    }
    const found: Record<string, number> = {};
    for (const [name, page] of Object.entries(PAGES)) {
      // Nothing is kept from another page.
      const { views } = createDashboard(new Database(fixture.file, { readonly: true }), RULES, FORMS);
      const cause = largest(views);
      let rows = 0;
      const { statements } = await countStatements(() => {
        rows = page(views, count, cause).length;
      });
      expect(rows, name).toBeGreaterThanOrEqual(Math.min(count, 100) - 1);
      found[name] = statements;
    }
    return found;
  } finally {
    db.close();
    await fixture.remove();
  }
}

it('each page of the dashboard runs as many statements for 200 rows as for 10', async () => {
  const [few, many] = [await counted(FEW), await counted(MANY)];
  expect(many).toEqual(few);
});

describe('a page whose total nobody reads', () => {
  const LISTS: Record<string, (views: DashboardViews, page: ListPage) => Listed<{ id: number }>> = {
    'all items': (views, page) => views.items({}, page),
    'the items of a source': (views, page) => views.items({ source: 'erp' }, page),
    'the items in a state': (views, page) => views.items({ state: 'waiting' }, page),
    'the items in several states': (views, page) => views.items({ state: 'open' }, page),
    'the incomplete products': (views, page) => views.items({ state: 'incomplete' }, page),
    'the rows in quarantine': (views, page) => views.quarantine({}, page),
  };
  const fixture = useLedger({ rules: RULES });

  it('a page whose total nobody reads counts nothing, and has the same rows', async () => {
    await stageRows(fixture.ledger, rowsOf(FEW));
    for (const [name, list] of Object.entries(LISTS)) {
      const { views } = createDashboard(new Database(fixture.file, { readonly: true }), RULES, FORMS);
      const counting = list(views, { limit: 2 });
      let page: Listed<{ id: number }> | undefined;
      const { byText } = await countStatements(() => {
        page = list(views, { limit: 2, counts: false });
      });
      expect({ name, ...page }).toEqual({ name, ...counting, total: { count: page?.rows.length, atLeast: true } });
      expect(
        [...byText.keys()].filter((text) => /count\(|sum\(/i.test(text)),
        name,
      ).toEqual([]);
    }
  });
});
