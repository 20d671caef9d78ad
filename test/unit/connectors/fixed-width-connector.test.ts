import fc from 'fast-check';
import iconv from 'iconv-lite';
import { describe, expect, it } from 'vitest';
import { fixedWidth } from '../../../connectors/fixed-width/index.ts';
import type { SourceRow } from '../../../src/sdk/index.ts';
import { readRows, temporaryFolder } from '../../support/connectors/connector-reader.ts';

const COLUMNS = [
  { name: 'no', from: 1, length: 4 },
  { name: 'text', from: 5, to: 10 },
];

async function read(content: string | Uint8Array, stream: object = {}): Promise<SourceRow[]> {
  await using folder = await temporaryFolder({ 'in.txt': content });
  return await readRows(fixedWidth, { folder: folder.path, stream: { path: 'in.txt', columns: COLUMNS, ...stream } });
}

const fields = (rows: SourceRow[]) => rows.map((row) => row.fields);
const codes = (rows: SourceRow[]) => rows.map((row) => row.issues?.map(({ code }) => code));

describe('columns', () => {
  it('fixed-width columns stand at their positions, and leading zeros stay', async () => {
    expect(await read('0012abc   xx\n0013defghi\n')).toEqual([
      { fields: { no: '0012', text: 'abc' }, place: { file: 'in.txt', line: 1 } },
      { fields: { no: '0013', text: 'defghi' }, place: { file: 'in.txt', line: 2 } },
    ]);
  });

  it('fixed-width columns are counted in characters, of which UTF-16 writes some as two', async () => {
    const rows = await read('00日本abcd\n01\u{1F600}abcd\n', {
      columns: [
        { name: 'no', from: 1, length: 2 },
        { name: 'sign', from: 3, length: 2 },
        { name: 'rest', from: 5, length: 4 },
      ],
    });
    expect(fields(rows)).toEqual([
      { no: '00', sign: '日本', rest: 'abcd' },
      { no: '01', sign: '\u{1F600}', rest: 'abcd' },
    ]);
  });

  it('fixed-width columns do not shift after byte order marks and CR CR LF', async () => {
    const rows = [
      { no: '0012', text: 'abc' },
      { no: '0013', text: 'defghi' },
    ];
    expect(fields(await read('\ufeff\ufeff0012abc   \r\r\n\ufeff0013defghi\r\r\n', { trim: 'end' }))).toEqual(rows);
    const pieces = { recordLength: 10 };
    expect(fields(await read('\ufeff0012abc   \ufeff\ufeff0013defghi', pieces))).toEqual(rows);
  });

  it('fixed-width columns lose the blanks that fill them as configured', async () => {
    const trimmed = async (trim: string) => (await read(' 1   a b  \n', { trim }))[0]?.fields;
    expect(await trimmed('both')).toEqual({ no: '1', text: 'a b' });
    expect(await trimmed('end')).toEqual({ no: ' 1', text: ' a b' });
    expect(await trimmed('none')).toEqual({ no: ' 1  ', text: ' a b  ' });
  });

  it.each([
    ['{ "name": "a", "from": 1 }', 'neither'],
    ['{ "name": "a", "from": 1, "length": 2, "to": 2 }', 'both'],
    ['{ "name": "a", "from": 3, "to": 2 }', 'backwards'],
    ['{ "name": "a", "from": 0, "length": 2 }', 'before the first'],
    ['{ "name": "a", "from": 1, "length": 2, "decimals": 2 }', 'decimals of text'],
  ])('fixed-width columns are refused where they make no sense: %s', (column) => {
    expect(fixedWidth.streamOptions.safeParse({ path: 'x', columns: [JSON.parse(column)] }).success).toBe(false);
  });

  it('fixed-width columns have names of their own, also beside those of the parent', async () => {
    const twice = { path: 'x', columns: [COLUMNS[0], COLUMNS[0]] };
    expect(fixedWidth.streamOptions.safeParse(twice).success).toBe(false);
    await expect(read('', { parent: { prefix: 'H', columns: [COLUMNS[0]] } })).rejects.toThrow(
      'The stream and its parent both have a column no.',
    );
  });

  it('fixed-width columns end within the record length', async () => {
    await expect(read('', { recordLength: 9 })).rejects.toThrow(
      'The column text ends at 10, and a record has 9 characters.',
    );
  });
});

