import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import iconv from 'iconv-lite';
import { describe, expect, it } from 'vitest';
import { json } from '../../../connectors/json/index.ts';
import { PAGE_ROWS_MAX, type SourceRow } from '../../../src/sdk/index.ts';
import { probe, readPages, readRows, temporaryFolder, textOf } from '../../support/connectors/connector-reader.ts';

async function read(content: string | Uint8Array, stream: object = {}, options: object = {}): Promise<SourceRow[]> {
  await using folder = await temporaryFolder({ 'in.json': content });
  return await readRows(json, { folder: folder.path, options, stream: { path: 'in.json', ...stream } });
}

const ndjson = (content: string | Uint8Array, stream: object = {}, options: object = {}) =>
  read(content, { format: 'ndjson', ...stream }, options);
const numbered = <Value>(count: number, of: (at: number) => Value) => Array.from({ length: count }, (_, at) => of(at));
const codes = (rows: SourceRow[]) => rows.map((row) => row.issues?.map((issue) => issue.code).join() ?? 'ok');

describe('a document', () => {
  it('a JSON document gives its elements with line and path', async () => {
    expect(await read('[\n  {"a": 1},\n  {"a": [\n2]}, {}\n]\n')).toEqual([
      { fields: { a: 1 }, place: { file: 'in.json', line: 2, path: '$[0]' } },
      { fields: { a: [2] }, place: { file: 'in.json', line: 3, path: '$[1]' } },
      { fields: {}, place: { file: 'in.json', line: 4, path: '$[2]' } },
    ]);
    expect(await read(' [ ] ')).toEqual([]);
  });

  it('a JSON document may have the list anywhere', async () => {
    const text = JSON.stringify({
      skip: { parts: [{ x: 1 }], 'quo"te': '\\' },
      n: -1.5e3,
      data: { parts: null, 'data set': [[], 0, [{ x: 'found' }], 'rest'], more: {} },
      tail: [true, null],
    });
    const at = '$.data["data set"][2]';
    expect(await read(text, { at })).toEqual([
      { fields: { x: 'found' }, place: { file: 'in.json', line: 1, path: `${at}[0]` } },
    ]);
    expect(await read(JSON.stringify(JSON.parse(text), null, 2), { at })).toMatchObject([{ fields: { x: 'found' } }]);
  });

  it.each([
    ['$.parts', '{"data": 1, "p": 2}', '$ has no member "parts"'],
    ['$.a[2]', '{"a": [1, 2]}', '$.a has no item 2'],
    ['$.a.b', '{"a": [1]}', '$.a is a list, but an object is expected'],
    ['$.a', '{"a": {"b": 1}}', '$.a is an object, but a list is expected'],
    ['$', '{"a": 1}', '$ is an object, but a list is expected'],
    ['$', '"a"', '$ is a single value, but a list is expected'],
    ['$.a', '{"a": [], "a": []}', 'The name "a" is twice'],
  ])('a document without a list at %s is refused', async (at, text, message) => {
    await expect(read(text, { at })).rejects.toMatchObject({
      code: 'source.unreadable',
      message: expect.stringContaining(message),
    });
  });

  it('a JSON document names the members that are there when one is missing', async () => {
    await expect(read('{"data": [], "meta": {}}', { at: '$.parts' })).rejects.toMatchObject({
      suggestion: 'Correct `at`. It has data, meta.',
    });
  });

  it.each([
    ['[{"a": 1}', 'The document ends before it is complete (in.json, line 1, $[1]'],
    ['[{"a": 1},', 'The document ends before it is complete'],
    ['[{"a": 1}, {"b": "x', 'The document ends in the middle of a value (in.json, line 1, $[1]'],
    ['[{"a": 1}\n{"a": 2}]', 'Expected a comma or ], found "{" (in.json, line 2, $[1]'],
    ['[{"a": 1},]', 'Expected an element, found "]"'],
    ['[{"a": 1}]]', 'Expected the end of the file, found "]"'],
    ['[{"a": 1}] x', 'Expected the end of the file, found "x"'],
    ['[\n{"a": 1},\n{"a": 01}]', 'in.json is not valid JSON in $[1], which begins at line 3'],
    ['[nul]', 'is not valid JSON in $[0]'],
    ['', 'in.json is empty.'],
  ])('a document that is broken stops the pull: %s', async (text, message) => {
    await expect(read(text)).rejects.toThrow(message);
  });

  it.each([
    ['{"l": [{}], "x": 1', 'The document ends before it is complete'],
    ['{"l": [{}], "x" 1}', 'Expected a colon, found "1"'],
    ['{"l": [{}], "x": }', 'Expected a value, found "}"'],
    ['{"l": [{}], x: 1}', 'Expected a name in quotes, found "x"'],
    ['{"l": [{}],}', 'Expected a name in quotes, found "}"'],
    ['{"l": [{}] "x": 1}', 'Expected a comma or }, found'],
    ['{"\\q": 1, "l": []}', 'A name is not valid JSON'],
  ])('a document that is broken around the list stops the pull: %s', async (text, message) => {
    await expect(read(text, { at: '$.l' })).rejects.toThrow(message);
  });

  it('a JSON document gives the rows before the fault', async () => {
    await using folder = await temporaryFolder({ 'in.json': `[${'{"a":1},'.repeat(600)}{"a":}]` });
    let rows = 0;
    const consume = async () => {
      for await (const page of readPages(json, { folder: folder.path, stream: { path: 'in.json' } }))
        rows += page.rows.length;
    };
    await expect(consume()).rejects.toThrow('$[600]');
    expect(rows).toBe(PAGE_ROWS_MAX);
  });
});

