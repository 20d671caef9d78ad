import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { json } from '../../../connectors/json/index.ts';
import type { SourceRow } from '../../../src/sdk/index.ts';
import { readPages, readRows, temporaryFolder } from '../../support/connectors/connector-reader.ts';

async function read(content: unknown, stream: object): Promise<SourceRow[]> {
  const text = typeof content === 'string' || content instanceof Uint8Array ? content : JSON.stringify(content);
  await using folder = await temporaryFolder({ 'in.json': text });
  return await readRows(json, { folder: folder.path, stream: { path: 'in.json', ...stream } });
}

const fields = (rows: SourceRow[]) => rows.map((row) => row.fields);
const codes = (rows: SourceRow[]) => rows.map(({ issues }) => issues?.map(({ code }) => code).join() ?? 'ok');

const BOM = { bom: '4711', lines: [{ pos: 10 }, { pos: 20 }], head: { plant: { id: '0001' } }, product: 'P-1' };

describe('values of the document as `parent`', () => {
  it('values of the document are in each row of its list, whether they stand before or behind it', async () => {
    const parent = { bom: '$.bom', product: '$.product', plant: '$.head.plant.id', absent: '$.absent' };
    const rows = await read(BOM, { at: '$.lines', parent });
    const around = { bom: '4711', product: 'P-1', plant: '0001', absent: null };
    expect(fields(rows)).toEqual([
      { pos: 10, ...around },
      { pos: 20, ...around },
    ]);
    expect(rows[1]?.place).toEqual({ file: 'in.json', line: 1, path: '$.lines[1]' });
  });

  it('values of the document stand beside those of the elements around a nested record', async () => {
    const document = { data: { parts: [{ id: 1, lines: [{ x: 1 }] }], date: '2027' }, version: [{ no: 7 }] };
    const parent = { part: '$.data.parts[*].id', date: '$.data.date', version: '$.version[0].no' };
    const rows = await read(document, { at: '$.data.parts[*].lines[*]', parent });
    expect(fields(rows)).toEqual([{ x: 1, part: 1, date: '2027', version: 7 }]);
  });

  it('values of the document are found in packed files and in UTF-16 too', async () => {
    const expected = [
      { pos: 10, product: 'P-1' },
      { pos: 20, product: 'P-1' },
    ];
    const stream = { at: '$.lines', parent: { product: '$.product' } };
    const text = JSON.stringify(BOM);
    expect(fields(await read(gzipSync(text), stream))).toEqual(expected);
    expect(fields(await read(Buffer.from(`\ufeff${text}`, 'utf16le'), stream))).toEqual(expected);
  });

  it('values of the document that are too long or damaged are an issue of each row', async () => {
    const document = { long: 'x'.repeat(10_001), longer: 'x'.repeat(2_000), l: [{ x: 1 }], bad: '\ufffd', own: 1 };
    const parent = { long: '$.long', bad: '$.bad', x: '$.own' };
    const [row] = await read(document, { at: '$.l', parent });
    expect(row?.issues?.map(({ code, field }) => [code, field])).toEqual([
      ['row.encoding', 'bad'],
      ['row.parent', 'long'],
      ['row.duplicate', 'x'],
    ]);
    expect(row?.fields['x']).toBe(1);
    const [limited] = await read(document, { at: '$.l', parent: { longer: '$.longer' }, maxRecordBytes: 1_000 });
    expect(limited?.issues).toMatchObject([{ code: 'row.parent', field: 'longer' }]);
  });

  it('a document that has a wanted value twice, or is damaged behind its list, is refused', async () => {
    const stream = { at: '$.l', parent: { id: '$.id' } };
    await expect(read('{"id":1,"l":[{"x":1}],"id":2}', stream)).rejects.toThrow('The name "id" is twice');
    for (const [id, value] of [
      ['$.head.id', '{"id":1,"id":2}'],
      ['$.head.id', '{"id":{"a":1,"b":1,"a":2}}'],
      ['$.head.ids[1].id', '{"ids":[{"id":0},{"id":1,"id":2}]}'],
    ]) {
      const of = { at: '$.l', parent: { id } };
      await expect(read(`{"l":[{"x":1}],"head":${value}}`, of)).rejects.toThrow(/The name "(?:id|a)" is twice/);
    }
    // Another value of the same object does not matter.
    const other = await read('{"l":[{"x":1}],"head":{"id":1,"no":1,"no":2}}', {
      at: '$.l',
      parent: { id: '$.head.id' },
    });
    expect(fields(other)).toEqual([{ x: 1, id: 1 }]);
    await expect(read('{"l":[{"x":1}],"id":{"a":,}}', stream)).rejects.toThrow('The value at $.id is not valid JSON');
    await expect(read('{"l":[{"x":1}],"id":', stream)).rejects.toThrow('in.json, line 1');
  });

  it.each(['$.l', '$.l.id', '$', '$.l[0].id', '$.other[*].id'])('%s is no value of the document', async (id) => {
    const stream = { at: '$.l', parent: { id } };
    await expect(read({ l: [] }, stream)).rejects.toThrow(`The path ${id} of parent.id names no value`);
  });

  it('the lines of NDJSON have no document around them', async () => {
    const stream = { at: '$.l', parent: { id: '$.id' }, format: 'ndjson' };
    const lines = '{"id":1,"l":[{"x":1}]}\n{"id":2,"l":[{"x":2}]}\n';
    await expect(read(lines, stream)).rejects.toThrow('in.json is NDJSON, so parent.id names a value of a document');
    await using folder = await temporaryFolder({ 'in.jsonl': lines });
    const byName = readRows(json, { folder: folder.path, stream: { ...stream, path: 'in.jsonl', format: 'auto' } });
    await expect(byName).rejects.toThrow('in.jsonl is NDJSON');
  });

  it('the same values are found as in the parsed document, in any order of its members', async () => {
    const value = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 5 }), fc.nat(), fc.constant(null));
    const members = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), value);
    await fc.assert(
      fc.asyncProperty(members, members, fc.nat(4), async (root, inner, at) => {
        const entries: [string, unknown][] = [...Object.entries(root), ['inner', inner]];
        entries.splice(at, 0, ['list', [{ x: 1 }]]);
        const document = Object.fromEntries(entries) as Record<string, unknown>;
        const parent = { a: '$.a', b: '$.inner.b', c: '$.inner.c' };
        const rows = await read(JSON.stringify(document, null, 1), { at: '$.list', parent });
        const expected = { x: 1, a: root['a'] ?? null, b: inner['b'] ?? null, c: inner['c'] ?? null };
        expect(fields(rows)).toEqual([expected]);
      }),
      { numRuns: 60 },
    );
  });

  it('a document with values behind a long list takes bounded memory, and gives bounded pages', async () => {
    const noise = createHash('sha256').update('x').digest('hex');
    const lines = Array.from({ length: 3_000 }, (_, x) => ({ x, noise }));
    await using folder = await temporaryFolder({ 'in.json': JSON.stringify({ lines, id: 'P-1' }) });
    const stream = { path: 'in.json', at: '$.lines', parent: { id: '$.id' }, maxRecordBytes: 1_000 };
    let done = 0;
    let rows = 0;
    for await (const page of readPages(json, { folder: folder.path, stream })) {
      rows += page.rows.length;
      expect(page.rows.length).toBeLessThanOrEqual(500);
      expect(page.rows.every(({ fields: { id } }) => id === 'P-1')).toBe(true);
      expect(page.progress?.done).toBeGreaterThanOrEqual(done);
      done = page.progress?.done ?? 0;
    }
    expect(rows).toBe(3_000);
    expect(done).toBeGreaterThan(200_000);
  });
});

