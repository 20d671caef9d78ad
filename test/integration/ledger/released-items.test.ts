// Items that their records no longer make, until the guard has decided about them.

import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import type { Item } from '../../../src/domain/item.ts';
import type { MissingGuard } from '../../../src/domain/ports/guarded-intake.ts';
import type { SqliteLedger } from '../../../src/ledger/sqlite-ledger.ts';
import { createBitmap } from '../../../src/lib/collections.ts';
import { deliverAll } from '../../support/ledger/deliveries.ts';
import { items, material, product, text } from '../../support/ledger/items.ts';
import { NO_PARTS, useLedger } from '../../support/ledger/ledger.ts';
import { type Export, mapRows, pullRows, row, stageRows } from '../../support/ledger/records.ts';

const GUARD: MissingGuard = { maxMissing: 0.2, maxMissingCount: Number.POSITIVE_INFINITY, maxDrop: 1 };
const fixture = useLedger({
  rules: { ...NO_PARTS, init: 'when-complete', publish: 'auto', withdrawMissingOf: ['erp'] },
  guardOf: (source) => (source === 'erp' ? GUARD : null),
});

const names = (count: number): string[] => Array.from({ length: count }, (_, at) => `P${at + 1}`);
const made = (keys: readonly string[]) => Object.fromEntries(keys.map((key) => [key, items(product(key))]));
const isMissing = (key: string, kind: 'product' | 'material' = 'product') =>
  fixture.ledger.views.item(kind, key)?.missing;
const missing = () => names(10).filter((key) => isMissing(key)).length;
const held = () => fixture.ledger.views.guardedReads().map(({ released }) => released);

/** Ten products at the platform, each from a row of its own. */
async function given(count = 10): Promise<void> {
  await stageRows(fixture.ledger, made(names(count)));
  await deliverAll(fixture.ledger);
}

/** Publishes the passport of the first product alone. */
async function publishFirst(): Promise<void> {
  const { ledger } = fixture;
  await ledger.evaluatePassports({ afterKey: null, limit: 1 });
  await deliverAll(ledger);
  expect(ledger.views.passport('P1')).toMatchObject({ acknowledged: 'published' });
}

/** A run whose rows are stored and whose mapping waits. */
function changed(ledger: SqliteLedger, keys: readonly string[], options: Partial<Export> = {}) {
  return pullRows(ledger, { rows: keys.map((key) => row(key, { status: 'off' })), ...options });
}

const excludeAll = (ledger: SqliteLedger) => mapRows(ledger, () => ({ status: 'excluded' }));

