import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/lib/json.ts';
import { type Draft, issuesOf, itemsOf, mapperOf, mapRow, problemsOf } from '../../support/connectors/map-row.ts';

const PARTS: Draft = {
  to: 'bom_item',
  each: 'row.parts',
  key: 'row.id + "/" + item.pos',
  when: 'item.qty != 0',
  refs: { product: 'row.id', material: 'item.code' },
  fields: { quantity: 'item.qty', position: 'index' },
};

const ROW: JsonObject = {
  id: 'P1',
  parts: [
    { pos: '10', code: 'M1', qty: 2 },
    { pos: '20', code: 'M2', qty: 0 },
    { pos: '30', code: 'M3', qty: 1.5 },
  ],
};

describe('each', () => {
  it('`each` makes an item of every wanted entry, and its expressions know the row, the entry and its number', async () => {
    const items = itemsOf(await mapperOf([PARTS]), ROW);
    expect(items.map(({ key, payload }) => [key, payload.quantity, payload.position])).toEqual([
      ['P1/10', '2', '0'],
      ['P1/30', '1.5', '2'],
    ]);
    expect(items[1]?.refs).toEqual([
      { role: 'product', kind: 'product', key: 'P1' },
      { role: 'material', kind: 'material', key: 'M3' },
    ]);
  });

  it('`each` takes the values of a packed text and of single values', async () => {
    const mapper = await mapperOf([
      {
        ...PARTS,
        each: 'split(row.list, ";")',
        key: 'item',
        when: 'true',
        refs: { product: 'row.id', material: 'item' },
        fields: { quantity: '1' },
      },
    ]);
    expect(itemsOf(mapper, { id: 'P', list: 'a; b;;c' }).map(({ key }) => key)).toEqual(['a', 'b', 'c']);
    const single = await mapperOf([{ ...PARTS, each: 'as_list(row.parts)' }]);
    expect(itemsOf(single, { id: 'P', parts: { pos: '1', code: 'M', qty: 1 } }).map(({ key }) => key)).toEqual(['P/1']);
  });

  it('`each` makes nothing of no entries, so that the row is excluded', async () => {
    const mapper = await mapperOf([PARTS]);
    expect(mapRow(mapper, { id: 'P', parts: [] }).status).toBe('excluded');
    expect(mapRow(mapper, { id: 'P', parts: null }).status).toBe('excluded');
  });

  it.each([
    'has(row.parts)',
    '"parts" in row',
    'has(row.parts) && item.qty != 0',
    'item.qty != 0 && has(row.parts)',
    'row.id.startsWith("P1")',
  ])('excludes a row without the list of `each` where `when` is %s', async (when) => {
    const mapper = await mapperOf([
      { to: 'product', key: 'row.id', fields: { sku: 'row.id', name: 'row.id' } },
      { ...PARTS, when },
    ]);
    expect(itemsOf(mapper, { id: 'P2' }).map(({ kind, key }) => `${kind} ${key}`)).toEqual(['product P2']);
    const whole = { id: 'P1', parts: [{ pos: '10', code: 'M1', qty: 2 }] };
    expect(itemsOf(mapper, whole).map(({ kind, key }) => `${kind} ${key}`)).toEqual(['product P1', 'bom_item P1/10']);
  });

  it('reports a row without the list of `each` where `when` needs an entry, or does not say that the row is left out', async () => {
    for (const when of ['item.qty != 0', 'row.id != "P1"']) {
      const [issue] = issuesOf(await mapperOf([{ ...PARTS, when }]), { id: 'P2' });
      expect(issue).toMatchObject({ code: 'column.missing', field: 'each' });
    }
  });

  it('`each` refuses two entries of a row with one key, and names them', async () => {
    const entries = [
      { pos: '10', code: 'M1', qty: 2 },
      { pos: '10', code: 'M2', qty: 3 },
    ];
    const [issue] = issuesOf(await mapperOf([PARTS]), { id: 'P1', parts: entries });
    expect(issue).toMatchObject({ code: 'each.key', field: 'key', value: 'P1/10' });
    expect(issue?.message).toBe('Entry 1: The key "P1/10" is also the key of entry 0.');
  });

  it('`each` names the entry of an issue, and the members that the expression has used', async () => {
    const [issue] = issuesOf(await mapperOf([PARTS]), { id: 'P1', parts: [{ pos: '10', code: 'M1', qty: -1 }] });
    expect(issue).toMatchObject({ code: 'field.invalid', field: 'quantity', expression: 'item.qty' });
    expect(issue?.message).toMatch(/^Entry 0: /);
  });

  it('`each` is a list, and no text or object', async () => {
    const [issue] = issuesOf(await mapperOf([PARTS]), { id: 'P1', parts: 'none' });
    expect(issue).toMatchObject({ code: 'each.type', field: 'each', value: 'none' });
    expect(issue?.cure).toContain('as_list');
  });

  it('`each` alone knows item and index', async () => {
    const { each: _, ...once } = PARTS;
    const problems = await problemsOf([once]);
    expect(problems.map(({ path }) => path)).toContain('sources[0].mappings[0].key');
    expect(problems[0]?.message).toContain('"item" is not known');
  });

  it('`each` counts the work of all entries of a row together', async () => {
    const mapper = await mapperOf([
      { ...PARTS, key: 'item.pos', fields: { quantity: 'double(size(row.long.split(item.pos)))' } },
    ]);
    const parts = Array.from({ length: 2000 }, (_, index) => ({ pos: `${index}`, code: 'M', qty: 1 }));
    const [issue] = issuesOf(mapper, { id: 'P1', parts, long: 'x'.repeat(100_000) });
    expect(issue?.code).toBe('expression.costly');
  });
});

