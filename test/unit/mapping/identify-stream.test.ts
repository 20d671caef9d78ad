import { describe, expect, it } from 'vitest';
import type { Page, SourceStream } from '../../../src/domain/ports/source.ts';
import type { StreamIdentity } from '../../../src/domain/record.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import { identifyStream } from '../../../src/pipeline/identify-stream.ts';
import { incomingRecord } from '../../../src/pipeline/incoming-record.ts';
import { type Draft, mapperOf } from '../../support/connectors/map-row.ts';

const product = (key: string, more: Partial<Draft> = {}): Draft => ({
  to: 'product',
  key,
  fields: { sku: key, name: 'row.id' },
  ...more,
});
const material = (key: string, more: Partial<Draft> = {}): Draft => ({
  to: 'material',
  key,
  fields: { code: key, name: 'row.id' },
  ...more,
});
const BOM: Draft = {
  to: 'bom_item',
  key: 'row.id + "/" + row.part',
  refs: { product: 'row.id', part: 'row.part' },
  fields: { quantity: '1' },
};

const LOOKUPS = { codes: { stream: 'codes', key: ['id'], value: 'code' } };

interface Given {
  mappings: readonly Draft[];
  rows?: readonly JsonObject[];
  reads?: SourceStream['reads'];
  stored?: StreamIdentity | null;
  pages?: readonly Page[];
  /** The fields of the stored records that make items, in parts, after a complete read. */
  items?: readonly (readonly JsonObject[])[];
}

/** The identity that is stored, how often the stream was read, and the keys that the rows get. */
async function identify({ mappings, rows = [], reads = 'snapshot', stored = null, pages, items }: Given) {
  const place = { file: 'a.csv', line: 2 };
  const all = pages ?? [{ rows: rows.map((fields) => ({ fields, place })) }];
  let readings = 0;
  let identity = stored;
  let rekeyed = false;
  const asked: boolean[] = [];
  const stream: SourceStream = {
    name: 'products',
    key: [],
    reads,
    async *pull() {
      readings += 1;
      yield* all;
    },
  };
  const ledger = {
    async storeIdentity(given: { identity: StreamIdentity }) {
      identity = given.identity;
    },
    async identifyRecords(given: { identity: StreamIdentity }) {
      identity = given.identity;
      rekeyed = true;
      return { ids: [], next: null };
    },
    async itemRecords({ afterId: at, onlyByContent }: { afterId: number; onlyByContent: boolean }) {
      asked.push(onlyByContent);
      const records = (items?.[at] ?? []).map((fields, of) => ({ id: 100 * at + of, fields }));
      return { records, next: at + 1 < (items?.length ?? 0) ? at + 1 : null };
    },
  };
  const request = {
    source: 'erp',
    stream,
    mapper: await mapperOf(mappings, import.meta.dirname, { lookups: LOOKUPS }),
    omit: ['secret'],
    before: { identity: stored, snapshotAt: items === undefined ? null : 1 },
  };
  const wait = { clock: systemClock, waitMs: 0, onPause: () => undefined };
  const found = await identifyStream(request, { ledger, wait }, new AbortController().signal);
  const keyOf = (fields: JsonObject) => {
    const { identity: key, hash } = incomingRecord({ fields, place }, [], new Set(['secret']), found?.keyOf);
    return key === hash ? null : key;
  };
  return { readings, asked, identity, rekeyed, nothingNew: found?.nothingNew, keys: rows.map(keyOf) };
}

const ONCE = [
  { id: '1', part: 'a', type: 'x' },
  { id: '2', part: 'a', type: 'y' },
];
const DOUBLE = [...ONCE, { id: '1', part: 'b', type: 'x' }];

