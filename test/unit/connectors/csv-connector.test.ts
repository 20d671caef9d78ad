import { appendFile, mkdir, readdir, readlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import iconv from 'iconv-lite';
import { describe, expect, it } from 'vitest';
import { csv } from '../../../connectors/csv/index.ts';
import { dialectOf, OPTIONS, STREAM_OPTIONS } from '../../../connectors/csv/schema.ts';
import { PAGE_BYTES_MAX, PAGE_ROWS_MAX, type SourceRow, z } from '../../../src/sdk/index.ts';
import { probe, readPages, readRows, temporaryFolder, textOf } from '../../support/connectors/connector-reader.ts';

async function read(content: string | Uint8Array, options: object = {}, stream: object = {}): Promise<SourceRow[]> {
  await using folder = await temporaryFolder({ 'in.csv': content });
  return await readRows(csv, { folder: folder.path, options, stream: { path: 'in.csv', ...stream } });
}

const fields = (rows: SourceRow[]) => rows.map((row) => row.fields);

describe('columns', () => {
  it('a decimal column of a CSV file is found by a name that looks like its own', async () => {
    for (const header of ['größe\u00a0', '\ufeff\ufeffgröße', ' größe', 'gro\u0308ße']) {
      const [row] = await read(`${header};n\n1,5;2,5\n`, { delimiter: ';', decimalColumns: ['größe'] });
      expect(Object.values(row?.fields ?? {})).toEqual(['1.5', '2,5']);
    }
  });

  it('the columns of a CSV file come from the header, and values stay text', async () => {
    const rows = await read('MATNR,QTY,OK\n000123,1.50,true\n');
    expect(rows).toEqual([
      { fields: { MATNR: '000123', QTY: '1.50', OK: 'true' }, place: { file: 'in.csv', line: 2 } },
    ]);
  });

  it('the columns of a CSV file come from the options when there is no header', async () => {
    expect(fields(await read('1,2\n', { header: false, columns: ['a', 'b'] }))).toEqual([{ a: '1', b: '2' }]);
  });

  it('the columns of a CSV file come from the options in place of the header', async () => {
    expect(fields(await read('Material,Menge\n1,2\n', { columns: ['a', 'b'] }))).toEqual([{ a: '1', b: '2' }]);
    await expect(read('Material,Menge,X\n1,2,3\n', { columns: ['a', 'b'] })).rejects.toThrow(
      'names 2 columns, but the header has 3 (in.csv, line 1)',
    );
  });

  it('a CSV file keeps U+FEFF in values and loses it at the beginning of the file only', async () => {
    for (const encoding of ['utf-8', 'utf-16le']) {
      const rows = await read(iconv.encode('\ufeffa,b\n\ufeffx, \ufeffy\ufeff \n', encoding), { encoding });
      expect(fields(rows)).toEqual([{ a: '\ufeffx', b: ' \ufeffy\ufeff ' }]);
    }
  });

  it('the columns of a CSV file are numbered when nothing names them', async () => {
    expect(fields(await read('1,2\n3,4\n', { header: false }))).toEqual([
      { column1: '1', column2: '2' },
      { column1: '3', column2: '4' },
    ]);
  });

  it('the columns of a CSV file must not have the same name twice', async () => {
    await expect(read('sku,name,sku,name\n1,2,3,4\n')).rejects.toThrow(
      'The header (in.csv, line 1) has columns of the same name: sku, name.',
    );
    await expect(read('1,2\n', { header: false, columns: ['a', 'a'] })).rejects.toThrow('same name: a.');
  });

  it('the columns of a CSV file may be nameless as long as nothing stands in them', async () => {
    const rows = await read('a,,b,\n1,,2,\n3,,4\n5,x,6,\n7,,8,y\n');
    expect(fields(rows.slice(0, 2))).toEqual([
      { a: '1', b: '2' },
      { a: '3', b: '4' },
    ]);
    expect(rows[2]?.issues?.[0]).toMatchObject({
      code: 'row.columns',
      message: 'Line 4 has 4 values, and column 2 with a value has no name in the header.',
    });
    expect(rows[3]?.issues).toHaveLength(1);
  });

  it('the columns of a CSV file may have names that mean something to JavaScript', async () => {
    const [row] = await read('__proto__,constructor,2,1\na,b,c,d\n');
    expect(Object.entries(row?.fields ?? {})).toEqual([
      ['1', 'd'],
      ['2', 'c'],
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ]);
    expect(Object.getPrototypeOf(row?.fields)).toBe(Object.prototype);
  });

  it('the columns of a CSV file may differ between the files of one stream', async () => {
    await using folder = await temporaryFolder({ 'x-1.csv': 'a,b\n1,2\n', 'x-2.csv': 'b,a\n3,4\n' });
    const rows = await readRows(csv, { folder: folder.path, stream: { path: 'x-*.csv' } });
    expect(fields(rows)).toEqual([
      { a: '1', b: '2' },
      { b: '3', a: '4' },
    ]);
  });
});

describe('a first line that names the delimiter', () => {
  const ROWS = [{ sku: 'A,1', name: 'Pump' }];

  it.each([
    ['sep=;\r\nsku;name\r\nA,1;Pump\r\n', {}],
    ['\ufeffSEP=;\nsku;name\nA,1;Pump\n', { delimiter: ',' }],
    ['"sep=;"\rsku;name\rA,1;Pump\r', {}],
    ['sep=\t\nsku\tname\nA,1\tPump\n', {}],
    ['sep=;\nsku;name\nA,1;Pump', { skipLines: 1 }],
    ['sep=;\nA title\nsku;name\nA,1;Pump\n', { skipLines: 2 }],
    ['sep=;\nA,1;Pump\n', { header: false, columns: ['sku', 'name'] }],
  ])('a first line that names the delimiter is used, and is no row: %j with %j', async (content, options) => {
    const rows = await read(content, options);
    expect(fields(rows)).toEqual(ROWS);
    expect(rows[0]?.place.line).toBe(content.split(/\r\n|[\r\n]/).findIndex((line) => line.startsWith('A,1')) + 1);
  });

  it('a first line that names no delimiter is an ordinary line', async () => {
    expect(fields(await read('sep=;x\n1\n'))).toEqual([{ 'sep=;x': '1' }]);
    await expect(read('sep=;\n')).rejects.toThrow('in.csv has no header row: it is empty.');
  });
});

describe('numbers that are written for Excel', () => {
  it.each([
    ['"=""000124"""', '000124'],
    ['="000124"', '000124'],
    ['"=""a """"b"""" c"""', 'a "b" c'],
    ['=""', ''],
    ['"=A1&""x"""', '=A1&"x"'],
    ['"=""a""&""b"""', '="a"&"b"'],
    ['=124', '=124'],
    ['"="""', '="'],
  ])('numbers that are written for Excel are the text of their formula: %s', async (written, value) => {
    expect(fields(await read(`sku;name\n${written};Seal\n`, { delimiter: ';' }))).toEqual([
      { sku: value, name: 'Seal' },
    ]);
  });

  it('numbers that are written for Excel are read in a header, and where quotes have another sign', async () => {
    expect(fields(await read('="sku"\n="01"\n'))).toEqual([{ sku: '01' }]);
    for (const quote of [null, "'"]) expect(fields(await read('sku\n="01"\n', { quote }))).toEqual([{ sku: '01' }]);
  });
});

describe('rows that cannot be used', () => {
  it('CSV rows are reported when they have too few or too many values, with their values', async () => {
    const rows = await read('a,b,c\n1,2\n1,2,3,4\n1,2,3,\n');
    expect(rows.map((row) => row.issues?.map((issue) => issue.message))).toEqual([
      ['Line 2 has 2 values, but 3 columns are expected.'],
      ['Line 3 has 4 values, but 3 columns are expected.'],
      undefined,
    ]);
    expect(fields(rows)).toEqual([
      { a: '1', b: '2', _raw: '1,2' },
      { a: '1', b: '2', c: '3', _raw: '1,2,3,4' },
      { a: '1', b: '2', c: '3' },
    ]);
  });

  it('CSV rows are reported with their line, column and text when a quote is broken', async () => {
    const [row, good] = await read('a,b,c\n"1\n1","x"y,3\n4,5,6\n');
    expect(row?.place.line).toBe(2);
    expect(row?.fields).toEqual({ a: '1\n1', _raw: '"1\n1","x"y,3' });
    expect(row?.issues).toMatchObject([
      { code: 'row.quote', field: 'b', message: 'Text follows a closing quote, in column b of the row at line 2.' },
    ]);
    expect(good).toMatchObject({ fields: { a: '4' }, place: { line: 4 } });
  });

  it('CSV rows are reported when they are longer than the limit, and reading continues', async () => {
    const rows = await read(`a,b\n1,${'x'.repeat(2_000_000)}\n2,y\n`);
    expect(rows.map((row) => row.issues?.[0]?.code)).toEqual(['row.length', undefined]);
    expect(textOf(rows[0]?.fields['_raw']).length).toBeLessThanOrEqual(1_000);
    expect(rows[1]).toEqual({ fields: { a: '2', b: 'y' }, place: { file: 'in.csv', line: 3 } });
  });

  it('a broken first CSV row that is the header stops the whole file', async () => {
    await expect(read('a,"b\n1,2\n')).rejects.toThrow('The first row cannot be read (in.csv, line 1): unclosed quote.');
    await expect(read('')).rejects.toThrow('in.csv has no header row: it is empty.');
    await expect(read('\n\n')).rejects.toThrow('no header row');
    await expect(read(',,\n1,2,3\n')).rejects.toThrow('The header names no column');
    await expect(read('\u0000'.repeat(4096))).rejects.toThrow(
      'The name of column 1 in the header has the control character U+0000 (in.csv, line 1).',
    );
    await expect(read('a,b\u0001\n1,2\n')).rejects.toThrow('column 2 in the header has the control character U+0001');
  });

  it('an empty CSV file without header has no broken rows', async () => {
    expect(await read('', { header: false })).toEqual([]);
    expect(await read('a,b\n')).toEqual([]);
  });
});

describe('encodings', () => {
  const text = 'naïve;größer;1 €\nä;ß;–\n';

  it.each(['utf-8', 'windows-1252', 'utf-16le', 'utf-16be', 'iso-8859-15'])('CSV in %s is read', async (encoding) => {
    const written = encoding === 'iso-8859-15' ? text.replace('–', '-') : text;
    const rows = await read(iconv.encode(written, encoding), { encoding, delimiter: ';' });
    const dash = encoding === 'iso-8859-15' ? '-' : '–';
    expect(fields(rows)).toEqual([{ naïve: 'ä', größer: 'ß', '1 €': dash }]);
  });

  it.each(['utf-8', 'utf-16le', 'utf-16be'])('a CSV file is read by its byte order mark: %s', async (encoding) => {
    const bytes = iconv.encode('ä,b\n1,ü\n', encoding, { addBOM: true });
    expect(fields(await read(bytes, { encoding: 'windows-1252' }))).toEqual([{ ä: '1', b: 'ü' }]);
    expect(fields(await read(bytes))).toEqual([{ ä: '1', b: 'ü' }]);
  });

  it('a CSV file with text that is invalid in UTF-8 has it reported, with column and line, and keeps the other rows', async () => {
    const rows = await read(
      Buffer.concat([Buffer.from('a,b\n1,ok\n2,x'), Buffer.from([0xe4]), Buffer.from('y\n3,ok\n')]),
    );
    expect(rows.map((row) => row.issues?.length)).toEqual([undefined, 1, undefined]);
    expect(rows[1]?.issues).toMatchObject([
      {
        code: 'row.encoding',
        field: 'b',
        value: 'x\uFFFDy',
        message: expect.stringContaining('Column b of the row at line 3'),
      },
    ]);
  });

  it('a CSV file has a sequence reported that its end cuts off', async () => {
    const rows = await read(Buffer.concat([Buffer.from('a\nx'), Buffer.from([0xe2, 0x82])]));
    expect(rows[0]?.issues).toMatchObject([{ code: 'row.encoding', field: 'a' }]);
  });

  it('a CSV file has bytes reported that windows-1252 does not define', async () => {
    const rows = await read(Buffer.from([...Buffer.from('a\n'), 0x81, 0x0a, 0x80, 0x0a]), { encoding: 'windows-1252' });
    expect(rows.map((row) => row.issues?.[0]?.code)).toEqual(['row.encoding', undefined]);
    expect(rows[1]?.fields).toEqual({ a: '€' });
  });

  it('a CSV file has half a surrogate pair in UTF-16 reported', async () => {
    const rows = await read(Buffer.from('a\n\ud83dx\n😀\n', 'utf16le'), { encoding: 'utf-16le' });
    expect(rows.map((row) => row.issues?.[0]?.code)).toEqual(['row.encoding', undefined]);
  });

  it('a CSV file whose first line names another delimiter than the one of its rows is refused with the cure', async () => {
    const refused = (text: string, options = {}) => expect(read(Buffer.from(text), options)).rejects;
    await refused('sep=|\nsku;name\nA1;x\n').toMatchObject({
      message: 'in.csv, line 1: sep=| says that "|" divides the values, but ";" divides line 2: sku;name.',
      suggestion: expect.stringContaining('set the option `delimiter` to ";"'),
    });
    for (const [text, options] of [
      ['sep=;\nsku,name\n', {}],
      ['sep=;\nsku\tname\nA1\tx\n', { header: false }],
      ['"sep=,"\r\nsku;name\r\nA1;x\r\n', { columns: ['sku', 'name'] }],
    ] as const) {
      await refused(text, options).toThrow('says that');
    }
    expect(await read(Buffer.from('sep=;\nname, first\nx\n'))).toHaveLength(1);
    expect(await read(Buffer.from('sep=;\nsku;name, first\nA1;x\n'))).toHaveLength(1);
  });

  it('a CSV file whose header is invalid is refused', async () => {
    await expect(read(Buffer.from([0x61, 0xe4, 0x0a]))).rejects.toThrow(
      'The header is not valid utf-8, or was damaged before it was exported (in.csv, line 1).',
    );
  });

  it.each(['klingon', '', 'constructor'])(
    'encodings that do not exist are refused with the options: %j',
    (encoding) => {
      expect(csv.options.safeParse({ encoding }).success).toBe(false);
      expect(csv.streamOptions.safeParse({ path: 'in.csv', encoding }).success).toBe(false);
      expect(csv.streamOptions.safeParse({ path: 'in.csv', encoding: 'Shift_JIS' }).success).toBe(true);
    },
  );

  it('a CSV file is read back as it was written in any encoding, also across chunks', async () => {
    const cell = fc.string({ unit: fc.constantFrom('a', 'ä', '€', '"', ',', '\n', ' '), maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 20 }),
        fc.constantFrom('utf-8', 'utf-16le', 'windows-1252'),
        async (rows, encoding) => {
          const write = (value: string) => `"${value.replaceAll('"', '""')}"`;
          // The filler makes rows straddle the chunks in which files are read.
          const filler = `"${'x'.repeat(255 * 1024)}",""\n`;
          const text = `k,v\n${filler}${rows.map((row) => row.map(write).join()).join('\n')}\n${filler}`;
          const found = await read(iconv.encode(text, encoding), { encoding });
          expect(found.slice(1, -1).map((row) => [row.fields['k'], row.fields['v']])).toEqual(rows);
          expect(found.at(-1)?.place.line).toBe(text.split('\n').length - 1);
        },
      ),
      { numRuns: 25 },
    );
  });
});

