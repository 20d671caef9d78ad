// The reads of the dashboard from the ledger.

import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import type { Reason } from '../../../src/domain/delivery/stored-reason.ts';
import type { Item } from '../../../src/domain/item.ts';
import type { MapResult } from '../../../src/domain/mapping.ts';
import type { DashboardViews, ItemListFilter } from '../../../src/domain/ports/ledger/dashboard-views.ts';
import { verifyLedger } from '../../../src/ledger/backup/verify.ts';
import { createDashboard } from '../../../src/ledger/dashboard/dashboard-views.ts';
import { openDatabaseReadOnly } from '../../../src/ledger/upgrade/open.ts';
import { createBitmap } from '../../../src/lib/collections.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import { textOf } from '../../support/connectors/connector-reader.ts';
import { deliverAll } from '../../support/ledger/deliveries.ts';
import { bomItem, items, material, product } from '../../support/ledger/items.ts';
import { FORMS, NO_PASSPORTS, useLedger } from '../../support/ledger/ledger.ts';
import { mapRows, NO_GUARD, pullRows, row, stageRows } from '../../support/ledger/records.ts';

const RULES = { ...NO_PASSPORTS, init: 'when-complete', publish: 'auto' } as const;
const fixture = useLedger({ rules: RULES });

let opened: { of: string; views: DashboardViews } | null = null;

function views(): DashboardViews {
  if (opened?.of === fixture.file) return opened.views;
  const db = openDatabaseReadOnly(fixture.file);
  if (db === null) throw new Error('There is no ledger.');
  opened = { of: fixture.file, views: createDashboard(db, RULES, FORMS, fixture.clock).views };
  return opened.views;
}

const keys = (filter: ItemListFilter) =>
  views()
    .items(filter, { limit: 100 })
    .rows.map(({ key }) => key);
const total = (filter: ItemListFilter) => views().items(filter, { limit: 1 }).total;

function pagesOf(filter: ItemListFilter, limit: number): string[][] {
  const pages: string[][] = [];
  let after: string | undefined;
  do {
    const { rows, next } = views().items(filter, { after, limit });
    pages.push(rows.map(({ key }) => key));
    after = next ?? undefined;
  } while (after !== undefined);
  return pages;
}

const unknownCountry = (value: string): MapResult => ({
  status: 'quarantined',
  issues: [
    {
      code: 'country.unknown',
      message: `"${value}" is not a country.`,
      field: 'country_of_origin',
      value,
      cure: 'Correct it.',
    },
  ],
  blockedProducts: [value],
});

async function reject(key: string, reason: Partial<Reason> = {}): Promise<void> {
  const due = await fixture.ledger.dueDeliveries({ afterId: 0, limit: 100 });
  const one = due.find(({ id }) => fixture.ledger.views.delivery(id)?.key === key);
  await fixture.ledger.deadLetter({
    deliveryId: one?.id ?? 0,
    revision: one?.revision ?? 0,
    reason: { code: 'internal', message: `Product "${key}" is wrong.`, ...reason },
    isOneOfMany: false,
  });
}

const GIVEN = {
  1: items(product('1', 'Alpine tent'), product('2', 'Rain jacket'), material('M', 'Ripstop nylon')),
  2: items(bomItem('L1', '1', 'M'), product('3', 'ALPINE rope')),
  3: unknownCountry('Narnia'),
  4: unknownCountry('Mordor'),
};

const given = (): Promise<void> => stageRows(fixture.ledger, GIVEN);

it('the list of rows in quarantine has one stream after the other, continues after its last row, and ends', async () => {
  await given();
  await pullRows(fixture.ledger, { stream: 'more', rows: [row('5')] });
  await mapRows(fixture.ledger, () => unknownCountry('Oz'));
  // A row of the first stream that is newer than the row of the second one.
  await stageRows(fixture.ledger, { ...GIVEN, 6: unknownCountry('Utopia') });
  const pages: (string | number)[][] = [];
  let after: string | undefined;
  do {
    const { rows, next, total } = views().quarantine({}, { after, limit: 2 });
    pages.push([...rows.map(({ stream, fields }) => `${stream} ${textOf(fields['id'])}`), total.count]);
    after = next ?? undefined;
  } while (after !== undefined);
  expect(pages).toEqual([
    ['default 3', 'default 4', 4],
    ['default 6', 'more 5', 4],
  ]);
  expect(views().quarantine({ source: 'erp' }, { limit: 1 }).total).toEqual({ count: 4, atLeast: false });
  expect(views().quarantine({ source: 'pim' }, { limit: 1 })).toMatchObject({
    rows: [],
    next: null,
    total: { count: 0 },
  });
});

