import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { Mapper } from '../../../src/domain/mapping.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import { mapperOf } from '../../support/connectors/map-row.ts';
import { text } from '../../support/ledger/items.ts';
import { createPageWorld, type PageWorld, pagesOf, sourceRow } from '../../support/worlds/page-world.ts';
import '../../support/runner/property-seed.ts';

const NAMES = { names: { source: 'pim', stream: 'default', key: ['code'], value: 'name' } };
/** A row takes the note of its parent, which is another row of the same stream. */
const OWN = { own: { stream: 'default', key: ['id'], value: 'note' } };

async function erpMapper(fields: Record<string, string> = {}): Promise<Mapper> {
  const given = { sku: 'row.id', name: 'lookup("names", row.code)', ...fields };
  const definition = { stream: 'default', to: 'product' as const, key: 'row.id', fields: given };
  return mapperOf([definition], import.meta.dirname, { lookups: { ...NAMES, ...OWN } });
}

/** The rows make no items. Other sources look values up in them. */
const PIM: Mapper = { revision: 'pim', streams: [], map: () => ({ status: 'excluded' }) };

const SOURCES = ['erp', 'pim'];

let world: PageWorld;
afterEach(() => world.remove());

async function given(mapper: Mapper): Promise<void> {
  world = await createPageWorld({ sources: SOURCES });
  await world.ledger.defineLookups(new Map([['erp', mapper.lookups ?? []]]), { isAll: true });
}

const rows = (list: readonly JsonObject[]) => list.map((fields, at) => sourceRow(fields, at + 1));

async function pullPim(list: readonly JsonObject[], pageSize = 2): Promise<void> {
  await world.pull({ source: 'pim', pages: pagesOf(rows(list), pageSize), mapper: PIM });
}

async function pullErp(mapper: Mapper, list: readonly JsonObject[], pageSize = 2): Promise<void> {
  await world.pull({ source: 'erp', pages: pagesOf(rows(list), pageSize), mapper });
}

/** Maps stored records until none waits for the mapping. */
async function settle(): Promise<void> {
  while (world.ledger.pendingSources().length > 0) {
    for (const source of world.ledger.pendingSources()) await world.mapStored(source);
  }
}

function names(): Record<string, unknown> {
  const { items } = world.ledger.views.itemsAfter({ kind: 'product', afterId: 0, limit: 100 });
  return Object.fromEntries(items.map(({ key, name }) => [key, name]));
}

const codes = () =>
  world.ledger.views
    .quarantined({ afterId: 0, limit: 100 })
    .map(({ fields, issues }) => [fields['id'], issues[0]?.code] as const);

const lastAccount = () => world.ledger.views.lastRuns({ source: 'erp', limit: 1 })[0]?.streams[0];

const accounts = () =>
  world.ledger.views
    .lastRuns({ source: 'erp', limit: 10 })
    .flatMap(({ streams }) => streams)
    .map(({ read, unchanged, changed, quarantined }) => ({ read, unchanged, changed, quarantined }));

