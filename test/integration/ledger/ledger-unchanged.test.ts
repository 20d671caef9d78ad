// The pages of an unchanged export are compared with the stored records in their order. A page is also recognised as
// unchanged if its rows have another order.

import { describe, expect, it } from 'vitest';
import type { MapResult } from '../../../src/domain/mapping.ts';
import { openDatabaseReadOnly } from '../../../src/ledger/upgrade/open.ts';
import { createBitmap } from '../../../src/lib/collections.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import { deliverAll } from '../../support/ledger/deliveries.ts';
import { items, material, product, text } from '../../support/ledger/items.ts';
import { useLedger } from '../../support/ledger/ledger.ts';
import { mapRows, pullAndMap, pullRows, row } from '../../support/ledger/records.ts';
import { announcedRandom } from '../../support/runner/announced-random.ts';

type Row = ReturnType<typeof row>;

const fixture = useLedger();

const asProduct = ({ id }: JsonObject): MapResult => items(product(text(id)));

/** Puts the rows with these ids into quarantine. */
const without =
  (...ids: string[]) =>
  ({ id }: JsonObject): MapResult =>
    ids.includes(text(id))
      ? { status: 'quarantined', issues: [{ code: 'row.value', message: 'wrong' }], blockedProducts: [] }
      : asProduct({ id: text(id) });

/** Stores and maps the rows, and gives a function that stages further pages of a later run, two rows each. */
async function stored(rows: Row[], map = asProduct) {
  const { ledger } = fixture;
  await pullAndMap(ledger, rows, map);
  return laterRun();
}

async function laterRun({ ledger } = fixture) {
  const streams = ['default'];
  const { runId } = await ledger.startRun({ source: 'erp', trigger: 'cli', streams, mappingRevision: 'r1' });
  const seen = createBitmap();
  const of = { runId, source: 'erp', stream: 'default', seen, deferMapping: false };
  return {
    seen,
    stage: (...records: Row[]) => ledger.stagePage({ ...of, records, uncounted: 0 }),
    /** Passes over nothing, since no page may be counted later. */
    stageCounted: (...records: Row[]) => ledger.stagePage({ ...of, records }),
    end: () =>
      ledger.endStream({
        ...of,
        read: seen.size(),
        flagItems: true,
        creates: 'decide' as const,
        guard: { maxMissing: 1, maxMissingCount: Number.POSITIVE_INFINITY, maxDrop: 1 },
      }),
  };
}

const PASSED = { changed: 0, counted: false };
const rows = (...ids: string[]): Row[] => ids.map((id) => row(id));

describe('an unchanged page', () => {
  it('an unchanged page is skipped after the one before it, and its records count as seen', async () => {
    const { stage, seen } = await stored(rows('1', '2', '3', '4', '5', '6'));
    expect(await stage(...rows('1', '2'))).toEqual(PASSED);
    expect(await stage(...rows('3', '4'))).toEqual(PASSED);
    expect(await stage(...rows('5', '6'))).toEqual(PASSED);
    expect(seen.size()).toBe(6);
  });

  it('an unchanged page is skipped in any order of its rows and pages', async () => {
    const { stage, seen } = await stored(rows('1', '2', '3', '4', '5', '6'));
    expect(await stage(...rows('1', '2'))).toEqual(PASSED);
    expect(await stage(...rows('6', '3'))).toEqual(PASSED);
    expect(await stage(...rows('5', '4'))).toEqual(PASSED);
    expect(seen.size()).toBe(6);
  });

  it('an unchanged page is skipped where rows between its own are gone, which are not seen', async () => {
    const all = ['1', '2', '3', '4', '5', '6', '7', '8'];
    await stored(rows(...all));
    await pullRows(fixture.ledger, { rows: rows('1', '2', '3', '5', '7', '8') });
    const { stage, seen } = await laterRun();
    for (const page of [rows('1', '2'), rows('3', '5'), rows('7', '8')]) expect(await stage(...page)).toEqual(PASSED);
    expect([1, 2, 3, 4, 5, 6, 7, 8].filter((id) => seen.has(id))).toEqual([1, 2, 3, 5, 7, 8]);
  });

  it('an unchanged page is skipped where its rows in quarantine have not moved', async () => {
    const all = rows('1', '2', '3', '4', '5', '6').map((each, at) => ({ ...each, place: { line: at + 2 } }));
    const [one, two, three, four, five, six] = all as [Row, Row, Row, Row, Row, Row];
    const { stage, seen } = await stored(all, without('1', '4', '5', '6'));
    expect(await stage(one, two)).toEqual(PASSED);
    expect(await stage(three, four)).toEqual(PASSED);
    expect(await stage(six, five)).toEqual(PASSED);
    expect(seen.size()).toBe(6);
  });

  it('an unchanged page is skipped where rows have moved that are not in quarantine', async () => {
    const { stage } = await stored(rows('1', '2', '3', '4'), without('2', '3'));
    expect(await stage(row('1', {}, 77), row('2'))).toEqual(PASSED);
    expect(await stage(row('3'), row('4', {}, 77))).toEqual(PASSED);
  });

  it('an unchanged page is skipped where records of another stream were stored between its own', async () => {
    const { ledger } = fixture;
    const first = rows('1', '2', '3');
    await pullRows(ledger, { rows: first });
    await pullRows(ledger, { stream: 'other', rows: rows('x', 'y') });
    const { stage, seen } = await stored([...first, ...rows('4')]);
    expect(await stage(...rows('1', '2'))).toEqual(PASSED);
    expect(await stage(...rows('3', '4'))).toEqual(PASSED);
    expect(seen.size()).toBe(4);
  });
});