describe('a released item', () => {
  it('a person who has refused released items is not asked again until more are released', async () => {
    const { ledger } = fixture;
    await given();
    const excludeFirst = async (count: number) => {
      const off = Object.fromEntries(names(count).map((key) => [key, { status: 'excluded' as const }]));
      await stageRows(ledger, { ...made(names(10)), ...off });
    };
    await excludeFirst(4);
    expect(held()).toEqual([4]);
    expect(await ledger.refuse({ source: 'erp', by: 'anna' })).toMatchObject([{ released: 4 }]);
    await excludeFirst(4);
    expect(held()).toEqual([]);
    await excludeFirst(6);
    expect(held()).toEqual([6]);
  });

  it('a released item is decided about when the last record is mapped, however many batches that takes', async () => {
    const { ledger } = fixture;
    await given();
    await changed(ledger, names(10));
    const records = await ledger.pendingRecords({ source: 'erp', afterId: 0, limit: 100 });
    const reports: unknown[] = [];
    for (const { id, version } of records) {
      expect(missing()).toBe(0);
      const { held: streams } = await ledger.stage([{ id, version, result: { status: 'excluded' } }]);
      if (streams !== undefined) reports.push(...streams);
    }
    expect(reports).toMatchObject([{ source: 'erp', stream: 'default', message: expect.stringContaining('10 of 10') }]);
    expect(held()).toEqual([10]);
    expect(missing()).toBe(0);
  });

  it('a released item is missing if the guard allows for as many', async () => {
    await given();
    await changed(fixture.ledger, ['P1', 'P2'], { snapshot: false });
    await excludeAll(fixture.ledger);
    expect(held()).toEqual([]);
    expect(missing()).toBe(2);
  });

  it('a released item counts as present in a read of changes as well, until a person accepts it as missing', async () => {
    const { ledger } = fixture;
    await given();
    await changed(ledger, names(3), { snapshot: false });
    await excludeAll(ledger);
    expect(held()).toEqual([3]);
    expect(missing()).toBe(0);
    await ledger.accept({ sources: ['erp'] });
    await pullRows(ledger, { rows: [], snapshot: false });
    expect(held()).toEqual([]);
    expect(missing()).toBe(3);
  });

  it('a released item is no longer released once any record makes it again', async () => {
    const { ledger } = fixture;
    await given();
    await changed(ledger, names(3), { snapshot: false });
    // The first row waits until the others have released these items.
    for (let round = 0; round < 2; round += 1) {
      await mapRows(ledger, ({ id }) => (id === 'P1' ? items(product('P2'), product('P3')) : { status: 'excluded' }));
    }
    expect(held()).toEqual([]);
    expect(['P1', 'P2', 'P3'].map((key) => isMissing(key))).toEqual([true, false, false]);
  });

  it('a released item is not decided about before a complete run', async () => {
    const { ledger } = fixture;
    await given();
    const page = { source: 'erp', stream: 'default', records: [row('P1', { status: 'off' })], deferMapping: false };
    const start = { source: 'erp', trigger: 'cli' as const, streams: ['default'], mappingRevision: 'r1' };
    const { runId } = await ledger.startRun(start);
    await ledger.stagePage({ runId, ...page, seen: createBitmap() });
    await excludeAll(ledger);
    expect(isMissing('P1')).toBe(false);
    await ledger.endRun({ runId, result: 'interrupted' });
    expect(isMissing('P1')).toBe(false);
    await pullRows(ledger, { rows: [], snapshot: false });
    expect(isMissing('P1')).toBe(true);
  });

  it('a released item is not decided about while a source that its mapping looks up is being read', async () => {
    const { ledger } = fixture;
    await given();
    const stream = { source: 'pim', stream: 'colours', key: ['code'], value: ['name'] };
    await ledger.defineLookups(new Map([['erp', [{ id: 'colours', name: 'colours', stream, entries: null }]]]), {
      isAll: true,
    });
    const start = { source: 'pim', trigger: 'cli' as const, streams: ['colours'], mappingRevision: 'r1' };
    const { runId } = await ledger.startRun(start);
    await changed(ledger, ['P1'], { snapshot: false });
    await excludeAll(ledger);
    expect(isMissing('P1')).toBe(false);
    await changed(ledger, names(10), { snapshot: false });
    await excludeAll(ledger);
    expect(held()).toEqual([]);
    expect(await ledger.endRun({ runId, result: 'complete' })).toMatchObject([{ source: 'erp', stream: 'default' }]);
    expect(held()).toEqual([10]);
  });

  it('a released item is no part of a BOM item while a present item has the same key', async () => {
    const { ledger } = fixture;
    await stageRows(ledger, { M: items(material('X')), P: items(product('P')) });
    await deliverAll(ledger);
    await changed(ledger, ['M', 'P'], { snapshot: false });
    const refs: Item['refs'] = [
      { role: 'product', kind: 'product', key: 'P' },
      { role: 'component', kind: 'product', key: 'X', either: true },
    ];
    const part: Item = { kind: 'bom_item', key: 'B', payload: { quantity: '1' }, refs };
    const staged = await mapRows(ledger, ({ id }) => (id === 'M' ? items(product('X')) : items(product('P'), part)));
    expect(held()).toEqual([1]);
    expect(staged).toMatchObject({ mapped: 2, quarantined: 0 });
  });

  it('a released item is neither withdrawn nor published while nobody has decided', async () => {
    const { ledger } = fixture;
    await given();
    await publishFirst();
    await changed(ledger, names(10));
    await excludeAll(ledger);
    expect(held()).toEqual([10]);
    expect(await ledger.evaluatePassports({ afterKey: null, limit: 100 })).toMatchObject({ staged: 0 });
    expect(ledger.views.passport('P1')).toMatchObject({ acknowledged: 'published' });
    expect(ledger.views.passport('P2')?.blockers).toContain('No row of the source makes the product any more.');
  });

  it('a released item is not decided about after a read that the guard holds for its records, until a whole export', async () => {
    const { ledger } = fixture;
    await given();
    expect((await changed(ledger, ['P1'])).guarded).toContain('9 of 10 records with items are missing');
    await excludeAll(ledger);
    expect(isMissing('P1')).toBe(false);
    await pullRows(ledger, { rows: [], snapshot: false });
    expect(isMissing('P1')).toBe(false);
    expect((await changed(ledger, names(10))).guarded).toBeNull();
    await mapRows(ledger, ({ id }) => items(product(text(id))));
    expect(isMissing('P1')).toBe(true);
  });

  it('a released item waits beside new items, because they replace nothing', async () => {
    await given();
    await changed(fixture.ledger, names(10));
    await mapRows(fixture.ledger, ({ id }) => items(material(text(id))));
    expect(held()).toEqual([10]);
  });

  it('a released item of a source that the config does not have loses nothing', async () => {
    const { ledger } = fixture;
    await given(1);
    const db = new Database(fixture.file);
    db.exec("UPDATE streams SET source = 'lost'; UPDATE runs SET source = 'lost'; UPDATE items SET source = 'lost';");
    db.exec("UPDATE records SET state = 'pending', version = version + 1");
    db.close();
    const records = await ledger.pendingRecords({ source: 'lost', afterId: 0, limit: 10 });
    await ledger.stage(records.map(({ id, version }) => ({ id, version, result: { status: 'excluded' } })));
    expect(isMissing('P1')).toBe(false);
  });
});