describe('decimal columns', () => {
  const convert = async (value: string, options: object = {}) => {
    const [row] = await read(`n;t\n"${value}";${'1.234,56'}\n`, {
      delimiter: ';',
      decimalColumns: ['n', 'absent'],
      ...options,
    });
    expect(row?.fields['t']).toBe('1.234,56');
    return row?.issues === undefined ? row?.fields['n'] : row.issues[0]?.code;
  };

  it.each([
    ['1.234,56', '1234.56'],
    ['302,35-', '-302.35'],
    ['-302,35', '-302.35'],
    ['+1,5', '1.5'],
    ['0,500', '0.500'],
    ['007', '007'],
    [',5', '0.5'],
    ['5,', '5'],
    ['1.234', '1234'],
    ['1 234 567,8', '1234567.8'],
    ["1'234,5", '1234.5'],
    [' 12,0 ', '12.0'],
    ['1234,5', '1234.5'],
  ])('a decimal column of a CSV file rewrites %s to %s', async (written, plain) => {
    expect(await convert(written)).toBe(plain);
  });

  it.each(['', 'n/a', '12 kg', '-', '1,5E3'])('a decimal column leaves %j to the mapping', async (value) => {
    expect(await convert(value)).toBe(value);
  });

  it.each(['1.23', '302.35-', '1,234,567', '1.2345,6', '-1,5-', '1.234 567,8', '31.01.2026'])(
    'a decimal column of a CSV file does not guess at %s',
    async (value) => {
      expect(await convert(value)).toBe('row.decimal');
    },
  );

  it('decimal columns stop the read if their column is missing and the stream names it, or the file has it in other letters', async () => {
    const text = 'n\n1.234\n';
    await expect(read(text, {}, { decimalColumns: ['m'] })).rejects.toMatchObject({
      code: 'source.unreadable',
      message: 'in.csv: the column m of `decimalColumns` is missing.',
      suggestion: 'Correct `decimalColumns`. The file has n.',
    });
    await expect(read(text, { decimalColumns: ['N'] })).rejects.toMatchObject({
      message: 'in.csv: the column N of `decimalColumns` is missing.',
      suggestion: 'Write it as "n", as in the file.',
    });
    expect(fields(await read(text, { decimalColumns: ['m', 'n'] }))).toEqual([{ n: '1234' }]);
  });

  it('a decimal column of a CSV file uses the other mark when told so', async () => {
    expect(await convert('302.35-', { decimalMark: '.' })).toBe('-302.35');
    expect(await convert('1,234.50', { decimalMark: '.' })).toBe('1234.50');
  });
});

