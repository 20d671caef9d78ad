import { describe, expect, it } from 'vitest';
import { xlsx } from '../../../connectors/xlsx/index.ts';
import type { SourceRow } from '../../../src/sdk/index.ts';
import { probe, temporaryFolder } from '../../support/connectors/connector-reader.ts';
import { readWorkbook, textCell, textRow, workbook } from '../../support/connectors/workbook.ts';

const fields = (rows: SourceRow[]) => rows.map((row) => row.fields);

describe('rows', () => {
  it('rows of a sheet stand at a file, a sheet and a row', async () => {
    const rows = await readWorkbook({ sheet: textRow(1, 'sku') + textRow(7, '0815') });
    expect(rows).toEqual([{ fields: { sku: '0815' }, place: { file: 'in.xlsx', line: 7, path: 'Sheet1' } }]);
  });

  it('rows of a sheet are found by their order where they have no numbers, and so are cells', async () => {
    const sheet =
      '<row><c t="inlineStr"><is><t>a</t></is></c><c t="inlineStr"><is><t>b</t></is></c></row>' +
      '<row><c><v>1</v></c><c><v>2</v></c></row><row><c r="B3"><v>3</v></c></row>';
    const rows = await readWorkbook({ sheet });
    expect(fields(rows)).toEqual([
      { a: '1', b: '2' },
      { a: '', b: '3' },
    ]);
    expect(rows.map(({ place }) => place.line)).toEqual([2, 3]);
  });

  it('rows of a sheet without a value are skipped', async () => {
    const sheet = `${textRow(1, 'a')}<row r="2"/><row r="3"><c r="A3" s="0"/></row>${textRow(4, '')}${textRow(5, 'x')}`;
    expect(fields(await readWorkbook({ sheet }))).toEqual([{ a: 'x' }]);
  });

  it('rows of a sheet are all read where the sheet says that it is smaller or larger', async () => {
    for (const dimension of ['A1:A1', 'A1:XFD1048576']) {
      const sheet = textRow(1, 'a', 'b') + textRow(2, '1', '2') + textRow(3, '3', '4');
      expect(await readWorkbook({ sheet, before: `<dimension ref="${dimension}"/>` })).toHaveLength(2);
    }
  });

  it('rows of a sheet have their own properties only, whatever the columns are called', async () => {
    const [row] = await readWorkbook({ sheet: textRow(1, '__proto__', 'constructor') + textRow(2, 'a', 'b') });
    expect(Object.entries(row?.fields ?? {})).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ]);
  });

  it('hidden rows and columns of a sheet are read or skipped, as configured', async () => {
    const sheet = `${textRow(1, 'a', 'b')}${textRow(2, '1', '2')}${textRow(3, '3', '4').replace('<row', '<row hidden="1"')}`;
    const parts = { sheet, before: '<cols><col min="2" max="2" hidden="true"/></cols>' };
    expect(fields(await readWorkbook(parts))).toEqual([
      { a: '1', b: '2' },
      { a: '3', b: '4' },
    ]);
    expect(fields(await readWorkbook(parts, { hidden: 'skip' }))).toEqual([{ a: '1' }]);
  });
});