describe('the mapping that identifies the rows of a stream without key columns', () => {
  it.each<[string, readonly Draft[], readonly JsonObject[], (string | null)[]]>([
    ['the first one', [product('row.id'), material('row.part + row.id')], ONCE, ['1', '2']],
    ['no one whose key is double', [product('row.id'), BOM], DOUBLE, ['1/a', '2/a', '1/b']],
    ['no one with `each`', [{ ...BOM, each: '[row.part]' }, product('row.id')], ONCE, ['1', '2']],
    ['no one with a key that is looked up', [product('lookup("codes", row.id, row.id)'), BOM], ONCE, ['1/a', '2/a']],
    [
      'each one for the rows that it takes',
      [product('row.id', { when: 'row.type == "x"' }), material('row.id')],
      ONCE,
      ['1', '2'],
    ],
    [
      'one of each kind, with the kind where rows of several kinds may have the same key',
      [
        product('row.id', { when: 'row.type == "x"' }),
        material('row.id', { when: 'row.type == "y"' }),
        { ...BOM, key: 'row.id', when: 'row.type == "z"' },
      ],
      ['x', 'y', 'z'].map((type) => ({ id: '1', part: 'a', type })),
      ['1', '1\u001fmaterial', '1\u001fbom_item'],
    ],
    ['the content of rows that none takes', [product('row.id', { when: 'row.type == "x"' })], ONCE, ['1', null]],
    ['the content where each key is double', [product('row.id')], DOUBLE, [null, null, null]],
    ['the first one although a row stands twice', [product('row.id')], [...ONCE, ...ONCE], ['1', '2', '1', '2']],
    [
      'the first one although keys fail',
      [product('row.id.trim()')],
      [...ONCE, { id: 7 }, { id: '' }, {}],
      ['1', '2', null, null, null],
    ],
    [
      'no one whose key reads a column that is never stored',
      [product('row.secret'), BOM],
      ONCE.map((row) => ({ ...row, secret: 's' })),
      ['1/a\u001fbom_item', '2/a\u001fbom_item'],
    ],
  ])('is %s', async (_, mappings, rows, keys) => {
    expect(await identify({ mappings, rows })).toMatchObject({ keys, readings: 1 });
  });

  it('is chosen once, from a read without double keys', async () => {
    const mappings = [product('row.id')];
    const first = await identify({ mappings, rows: ONCE });
    const later = await identify({ mappings, rows: DOUBLE, stored: first.identity });
    expect(later).toMatchObject({ readings: 0, rekeyed: false, keys: ['1', '2', '1'], identity: first.identity });
  });

  it('is looked for again in each complete read while only the content identifies the rows', async () => {
    const mappings = [product('row.id')];
    const byContent = await identify({ mappings, rows: DOUBLE });
    const stored = byContent.identity;
    expect(await identify({ mappings, rows: DOUBLE, stored })).toMatchObject({ readings: 1, rekeyed: false });
    expect(await identify({ mappings, rows: ONCE, stored })).toMatchObject({ rekeyed: true, keys: ['1', '2'] });
  });

  it('is the one by which the stored records with items differ, although its key is double in each read', async () => {
    const mappings = [product('row.type'), product('row.id')];
    const { identity: stored } = await identify({ mappings, rows: DOUBLE });
    // The two records of the type `x` make one product more than the key `row.type` shows, so this key does not identify.
    const items = [ONCE, [{ id: '3', type: 'x' }]];
    for (const given of [{ stored }, { stored: null }]) {
      const found = await identify({ mappings, rows: DOUBLE, items, ...given });
      expect(found).toMatchObject({ keys: ['1', '2', '1'], rekeyed: true });
      const after = await identify({ mappings, rows: DOUBLE, items: [[]], stored: found.identity });
      expect(after).toMatchObject({ readings: 0, asked: [true], rekeyed: false, keys: ['1', '2', '1'] });
    }
  });

  it('is found in the stored records for the rows that no chosen mapping takes', async () => {
    const mappings = [product('row.id', { when: 'row.type == "x"' }), material('row.id', { when: 'row.type == "y"' })];
    const rows = [...ONCE, { id: '2', part: 'b', type: 'y' }];
    const first = await identify({ mappings, rows });
    expect(first.keys).toEqual(['1', null, null]);
    const later = await identify({ mappings, rows, items: [rows.slice(1, 2)], stored: first.identity });
    const keys = ['1', '2\u001fmaterial', '2\u001fmaterial'];
    expect(later).toMatchObject({ readings: 0, asked: [true], keys });
  });

  it('is not found in the stored records after a change of its key, in a stream of changes, and before a complete read', async () => {
    const mappings = [product('row.id')];
    const { identity: stored } = await identify({ mappings, rows: DOUBLE });
    const items = [ONCE];
    const others = [product('row.id + row.type')];
    const keys = [null, null, null];
    expect(await identify({ mappings: others, rows: DOUBLE, items, stored })).toMatchObject({ asked: [], keys });
    expect(await identify({ mappings, rows: DOUBLE, items, stored, reads: 'changes' })).toMatchObject({
      asked: [],
      keys,
    });
    expect(await identify({ mappings, rows: DOUBLE, stored })).toMatchObject({ asked: [], keys });
    const whole = { mappings, rows: DOUBLE, items, stored, reads: 'changes-and-snapshot' } as const;
    expect(await identify(whole)).toMatchObject({ readings: 0, keys: ['1', '2', '1'] });
  });

  it('stays the same when the order, the fields or the place of the mappings change', async () => {
    const { identity } = await identify({ mappings: [product('row.id'), BOM], rows: ONCE });
    const moved = [BOM, product(' row.id', { fields: { sku: 'row.id', name: 'row.part' } })];
    expect(await identify({ mappings: moved, rows: ONCE, stored: identity })).toMatchObject({
      readings: 0,
      rekeyed: false,
      keys: ['1', '2'],
    });
  });

  it('stays chosen beside a new mapping, even if its keys are double now', async () => {
    const { identity } = await identify({ mappings: [product('row.id')], rows: ONCE });
    const found = await identify({ mappings: [product('row.id'), BOM], rows: DOUBLE, stored: identity });
    expect(found).toMatchObject({ readings: 1, rekeyed: true, keys: ['1', '2', '1'] });
  });

  it('is chosen again when its key or its `when` changes or the mapping is gone, and stored records follow', async () => {
    const { identity } = await identify({ mappings: [product('row.id')], rows: ONCE });
    for (const mappings of [[product('row.part + row.id')], [product('row.id', { when: 'row.type != ""' })], [BOM]]) {
      expect(await identify({ mappings, rows: ONCE, stored: identity })).toMatchObject({ readings: 1, rekeyed: true });
    }
    const none = await identify({ mappings: [{ ...BOM, each: '[row.part]' }], rows: ONCE, stored: identity });
    expect(none).toMatchObject({ readings: 0, rekeyed: true, keys: [null, null] });
  });

  it('is not chosen from changes, from no export, and from a read without a key', async () => {
    const mappings = [product('row.id')];
    expect(await identify({ mappings, rows: ONCE, reads: 'changes' })).toMatchObject({
      readings: 0,
      keys: [null, null],
    });
    const nothing = await identify({ mappings, pages: [{ rows: [], nothingNew: true }] });
    expect(nothing).toMatchObject({ nothingNew: { nothingNew: true }, identity: null });
    const empty = await identify({ mappings });
    expect(await identify({ mappings, rows: ONCE, stored: empty.identity })).toMatchObject({
      readings: 1,
      keys: ['1', '2'],
    });
    const whole = await identify({ mappings, rows: ONCE, reads: 'changes-and-snapshot' });
    expect(await identify({ mappings, rows: ONCE, reads: 'changes', stored: whole.identity })).toMatchObject({
      keys: ['1', '2'],
    });
  });
});