describe('an acceptance of missing records', () => {
  it('an acceptance of missing records is kept while the guard holds the read for its items', async () => {
    const { ledger } = fixture;
    const rows = (count: number) => names(count).map((key) => row(key, { status: 'off' }));
    const release = async (keys: readonly string[]) => {
      await changed(ledger, keys, { snapshot: false });
      await excludeAll(ledger);
    };
    await given();
    await release(names(6));
    expect((await pullRows(ledger, { rows: rows(4) })).guarded).toMatch(
      /4 of 4 records with items .* 6 of 10 products/,
    );
    await ledger.accept({ sources: ['erp'] });
    await release(['P7']);
    expect((await pullRows(ledger, { rows: rows(4) })).guarded).toMatch(/^The records that .* 7 of 10 products/);
    expect(missing()).toBe(0);
    await ledger.accept({ sources: ['erp'] });
    expect((await pullRows(ledger, { rows: rows(4) })).guarded).toBeNull();
    expect(missing()).toBe(10);
  });
});

describe('a process that ends between the release of items and the decision', () => {
  it('a process that ends between the release of items and the decision loses nothing: the end of the next read decides', async () => {
    await given();
    const { ledger } = fixture;
    await changed(ledger, names(10));
    const records = await ledger.pendingRecords({ source: 'erp', afterId: 0, limit: 9 });
    await ledger.stage(records.map(({ id, version }) => ({ id, version, result: { status: 'excluded' } })));

    const reopened = await fixture.reopen();
    expect(missing()).toBe(0);
    expect(await reopened.reads.item('product', 'P1')).toMatchObject({ missing: false, released: true });
    // The last record is mapped after the start.
    await excludeAll(reopened);
    expect(held()).toEqual([10]);
    expect(await changed(reopened, names(10))).toMatchObject({ guarded: expect.stringContaining('10 of 10 products') });
  });
});