describe('one object in each file', () => {
  const one = { format: 'object' };

  it('a file that is one object is one record', async () => {
    expect(await read('{\n "id": "P-1",\n "parts": [1]}\n', one)).toEqual([
      { fields: { id: 'P-1', parts: [1] }, place: { file: 'in.json', line: 1 } },
    ]);
  });

  it('the lists of such a file are streams, with the values around them', async () => {
    const rows = await read(BOM, { ...one, at: '$.lines', parent: { product: '$.product', plant: '$.head.plant.id' } });
    expect(fields(rows)).toEqual([
      { pos: 10, product: 'P-1', plant: '0001' },
      { pos: 20, product: 'P-1', plant: '0001' },
    ]);
    expect(rows[1]?.place).toEqual({ file: 'in.json', line: 1, path: '$.lines[1]' });
    const deep = { id: 1, a: [{ no: 2, l: [{ x: 3 }] }] };
    const parent = { id: '$.id', no: '$.a[*].no' };
    expect(fields(await read(deep, { ...one, at: '$.a[*].l[*]', parent }))).toEqual([{ x: 3, id: 1, no: 2 }]);
  });

  it('a damaged file among others is a row in quarantine, and the others are read', async () => {
    await using folder = await temporaryFolder({
      'p-1.json': '{"id":"P-1"}',
      'p-2.json': '{"id":"P-2",',
      'p-3.json': '',
      'p-4.json': '[{"id":"P-4"}]',
      'p-5.json': `{"id":"${'x'.repeat(3_000)}"}`,
      'p-6.json': '{"id":"P-6","id":"P-7"}',
      'p-7.json': '{"id":"P-7"}',
    });
    const stream = { path: 'p-*.json', ...one, maxRecordBytes: 2_000 };
    const rows = await readRows(json, { folder: folder.path, stream });
    expect(codes(rows)).toEqual(['ok', 'row.json', 'row.json', 'row.object', 'row.length', 'row.duplicate', 'ok']);
    expect(rows[1]?.issues?.[0]?.message).toMatch(/^The file p-2\.json is not valid JSON: .*JSON at position 12/);
    expect(rows[1]?.place).toEqual({ file: 'p-2.json', line: 1 });
    expect(rows[4]?.fields['_raw']).toHaveLength(1_000);
  });

  it('a misspelt list of such a file is named with the members that are there', async () => {
    await expect(read(BOM, { ...one, at: '$.Lines' })).rejects.toThrow(
      'in.json has no list $.Lines: $ has no Lines; did you mean lines? It has bom, lines, head, product.',
    );
  });

  it('a document that is one object, read as a list, is refused with the option that reads it', async () => {
    await expect(read({ id: 1 }, {})).rejects.toMatchObject({
      suggestion: expect.stringContaining('for one object per file `format: object`'),
    });
  });
});
