import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { json } from '../../../connectors/json/index.ts';
import { PAGE_ROWS_MAX, type SourceRow } from '../../../src/sdk/index.ts';
import { readPages, readRows, temporaryFolder } from '../../support/connectors/connector-reader.ts';

async function read(content: unknown, stream: object): Promise<SourceRow[]> {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  await using folder = await temporaryFolder({ 'in.json': text });
  return await readRows(json, { folder: folder.path, stream: { path: 'in.json', ...stream } });
}

const PARTS = {
  parts: [
    {
      id: 'P-1',
      childItems: [
        { no: 10, part: 'A' },
        { no: 20, part: 'B' },
      ],
      name: 'Pump',
    },
    { id: 'P-2', childItems: [] },
    { id: 'P-3' },
    { id: 'P-4', childItems: null },
    { id: 'P-5', childItems: [{ no: 10, part: 'C' }] },
  ],
};

describe('a list within the elements of a list', () => {
  it('a list within the elements of a JSON list is a stream, with or without [*] at its end', async () => {
    const rows = await read(PARTS, { at: '$.parts[*].childItems[*]' });
    expect(rows).toEqual([
      { fields: { no: 10, part: 'A' }, place: { file: 'in.json', line: 1, path: '$.parts[0].childItems[0]' } },
      { fields: { no: 20, part: 'B' }, place: { file: 'in.json', line: 1, path: '$.parts[0].childItems[1]' } },
      { fields: { no: 10, part: 'C' }, place: { file: 'in.json', line: 1, path: '$.parts[4].childItems[0]' } },
    ]);
    expect(await read(PARTS, { at: '$.parts[*].childItems' })).toEqual(rows);
  });

  it('a nested JSON list gives the fields of the elements around it, also those that stand behind it', async () => {
    const parent = { product: '$.parts[*].id', name: '$.parts[*].name' };
    const rows = await read(PARTS, { at: '$.parts[*].childItems[*]', parent });
    expect(rows.map(({ fields }) => fields)).toEqual([
      { no: 10, part: 'A', product: 'P-1', name: 'Pump' },
      { no: 20, part: 'B', product: 'P-1', name: 'Pump' },
      { no: 10, part: 'C', product: 'P-5', name: null },
    ]);
  });

  it('a nested JSON list may lie deeper, and each level can give values', async () => {
    const document = {
      data: [
        { id: 1, boms: [{ no: 'a', meta: { plant: '0001' }, items: { lines: [{ x: 1 }, { x: 2 }] } }, { no: 'b' }] },
      ],
    };
    const at = '$.data[*].boms[*].items.lines[*]';
    const parent = { id: '$.data[*].id', bom: '$.data[*].boms[*].no', plant: '$.data[*].boms[*].meta.plant' };
    const rows = await read(document, { at, parent });
    expect(rows.map(({ fields }) => fields)).toEqual([
      { x: 1, id: 1, bom: 'a', plant: '0001' },
      { x: 2, id: 1, bom: 'a', plant: '0001' },
    ]);
    expect(rows[1]?.place.path).toBe('$.data[0].boms[0].items.lines[1]');
  });

  it('a nested JSON list may be a list of lists, or stand in lines', async () => {
    expect((await read({ a: [[{ x: 1 }], [], [{ x: 2 }]] }, { at: '$.a[*][*]' })).map(({ fields }) => fields)).toEqual([
      { x: 1 },
      { x: 2 },
    ]);
    const lines = '{"id":1,"l":[{"x":1},{"x":2}]}\n{"id":2,"l":[{"x":3}]}\n{"id":\n';
    const rows = await read(lines, { at: '$[*].l[*]', parent: { id: '$[*].id' }, format: 'ndjson' });
    expect(rows.map(({ fields, issues }) => issues?.[0]?.code ?? fields)).toEqual([
      { x: 1, id: 1 },
      { x: 2, id: 1 },
      { x: 3, id: 2 },
      'row.json',
    ]);
  });

  it('a nested JSON list is filtered by its own members', async () => {
    const rows = await read(PARTS, { at: '$.parts[*].childItems[*]', where: { no: 10 } });
    expect(rows.map(({ fields }) => fields['part'])).toEqual(['A', 'C']);
  });

  it('a nested JSON list is quarantined where a record has a member of that name, which stays as it is', async () => {
    const document = [{ id: 1, l: [{ id: 'own' }, { x: 2 }] }];
    const rows = await read(document, { at: '$[*].l[*]', parent: { id: '$[*].id' } });
    expect(rows.map(({ fields }) => fields)).toEqual([{ id: 'own' }, { x: 2, id: 1 }]);
    expect(rows.map(({ issues }) => issues)).toMatchObject([[{ code: 'row.duplicate', field: 'id' }], undefined]);
  });

  it('a nested JSON list needs paths that stand around it', async () => {
    for (const id of ['$.parts.id', '$.other[*].id', '$.parts[*]', '$.parts[*].childItems[*].no']) {
      await expect(read(PARTS, { at: '$.parts[*].childItems[*]', parent: { id } })).rejects.toThrow(
        `The path ${id} of parent.id names no value around the records`,
      );
    }
  });
});