describe('what an issue does', () => {
  const product: Draft = { to: 'product', key: 'row.id', fields: { sku: 'row.id', name: 'row.id' } };
  const bad: JsonObject = {
    ...ROW,
    parts: [
      { pos: '10', code: 'M1', qty: 2 },
      { pos: '20', code: 'M2', qty: -1 },
    ],
  };

  it('an issue holds all items of the row and the passports of its products, unless the mapping only reports', async () => {
    const result = mapRow(await mapperOf([product, PARTS]), bad);
    expect(result).toMatchObject({ status: 'quarantined', blockedProducts: ['P1'] });
    expect(result).not.toHaveProperty('items');
  });

  it('an issue leaves the sound items of the row in use where the mapping only reports', async () => {
    const result = mapRow(await mapperOf([product, { ...PARTS, onIssue: 'report' }]), bad);
    expect(result).toMatchObject({ status: 'quarantined', blockedProducts: [] });
    expect(result.status === 'quarantined' && result.items?.map(({ key }) => key)).toEqual(['P1', 'P1/10']);
    expect(result.status === 'quarantined' && result.issues.map(({ field }) => field)).toEqual(['quantity']);
  });

  it('an issue holds the row when it is of another mapping that does not only report', async () => {
    const result = mapRow(
      await mapperOf([
        { ...product, fields: { sku: 'row.id', name: 'row.none' } },
        { ...PARTS, onIssue: 'report' },
      ]),
      bad,
    );
    expect(result).not.toHaveProperty('items');
  });
});

describe('a ref to a part', () => {
  const part: Draft = {
    to: 'bom_item',
    key: 'row.k',
    refs: { product: 'row.p', part: 'row.c' },
    fields: { quantity: '1' },
  };

  it('a ref to a part is a material or a component, whichever has the key', async () => {
    const [item] = itemsOf(await mapperOf([part]), { k: 'K', p: 'P', c: 'X' });
    expect(item?.refs[1]).toEqual({ role: 'component', kind: 'product', key: 'X', either: true });
  });

  it('a ref to a part may have the key of its own product, since it can be a material', async () => {
    expect(itemsOf(await mapperOf([part]), { k: 'K', p: 'P', c: 'P' })).toHaveLength(1);
  });
});