describe('what follows an unchanged page', () => {
  it('a page is stored where the content of one row has changed', async () => {
    const { stage } = await stored(rows('1', '2', '3', '4'));
    await stage(...rows('1', '2'));
    expect(await stage(row('3'), row('4', { name: 'new' }))).toEqual({ changed: 1, counted: true });
  });

  it('a page is stored where a row that waits to be mapped has a key that reads like its hash and key', async () => {
    const unknown = row('9');
    const { ledger } = fixture;
    await pullAndMap(ledger, rows('1', '2'), asProduct);
    await pullRows(ledger, { rows: [...rows('1', '2'), { ...row('3'), identity: unknown.hash + unknown.identity }] });
    const { stage } = await laterRun();
    expect(await stage(...rows('1', '2'))).toEqual(PASSED);
    expect(await stage(unknown)).toEqual({ changed: 1, counted: true });
  });

  it('a page is stored where a row with the same content has another key', async () => {
    const { stage } = await stored(rows('1', '2', '3', '4'));
    await stage(...rows('1', '2'));
    expect(await stage(row('3'), { ...row('4'), identity: '5' })).toEqual({ changed: 1, counted: true });
  });

  it('a page is stored where one of its records was missing', async () => {
    await stored(rows('1', '2', '3', '4'));
    await pullRows(fixture.ledger, { rows: rows('1', '2', '3') });
    const { stage } = await laterRun();
    await stage(...rows('1', '2'));
    expect(await stage(...rows('3', '4'))).toEqual({ changed: 1, counted: true });
  });

  it.each([
    { which: 'next in the order of the ledger', page: ['4', '5', '6', '7'], id: '6' },
    { which: 'not in that order', page: ['7', '4', '5', '6'], id: '6' },
    { which: 'next where a row between its own is gone', page: ['3', '5', '6', '7'], id: '5' },
  ])(
    'a page is stored where a row in quarantine has moved, and the row has its new place: $which',
    async ({ page, id }) => {
      await stored(rows('1', '2', '3', '4', '5', '6', '7'), without('5', '6'));
      await pullRows(fixture.ledger, { rows: rows('1', '2', ...page) });
      const { stage } = await laterRun();
      expect(await stage(...rows('1', '2'))).toEqual(PASSED);
      const moved = page.map((each) => row(each, {}, each === id ? 77 : 1));
      expect(await stage(...moved)).toEqual({ changed: 0, counted: true });
      const quarantined = fixture.ledger.views.quarantined({ afterId: 0, limit: 3 });
      expect(quarantined.map(({ place }) => place.line)).toEqual(id === '5' ? [77, 1] : [1, 77]);
    },
  );

  it('a page is stored if one of its records is in quarantine and waits to be mapped again', async () => {
    await stored(rows('1', '2', '3', '4'), without('4'));
    await pullRows(fixture.ledger, { rows: [...rows('1', '2', '3'), row('4', { name: 'new' })] });
    const { stage } = await laterRun();
    expect(await stage(...rows('1', '2'))).toEqual(PASSED);
    expect(await stage(row('3'), row('4', { name: 'new' }))).toEqual({ changed: 0, counted: true });
  });

  it('a page is stored where another stream has its rows', async () => {
    await pullRows(fixture.ledger, { rows: rows('1', '2') });
    await pullRows(fixture.ledger, { stream: 'other', rows: rows('3', '4') });
    await mapRows(fixture.ledger, () => ({ status: 'excluded' }));
    const { stage } = await laterRun();
    expect(await stage(...rows('1', '2'))).toEqual(PASSED);
    expect(await stage(...rows('3', '4'))).toEqual({ changed: 2, counted: true });
  });

  it('a page is stored as further rows where the same rows come again', async () => {
    const { stage } = await stored(rows('1', '2', '3', '4'));
    await stage(...rows('3', '4'));
    await stage(...rows('1', '2'));
    expect(await stage(...rows('3', '4'))).toEqual({ changed: 2, counted: true });
  });

  it('a page is not taken for unchanged where its keys contain what separates two keys', async () => {
    const [one, two] = [row('3'), row('4')];
    const [odd, plain] = [
      { ...one, identity: `3\u001e${two.hash}4` },
      { ...two, identity: '5' },
    ];
    const { stage } = await stored([...rows('1', '2'), odd, plain]);
    await stage(...rows('1', '2'));
    const [other, last] = [
      { ...one, identity: '3' },
      { ...two, identity: `4\u001e${two.hash}5` },
    ];
    expect(await stage(other, last)).toEqual({ changed: 2, counted: true });
  });
});