describe('a list of items', () => {
  it('a list of items continues after its last row, and ends', async () => {
    await given();
    expect(pagesOf({}, 2)).toEqual([['1', '2'], ['M', 'L1'], ['3']]);
    expect(pagesOf({ kind: 'product' }, 2)).toEqual([['1', '2'], ['3']]);
    expect(total({})).toEqual({ count: 5, atLeast: false });
    expect(total({ kind: 'product', source: 'erp' })).toEqual({ count: 3, atLeast: false });
    expect(total({ source: 'pim' })).toEqual({ count: 0, atLeast: false });
  });

  it('a list of items has the items of each state, and counts them', async () => {
    await given();
    await reject('2');
    expect(keys({ state: 'rejected' })).toEqual(['2']);
    expect(keys({ state: 'attention' })).toEqual(['2']);
    expect(keys({ state: 'waiting' })).toEqual(['L1']);
    expect(keys({ state: 'due' }).sort()).toEqual(['1', '3', 'M']);
    expect(keys({ state: 'due', kind: 'material' })).toEqual(['M']);
    expect(keys({ state: 'open' }).sort()).toEqual(['1', '2', '3', 'L1', 'M']);
    expect(keys({ state: 'delivered' })).toEqual([]);
    await deliverAll(fixture.ledger);
    expect(keys({ state: 'delivered' })).toEqual(['1', 'M', 'L1', '3']);
    expect(total({ state: 'delivered' })).toEqual({ count: 4, atLeast: false });
    expect(total({ state: 'delivered', kind: 'product' })).toEqual({ count: 2, atLeast: false });
  });

  it('a list of more items than are looked at has the number of the overview, and so has the cause of missing parts', async () => {
    const lines = Array.from({ length: 12_000 }, (_, at) => bomItem(`L${at}`, '1', at % 10 === 0 ? 'M' : 'M-404'));
    await stageRows(fixture.ledger, { 1: items(product('1'), material('M')), 2: items(...lines) });
    await deliverAll(fixture.ledger);
    const { bom_item: of } = fixture.ledger.views.itemCounts();
    expect(of).toEqual({ waiting: 10_800, delivered: 1_200 });
    expect(total({ kind: 'bom_item', state: 'waiting' })).toEqual({ count: 10_800, atLeast: false });
    expect(total({ kind: 'bom_item', state: 'delivered' })).toEqual({ count: 1_200, atLeast: false });
    expect(total({ kind: 'bom_item', state: 'delivered', source: 'erp' })).toEqual({ count: 1_200, atLeast: false });
    expect(views().causes({ type: 'part' })).toMatchObject([{ count: 10_800 }]);
  });

  it('only a search in the list of items waits until all items were read', async () => {
    const many = Array.from({ length: 1001 }, (_, at) => product(String(at)));
    await stageRows(fixture.ledger, { 1: items(...many) });
    fixture.clock.advance(1000);
    await stageRows(fixture.ledger, { 1: items(...many), 2: items(product('last')) });
    const db = openDatabaseReadOnly(fixture.file);
    if (db === null) throw new Error('There is no ledger.');
    const isReadAfter = (filter: ItemListFilter) => {
      const dashboard = createDashboard(db, RULES, FORMS, fixture.clock);
      dashboard.views.items(filter, { limit: 1 });
      return !dashboard.warm();
    };
    for (const filter of [{}, { state: 'delivered' }, { state: 'due', source: 'erp' }, { kind: 'product' }] as const)
      expect([filter, isReadAfter(filter)]).toEqual([filter, false]);
    expect(isReadAfter({ search: 'last' })).toBe(true);
    db.close();
  });

  it('a list of items is the same before and after all items were read', async () => {
    await given();
    await reject('2');
    await stageRows(fixture.ledger, { ...GIVEN, 5: items(product('5'), product('6')) });
    const db = openDatabaseReadOnly(fixture.file);
    if (db === null) throw new Error('There is no ledger.');
    const read = createDashboard(db, RULES, FORMS, fixture.clock);
    while (read.warm());
    const lists = [undefined, 'due', 'waiting', 'rejected', 'delivered', 'open'] as const;
    const filters = lists.flatMap((state) =>
      [{}, { kind: 'product' }, { source: 'erp' }, { kind: 'material', source: 'erp' }, { source: 'pim' }].map(
        (of) => ({ ...of, state }),
      ),
    ) as ItemListFilter[];
    for (const filter of filters) {
      const fresh = createDashboard(db, RULES, FORMS, fixture.clock);
      const page = { limit: 3 };
      const { rows, next, total: all } = fresh.views.items(filter, page);
      expect([filter, { rows, next, total: all }]).toEqual([filter, read.views.items(filter, page)]);
    }
    db.close();
  });

  it('a search finds a passport by the name of its product, also after the product was renamed', async () => {
    await stageRows(fixture.ledger, { 1: items(product('1', 'Alpine tent')) });
    await deliverAll(fixture.ledger);
    await fixture.ledger.evaluatePassports({ afterKey: null, limit: 100 });
    const passports = (search: string) => keys({ kind: 'passport', search });
    expect(passports('alpine')).toEqual(['1']);
    fixture.clock.advance(1000);
    await stageRows(fixture.ledger, { 1: items(product('1', 'Desert tent')) });
    expect([passports('alpine'), passports('desert')]).toEqual([[], ['1']]);
  });

  it('a search in the list of items finds a part of a name, key or natural key, in lower case or upper case', async () => {
    await given();
    expect(keys({ search: 'alpine' })).toEqual(['1', '3']);
    expect(keys({ search: 'NYLON' })).toEqual(['M']);
    expect(keys({ search: 'sku-2' })).toEqual(['2']);
    expect(keys({ search: 'l1' })).toEqual(['L1']);
    expect(keys({ search: 'alpine', state: 'waiting' })).toEqual([]);
    expect(total({ search: 'alpine' })).toEqual({ count: 2, atLeast: false });
  });

  it('a search in the list of items finds a new name and not the former one, also where the list was read before', async () => {
    await given();
    expect(keys({ search: 'jacket' })).toEqual(['2']);
    await stageRows(fixture.ledger, { 1: items(product('1', 'Alpine tent'), product('2', 'Poncho'), material('M')) });
    expect([keys({ search: 'jacket' }), keys({ search: 'poncho' }), keys({ search: 'nylon' })]).toEqual([
      [],
      ['2'],
      [],
    ]);
  });

  it('a list of items has the items that a run has changed', async () => {
    await given();
    await deliverAll(fixture.ledger);
    fixture.clock.advance(1000);
    const { runId } = await pullRows(fixture.ledger, { rows: [row('9')] });
    fixture.clock.advance(1000);
    await stageRows(fixture.ledger, { 2: items(bomItem('L1', '1', 'M'), product('3', 'Another rope')) });
    const [latest] = views().runs({}, { limit: 10 }).rows;
    expect(keys({ run: latest?.id })).toEqual(['3']);
    expect(keys({ run: runId })).toEqual([]);
  });
});