describe('decimals and dates', () => {
  const value = async (text: string, column: object, options: object = {}) => {
    const [row] = await read(`x${text}\n`, { columns: [{ name: 'v', from: 2, length: 13, ...column }], ...options });
    return row?.issues?.[0]?.code ?? row?.fields['v'];
  };

  it.each([
    ['302.35-', '-302.35'],
    ['   302.35-', '-302.35'],
    ['0000000012.50', '0000000012.50'],
    ['1,234.5', '1234.5'],
    ['', undefined],
    ['n/a', 'n/a'],
    ['1.2.3', 'row.decimal'],
  ])('a fixed-width decimal rewrites %j to %j', async (text, expected) => {
    expect(await value(text, { type: 'decimal' })).toBe(expected ?? '');
  });

  it('a fixed-width decimal takes a comma for the mark where it is configured', async () => {
    expect(await value('1.234,56-', { type: 'decimal' }, { decimalMark: ',' })).toBe('-1234.56');
  });

  it.each([
    ['0000012345', '0000012.345'],
    ['5-', '-0.005'],
    ['12.5', '12.5'],
    ['5.', '5'],
    ['n/a', 'n/a'],
  ])('a fixed-width decimal puts the mark that is not written into %s: %s', async (text, expected) => {
    expect(await value(text, { type: 'decimal', decimals: 3 })).toBe(expected);
  });

  it('a fixed-width date of zeros is none, and other dates are left as they are', async () => {
    expect(await value('20240301', { type: 'date' })).toBe('20240301');
    expect(await value('00000000', { type: 'date' })).toBe('');
    expect(await value('99991231', { type: 'date' })).toBe('99991231');
    expect(await value('00000000', {})).toBe('00000000');
  });
});

describe('records', () => {
  it('fixed-width records end with LF or CRLF, and blank ones are skipped', async () => {
    const rows = await read('0001a\r\n\r\n   \n0002b\n0003c\r\n');
    expect(rows.map(({ fields, place }) => [fields['no'], fields['text'], place.line])).toEqual([
      ['0001', 'a', 1],
      ['0002', 'b', 4],
      ['0003', 'c', 5],
    ]);
  });

  it('fixed-width records have one length where the file has no line ends, whatever characters are in them', async () => {
    const rows = await read('0001abcdef0002gh\nijk', { recordLength: 10 });
    expect(fields(rows)).toEqual([
      { no: '0001', text: 'abcdef' },
      { no: '0002', text: 'gh\nijk' },
    ]);
    expect(rows.map(({ place }) => place.line)).toEqual([1, 2]);
    expect(await read('0001abcdef\r\n\u001a', { recordLength: 10 })).toHaveLength(1);
  });

  it('fixed-width records may be short, and only a last line without its end counts as cut off', async () => {
    expect(codes(await read('0001\n0002ab\n'))).toEqual([undefined, undefined]);
    expect(codes(await read('0001abcdef\n0002abcdef'))).toEqual([undefined, undefined]);
    const rows = await read('0001abcdef\n0002ab');
    expect(codes(rows)).toEqual([undefined, ['row.cut']]);
    expect(rows[1]?.fields).toEqual({ no: '0002', text: 'ab', _raw: '0002ab' });
    expect(codes(await read('0001abcdef0002ab', { recordLength: 10 }))).toEqual([undefined, ['row.cut']]);
    expect(codes(await read('0001ab'))).toEqual([undefined]);
  });

  it('fixed-width records that are too long cost themselves', async () => {
    const rows = await read(`0001a\n0002${'x'.repeat(700_000)}\n0003c\n`, { maxRecordBytes: 100 });
    expect(codes(rows)).toEqual([undefined, ['row.length'], undefined]);
    expect(JSON.stringify(rows[1]?.fields['_raw']).length).toBeLessThanOrEqual(1_002);
    expect(rows[2]?.place.line).toBe(3);
  });

  it('fixed-width records before the first one can be skipped', async () => {
    expect(fields(await read('Title\n----\n0001a\n', { skipLines: 2 }))).toEqual([{ no: '0001', text: 'a' }]);
  });

  it('fixed-width records that are not valid in the encoding are reported by their columns', async () => {
    const rows = await read(Buffer.concat([Buffer.from('0001a'), Buffer.from([0xe4]), Buffer.from('\n0002b\n')]));
    expect(rows[0]?.issues).toMatchObject([{ code: 'row.encoding', field: 'text', value: 'a\uFFFD' }]);
    expect(rows[1]?.issues).toBeUndefined();
    const declared = await read(iconv.encode('0001größer\n', 'windows-1252'), { encoding: 'windows-1252' });
    expect(fields(declared)).toEqual([{ no: '0001', text: 'größer' }]);
  });
});