describe('lines', () => {
  it('JSON lines are elements with their line', async () => {
    expect(await ndjson('{"a":1}\r\n\n{"a":2}\n  \n{"a":3}')).toEqual([
      { fields: { a: 1 }, place: { file: 'in.json', line: 1 } },
      { fields: { a: 2 }, place: { file: 'in.json', line: 3 } },
      { fields: { a: 3 }, place: { file: 'in.json', line: 5 } },
    ]);
    expect(await ndjson('')).toEqual([]);
  });

  it('JSON lines that are not JSON cost only themselves, and keep their text', async () => {
    const rows = await ndjson('{"a":1}\n{"a":\n{"a":2} x\n{"a":3}\n');
    expect(codes(rows)).toEqual(['ok', 'row.json', 'row.json', 'ok']);
    expect(rows[1]).toMatchObject({
      fields: { _raw: '{"a":' },
      place: { line: 2 },
      issues: [{ message: expect.stringMatching(/^Line 2 is not valid JSON: .+\.$/) }],
    });
  });
});

describe('the format', () => {
  const of = async (name: string, content: string | Uint8Array, stream: object = {}) => {
    await using folder = await temporaryFolder({ [name]: content });
    return await readRows(json, { folder: folder.path, stream: { path: name, ...stream } });
  };

  it('the format of a JSON file is recognised by the extension or the beginning', async () => {
    expect(await of('x.ndjson', '{"a":1}')).toHaveLength(1);
    expect(await of('x.jsonl', '{"a":1}\n{"a":2}')).toHaveLength(2);
    expect(await of('x.ndjson.gz', gzipSync('{"a":1}'))).toHaveLength(1);
    expect(await of('x.json', '\n {"a":1}\n{"a":2}')).toHaveLength(2);
    expect(await of('x.json', '{"l":[{}]}\n', { at: '$.l' })).toHaveLength(1);
    expect(await of('x', ' [{}]')).toHaveLength(1);
  });

  it('the format of a JSON file is not guessed where a document and a line look the same', async () => {
    await expect(of('x.json', '{"a":1}\n')).rejects.toThrow('$ is an object, but a list is expected');
    await expect(of('x.json', '{\n"a":1}\n')).rejects.toThrow('$ is an object');
  });
});