describe('one item', () => {
  it('the view of one item has the items that point to it, and a product the tree of its BOM items', async () => {
    await given();
    const detail = views().itemDetail('material', 'M');
    expect(detail?.usedBy).toMatchObject({ count: 1, rows: [{ role: 'material', kind: 'bom_item', key: 'L1' }] });
    expect(detail?.bom).toBeNull();
    const { bom } = views().itemDetail('product', 'SKU-1') ?? {};
    expect(bom).toMatchObject({
      key: '1',
      bomItem: null,
      cut: 0,
      children: [{ key: 'M', name: 'Ripstop nylon', bomItem: { key: 'L1', quantity: '1', state: 'waiting' } }],
    });
    expect(views().itemDetail('product', 'nobody')).toBeNull();
  });
});

describe('the causes of what is stuck', () => {
  it('the causes on the dashboard group quarantined rows by rule and field, and show their values', async () => {
    await given();
    const [cause] = views().causes({});
    expect(cause).toMatchObject({
      type: 'quarantine',
      source: 'erp',
      stream: 'default',
      title: 'The country of origin is not known.',
      cure: 'Correct it.',
      code: 'country.unknown',
      field: 'country_of_origin',
      count: 2,
      passportsHeld: 2,
      firstSeenAt: fixture.clock.now(),
      lastSeenAt: fixture.clock.now(),
      example: 'Narnia',
      note: null,
    });
    const { rows, next, total: of } = views().causeMembers(cause?.id ?? '', { limit: 1 });
    expect([rows.map(({ record }) => record?.fields['id']), of.count]).toEqual([['3'], 2]);
    const rest = views().causeMembers(cause?.id ?? '', { limit: 1, after: next ?? undefined });
    expect([rest.rows.map(({ record }) => record?.fields['id']), rest.next]).toEqual([['4'], null]);
  });

  it('the causes on the dashboard hold no published passport, and hold it again after it is withdrawn', async () => {
    const { ledger } = fixture;
    await stageRows(ledger, { 1: items(product('1', 'Alpine tent')) });
    await deliverAll(ledger);
    await ledger.evaluatePassports({ afterKey: null, limit: 100 });
    await deliverAll(ledger);
    await stageRows(ledger, { 1: unknownCountry('1'), 2: unknownCountry('2') });
    expect(views().causes({})).toMatchObject([{ count: 2, passportsHeld: 1 }]);
    await ledger.askForPassports({ products: ['1'], status: 'unpublished' });
    await deliverAll(ledger);
    fixture.clock.advance(60_000);
    expect(views().causes({})).toMatchObject([{ count: 2, passportsHeld: 2 }]);
  });

  it('the causes on the dashboard group stuck items whose reasons differ only in values, and keep their notes', async () => {
    await given();
    await reject('1');
    await reject('2');
    await reject('3', { message: 'Something else is wrong.' });
    const [first, second] = views().causes({ type: 'rejected' });
    expect([first?.count, second?.count]).toEqual([2, 1]);
    expect(first).toMatchObject({
      code: 'internal',
      passportsHeld: 2,
      title: 'An error in dpp-sync stopped the write.',
      example: '1',
    });
    expect(keys({ cause: first?.id })).toEqual(['1', '2']);
    await fixture.ledger.noteCause(first?.id ?? '', { text: 'Known.', owner: 'anna', by: 'ben' });
    expect(views().cause(first?.id ?? '')?.note).toMatchObject({ text: 'Known.', owner: 'anna', by: 'ben' });
    const members = views().causeMembers(first?.id ?? '', { limit: 10 });
    expect(members.rows.map(({ item }) => item?.reason.message)).toEqual([
      'Product "1" is wrong.',
      'Product "2" is wrong.',
    ]);
  });

  it('the causes on the dashboard have the failed runs of a source until one is complete', async () => {
    const { ledger } = fixture;
    const start = { source: 'erp', trigger: 'cli', streams: ['default'], mappingRevision: 'r1' } as const;
    for (let n = 0; n < 2; n += 1) {
      const { runId } = await ledger.startRun({ ...start, streams: ['default'], askedBy: 'anna' });
      await ledger.endRun({ runId, result: 'failed', error: 'The file is not there' });
    }
    const [cause] = views().causes({ type: 'run' });
    expect(cause).toMatchObject({ source: 'erp', count: 2, example: 'The file is not there.', passportsHeld: null });
    const { rows } = views().causeMembers(cause?.id ?? '', { limit: 10 });
    expect(rows.map(({ run }) => run?.result)).toEqual(['failed', 'failed']);
    expect(views().runs({ result: 'failed' }, { limit: 1 })).toMatchObject({
      rows: [{ id: 2, askedBy: 'anna' }],
      total: { count: 2 },
    });
    await pullRows(ledger, { rows: [] });
    expect(views().causes({ type: 'run' })).toEqual([]);
    expect(fixture.ledger.views.run(2)).toMatchObject({ askedBy: 'anna', result: 'failed' });
  });
});