describe('files', () => {
  it('CSV files are read in name order as one snapshot, each with its own lines', async () => {
    await using folder = await temporaryFolder({ 'x-2.csv': 'a\n3\n', 'x-1.csv': 'a\n1\n2\n', 'y.csv': 'a\n9\n' });
    const rows = await readRows(csv, { folder: folder.path, stream: { path: './x-?.csv' } });
    expect(rows.map((row) => [row.fields['a'], row.place.file, row.place.line])).toEqual([
      ['1', 'x-1.csv', 2],
      ['2', 'x-1.csv', 3],
      ['3', 'x-2.csv', 2],
    ]);
  });

  it('CSV files count into one progress', async () => {
    const content = `a\n${'1234567\n'.repeat(600)}`;
    await using folder = await temporaryFolder({ 'x-1.csv': content, 'x-2.csv': content });
    const progress: unknown[] = [];
    for await (const page of readPages(csv, { folder: folder.path, stream: { path: 'x-*.csv' } })) {
      progress.push([page.rows.length, page.progress?.done, page.progress?.total]);
    }
    expect(progress).toEqual([
      [500, 4_802, 9_604],
      [100, 4_802, 9_604],
      [500, 9_604, 9_604],
      [100, 9_604, 9_604],
    ]);
  });

  it('CSV files that are small share a page', async () => {
    const files = Array.from({ length: 600 }, (_, at) => [`x-${at + 1000}.csv`, `a\n${at}\n`]);
    await using folder = await temporaryFolder(Object.fromEntries(files) as Record<string, string>);
    const sizes: number[] = [];
    for await (const page of readPages(csv, { folder: folder.path, stream: { path: 'x-*.csv' } })) {
      sizes.push(page.rows.length);
    }
    expect(sizes).toEqual([500, 100]);
  });

  it('CSV files may be read as the latest alone: by time, then by name', async () => {
    await using folder = await temporaryFolder({ 'x-1.csv': 'a\n1\n', 'x-2.csv': 'a\n2\n', 'x-3.csv': 'a\n3\n' });
    const touch = (name: string, seconds: number) => utimes(join(folder.path, name), seconds, seconds);
    const latest = async () =>
      (await readRows(csv, { folder: folder.path, stream: { path: 'x-*.csv', files: 'latest' } }))[0];
    await touch('x-1.csv', 2_000);
    await touch('x-2.csv', 999);
    await touch('x-3.csv', 1_000);
    expect((await latest())?.fields).toEqual({ a: '1' });
    await touch('x-2.csv', 2_000);
    expect((await latest())?.fields).toEqual({ a: '2' });
  });

  it('CSV files stop the pull when one changes while it is read', async () => {
    await using folder = await temporaryFolder({ 'in.csv': `a\n${'123456789\n'.repeat(100_000)}` });
    const consume = async () => {
      let pages = 0;
      for await (const _page of readPages(csv, { folder: folder.path, stream: { path: 'in.csv' } })) {
        if (pages++ === 0) await appendFile(join(folder.path, 'in.csv'), '1\n');
      }
    };
    await expect(consume()).rejects.toThrow('was changed while it was read');
  });

  it('CSV files give pages that are bounded in rows and in bytes', async () => {
    await using folder = await temporaryFolder({
      'small.csv': `a\n${'1\n'.repeat(1_201)}`,
      'large.csv': `a\n${`${'x'.repeat(900_000)}\n`.repeat(20)}`,
    });
    const sizes = async (path: string) => {
      const found: number[] = [];
      for await (const page of readPages(csv, { folder: folder.path, stream: { path } })) found.push(page.rows.length);
      return found;
    };
    expect(await sizes('small.csv')).toEqual([PAGE_ROWS_MAX, PAGE_ROWS_MAX, 201]);
    expect(Math.max(...(await sizes('large.csv')))).toBeLessThanOrEqual(Math.ceil(PAGE_BYTES_MAX / 900_000));
  });

  it('CSV files stop being read when the signal is aborted midway', async () => {
    await using folder = await temporaryFolder({ 'in.csv': `a\n${'123456789\n'.repeat(100_000)}` });
    const abort = new AbortController();
    const reason = new Error('enough');
    let pages = 0;
    const consume = async () => {
      const setup = { folder: folder.path, stream: { path: 'in.csv' }, signal: abort.signal };
      for await (const _page of readPages(csv, setup)) {
        pages++;
        abort.abort(reason);
      }
    };
    await expect(consume()).rejects.toBe(reason);
    expect(pages).toBe(1);
  });

  it.skipIf(process.platform !== 'linux')('CSV files are closed when the reader stops (needs Linux)', async () => {
    await using folder = await temporaryFolder({ 'in.csv': `a\n${'123456789\n'.repeat(100_000)}` });
    const file = join(folder.path, 'in.csv');
    const isOpen = async () => {
      const links = (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ''));
      return (await Promise.all(links)).includes(file);
    };
    for await (const _page of readPages(csv, { folder: folder.path, stream: { path: 'in.csv' } })) {
      expect(await isOpen()).toBe(true);
      break;
    }
    expect(await isOpen()).toBe(false);
  });

  it('CSV files are described by a probe', async () => {
    await using folder = await temporaryFolder({ 'x-1.csv': 'MATNR;MAKTX;\n1;2;\n', 'x-2.csv': 'MATNR;MAKTX;\n' });
    const line = await probe(csv, { folder: folder.path, options: { delimiter: ';' }, stream: { path: 'x-*.csv' } });
    expect(line).toBe('2 files, 31 B, columns MATNR, MAKTX');
    await mkdir(join(folder.path, 'd'));
    await writeFile(join(folder.path, 'd/wide.csv'), Array.from({ length: 30 }, (_, index) => `c${index}`).join());
    expect(await probe(csv, { folder: folder.path, stream: { path: 'd/wide.csv' } })).toMatch(/, c11, …$/);
  });
});

describe('the dialect', () => {
  it('the dialect of a stream overrides that of the source, option by option', () => {
    const options = z.object(OPTIONS).parse({ delimiter: ';', encoding: 'windows-1252', skipLines: 2 });
    const stream = z.object(STREAM_OPTIONS).parse({ encoding: 'utf-8', quote: null });
    expect(dialectOf(options, stream)).toEqual({ ...options, encoding: 'utf-8', quote: null });
  });

  it('the dialect of a CSV file is refused when its parts cannot be told apart', async () => {
    await expect(read('a', { delimiter: '"' })).rejects.toThrow('is also part of a delimiter');
    await expect(read('a', { delimiter: '\n' })).rejects.toThrow('also ends a row');
  });
});