describe('a lookup over a stream of another source', () => {
  it('a record whose lookup is over a stream of another source waits for the entry, and is mapped when the entry arrives', async () => {
    const mapper = await erpMapper();
    await given(mapper);
    await pullErp(mapper, [{ id: '1', code: 'A' }]);
    expect(codes()).toEqual([['1', 'lookup.unread']]);
    await pullPim([{ id: 'x', code: 'A', name: 'first' }]);
    await settle();
    expect([names(), codes()]).toEqual([{ '1': 'first' }, []]);
  });

  it('a lookup over a stream knows after the end of the read that an entry is absent, with and without a fallback', async () => {
    const mapper = await erpMapper({ description: 'lookup("names", row.other, "none")' });
    await given(mapper);
    const list = [
      { id: '1', code: 'A', other: 'Z' },
      { id: '2', code: 'B', other: 'Z' },
    ];
    await pullErp(mapper, list);
    expect(codes()).toEqual([
      ['1', 'lookup.unread'],
      ['2', 'lookup.unread'],
    ]);
    await pullPim([{ id: 'x', code: 'A', name: 'first' }]);
    await settle();
    expect([names(), codes()]).toEqual([{ '1': 'first' }, [['2', 'lookup.unknown']]]);
  });

  it('the run that has read a row counts it by the result that the row gets when the table was read', async () => {
    const mapper = await erpMapper();
    await given(mapper);
    const list = [
      { id: '1', code: 'A' },
      { id: '2', code: 'B' },
      { id: '3', code: 'C' },
    ];
    await pullErp(mapper, list);
    expect(lastAccount()).toMatchObject({ read: 3, changed: 0, quarantined: 3 });
    // The next run counts none of these rows, so the first run counts them by their results.
    await pullErp(mapper, list);
    await pullPim([{ id: 'x', code: 'A', name: 'first' }]);
    await settle();
    expect(accounts()).toEqual([
      { read: 3, unchanged: 3, changed: 0, quarantined: 0 },
      { read: 3, unchanged: 0, changed: 1, quarantined: 2 },
    ]);
    // A row that is mapped again for another reason stays counted as it was.
    await pullPim([{ id: 'x', code: 'B', name: 'second' }]);
    await settle();
    expect(codes()).toEqual([
      ['1', 'lookup.unknown'],
      ['3', 'lookup.unknown'],
    ]);
    expect(accounts()[1]).toEqual({ read: 3, unchanged: 0, changed: 1, quarantined: 2 });
  });

  it('a changed entry of a stream maps only the records again that have used it', async () => {
    const mapper = await erpMapper();
    const mapped: unknown[] = [];
    const counting: Mapper = {
      ...mapper,
      map(record, find) {
        mapped.push(record.fields['id']);
        return mapper.map(record, find);
      },
    };
    await given(mapper);
    const pim = [
      { id: 'x', code: 'A', name: 'a', stock: '1' },
      { id: 'y', code: 'B', name: 'b', stock: '1' },
    ];
    await pullPim(pim);
    await pullErp(counting, [
      { id: '1', code: 'A' },
      { id: '2', code: 'B' },
      { id: '3', code: 'B' },
    ]);
    mapped.length = 0;
    await pullPim([
      { id: 'x', code: 'A', name: 'a', stock: '99' },
      { id: 'y', code: 'B', name: 'changed', stock: '1' },
    ]);
    await settle();
    expect(new Set(mapped)).toEqual(new Set(['2', '3']));
    expect(names()).toEqual({ '1': 'a', '2': 'changed', '3': 'changed' });
  });

  it('a record whose lookup entry is gone is quarantined, and mapped again when the entry is back', async () => {
    const mapper = await erpMapper();
    await given(mapper);
    await pullPim([{ id: 'x', code: 'A', name: 'a' }]);
    await pullErp(mapper, [{ id: '1', code: 'A' }]);
    await pullPim([]);
    await settle();
    expect([names(), codes()]).toEqual([{ '1': 'a' }, [['1', 'lookup.unknown']]]);
    await pullPim([{ id: 'x', code: 'A', name: 'again' }]);
    await settle();
    expect([names(), codes()]).toEqual([{ '1': 'again' }, []]);
  });

  it('a row that was mapped with an entry that has changed since is not staged', async () => {
    const mapper = await erpMapper();
    let changed = false;
    world = await createPageWorld({
      sources: SOURCES,
      aroundLedger: (ledger) => ({
        ...ledger,
        async findLookups(keys) {
          const found = await ledger.findLookups(keys);
          if (!changed) {
            changed = true;
            await pullPim([{ id: 'x', code: 'A', name: 'new' }]);
          }
          return found;
        },
      }),
    });
    await world.ledger.defineLookups(new Map([['erp', mapper.lookups ?? []]]), { isAll: true });
    await pullPim([{ id: 'x', code: 'A', name: 'old' }]);
    await pullErp(mapper, [{ id: '1', code: 'A' }]);
    await settle();
    expect(names()).toEqual({ '1': 'new' });
    expect(world.ledger.views.item('product', '1')?.revision).toBe(1);
    expect(lastAccount()).toMatchObject({ read: 1, changed: 1, unchanged: 0, quarantined: 0 });
  });
});

describe('a lookup over its own stream', () => {
  it('a lookup over its own stream finds rows that come later in the same export, and counts each row once', async () => {
    const mapper = await erpMapper({ name: 'row.parent == "" ? row.note : lookup("own", row.parent)' });
    await given(mapper);
    await pullErp(mapper, [
      { id: '1', parent: '3', note: '' },
      { id: '2', parent: '9', note: '' },
      { id: '3', parent: '', note: 'model' },
    ]);
    await settle();
    expect(names()).toEqual({ '1': 'model', '3': 'model' });
    expect(codes()).toEqual([['2', 'lookup.unknown']]);
    expect(lastAccount()).toMatchObject({ read: 3, changed: 2, unchanged: 0, quarantined: 1 });
  });
});