it('the sources with unmapped records are those with records that wait to be mapped, or for the end of their run', async () => {
  const unmapped = () => fixture.ledger.views.unmappedSources();
  const map = () => mapRows(fixture.ledger, () => items(product('1')));
  expect(unmapped()).toEqual([]);
  await pullRows(fixture.ledger, { rows: [row('1')] });
  expect(unmapped()).toEqual(['erp']);
  await map();
  expect(unmapped()).toEqual([]);
  const { runId } = await fixture.ledger.startRun({
    source: 'erp',
    trigger: 'cli',
    streams: ['s'],
    mappingRevision: 'r1',
  });
  const page = { runId, source: 'erp', stream: 's', records: [row('2')], seen: createBitmap(), uncounted: 0 };
  await fixture.ledger.stagePage({ ...page, deferMapping: true });
  expect(fixture.ledger.pendingSources()).toEqual([]);
  expect(unmapped()).toEqual(['erp']);
});

describe('the search for rows in quarantine', () => {
  const found = (search: string, source?: string) =>
    views()
      .searchQuarantined({ search, source })
      .map(({ record: { key }, product: of }) => `${key} of ${of}`);

  it('the search in quarantine finds a part of the key of a row or of its product, in lower case or upper case', async () => {
    await stageRows(fixture.ledger, {
      'Row-1': unknownCountry('LMP-012'),
      'Row-2': unknownCountry('LMP-013'),
      'LMP-014': items(product('LMP-014')),
    });
    expect(found('lmp-01')).toEqual(['Row-1 of LMP-012', 'Row-2 of LMP-013']);
    expect(found('ROW-2')).toEqual(['Row-2 of LMP-013']);
    expect([found('LMP-014'), found('lmp', 'pim')]).toEqual([[], []]);
    expect(found('lmp', 'erp')).toHaveLength(2);
  });

  it('the search in quarantine gives each row its cause, and leaves out records that are in quarantine no more', async () => {
    await stageRows(fixture.ledger, { 1: unknownCountry('P'), 2: unknownCountry('Q') });
    const [cause] = views().causes({});
    const rows = views().searchQuarantined({ search: 'p' });
    expect(rows.map(({ cause: of }) => of)).toEqual([{ id: cause?.id, title: cause?.title }]);
    const ids = rows.map(({ record }) => record.id);
    expect(views().quarantinedRows(ids)).toEqual(rows);
    await stageRows(fixture.ledger, { 1: items(product('P')), 2: unknownCountry('Q') });
    expect(views().quarantinedRows(ids)).toEqual([]);
  });
});