describe('column names', () => {
  it('the column names of a sheet stand in the configured row, and the rows above are skipped', async () => {
    const sheet = textRow(1, 'Export of 1 March') + textRow(3, 'a', 'b') + textRow(4, '1', '2');
    expect(fields(await readWorkbook({ sheet }, { header: 3 }))).toEqual([{ a: '1', b: '2' }]);
  });

  it('the column names of a sheet are letters where there is no header', async () => {
    const sheet = textRow(1, '1', '2') + textRow(2, '3', '4', '5');
    expect(fields(await readWorkbook({ sheet }, { header: false }))).toEqual([
      { A: '1', B: '2', C: '' },
      { A: '3', B: '4', C: '5' },
    ]);
  });

  it('the column names of a sheet are those of the first rows, so that a value may be missing in the first one', async () => {
    const sheet = textRow(1, 'a') + textRow(2, '1') + textRow(3, '2', '', '3');
    expect(fields(await readWorkbook({ sheet }))).toEqual([
      { a: '1', C: '' },
      { a: '2', C: '3' },
    ]);
    await using folder = await temporaryFolder({ 'in.xlsx': workbook({ sheet }) });
    expect(await probe(xlsx, { folder: folder.path, stream: { path: 'in.xlsx' } })).toContain('columns a, C');
  });

  it('the column names of a sheet are letters for columns without a name', async () => {
    const sheet = textRow(1, 'a', '', 'E') + textRow(2, '1', '2', '3', '4', '5');
    expect(fields(await readWorkbook({ sheet }))).toEqual([{ a: '1', B: '2', E: '3', D: '4', 'column E': '5' }]);
  });

  it('the column names of a sheet have no line breaks and no white space around them', async () => {
    expect(fields(await readWorkbook({ sheet: textRow(1, ' Net\nweight ') + textRow(2, '1') }))).toEqual([
      { 'Net weight': '1' },
    ]);
  });

  it('the column names of several rows are joined, and a merged cell names each of its columns', async () => {
    const sheet =
      textRow(1, 'SKU', 'Size', '', 'Weight') +
      textRow(2, '', 'Length', 'Width', 'kg') +
      textRow(3, 'A', '1', '2', '3');
    const behind =
      '<mergeCells count="3"><mergeCell ref="A1:A2"/><mergeCell ref="B1:C1"/><mergeCell ref="A3:D3"/></mergeCells>';
    expect(fields(await readWorkbook({ sheet, behind }, { headerRows: 2 }))).toEqual([
      { SKU: 'A', 'Size Length': '1', 'Size Width': '2', 'Weight kg': '3' },
    ]);
  });

  it('the column names of a sheet must not be there twice', async () => {
    await expect(readWorkbook({ sheet: textRow(1, 'a', 'b', 'a') + textRow(2, '1') })).rejects.toThrow(
      'Row 1 of the sheet Sheet1 (in.xlsx) has the column name "a" twice, in A and C.',
    );
  });

  it('the column names of a sheet must be in their row', async () => {
    for (const sheet of ['', textRow(2, 'a'), textRow(1, ' ', '')]) {
      await expect(readWorkbook({ sheet })).rejects.toThrow('Row 1 of the sheet Sheet1 (in.xlsx) is empty');
    }
    expect(await readWorkbook({ sheet: '' }, { header: false })).toEqual([]);
    expect(await readWorkbook({ sheet: textRow(1, 'a') })).toEqual([]);
  });

  it('the column names of a sheet cannot be an error value', async () => {
    const sheet = `<row r="1"><c r="A1" t="e"><v>#REF!</v></c></row>${textRow(2, 'x')}`;
    await expect(readWorkbook({ sheet })).rejects.toThrow('The column name in A1 of the sheet Sheet1 (in.xlsx) holds');
  });

  it('the column names of a sheet are found by the check, without those of hidden columns where these are skipped', async () => {
    const parts = {
      sheet: textRow(1, 'a', 'b') + textRow(2, '1', '2'),
      before: '<cols><col min="2" max="9" hidden="1"/></cols>',
    };
    await using folder = await temporaryFolder({ 'in.xlsx': workbook(parts) });
    const setup = { folder: folder.path, stream: { path: 'in.xlsx' } };
    expect(await probe(xlsx, setup)).toMatch(/^1 file, .* kB, columns a, b$/);
    expect(await probe(xlsx, { ...setup, options: { hidden: 'skip' } })).toMatch(/columns a$/);
  });
});

