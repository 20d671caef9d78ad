// A page, a batch and an evaluation of passports run as many statements for 200 rows as for 10.

import { expect, it } from 'vitest';
import { type LookupTable, stampOf } from '../../../src/domain/lookup.ts';
import type { MapResult } from '../../../src/domain/mapping.ts';
import type { Decision } from '../../../src/domain/ports/deliveries.ts';
import { FIRST_RECORDS } from '../../../src/domain/ports/intake.ts';
import type { IncomingRecord, StreamIdentity } from '../../../src/domain/record.ts';
import type { SqliteLedger } from '../../../src/ledger/sqlite-ledger.ts';
import { createBitmap } from '../../../src/lib/collections.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import { alone, deliverAll } from '../../support/ledger/deliveries.ts';
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

/** Claims all due deliveries, and settles them in one call. Counts the statements of this call alone. */
async function settleDue(ledger: SqliteLedger, decisionOf: (key: string) => Decision): Promise<StatementCount> {
  const due = await ledger.dueDeliveries({ afterId: 0, limit: MANY });
  const claimed = await ledger.claim([alone(due)]);
  const groups = claimed.map(({ request, sends, members }) => {
    const settlements = members.map(({ id, revision, key }) => ({ id, revision, decision: decisionOf(key) }));
    return { claim: { request, sends }, settlements, keep: false, groupMax: null };
  });
  return countStatements(async () => {
    const settled = await ledger.settle(groups);
    expect(settled.filter(({ applied }) => applied)).toHaveLength(due.length);
  });
}