describe('a replay by cause', () => {
  const replayed = async (cause: string, map: (fields: JsonObject) => MapResult, dryRun = false) => {
    const selection = { states: [], sources: [], keys: [], deliveryIds: [], cause };
    const candidates = await fixture.ledger.replayCandidates({ selection, afterId: 0, limit: 100 });
    const records = candidates.map(({ id, version, fields }) => ({ id, version, result: map(fields) }));
    return { ids: candidates.map(({ fields }) => fields['id']), ...(await fixture.ledger.replay({ records, dryRun })) };
  };

  it('a replay by cause maps the quarantined records of the cause again, and no other record', async () => {
    const other = { code: 'gtin.check' as const, message: 'Wrong.' };
    await stageRows(fixture.ledger, { ...GIVEN, 5: { status: 'quarantined', issues: [other], blockedProducts: [] } });
    const cause =
      views()
        .causes({})
        .find(({ code }) => code === 'country.unknown')?.id ?? '';
    const passing = ({ id }: JsonObject) => items(product(`from row ${textOf(id)}`));
    expect(await replayed(cause, passing, true)).toMatchObject({ ids: ['3', '4'], staged: 2, quarantined: 0 });
    expect(views().cause(cause)?.count).toBe(2);
    const still = ({ id }: JsonObject) => (id === '3' ? unknownCountry('Narnia') : passing({ id: id ?? null }));
    expect(await replayed(cause, still)).toMatchObject({ staged: 1, quarantined: 1 });
    expect(views().cause(cause)?.count).toBe(1);
    await replayed(cause, passing);
    expect(views().cause(cause)).toBeNull();
    expect(await replayed(cause, passing)).toMatchObject({ ids: [], staged: 0 });
    expect(
      views()
        .causes({})
        .map(({ code }) => code),
    ).toEqual(['gtin.check']);
  });

  it('a replay by cause sends the stuck items of the cause again, and no other item', async () => {
    await given();
    await reject('1');
    await reject('3', { message: 'Something else is wrong.' });
    const [cause] = views()
      .causes({ type: 'rejected' })
      .filter(({ example }) => example === '3');
    const again = await replayed(cause?.id ?? '', () => items(bomItem('L1', '1', 'M'), product('3', 'Sound rope')));
    expect(again).toMatchObject({ ids: ['2'], staged: 1 });
    expect(keys({ state: 'rejected' })).toEqual(['1']);
  });
});