describe('what cannot be used', () => {
  it('a nested JSON list that is missing is reported where it should be, and the rest is read', async () => {
    const document = [{ l: { x: 1 } }, { l: [{ x: 2 }, 'text'] }, 'text', { l: [{ x: 3 }] }];
    const rows = await read(document, { at: '$[*].l[*]' });
    expect(rows.map(({ issues, place }) => [place.path, issues?.[0]?.code])).toEqual([
      ['$[0].l', 'row.list'],
      ['$[1].l[0]', undefined],
      ['$[1].l[1]', 'row.object'],
      ['$[2]', 'row.list'],
      ['$[3].l[0]', undefined],
    ]);
    expect(rows[0]?.issues?.[0]?.message).toBe('The value at $[0].l is an object, but a list is expected.');
  });

  it('a nested JSON record is reported for an element with a name twice, or with damaged text around it', async () => {
    const twice = await read('[{"id":1,"id":2,"l":[{"x":1},{"x":2}]}]', { at: '$[*].l[*]' });
    // The element has one as well, because members of a name that comes twice are lost but for the last.
    expect(twice.map(({ issues }) => issues?.[0]?.code)).toEqual(['row.duplicate', 'row.duplicate', 'row.duplicate']);
    const lost = await read('[{"id":"1","l":[{"x":1}],"l":[]}]', { at: '$[*].l[*]' });
    expect(lost.map(({ issues, place }) => [place.path, issues?.[0]?.code])).toEqual([['$[0]', 'row.duplicate']]);
    const damaged = await read('[{"id":"\uFFFD","l":[{"x":1}]},{"id":"\uFFFD","l":[{"x":"\uFFFD"}]}]', {
      at: '$[*].l[*]',
      parent: { id: '$[*].id' },
    });
    expect(damaged.map(({ issues }) => issues?.map(({ field }) => field))).toEqual([['id'], ['x', 'id']]);
  });

  it('a nested JSON record is reported where the element with all its records is too long, or a value around them', async () => {
    const long = await read([{ l: [{ x: 'x'.repeat(100) }] }, { l: [{ x: 1 }] }], {
      at: '$[*].l[*]',
      maxRecordBytes: 64,
    });
    expect(long.map(({ issues }) => issues?.[0]?.code)).toEqual(['row.length', undefined]);
    const around = [{ text: 'x'.repeat(10_001), l: [{ x: 1 }] }];
    const rows = await read(around, { at: '$[*].l[*]', parent: { text: '$[*].text' } });
    expect(rows[0]?.issues).toMatchObject([{ code: 'row.parent', field: 'text' }]);
  });
});

it('nested JSON records come in pages of bounded size however many records one element has', async () => {
  const document = [{ id: 1, l: Array.from({ length: 1_300 }, (_, x) => ({ x })) }];
  await using folder = await temporaryFolder({ 'in.json': JSON.stringify(document) });
  const sizes: number[] = [];
  for await (const page of readPages(json, { folder: folder.path, stream: { path: 'in.json', at: '$[*].l[*]' } })) {
    sizes.push(page.rows.length);
  }
  expect(Math.max(...sizes)).toBeLessThanOrEqual(PAGE_ROWS_MAX);
  expect(sizes.reduce((sum, size) => sum + size)).toBe(1_300);
});

it('the json connector finds the same nested records as a loop over the parsed document', async () => {
  const line = fc.record({ n: fc.nat(), t: fc.string({ maxLength: 5 }) });
  const part = fc.record({ id: fc.string(), lines: fc.option(fc.array(line, { maxLength: 4 }), { nil: null }) });
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 30 }), async (parts) => {
      const rows = await read({ a: { b: parts } }, { at: '$.a.b[*].lines[*]', parent: { id: '$.a.b[*].id' } });
      const expected = parts.flatMap(({ id, lines }) => (lines ?? []).map((entry) => ({ ...entry, id })));
      expect(rows.map(({ fields }) => fields)).toEqual(expected);
    }),
    { numRuns: 40 },
  );
});