/** Lookup tables: each second one is a file, and the others are the records of a stream. */
const lookupTables = (count: number, name: string): LookupTable[] =>
  Array.from({ length: count }, (_, at) => {
    const stream = { source: 'erp', stream: 'default', key: ['id'], value: 'name' };
    const of = { name: `${name} ${at}` };
    return at % 2 === 0
      ? { ...of, id: `file ${at}`, stream: null, entries: new Map([['k', name]]) }
      : { ...of, id: `stream ${at}`, stream, entries: null };
  });

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
      issues: [{ code: 'row.value', message: 'No.' }],
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
  'the lookup tables of a config': async ({ ledger }, count) => {
    await page(ledger, rowsOf(FEW, 'a'), resultsOf(FEW, productNamed('a')));
    const define = (tables: readonly LookupTable[]) =>
      ledger.defineLookups(new Map([['erp', tables]]), { isAll: true });
    return countStatements(async () => {
      await define(lookupTables(count, 'a'));
      await define(lookupTables(count, 'b'));
      await define([]);
    });
  },
  'a page in which tables look up': async ({ ledger }, count) => {
    await ledger.defineLookups(new Map([['erp', lookupTables(count, 'a')]]), { isAll: true });
    await page(ledger, rowsOf(FEW, 'a'), resultsOf(FEW, productNamed('a')));
    return page(ledger, rowsOf(FEW, 'b'), resultsOf(FEW, productNamed('b')));
  },
  'a change of lookup tables that records have used': async ({ ledger }, count) => {
    const define = (name: string) =>
      ledger.defineLookups(new Map([['erp', lookupTables(count, name)]]), { isAll: true });
    await define('a');
    const using = (key: string): MapResult => {
      const table = `file ${2 * Math.floor(Number(key.slice(1)) / 2)}`;
      return { status: 'excluded', uses: [{ table, key: 'k', stamp: stampOf({ values: ['a'], isRead: true }) }] };
    };
    for (const at of [0, 1]) await page(ledger, rowsOf(count, `${at}`), resultsOf(count, using));
    return countStatements(async () => {
      await define('b');
      expect(await ledger.pendingRecords({ source: 'erp', afterId: 0, limit: count })).toHaveLength(count);
    });
  },
  'a replay of records that need a person': async ({ ledger }, count) => {
    await page(ledger, rowsOf(count, 'a'), resultsOf(count, productNamed('a')));
    await settleDue(ledger, () => ({ kind: 'blocked', reason: { code: 'import_unproven', message: 'No proof.' } }));
    const selection = { states: ['blocked'] as const, sources: [], keys: [], deliveryIds: [] };
    const stuck = await ledger.replayCandidates({ selection, afterId: 0, limit: count });
    const records = stuck.map(({ id, version, fields }) => ({
      id,
      version,
      result: productNamed('a')(text(fields['id'])),
    }));
    return countStatements(async () => {
      expect(await ledger.replay({ records, dryRun: false })).toMatchObject({ staged: count });
    });
  },
  'a look at whether deliveries are due, and were refused before': async ({ ledger }, count) => {
    await page(ledger, rowsOf(count, 'a'), resultsOf(count, productNamed('a')));
    const ids = (await ledger.dueDeliveries({ afterId: 0, limit: count })).map(({ id }) => id);
    return countStatements(async () => {
      expect(await ledger.dueAmong(ids)).toEqual(new Set(ids));
      expect(await ledger.denialsOf(ids)).toHaveProperty('size', count);
    });
  },
  'creates that have met items of the platform': async ({ ledger }, count) => {
    await page(ledger, rowsOf(count, 'a'), resultsOf(count, productNamed('1')));
    const counted = await settleDue(ledger, (key) => {
      const remoteId = Number(key.slice(1)) + 1;
      const shown = [{ remoteId, fields: { sku: `SKU-${key}` } }];
      return { kind: 'delivered', remoteId, contentKnown: true, by: 'read_back', shown };
    });
    expect(ledger.views.itemCounts().product).toEqual({ blocked: count });
    return counted;
  },
  'ids that other items have': async ({ ledger }, count) => {
    await page(ledger, rowsOf(count, 'a'), resultsOf(count, productNamed('1')));
    const counted = await settleDue(ledger, () => ({
      kind: 'delivered',
      remoteId: 1,
      contentKnown: true,
      by: 'answer',
    }));
    expect(ledger.views.itemCounts().product).toEqual({ delivered: 1, in_doubt: count - 1 });
    return counted;
  },
  'ids of items that are gone': async ({ ledger }, count) => {
    const given = (key: string): Decision => {
      const remoteId = Number(key.slice(1)) + 1;
      return { kind: 'delivered', remoteId, contentKnown: true, by: 'read_back' };
    };
    await page(ledger, rowsOf(count, 'a'), resultsOf(count, productNamed('1')));
    await settleDue(ledger, given);
    const renamed = rowsOf(count, 'b').map((one, at) => row(`N${at}`, { name: 'b' }, at + 2));
    await page(ledger, renamed, new Map(renamed.map((_, at) => [at, items(product(`N${at}`, '2'))])));
    const counted = await settleDue(ledger, given);
    expect(ledger.views.item('product', 'N1')).toMatchObject({ state: 'delivered', remoteId: 2 });
    return counted;
  },
  'the passports of products': async ({ ledger }, count) => {
    await page(ledger, rowsOf(count, 'a'), resultsOf(count, partsNamed('1')));
    const keys = Array.from({ length: count }, (_, at) => (at % 2 === 0 ? `P${at}` : `SKU-P${at}`));
    return countStatements(() => {
      const passports = ledger.views.passportsOf(keys);
      expect([...passports.values()].filter(({ blockers }) => blockers.length > 0)).toHaveLength(count);
    });
  },
  'the end of a read that the guard holds': async ({ ledger }, count) => {
    await page(ledger, rowsOf(count, 'a'), resultsOf(count, productNamed('a')));
    const { runId } = await startRun(ledger);
    const guard = { maxMissing: 0.5, maxMissingCount: Number.POSITIVE_INFINITY, maxDrop: 1 };
    const of = { runId, source: 'erp', stream: 'default', seen: createBitmap() };
    await ledger.stagePage({ ...of, records: rowsOf(2, 'a'), deferMapping: false });
    const end = { read: 2, creates: 'decide' as const, flagItems: true, guard, uncounted: 0 };
    return countStatements(async () => {
      const { guarded } = await ledger.endStream({ ...of, ...end });
      expect(guarded).not.toBeNull();
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