describe('sheets', () => {
  const sheets = [{ name: 'Old', state: 'hidden' }, { name: 'Notes' }, { name: 'Ä & "B"' }];
  const parts = { sheet: textRow(1, 'a') + textRow(2, '1'), sheets };

  it('sheets are chosen by name or by number', async () => {
    expect(await readWorkbook(parts, { sheet: 'Ä & "B"' })).toHaveLength(1);
    expect(await readWorkbook(parts, { sheet: 'A\u0308 & "B"' })).toHaveLength(1);
    expect(await readWorkbook(parts, { sheet: 3 })).toHaveLength(1);
  });

  it('sheets that are hidden are not read where none is chosen', async () => {
    await expect(readWorkbook(parts)).rejects.toThrow('Row 1 of the sheet Notes');
    expect(await readWorkbook({ ...parts, sheets: sheets.slice(1).toReversed().slice(0, 1) })).toHaveLength(1);
  });

  it('sheets that are not there are named beside those that are', async () => {
    for (const sheet of ['Products', 9]) {
      await expect(readWorkbook(parts, { sheet })).rejects.toMatchObject({
        code: 'source.unreadable',
        message: `in.xlsx has no sheet ${JSON.stringify(sheet)}.`,
        suggestion: 'Its sheets are "Old", "Notes", "Ä & \\"B\\"".',
      });
    }
  });

  it('sheets are read in the strict form, with prefixes, and in UTF-16', async () => {
    expect(await readWorkbook({ ...parts, strict: true }, { sheet: 3 })).toHaveLength(1);
    const text =
      '<x:worksheet xmlns:x="urn:x"><x:sheetData><x:row><x:c t="inlineStr"><x:is><x:t>ä</x:t></x:is></x:c></x:row><x:row><x:c><x:v>1</x:v></x:c></x:row></x:sheetData></x:worksheet>';
    for (const data of [Buffer.from(text), Buffer.from(`\ufeff${text}`), Buffer.from(`\ufeff${text}`, 'utf16le')]) {
      const rows = await readWorkbook({ parts: [{ name: 'xl/worksheets/sheet1.xml', data }] });
      expect(fields(rows)).toEqual([{ ä: '1' }]);
    }
  });

  it('sheets report text that is not valid', async () => {
    const [head, tail] = [
      '<worksheet><sheetData><row><c t="str"><v>a</v></c></row><row><c t="str"><v>x',
      '</v></c></row></sheetData></worksheet>',
    ];
    const data = Buffer.concat([Buffer.from(head), Buffer.from([0xe4]), Buffer.from(tail)]);
    const [row] = await readWorkbook({ parts: [{ name: 'xl/worksheets/sheet1.xml', data }] });
    expect(row?.issues).toMatchObject([{ code: 'row.encoding', field: 'a' }]);
  });
});

describe('cells with shared text', () => {
  it('cells with shared text are found by their number', async () => {
    const strings = ['<t>sku</t>', '<t>000123</t>', '<t/>'];
    const sheet = '<row><c t="s"><v>0</v></c></row><row><c t="s"><v>1</v></c></row><row><c t="s"><v>2</v></c></row>';
    expect(fields(await readWorkbook({ sheet, strings }))).toEqual([{ sku: '000123' }]);
  });

  it('cells beyond the columns that are accepted are refused', async () => {
    const sheet = `${textRow(1, 'a')}<row r="2">${textCell('ZZ2', 'x')}</row>`;
    await expect(readWorkbook({ sheet }, { maxColumns: 100 })).rejects.toMatchObject({
      message:
        'Cell ZZ2 of the sheet Sheet1 (in.xlsx) has a value beyond column 100, and `maxColumns` allows no more columns.',
      suggestion: 'Clear the cell. If the sheet has so many columns, raise `maxColumns`.',
    });
    expect((await readWorkbook({ sheet }))[0]?.fields).toEqual({ a: '', ZZ: 'x' });
  });

  it.each([
    '<c r="BBB2" s="0"/>',
    '<c r="BBB2" t="s"><v>0</v></c>',
    '<c r="BBB2" t="inlineStr"><is><t></t></is></c>',
    '<c r="BBB2" t="str"><f>IF(A2="","",1)</f><v></v></c>',
  ])('an empty cell beyond the columns that are accepted does not count: %s', async (cell) => {
    const sheet = `${textRow(1, 'a')}<row r="2">${textCell('A2', 'x')}${cell}</row>`;
    expect(fields(await readWorkbook({ sheet, strings: ['<t/>'] }))).toEqual([{ a: 'x' }]);
  });
});
