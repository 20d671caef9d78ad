// A page, a batch and an evaluation of passports run as many statements for 200 rows as for 10.

import { expect, it } from 'vitest';
import type { MapResult } from '../../../src/domain/mapping.ts';
import { FIRST_RECORDS } from '../../../src/domain/ports/intake.ts';
import type { IncomingRecord } from '../../../src/domain/record.ts';
import type { StreamIdentity } from '../../../src/domain/stream-identity.ts';
import type { SqliteLedger } from '../../../src/ledger/sqlite-ledger.ts';
import { createBitmap } from '../../../src/lib/collections/bitmap.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import { deliverAll } from '../../support/ledger/deliveries.ts';
import { bomItem, items, material, product, text } from '../../support/ledger/items.ts';
import { createLedgerFixture, type LedgerFixture, NO_CONTACT } from '../../support/ledger/ledger.ts';
import { row } from '../../support/ledger/records.ts';
import { countStatements, type StatementCount } from '../support/statement-counter.ts';

const FEW = 10;
const MANY = 200;

/** The rows of a page. Each makes one product. */
const rowsOf = (count: number, name: string): IncomingRecord[] =>
  Array.from({ length: count }, (_, at) => row(`P${at}`, { name }, at + 2));

const resultsOf = (count: number, result: (key: string) => MapResult): ReadonlyMap<number, MapResult> =>
  new Map(Array.from({ length: count }, (_, at) => [at, result(`P${at}`)]));

const productNamed = (name: string) => (key: string) => items(product(key, name));
const partsNamed = (name: string) => (key: string) =>
  items(product(key, name), bomItem(`B1-${key}`, key, 'M', name), bomItem(`B2-${key}`, key, 'M'));

const startRun = (ledger: SqliteLedger) =>
  ledger.startRun({ source: 'erp', trigger: 'cli', streams: ['default'], mappingRevision: 'r1' });

/** Stages one page of a new run, and counts the statements of the page alone. Then ends the run. */
async function page(
  ledger: SqliteLedger,
  records: IncomingRecord[],
  results: ReadonlyMap<number, MapResult> | null,
): Promise<StatementCount> {
  const { runId } = await startRun(ledger);
  const seen = createBitmap();
  const of = { runId, source: 'erp', stream: 'default' };
  const mapped = results === null ? {} : { mapped: { mappingRevision: 'r1', results } };
  const counted = await countStatements(() =>
    ledger.stagePage({ ...of, records, seen, deferMapping: false, ...mapped }),
  );
  const guard = { maxMissing: 1, maxMissingCount: Number.POSITIVE_INFINITY, maxDrop: 1 };
  const read = records.length;
  await ledger.endStream({ ...of, seen, read, creates: 'decide', flagItems: true, guard, uncounted: 0 });
  await ledger.endRun({ runId, result: 'complete' });
  return counted;
}