describe('record types', () => {
  const header = [{ name: 'bom', from: 2, length: 3 }];
  const items = [{ name: 'part', from: 2, length: 3 }];
  const text = 'H001\nIaaa\nIbbb\nX???\nH002\nIccc\n';

  it('fixed-width record types are streams of one file', async () => {
    expect(fields(await read(text, { prefix: 'H', columns: header }))).toEqual([{ bom: '001' }, { bom: '002' }]);
    expect(fields(await read(text, { prefix: 'I', columns: items }))).toHaveLength(3);
  });

  it('fixed-width record types give the fields of the record above', async () => {
    const rows = await read(text, { prefix: 'I', columns: items, parent: { prefix: 'H', columns: header } });
    expect(fields(rows)).toEqual([
      { bom: '001', part: 'aaa' },
      { bom: '001', part: 'bbb' },
      { bom: '002', part: 'ccc' },
    ]);
  });

  it('fixed-width record types are distinguished by the longer prefix', async () => {
    const parent = { prefix: 'H', columns: header };
    const rows = await read('H001\nHIaa\n', { prefix: 'HI', columns: items, parent });
    expect(fields(rows)).toEqual([{ bom: '001', part: 'Iaa' }]);
  });

  it('a fixed-width record is an issue where no record stands above, and where that one is bad', async () => {
    const parent = { prefix: 'H', columns: [{ name: 'n', from: 2, length: 6, type: 'decimal' }] };
    const rows = await read('Iaaa\nH1.2.3\nIbbb\nH1\nIccc\n', { prefix: 'I', columns: items, parent });
    expect(codes(rows)).toEqual([['row.parent'], ['row.decimal'], undefined]);
    const long = await read(`H1\nH${'9'.repeat(200)}\nIaaa\n`, {
      prefix: 'I',
      columns: items,
      parent,
      maxRecordBytes: 64,
    });
    expect(codes(long)).toEqual([['row.length'], ['row.length']]);
  });
});

it('a fixed-width file is read back as it was written, in any encoding and also across chunks', async () => {
  const cell = fc.string({ unit: fc.constantFrom('a', 'ä', '€', '0', ' ', '-'), maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(9_999), cell), { minLength: 1, maxLength: 40 }),
      fc.constantFrom('utf-8', 'utf-16le', 'windows-1252'),
      fc.boolean(),
      async (rows, encoding, hasLineEnds) => {
        const lines = rows.map(([no, text]) => `${String(no).padStart(4, '0')}${text.padEnd(6)}`);
        const filler = Array.from({ length: 26_300 }, () => '0000filler');
        const content = [...lines, ...filler, ...lines].join(hasLineEnds ? '\n' : '') + (hasLineEnds ? '\n' : '');
        const found = await read(iconv.encode(content, encoding), {
          encoding,
          ...(hasLineEnds ? {} : { recordLength: 10 }),
        });
        const expected = rows.map(([no, text]) => ({ no: String(no).padStart(4, '0'), text: text.trim() }));
        expect(fields(found.slice(0, rows.length))).toEqual(expected);
        expect(fields(found.slice(-rows.length))).toEqual(expected);
      },
    ),
    { numRuns: 10 },
  );
});