describe('a lookup file', () => {
  it('a changed entry of a lookup file maps only the records again that have used it', async () => {
    const withFile = async (entries: [string, string][]): Promise<Mapper> => {
      const mapper = await erpMapper();
      const [names] = mapper.lookups ?? [];
      const file = { id: names?.id ?? '', name: 'names', stream: null, entries: new Map(entries) };
      return {
        ...mapper,
        lookups: [file],
        map: (record) => mapper.map(record, ({ key }) => entryOf(file.entries, key)),
      };
    };
    const entryOf = (entries: ReadonlyMap<string, string>, key: string) => {
      const value = entries.get(key);
      return { values: value === undefined ? [] : [value], isRead: true };
    };
    const first = await withFile([
      ['A', 'a'],
      ['B', 'b'],
    ]);
    await given(first);
    const list = [
      { id: '1', code: 'A' },
      { id: '2', code: 'B' },
    ];
    await pullErp(first, list);
    const second = await withFile([
      ['A', 'a'],
      ['B', 'other'],
    ]);
    await world.ledger.defineLookups(new Map([['erp', second.lookups ?? []]]), { isAll: false });
    await pullErp(second, list);
    await settle();
    expect(names()).toEqual({ '1': 'a', '2': 'other' });
    expect(lastAccount()).toMatchObject({ read: 2, changed: 0, unchanged: 2 });
  });
});

describe('a table that is new', () => {
  it('a new lookup table has the records that were stored before', async () => {
    const mapper = await erpMapper();
    world = await createPageWorld({ sources: SOURCES });
    await pullPim([{ id: 'x', code: 'A', name: 'a' }]);
    await world.ledger.defineLookups(new Map([['erp', mapper.lookups ?? []]]), { isAll: true });
    await pullErp(mapper, [{ id: '1', code: 'A' }]);
    expect(names()).toEqual({ '1': 'a' });
  });
});

describe('in whatever order the rows of both sources arrive', () => {
  const code = fc.constantFrom('A', 'B', 'C');
  const pimRows = fc.uniqueArray(
    fc.record({ id: fc.constantFrom('u', 'v', 'w', 'x'), code, name: fc.constantFrom('n1', 'n2') }),
    { selector: ({ id }) => id, maxLength: 4 },
  );
  const erpRows = fc.uniqueArray(
    fc.record({
      id: fc.constantFrom('1', '2', '3', '4'),
      code,
      parent: fc.constantFrom('1', '3', '9'),
      note: fc.constantFrom('x', 'y'),
    }),
    { selector: ({ id }) => id, maxLength: 4 },
  );
  type PimRow = { id: string; code: string; name: string };
  type ErpRow = { id: string; code: string; parent: string; note: string };
  const step = fc.oneof(
    fc.record({ pim: pimRows, size: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ erp: erpRows, size: fc.integer({ min: 1, max: 3 }) }),
    fc.constant('settle' as const),
  );

  /** A row that is always mapped, because a read whose rows are all refused fails. */
  const SOUND = {
    pim: { id: 'sound', code: 'S', name: 'n1' },
    erp: { id: 'sound', code: 'S', parent: '9', note: 'x' },
  };

  /** The expected result of a row: the item's texts, or the code of its issue. */
  function expectedOf(row: ErpRow, erp: readonly ErpRow[], pim: readonly PimRow[]): string {
    const found = [...new Set(pim.filter((one) => one.code === row.code).map(({ name }) => name))];
    const parent = erp.find(({ id }) => id === row.parent)?.note ?? 'none';
    if (found.length === 1) return `${found[0]} of ${parent}`;
    return found.length === 0 ? 'lookup.unknown' : 'lookup.ambiguous';
  }

  it('rows of two sources lead to the same items and the same issues in whatever order they arrive', async () => {
    const mapper = await erpMapper({ description: 'lookup("own", row.parent, "none")' });
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 8 }),
        pimRows,
        erpRows,
        fc.boolean(),
        async (steps, pim, erp, pimLast) => {
          await given(mapper);
          try {
            for (const one of steps) {
              if (one === 'settle') await settle();
              else if ('pim' in one) await pullPim([...one.pim, SOUND.pim], one.size);
              else await pullErp(mapper, [...one.erp, SOUND.erp], one.size);
            }
            if (pimLast) await pullErp(mapper, [...erp, SOUND.erp]);
            await pullPim([...pim, SOUND.pim]);
            if (!pimLast) await pullErp(mapper, [...erp, SOUND.erp]);
            await settle();
            const quarantined = new Map(codes());
            for (const row of erp) {
              const item = world.ledger.views.item('product', row.id);
              const got =
                quarantined.get(row.id) ?? `${text(item?.desired['name'])} of ${text(item?.desired['description'])}`;
              expect(`${row.id}: ${got}`).toBe(`${row.id}: ${expectedOf(row, erp, pim)}`);
            }
          } finally {
            await world.remove();
          }
        },
      ),
      { numRuns: 40 },
    );
    await given(mapper);
  });
});