describe('the list of passports', () => {
  it('the list of passports has a row for each product, with its name and the reason why it is not published', async () => {
    const { ledger } = fixture;
    await given();
    await deliverAll(ledger);
    await ledger.evaluatePassports({ afterKey: null, limit: 100 });
    await deliverAll(ledger);
    const { rows, total: of } = views().passports({}, { limit: 10 });
    expect(of).toEqual({ count: 3, atLeast: false });
    expect(rows.map(({ product: key, name, state }) => [key, name, state])).toEqual([
      ['1', 'Alpine tent', 'published'],
      ['2', 'Rain jacket', 'published'],
      ['3', 'ALPINE rope', 'published'],
    ]);
  });

  it('the list of passports names what a complete passport waits for, in the words of `why`', async () => {
    const { ledger } = fixture;
    await given();
    await deliverAll(ledger);
    const waitsFor = () => views().passports({}, { limit: 1 }).rows[0]?.blockers;
    const lastStep = () => views().why('1')?.steps.at(-1)?.text;
    expect(waitsFor()).toEqual([expect.stringMatching(/^Its passport is evaluated when no other work is left\./)]);
    expect(waitsFor()).toEqual([lastStep()]);
    await ledger.evaluatePassports({ afterKey: null, limit: 100 });
    expect(waitsFor()).toEqual([expect.stringMatching(/^The initialisation of its passport is due\./)]);
    expect(waitsFor()).toEqual([lastStep()]);
    await deliverAll(ledger);
    expect(waitsFor()).toEqual([]);
  });

  it('the list of passports counts and lists each state as the commands do', async () => {
    const { ledger } = fixture;
    await given();
    await reject('3');
    await deliverAll(ledger);
    await ledger.evaluatePassports({ afterKey: null, limit: 100 });
    const agree = () => {
      // Counts are kept for a while.
      fixture.clock.advance(60_000);
      expect(views().passportCounts({})).toEqual(
        ledger.views.standing({ sources: [], watched: [], configured: [] }).passports,
      );
      // The first counts are read before any list. Later counts come from the catalog in memory.
      const { items: found, passports } = ledger.views.standing({
        sources: ['erp'],
        watched: ['erp'],
        configured: ['erp'],
      });
      expect([found, passports]).toEqual([
        ledger.views.itemCounts(),
        ledger.views.standing({ sources: [], watched: [], configured: [] }).passports,
      ]);
      for (const state of ['published', 'initialized', 'unpublished', 'incomplete', 'blocked', 'none'] as const) {
        const { rows, total: of } = views().passports({ state }, { limit: 10 });
        expect([state, rows.length]).toEqual([
          state,
          ledger.views.standing({ sources: [], watched: [], configured: [] }).passports[state] ?? 0,
        ]);
        expect([state, of.count]).toEqual([state, rows.length]);
        for (const { product: key } of rows) expect(ledger.views.passport(key)?.state).toBe(state);
      }
      const { incomplete = 0 } = ledger.views.standing({ sources: [], watched: [], configured: [] }).passports;
      for (const kind of [undefined, 'product', 'passport'] as const) {
        const { rows, total } = views().items({ state: 'incomplete', kind }, { limit: 10 });
        expect([kind, rows.length, total.count]).toEqual([kind, incomplete, incomplete]);
      }
    };
    const statesOf = () => Object.keys(views().passportCounts({})).sort();
    agree();
    expect(statesOf()).toEqual(['incomplete', 'none']);
    await deliverAll(ledger);
    agree();
    await ledger.askForPassports({ products: ['1'], status: 'unpublished' });
    await deliverAll(ledger);
    agree();
    await ledger.askForPassports({ products: ['2'], status: 'unpublished' });
    agree();
    await reject('2');
    agree();
    expect(statesOf()).toEqual(['blocked', 'incomplete', 'unpublished']);
    // The source has lost the third product, which the platform never got.
    await pullRows(ledger, { rows: ['1', '3', '4'].map((id) => row(id)) });
    expect(keys({ state: 'missing' })).toEqual(['L1']);
    agree();
    // The source also loses the first two products. The passport of one of them was withdrawn.
    await pullRows(ledger, { rows: ['3', '4'].map((id) => row(id)), guard: NO_GUARD });
    expect(keys({ state: 'missing' })).toContain('2');
    agree();
  });
});