/** The verbs that work on many rows. Each prepares a ledger with so many rows, and counts the statements of one call. */
const VERBS: Record<string, (fixture: LedgerFixture, count: number) => Promise<StatementCount>> = {
  'a page of new rows': ({ ledger }, count) => page(ledger, rowsOf(count, 'a'), resultsOf(count, partsNamed('1'))),
  'a page of changed rows': async ({ ledger }, count) => {
    await page(ledger, rowsOf(count, 'a'), resultsOf(count, productNamed('a')));
    await deliverAll(ledger);
    return page(ledger, rowsOf(count, 'b'), resultsOf(count, productNamed('b')));
  },
  'a page of changed rows with BOM items': async ({ ledger }, count) => {
    await page(ledger, rowsOf(count, 'a'), resultsOf(count, partsNamed('1')));
    return page(ledger, rowsOf(count, 'b'), resultsOf(count, partsNamed('2')));
  },
  'a page of rows that are refused': async ({ ledger }, count) => {
    await page(ledger, rowsOf(count, 'a'), resultsOf(count, partsNamed('1')));
    const refuse = (key: string): MapResult => ({
      status: 'quarantined',
      issues: [{ code: 'x', message: 'No.' }],
      blockedProducts: [key],
    });
    return page(ledger, rowsOf(count, 'b'), resultsOf(count, refuse));
  },
  'a page of rows that are excluded': async ({ ledger }, count) => {
    await page(ledger, rowsOf(count, 'a'), resultsOf(count, partsNamed('1')));
    await deliverAll(ledger);
    return page(
      ledger,
      rowsOf(count, 'b'),
      resultsOf(count, () => ({ status: 'excluded' })),
    );
  },
  'a page of rows that another stream makes too': async ({ ledger }, count) => {
    await page(ledger, rowsOf(count, 'a'), resultsOf(count, productNamed('1')));
    const others = rowsOf(count, 'a').map((one) => ({ ...one, identity: `other ${one.identity}` }));
    return page(ledger, others, resultsOf(count, productNamed('2')));
  },
  'a page of equal rows': async ({ ledger }, count) => {
    const equal = Array.from({ length: count }, () => row('same'));
    return page(ledger, equal, null);
  },
  'a page that changes nothing': async ({ ledger }, count) => {
    await page(ledger, rowsOf(count, 'a'), resultsOf(count, productNamed('a')));
    return page(ledger, rowsOf(count, 'a'), null);
  },
  'a look-up of a page': async ({ ledger }, count) => {
    await page(ledger, rowsOf(count, 'a'), resultsOf(count, productNamed('a')));
    const records = rowsOf(count, 'b');
    return countStatements(() =>
      ledger.lookUpPage({ runId: 1, source: 'erp', stream: 'default', records, seen: createBitmap(), uncounted: 0 }),
    );
  },
  'a comparison of a page': async ({ ledger }, count) => {
    await page(ledger, rowsOf(count, 'a'), resultsOf(count, productNamed('a')));
    const records = rowsOf(count, 'b');
    return countStatements(() =>
      ledger.comparePage({ source: 'erp', stream: 'default', records, seen: createBitmap() }),
    );
  },
  'the end of a read that lacks rows': async ({ ledger }, count) => {
    await page(ledger, rowsOf(count, 'a'), resultsOf(count, productNamed('a')));
    await deliverAll(ledger);
    const { runId } = await startRun(ledger);
    const guard = { maxMissing: 1, maxMissingCount: Number.POSITIVE_INFINITY, maxDrop: 1 };
    const of = { runId, source: 'erp', stream: 'default', seen: createBitmap(), read: 0, creates: 'decide' as const };
    return countStatements(() => ledger.endStream({ ...of, flagItems: true, guard, uncounted: 0 }));
  },
  'new keys of records': async ({ ledger }, count) => {
    await page(ledger, rowsOf(count, 'a'), resultsOf(count, productNamed('a')));
    // Each record gets the key of the next one.
    const keyOf = ({ id }: JsonObject) => `P${(Number(text(id).slice(1)) + 1) % count}`;
    const identity: StreamIdentity = { by: 'columns', columns: ['next'] };
    const of = { source: 'erp', stream: 'default', from: FIRST_RECORDS, identity, keyOf, done: createBitmap() };
    return countStatements(async () => {
      const { ids } = await ledger.identifyRecords(of);
      expect(ids).toHaveLength(count);
    });
  },
  'the passports of products': async ({ ledger }, count) => {
    await page(ledger, rowsOf(count, 'a'), resultsOf(count, partsNamed('1')));
    const keys = Array.from({ length: count }, (_, at) => (at % 2 === 0 ? `P${at}` : `SKU-P${at}`));
    return countStatements(() => {
      const passports = ledger.views.passports(keys);
      expect([...passports.values()].filter(({ blockers }) => blockers.length > 0)).toHaveLength(count);
    });
  },
  'a comparison with the list of the platform': async ({ ledger }, count) => {
    await page(ledger, rowsOf(count, 'a'), resultsOf(count, partsNamed('1')));
    const entries = Array.from({ length: count }, (_, at) => ({ remoteId: at, fields: { sku: `SKU-P${at}` } }));
    for (const [list, shown] of [
      ['publication', []],
      ['product', entries],
    ] as const) {
      await ledger.beginListing(list);
      await ledger.storeListed({ list, entries: shown, position: null });
      await ledger.endListing({ list, count: null });
    }
    return countStatements(async () => {
      expect(await ledger.compareListed('product')).toMatchObject({ adopted: count });
    });
  },
  'a batch of mapped records': async ({ ledger }, count) => {
    await page(ledger, rowsOf(count, 'a'), resultsOf(count, partsNamed('1')));
    await page(ledger, rowsOf(count, 'b'), null);
    const records = await ledger.pendingRecords({ source: 'erp', afterId: 0, limit: count });
    expect(records).toHaveLength(count);
    const mapped = records.map(({ id, version, fields }) => ({
      id,
      version,
      result: partsNamed('2')(text(fields['id'])),
    }));
    return countStatements(() => ledger.stage(mapped));
  },
  'an evaluation of passports': async ({ ledger }, count) => {
    await page(ledger, rowsOf(count, 'a'), resultsOf(count, partsNamed('1')));
    await page(ledger, [...rowsOf(count, 'a'), row('M')], new Map([[count, items(material('M'))]]));
    await deliverAll(ledger);
    await deliverAll(ledger);
    await deliverAll(ledger);
    return countStatements(async () => {
      const { staged } = await ledger.evaluatePassports({ afterKey: null, limit: 1000 });
      expect(staged).toBe(count);
    });
  },
};

it.each(Object.entries(VERBS))('%s runs as many statements for 200 rows as for 10', async (_name, verb) => {
  const counts: StatementCount[] = [];
  for (const count of [FEW, MANY]) {
    const fixture = createLedgerFixture({
      rules: { init: 'when-complete', publish: 'auto' },
      contactRules: { ...NO_CONTACT, bom: 'ask' },
    });
    try {
      counts.push(await verb(fixture, count));
    } finally {
      await fixture.remove();
    }
  }
  const [few, many] = counts;
  expect(many?.statements).toBe(few?.statements);
});
