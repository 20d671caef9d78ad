import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { csv } from '../../../connectors/csv/index.ts';
import { fixedWidth } from '../../../connectors/fixed-width/index.ts';
import { sql } from '../../../connectors/sql/index.ts';
import { xlsx } from '../../../connectors/xlsx/index.ts';
import {
  builtInNumberFormat,
  type Connector,
  cellValue,
  columnLettersOf,
  columnOfLetters,
  createPageBuffer,
  createRowNumbering,
  defineFileConnector,
  type NumberFormat,
  PLAIN_NUMBER_FORMAT,
  parseNumberFormat,
  unescapeCellText,
} from '../../../src/sdk/index.ts';
import { probe, readRows, temporaryFolder } from '../../support/connectors/connector-reader.ts';
import { textRow, workbook } from '../../support/connectors/workbook.ts';

describe('createRowNumbering', () => {
  it('createRowNumbering counts rows with the same values, and no others', () => {
    const numberOf = createRowNumbering();
    expect([numberOf('A', 'B'), numberOf('A', 'C'), numberOf('A', 'B')]).toEqual([1, 1, 2]);
    expect([numberOf('A B'), numberOf('A', 'B', '')]).toEqual([1, 1]);
    expect(createRowNumbering()('A', 'B')).toBe(1);
  });
});

describe('cells of spreadsheets', () => {
  const context = (format: NumberFormat) => ({
    strings: { get: (index: number) => ['shared'][index] },
    styles: { formatOf: () => format },
    is1904: false,
    emptyErrors: new Set(['#N/A']),
    maxCellCharacters: 1_000,
  });
  const value = (type: string, text: string | null, format = PLAIN_NUMBER_FORMAT) =>
    cellValue({ column: 0, type, style: 0, text, formula: false }, context(format));

  it('cells of spreadsheets keep article numbers, and become ISO dates', () => {
    expect(value('n', '123', parseNumberFormat('0000000'))).toBe('0000123');
    expect(value('n', '4006381333931')).toBe('4006381333931');
    expect(value('n', '45352', builtInNumberFormat(14))).toBe('2024-03-01');
    expect(value('s', '0')).toBe('shared');
    expect(value('e', '#N/A')).toBe('');
  });

  it('cells of spreadsheets have their faults reported', () => {
    expect(value('e', '#REF!')).toMatchObject({ code: 'cell.error', message: expect.stringMatching(/\.$/) });
    expect(value('s', '7')).toMatchObject({ code: 'cell.text' });
    expect(value('n', '40063813339312345')).toMatchObject({ code: 'cell.shortened' });
  });

  it('cells of spreadsheets have letters for their columns, and characters that XML cannot hold', () => {
    expect([0, 25, 26, 16_383].map((column) => columnLettersOf(column))).toEqual(['A', 'Z', 'AA', 'XFD']);
    expect(['A', 'Z', 'AA', 'XFD'].map((letters) => columnOfLetters(letters))).toEqual([0, 25, 26, 16_383]);
    expect(unescapeCellText('a_x000D_b')).toBe('a\rb');
  });
});

describe('a file connector without `columns`', () => {
  it('a file connector without `columns` has the columns of the rows of the first page', async () => {
    const connector = defineFileConnector({
      id: 'two-pages',
      title: 'Two pages',
      options: {},
      streamOptions: {},
      async *read({ name: file, bytes }) {
        const page = createPageBuffer();
        page.add({ fields: { a: '1' }, place: { file, line: 1 } }, 1);
        page.add({ fields: { a: '1', b: '2' }, place: { file, line: 2 } }, 1);
        yield page.take({ done: 0, total: bytes });
        throw new Error('The rest was asked for.');
      },
    });
    await using folder = await temporaryFolder({ 'x.txt': 'text' });
    const found = await probe(connector, { folder: folder.path, options: {}, stream: { path: 'x.txt' } });
    expect(found).toMatch(/, columns a, b$/);
  });
});

it('the text of a formula for Excel is read by each connector for tables', async () => {
  const database = () => {
    const db = new Database(':memory:');
    db.exec(`CREATE TABLE t (sku TEXT); INSERT INTO t VALUES ('="000124"')`);
    return db.serialize();
  };
  const files = {
    'a.csv': '"sku"\n"=""000124"""\n',
    'a.txt': '="000124"  \n',
    'a.xlsx': workbook({ sheet: textRow(1, 'sku') + textRow(2, '="000124"') }),
    'a.db': database(),
  };
  await using folder = await temporaryFolder(files);
  const columns = [{ name: 'sku', from: 1, length: 11 }];
  const query = { query: 'SELECT sku FROM t', page: ['sku'] };
  const reads: [Connector, object, object][] = [
    [csv as Connector, {}, { path: 'a.csv' }],
    [fixedWidth as Connector, {}, { path: 'a.txt', columns }],
    [xlsx as Connector, {}, { path: 'a.xlsx' }],
    [sql as Connector, { dialect: 'sqlite', file: 'a.db' }, query],
  ];
  for (const [connector, options, stream] of reads) {
    const rows = await readRows(connector, { folder: folder.path, options, stream });
    expect(
      rows.map(({ fields }) => fields),
      connector.id,
    ).toEqual([{ sku: '000124' }]);
  }
});