describe('the passports that a cause holds', () => {
  const wrongMaterial = (key: string): MapResult => ({
    ...(unknownCountry('x') as Extract<MapResult, { status: 'quarantined' }>),
    issues: [{ code: 'unit.unknown', message: 'No unit.', field: 'unit' }],
    blockedProducts: [],
    blockedMaterials: [key],
  });
  const held = () =>
    Object.fromEntries(
      views()
        .causes({})
        .map(({ code, passportsHeld }) => [code, passportsHeld]),
    );

  it('a material that a row in quarantine makes holds the passports of the products that contain it', async () => {
    await stageRows(fixture.ledger, {
      1: items(product('1'), product('2'), product('3'), material('N')),
      2: items(bomItem('L1', '1', 'M'), bomItem('L2', '2', 'M'), bomItem('L3', '3', 'N')),
      3: wrongMaterial('M'),
    });
    expect(held()).toEqual({ 'unit.unknown': 2 });
  });

  it('a cause with too many rows to count its passports has no number, also if it had one before', async () => {
    await stageRows(fixture.ledger, { 1: items(product('1')), 2: unknownCountry('1') });
    expect(held()).toEqual({ 'country.unknown': 1 });
    const db = new Database(fixture.file);
    db.exec(`WITH RECURSIVE numbers (value) AS (VALUES (1) UNION ALL SELECT value + 1 FROM numbers WHERE value < 20000)
      INSERT INTO records (stream_id, key, hash, raw, place, version, state, issues)
      SELECT stream_id, 'more ' || value, hash, raw, place, version, state, issues
      FROM records CROSS JOIN numbers WHERE state = 'quarantined'`);
    db.close();
    expect(held()).toEqual({ 'country.unknown': null });
  });

  it('a cause that holds more passports comes before one with more rows', async () => {
    await stageRows(fixture.ledger, {
      1: items(...['1', '2', '3', '4'].map((key) => product(key))),
      2: items(...['1', '2', '3', '4'].map((key) => bomItem(`L${key}`, key, 'M'))),
      3: wrongMaterial('M'),
      4: unknownCountry('Narnia'),
      5: unknownCountry('Mordor'),
    });
    expect(views().causes({})).toMatchObject([
      { code: 'unit.unknown', count: 1, passportsHeld: 4 },
      { code: 'country.unknown', count: 2, passportsHeld: 2 },
    ]);
  });

  it('a component that a row in quarantine makes holds its own passport and those of the products that contain it', async () => {
    const line = (key: string, of: string, part: string): Item => ({
      ...bomItem(key, of, part),
      refs: [
        { role: 'product', kind: 'product', key: of },
        { role: 'component', kind: 'product', key: part },
      ],
    });
    await stageRows(fixture.ledger, {
      1: items(product('1'), product('2')),
      2: items(line('L1', '1', 'Narnia'), line('L2', '2', 'Narnia')),
      3: unknownCountry('Narnia'),
    });
    expect(held()).toEqual({ 'country.unknown': 3 });
  });

  it('a row that has become sound holds nothing any more', async () => {
    const lines = items(product('1'), bomItem('L1', '1', 'M'));
    await stageRows(fixture.ledger, { 1: lines, 3: wrongMaterial('M') });
    expect(held()).toEqual({ 'unit.unknown': 1 });
    await stageRows(fixture.ledger, { 1: lines, 3: items(material('M')) });
    expect(held()).toEqual({});
    expect(verifyLedger(fixture.file, () => {})?.findings).toEqual([]);
  });
});