describe('elements that cannot be used', () => {
  it('JSON elements are reported when they are no objects', async () => {
    const rows = await read('[1, "x", null, [], true, {}]');
    expect(codes(rows)).toEqual([...Array<string>(5).fill('row.object'), 'ok']);
    expect(rows[1]).toMatchObject({
      fields: { _raw: '"x"' },
      place: { path: '$[1]' },
      issues: [{ message: 'The element is a string, but an object is expected.' }],
    });
  });

  it('JSON elements are reported when an object has a name twice, however deep', async () => {
    const rows = await ndjson(
      '{"a":1,"a":2}\n{"b":[{"c":{"x":1,"y":{},"x":2}}]}\n{"a":{"a":{"a":"a\\": \\"a"}},"b":{"a":1}}\n{"a":1,"\\u0061":2}',
    );
    expect(codes(rows)).toEqual(['row.duplicate', 'row.duplicate', 'ok', 'row.duplicate']);
    expect(rows.map((row) => row.issues?.[0]?.field)).toEqual(['a', 'x', undefined, 'a']);
  });

  it('JSON elements are reported when they are nested too deeply, without being built', async () => {
    const nested = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
    const rows = await read(`[${nested(100)},${nested(101)},${nested(200_000)},{}]`);
    expect(codes(rows)).toEqual(['ok', 'row.depth', 'row.depth', 'ok']);
  });

  it('JSON elements are reported when they are too long, and reading continues', async () => {
    const long = `{"a":"${'x'.repeat(2_000_000)}"}`;
    for (const rows of [await read(`[{},${long},\n{"b":1}]`), await ndjson(`{}\n${long}\n{"b":1}\n`)]) {
      expect(codes(rows)).toEqual(['ok', 'row.length', 'ok']);
      expect(textOf(rows[1]?.fields['_raw'])).toMatch(/^\{"a":"x{500,}/);
      expect(textOf(rows[1]?.fields['_raw']).length).toBeLessThanOrEqual(1_000);
      expect(rows[2]?.fields).toEqual({ b: 1 });
    }
    expect(codes(await ndjson(`{"a":"${'x'.repeat(100)}"}\n{}\n`, {}, { maxRecordBytes: 64 }))).toEqual([
      'row.length',
      'ok',
    ]);
    expect(codes(await read(`[{"a":"${'x'.repeat(100)}"},{}]`, { maxRecordBytes: 64 }))).toEqual(['row.length', 'ok']);
  });

  it('JSON elements are reported when their text is not UTF-8', async () => {
    const bytes = Buffer.from('[{"a":"ok"},{"a":"?","b":1}]');
    bytes[bytes.indexOf('?')] = 0xe4;
    const rows = await read(bytes);
    expect(codes(rows)).toEqual(['ok', 'row.encoding']);
    expect(rows[1]?.issues?.[0]?.field).toBe('a');
  });

  it('JSON elements that cannot be compared with a filter are not skipped by it', async () => {
    const rows = await read('[{"m":"a"},{"m":"b"},1,{"m":"b","m":"a"},{"m":"a","x":1,"x":2}]', { where: { m: 'a' } });
    expect(rows.map((row) => row.place.path)).toEqual(['$[0]', '$[2]', '$[3]', '$[4]']);
    expect(codes(rows)).toEqual(['ok', 'row.object', 'row.duplicate', 'row.duplicate']);
  });
});

describe('values', () => {
  it('JSON values keep their type', async () => {
    const [row] = await read('[{"s":"007","n":7,"f":1.10,"b":false,"z":null,"o":{"x":[1]},"neg":-0.5,"e":1.5e3}]');
    expect(row?.fields).toEqual({ s: '007', n: 7, f: 1.1, b: false, z: null, o: { x: [1] }, neg: -0.5, e: 1500 });
  });

  it.each([
    ['12345678901234567890', '12345678901234567890'],
    ['9007199254740993', '9007199254740993'],
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', '9007199254740992'],
    ['-1161888007138312200', '-1161888007138312200'],
    ['0.1234567890123456789', '0.1234567890123456789'],
    ['1e400', '1e400'],
    ['1e-400', '1e-400'],
    ['1e250', '1e250'],
    ['-123456789012345678.5', '-123456789012345678.5'],
    ['1.5e3', 1500],
    ['0.10000000000000000', 0.1],
    ['1000000000000000000000', '1000000000000000000000'],
    ['1e20', 1e20],
    ['100', 100],
  ])('the JSON values %s never change unseen', async (written, expected) => {
    for (const text of [`[{"a":${written}}]`, `[{"a":[ ${written}, 1]}]`, `[{"a":\n${written}}]`]) {
      const [row] = await read(text);
      expect([row?.fields['a']].flat()[0]).toBe(expected);
    }
  });

  it('JSON values may have names that mean something to JavaScript', async () => {
    const [row] = await read('[{"__proto__":{"x":1e400},"constructor":1}]');
    expect(row?.issues).toBeUndefined();
    expect(Object.keys(row?.fields ?? {})).toEqual(['__proto__', 'constructor']);
    expect(Object.getPrototypeOf(row?.fields)).toBe(Object.prototype);
  });

  it('JSON values may follow a byte order mark', async () => {
    expect(await read('\ufeff[{}]')).toHaveLength(1);
    expect(await ndjson('\ufeff{"a":1}\n')).toMatchObject([{ fields: { a: 1 } }]);
  });

  it.each(['utf-16le', 'utf-16be'])('JSON values are read from %s with a byte order mark', async (encoding) => {
    const values = numbered(9_000, (at) => ({ name: `Grüße ${at}${'x'.repeat(at % 3)} 日本 \u{1F600}` }));
    const marked = (text: string) => iconv.encode(`\ufeff${text}`, encoding);
    const rows = await read(marked(JSON.stringify(values)));
    expect(rows.map(({ fields }) => fields)).toEqual(values);
    expect(rows.every(({ issues }) => issues === undefined)).toBe(true);
    const lines = await ndjson(marked(values.map((value) => `${JSON.stringify(value)}\n`).join('')));
    expect(lines.map(({ fields }) => fields)).toEqual(values);
    expect(lines[8_999]?.place.line).toBe(9_000);
    const cut = iconv.encode('\ufeff[{"a":1},{"b"', encoding);
    await expect(read(cut)).rejects.toThrow('The document ends');
  });

  it('JSON values are divided into streams by their members', async () => {
    const text =
      '[{"model":"part","pk":1},{"model":"bom","pk":1,"optional":false},{"model":"bom","pk":2,"optional":true}]';
    expect(await read(text, { where: { model: 'part' } })).toHaveLength(1);
    expect(await read(text, { where: { model: 'bom', optional: true } })).toMatchObject([{ place: { path: '$[2]' } }]);
    expect(await read(text, { where: { model: 'none' } })).toEqual([]);
  });
});

/** An integer above 2^53 becomes its text. */
function bigAsText(_name: string, value: unknown): unknown {
  const isBig = Number.isInteger(value) && !Number.isSafeInteger(value);
  return isBig && /^-?\d+$/.test(String(value)) ? String(value) : value;
}

describe('any document', () => {
  it('any JSON document is read back as it was written, in pages, with true lines', async () => {
    // Damaged text and numbers with hundreds of digits have rules and tests of their own.
    const value = fc.jsonValue({ maxDepth: 3 }).filter((found) => !/\uFFFD|e[+-]\d{3}/.test(JSON.stringify(found)));
    const object = fc.dictionary(fc.string(), value).filter((found) => !JSON.stringify(found).includes('\uFFFD'));
    await fc.assert(
      fc.asyncProperty(
        fc.array(object, { maxLength: 8 }),
        fc.constantFrom(0, 2),
        fc.constantFrom('$', '$.a.list', '$[1]["a b"]'),
        value,
        async (elements, indent, at, other) => {
          // The filler makes elements straddle the chunks in which files are read.
          const list = [{ filler: '{"['.repeat(85_000) }, ...elements];
          const documents: Record<string, unknown> = {
            $: list,
            '$.a.list': { other, a: { other, list }, after: other },
            '$[1]["a b"]': [other, { other, 'a b': list }, other],
          };
          const text = JSON.stringify(documents[at], null, indent);
          const rows = await read(text, { at, format: 'array' });
          expect(rows.length).toBe(list.length);
          expect(rows.slice(1).map((row) => row.fields)).toEqual(JSON.parse(JSON.stringify(elements), bigAsText));
          const lines = text.split('\n');
          for (const { place } of rows.slice(1)) expect(lines[(place.line ?? 0) - 1]).toContain('{');
          expect(rows.at(-1)?.place.path).toBe(`${at}[${elements.length}]`);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('files', () => {
  it('JSON files are read as one snapshot, and refused when one changes meanwhile', async () => {
    await using folder = await temporaryFolder({ 'x-2.ndjson': '{"a":3}', 'x-1.ndjson': '{"a":1}\n{"a":2}\n' });
    const setup = { folder: folder.path, stream: { path: 'x-*.ndjson' } };
    expect((await readRows(json, setup)).map((row) => [row.fields['a'], row.place.file])).toEqual([
      [1, 'x-1.ndjson'],
      [2, 'x-1.ndjson'],
      [3, 'x-2.ndjson'],
    ]);
    await appendFile(join(folder.path, 'x-1.ndjson'), '{"a":1}\n'.repeat(100_000));
    const consume = async () => {
      let pages = 0;
      for await (const _page of readPages(json, setup)) {
        if (pages++ === 0) await appendFile(join(folder.path, 'x-1.ndjson'), '{}');
      }
    };
    await expect(consume()).rejects.toThrow('was changed while it was read');
  });

  it('JSON files are described by a probe', async () => {
    await using folder = await temporaryFolder({ 'x.json': '[1,{"sku":1,"name":2}]', 'empty.json': '[]' });
    const of = (path: string) => probe(json, { folder: folder.path, stream: { path } });
    expect(await of('x.json')).toBe('1 file, 22 B, columns sku, name');
    expect(await of('empty.json')).toBe('1 file, 2 B, no columns');
  });

  it('JSON files need a path that can be followed', () => {
    for (const at of ['parts', '$.', '$.a*', '$.*', '$.a[**]', '$..a', '$[-1]', '$[a]', '']) {
      expect(json.streamOptions.safeParse({ path: 'x', at }).success, at).toBe(false);
    }
    for (const at of ['$', '$.a[*]', '$[*].b[*]', "$['a b'].c", '$[0][1]', '$.größe-x'.replace('öß', 'oes')]) {
      expect(json.streamOptions.safeParse({ path: 'x', at }).success, at).toBe(true);
    }
  });
});