describe('pages at random', () => {
  const stagingAll = useLedger();

  it('pages at random leave the same records and the same missing ones as where none is skipped', async () => {
    const random = announcedRandom();
    const upTo = (max: number): number => Math.floor(random() * max);
    const ids = Array.from({ length: 24 }, (_, at) => String(at));
    const lines = new Map(ids.map((id, at) => [id, at]));
    const map = ({ id }: JsonObject): MapResult => {
      const kind = Number(id) % 4;
      if (kind === 0) return { status: 'excluded' };
      return kind === 1 ? without(text(id))({ id: text(id) }) : asProduct({ id: text(id) });
    };
    /** The stored row, now and then at another place or with another content. */
    const drawn = (id: string): Row => {
      if (upTo(10) === 0) lines.set(id, upTo(24));
      return row(id, upTo(100) === 0 ? { name: upTo(1000) } : {}, lines.get(id));
    };
    /** Usually the next rows in their order, now and then without one of them; sometimes random rows, perhaps repeated. */
    const page = (at: number): Row[] => {
      const inOrder = ids.slice(at, at + 4).filter(() => upTo(40) > 0);
      return (upTo(10) === 0 ? inOrder.map(() => ids[upTo(ids.length)] ?? '0') : inOrder).map(drawn);
    };
    const recordsOf = ({ file }: typeof fixture): unknown => {
      const db = openDatabaseReadOnly(file);
      const records = db?.prepare('SELECT id, key, hash, place, version, state, missing_since FROM records').all();
      db?.close();
      return records;
    };
    const first = ids.map((id, at) => row(id, {}, at));
    for (const { ledger } of [fixture, stagingAll]) {
      await pullAndMap(ledger, first, map);
    }
    let passed = 0;
    for (let round = 0; round < 30; round += 1) {
      const [run, other] = [await laterRun(), await laterRun(stagingAll)];
      for (let at = 0; at < ids.length; at += 4) {
        const records = page(at);
        const { changed, counted } = await run.stage(...records);
        expect(changed).toBe((await other.stageCounted(...records)).changed);
        if (!counted) passed += 1;
      }
      expect(await run.end()).toEqual(await other.end());
      expect(recordsOf(fixture)).toEqual(recordsOf(stagingAll));
      // Some records are left on their way through the mapping.
      if (upTo(4) > 0) for (const { ledger } of [fixture, stagingAll]) await mapRows(ledger, map);
    }
    expect(passed).toBeGreaterThan(20);
  });
});

describe('the counts of items', () => {
  const counts = (...sources: string[]) => fixture.ledger.views.itemCounts(sources).product;

  it('the counts of items separate delivered items from others', async () => {
    await stored(rows('1', '2', '3'));
    expect(counts()).toEqual({ due: 3 });
    await deliverAll(fixture.ledger);
    expect(counts()).toEqual({ delivered: 3 });
    await pullAndMap(fixture.ledger, [...rows('1', '2', '3'), row('4')], asProduct);
    expect(counts()).toEqual({ delivered: 3, due: 1 });
  });

  it('the counts of items separate the kinds', async () => {
    await stored(rows('1', '2', '3'), ({ id }) => items(id === '2' ? material('2') : product(text(id))));
    await deliverAll(fixture.ledger);
    const { product: products, material: materials } = fixture.ledger.views.itemCounts();
    expect({ products, materials }).toEqual({ products: { delivered: 2 }, materials: { delivered: 1 } });
  });

  it('the counts of items separate the sources', async () => {
    const { ledger } = fixture;
    await stored(rows('1', '2'));
    await deliverAll(ledger);
    await ledger.startRun({
      source: 'pim',
      trigger: 'cli',
      streams: ['s'],
      mappingRevision: 'r1',
    });
    expect(counts()).toEqual({ delivered: 2 });
    expect(counts('erp')).toEqual({ delivered: 2 });
    expect(counts('pim')).toEqual({});
    expect(counts('erp', 'pim')).toEqual({ delivered: 2 });
    expect(ledger.views.standing({ sources: ['pim'], watched: [], configured: ['pim'] }).passports).toEqual({});
    expect(ledger.views.standing({ sources: ['erp'], watched: [], configured: ['erp'] }).passports).toEqual({
      none: 2,
    });
  });
});
