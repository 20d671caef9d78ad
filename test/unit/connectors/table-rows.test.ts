import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { csv } from '../../../connectors/csv/index.ts';
import { fixedWidth } from '../../../connectors/fixed-width/index.ts';
import { xlsx } from '../../../connectors/xlsx/index.ts';
import { defineFileConnector, type SourceRow } from '../../../src/sdk/index.ts';
import { probe, readPages, readRows, temporaryFolder, textOf } from '../../support/connectors/connector-reader.ts';
import { textRow, workbook } from '../../support/connectors/workbook.ts';

async function read(lines: readonly string[], stream: object, options: object = {}): Promise<SourceRow[]> {
  await using folder = await temporaryFolder({ 'in.csv': `${lines.join('\n')}\n` });
  return await readRows(csv, {
    folder: folder.path,
    options: { delimiter: ';', ...options },
    stream: { path: 'in.csv', ...stream },
  });
}

/** Each row as one text: its values, and the codes of its issues. */
const shown = (rows: SourceRow[], ...columns: string[]) =>
  rows.map(({ fields, issues = [] }) =>
    [...columns.map((name) => textOf(fields[name])), ...issues.map(({ code }) => code)].join(' '),
  );
const messages = (rows: SourceRow[]) => rows.flatMap(({ issues = [] }) => issues.map(({ message }) => message));

const TREE = { tree: { level: 'L', parent: { assembly: 'P' }, path: 'path' } };

describe('a tree by levels', () => {
  const tree = async (...lines: string[]) => shown(await read(['L;P', ...lines], TREE), 'P', 'assembly', 'path');

  it('a tree gives each row the columns of the nearest row above with the level one less', async () => {
    expect(await tree('0;P-1', '1;A-1', '2;M-1', '2;M-2', '1;M-3', '0;P-2', '1;A-1', '2;M-1')).toEqual([
      'P-1  P-1',
      'A-1 P-1 P-1/A-1',
      'M-1 A-1 P-1/A-1/M-1',
      'M-2 A-1 P-1/A-1/M-2',
      'M-3 P-1 P-1/M-3',
      'P-2  P-2',
      'A-1 P-2 P-2/A-1',
      'M-1 A-1 P-2/A-1/M-1',
    ]);
  });

  it('a tree may begin with the level 1, and may have dots and blanks before the level', async () => {
    expect(await tree('.1;A', ' ..2 ;B', '...3;C', '.1;D')).toEqual(['A  A', 'B A A/B', 'C B A/B/C', 'D  D']);
  });

  it('a tree gives the values with their own issues', async () => {
    const rows = await read(
      ['L;P;Q', '0;P-1;1.2.3', '1;M-1;2', '1;M-2;3'],
      { tree: { level: 'L', parent: { assembly: 'P', quantity: 'Q' } } },
      { decimalColumns: ['Q'] },
    );
    expect(rows.map(({ fields }) => fields['quantity'])).toEqual(['', '1.2.3', '1.2.3']);
    expect(rows.map(({ issues }) => issues?.map(({ field, onlyField }) => [field, onlyField]))).toEqual([
      [['Q', true]],
      [['quantity', true]],
      [['quantity', true]],
    ]);
  });

  it('a row whose level jumps has an issue, and so have the rows that hang on it', async () => {
    const rows = await read(['L;P', '0;P-1', '2;M-1', '3;M-2', '2;M-3', '1;A-1', '2;M-4'], TREE);
    expect(shown(rows, 'P', 'assembly', 'path')).toEqual([
      'P-1  P-1',
      'M-1   row.level',
      'M-2   row.parent',
      'M-3   row.level',
      'A-1 P-1 P-1/A-1',
      'M-4 A-1 P-1/A-1/M-4',
    ]);
    expect(messages(rows)).toEqual([
      'The row has the level 2, but no row of the level 1 is open above it.',
      'The row hangs on the row at in.csv:3, whose place in the tree is not certain.',
      'The row has the level 2, but no row of the level 1 is open above it.',
    ]);
  });

  it('rows below a row without a level have an issue up to the next row of the top', async () => {
    const rows = await read(['L;P', '0;P-1', '1;A-1', 'x;A-2', '2;M-1', '1;A-3', '2;M-2', '0;P-2', '1;M-3'], TREE);
    expect(shown(rows, 'P', 'assembly')).toEqual([
      'P-1 ',
      'A-1 P-1',
      'A-2  row.level',
      'M-1  row.parent',
      'A-3  row.parent',
      'M-2  row.parent',
      'P-2 ',
      'M-3 P-2',
    ]);
    expect(messages(rows)[0]).toBe('Column L holds "x", but a level such as 2 or ..2 is expected.');
    expect(messages(rows).slice(1)).toEqual(
      Array(3).fill('The row hangs on the row at in.csv:4, whose place in the tree is not certain.'),
    );
  });

  it('rows below a row that could not be read have an issue, and a row without any value has none', async () => {
    expect(await tree('0;P-1', '1;A-1;too;long', '2;M-1', '0;P-2', ';', '1;M-2')).toEqual([
      'P-1  P-1',
      'A-1   row.columns',
      'M-1   row.parent',
      'P-2  P-2',
      '  ',
      'M-2 P-2 P-2/M-2',
    ]);
  });

  it('a tree that begins below its top has issues', async () => {
    for (const [first, code] of [
      ['2;M-1', 'row.level'],
      ['0;M-1;too;long', 'row.columns'],
    ] as const) {
      expect(await tree(first, '3;M-2', '1;A-1', '2;M-3', '0;P-1', '1;A-2')).toEqual([
        `M-1   ${code}`,
        'M-2   row.parent',
        'A-1   row.parent',
        'M-3   row.parent',
        'P-1  P-1',
        'A-2 P-1 P-1/A-2',
      ]);
    }
    expect(await tree('1;A-1', '0;P-1', '1;A-2', '2;M-1', '0;P-2', '1;A-3')).toEqual([
      'A-1  A-1',
      'P-1   row.level',
      'A-2   row.parent',
      'M-1   row.parent',
      'P-2  P-2',
      'A-3 P-2 P-2/A-3',
    ]);
  });

  it('a row whose parent has no name has an issue', async () => {
    const rows = await read(['L;P', '0;P-1', '1; ', '2;M-1', '1;M-2'], TREE);
    expect(shown(rows, 'P', 'assembly', 'path')).toEqual(['P-1  P-1', '  P-1 ', 'M-1   row.parent', 'M-2 P-1 P-1/M-2']);
    expect(messages(rows)).toEqual(['The parent of the row, at in.csv:3, has no value in the column P.']);
  });

  it.each([['-1'], ['1.0'], ['1000'], ['I'], ['']])('%j is no level', async (level) => {
    expect(await tree('0;P-1', `${level};M-1`)).toEqual(['P-1  P-1', 'M-1   row.level']);
  });

  it('a tree gives the same as a search upwards from each row, in pages of any size', async () => {
    const parts = fc.array(fc.nat({ max: 4 }), { minLength: 1, maxLength: 1_500 });
    await fc.assert(
      fc.asyncProperty(parts, async (raw) => {
        const levels = raw.reduce<number[]>((all, level) => [...all, Math.min(level, (all.at(-1) ?? -1) + 1)], []);
        const rows = await read(['L;P', ...levels.map((level, at) => `${level};N${at}`)], TREE);
        const parentOf = (at: number) => levels.slice(0, at).lastIndexOf((levels[at] ?? 0) - 1);
        expect(rows.map(({ fields }) => fields['assembly'])).toEqual(
          levels.map((level, at) => (level === 0 ? '' : `N${parentOf(at)}`)),
        );
      }),
      { numRuns: 15 },
    );
  });
});

describe('a tree by outline numbers', () => {
  const OUTLINE = { tree: { outline: 'No', parent: { assembly: 'P' } } };
  const tree = async (...lines: string[]) => shown(await read(['No;P', ...lines], OUTLINE), 'P', 'assembly');

  it('a row is a child of the row with the number before its last step', async () => {
    expect(await tree('1;P-1', '1.1;A-1', '1.1.1;M-1', '1.1.10.;M-2', '1.2;M-3', '2;P-2', '2.01;M-4')).toEqual([
      'P-1 ',
      'A-1 P-1',
      'M-1 A-1',
      'M-2 A-1',
      'M-3 P-1',
      'P-2 ',
      'M-4 P-2',
    ]);
  });

  it('a row whose parent is not above it has an issue, also where another row of that level is', async () => {
    const rows = await read(['No;P', '1;P-1', '1.1;A-1', '1.2.1;M-1', '1.2.1.1;M-2', '2.1;M-3', 'a;M-4'], OUTLINE);
    expect(shown(rows, 'P', 'assembly')).toEqual([
      'P-1 ',
      'A-1 P-1',
      'M-1  row.level',
      'M-2  row.parent',
      'M-3  row.level',
      'M-4  row.level',
    ]);
    expect(messages(rows)).toContain('The row has the number 1.2.1, but the row 1.2 is not above it.');
    expect(await tree('1.1;M-1', '1;P-1')).toEqual(['M-1  row.level', 'P-1 ']);
  });
});

describe('fill', () => {
  const fill = async (...lines: string[]) =>
    shown(await read(['A;R;P', ...lines], { fill: ['A', 'R'] }), 'A', 'R', 'P');

  it('empty cells take the value of the row above, within the group of the columns before', async () => {
    expect(await fill('P-1;1;a', ';;b', '  ;2;c', ';;d', 'P-2;;e', ';;f', 'P-3;3;g', 'P-3 ;;h')).toEqual([
      'P-1 1 a',
      'P-1 1 b',
      'P-1 2 c',
      'P-1 2 d',
      'P-2  e',
      'P-2  f',
      'P-3 3 g',
      'P-3  3 h',
    ]);
  });

  it('nothing is filled above the first value, and in a row without any value', async () => {
    expect(await fill(';;a', 'P-1;1;b', ';;', ';;c')).toEqual(['  a', 'P-1 1 b', '  ', 'P-1 1 c']);
  });

  it('below a row that could not be read, an empty cell has an issue up to the next value', async () => {
    const rows = await read(['A;R;P', 'P-1;1;a', 'P-2;2;b;long', ';;c', ';3;d', 'P-3;4;e', ';;f'], {
      fill: ['A', 'R'],
    });
    expect(shown(rows, 'A', 'R', 'P')).toEqual([
      'P-1 1 a',
      'P-2 2 b row.columns',
      '  c row.above row.above',
      ' 3 d row.above',
      'P-3 4 e',
      'P-3 4 f',
    ]);
    expect(messages(rows)[1]).toBe(
      'Column A is empty and takes the value above, but the row at in.csv:3 could not be read, and may have another value.',
    );
  });

  it('a filled cell has the issues of the value above', async () => {
    const [first, second] = await read(['A;R;P', '1,2,3;x;a', ';x;b'], { fill: ['A'] }, { decimalColumns: ['A'] });
    expect(second?.fields['A']).toBe('1,2,3');
    expect(second?.issues).toEqual(first?.issues);
    expect(second?.issues).toHaveLength(1);
  });

  it('the level of a tree may be filled', async () => {
    const rows = await read(['L;P', '0;P-1', '1;M-1', ';M-2'], { ...TREE, fill: ['L'] });
    expect(shown(rows, 'P', 'assembly')).toEqual(['P-1 ', 'M-1 P-1', 'M-2 P-1']);
  });
});

describe('the tabular connectors', () => {
  const options = { ...TREE, fill: ['G'] };
  const expected = [
    { L: '0', P: 'P-1', G: 'x', assembly: '', path: 'P-1' },
    { L: '1', P: 'M-1', G: 'x', assembly: 'P-1', path: 'P-1/M-1' },
  ];

  it('fixed-width and xlsx have the same options as csv, and `check` names the added columns', async () => {
    await using folder = await temporaryFolder({
      'in.txt': '0 P-1x\n1 M-1 \n',
      'in.csv': 'L,P,G\n0,P-1,x\n1,M-1,\n',
      'in.xlsx': workbook({ sheet: textRow(1, 'L', 'P', 'G') + textRow(2, '0', 'P-1', 'x') + textRow(3, '1', 'M-1') }),
    });
    const columns = [
      { name: 'L', from: 1, length: 1 },
      { name: 'P', from: 3, length: 3 },
      { name: 'G', from: 6, length: 1 },
    ];
    const setups = [
      [csv, { path: 'in.csv' }],
      [xlsx, { path: 'in.xlsx' }],
      [fixedWidth, { path: 'in.txt', columns }],
    ] as const;
    for (const [connector, stream] of setups) {
      const setup = { folder: folder.path, stream: { ...stream, ...options } };
      const rows = await readRows(connector as typeof csv, setup);
      expect(rows.map(({ fields }) => fields)).toEqual(expected);
      expect(await probe(connector as typeof csv, setup)).toContain('columns L, P, G, assembly, path');
    }
  });

  it('the options work in a connector of somebody else that does not announce its columns', async () => {
    const mine = defineFileConnector({
      id: 'mine',
      title: 'Mine',
      fixedColumns: true,
      options: {},
      streamOptions: {},
      async *read(file) {
        const rows = ['0P-1', '1M-1'].map(([L = '', ...P], at) => ({
          fields: { L, P: P.join(''), G: at === 0 ? 'x' : '' },
          place: { file: file.name, line: at + 1 },
        }));
        yield { rows };
      },
    });
    await using folder = await temporaryFolder({ 'in.txt': 'x' });
    const rows = await readRows(mine as unknown as typeof csv, {
      folder: folder.path,
      stream: { path: 'in.txt', ...options },
    });
    expect(rows.map(({ fields }) => fields)).toEqual(expected);
  });

  it.each<[object, string]>([
    [{ fill: ['Q'] }, 'in.csv: the column Q of `fill` is missing'],
    [{ tree: { level: 'Level', parent: { a: 'P' } } }, 'in.csv: the column Level of `tree.level` is missing.'],
    [
      { tree: { outline: 'L', parent: { a: 'Par' } } },
      'in.csv: the column Par of `tree.parent` is missing; did you mean P?',
    ],
    [{ tree: { level: 'L', parent: { P: 'P' } } }, 'in.csv: `tree` gives a value the name P, which a column'],
    [
      { tree: { level: 'L', parent: { a: 'P' }, path: 'L' } },
      'in.csv: `tree` gives a value the name L, which a column',
    ],
  ])('the options %j are refused where they do not fit the file', async (stream, message) => {
    await expect(read(['L;P', '0;P-1'], stream)).rejects.toThrow(message);
  });

  it('a tree needs either a level or an outline number, and a parent', () => {
    const refused = (tree: object) =>
      csv.streamOptions.safeParse({ path: 'in.csv', tree }).error?.issues.map(({ message }) => message);
    expect(refused({ level: 'L', outline: 'O', parent: { a: 'P' } })).toEqual([
      'a tree with either `level` or `outline`',
    ]);
    expect(refused({ parent: { a: 'P' } })).toEqual(['a tree with either `level` or `outline`']);
    expect(refused({ level: 'L', parent: {} })).toEqual(['at least one column of the parent row']);
  });

  it('a long table keeps nothing but the open rows: pages are as bounded as without a tree', async () => {
    const lines = Array.from({ length: 30_000 }, (_, at) => `${at % 7 === 0 ? 0 : (at % 3) + 1};N${at}`);
    await using folder = await temporaryFolder({ 'in.csv': `L;P\n${lines.join('\n')}\n` });
    const sizes = [];
    for await (const page of readPages(csv, {
      folder: folder.path,
      options: { delimiter: ';' },
      stream: { path: 'in.csv', ...TREE },
    })) {
      sizes.push(page.rows.length);
    }
    expect(Math.max(...sizes)).toBe(500);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(30_000);
  });
});

it('a hidden row is no row, but the rows below it take its values', async () => {
  const hidden = (row: string) => row.replace('<row ', '<row hidden="1" ');
  const sheet =
    textRow(1, 'L', 'P', 'G') +
    textRow(2, '0', 'P-1', 'x') +
    hidden(textRow(3, '0', 'P-2', 'y')) +
    textRow(4, '1', 'M-1') +
    hidden(textRow(5, '1', 'M-2'));
  await using folder = await temporaryFolder({ 'in.xlsx': workbook({ sheet }) });
  const stream = { path: 'in.xlsx', ...TREE, fill: ['G'], hidden: 'skip' };
  const setup = { folder: folder.path, stream };
  expect(shown(await readRows(xlsx, setup), 'P', 'G', 'assembly')).toEqual(['P-1 x ', 'M-1 y P-2']);
  const group = { by: ['G'], count: 'rows' };
  const counted = await readRows(xlsx, { ...setup, stream: { ...stream, tree: undefined, group } });
  expect(shown(counted, 'G', 'rows')).toEqual(['x 1', 'y 1']);
});

describe('merged cells of a workbook', () => {
  const sheet =
    textRow(1, 'A', 'B', 'C', 'D') +
    textRow(2, 'P-1', 'a', '1') +
    textRow(3, '', 'b') +
    '<row r="4"><c r="A4"/></row>' +
    textRow(6, '', 'c', 'wide') +
    textRow(7, '', 'd', '2');
  const behind =
    '<mergeCells><mergeCell ref="A2:A6"/><mergeCell ref="C6:XFD6"/><mergeCell ref="C2:C3"/><mergeCell ref="A1:A1"/><mergeCell ref="D1:D3"/></mergeCells>';
  const readSheet = async (stream: object) => {
    await using folder = await temporaryFolder({ 'in.xlsx': workbook({ sheet, behind }) });
    return shown(
      await readRows(xlsx, { folder: folder.path, stream: { path: 'in.xlsx', ...stream } }),
      'A',
      'B',
      'C',
      'D',
    );
  };

  it('only the first of the merged cells has the value by default', async () => {
    expect(await readSheet({})).toEqual(['P-1 a 1 ', ' b  ', ' c wide ', ' d 2 ']);
  });

  it('with `merged: repeat` each of them has it, but not in rows without values of their own', async () => {
    expect(await readSheet({ merged: 'repeat' })).toEqual(['P-1 a 1 ', 'P-1 b 1 ', 'P-1 c wide wide', ' d 2 ']);
  });

  it('an error value in a merged cell is an issue of each row', async () => {
    await using folder = await temporaryFolder({
      'in.xlsx': workbook({
        sheet: `${textRow(1, 'A', 'B')}<row r="2"><c r="A2" t="e"><v>#REF!</v></c></row>${textRow(3, '', 'x')}`,
        behind: '<mergeCells><mergeCell ref="A2:A3"/></mergeCells>',
      }),
    });
    const rows = await readRows(xlsx, { folder: folder.path, stream: { path: 'in.xlsx', merged: 'repeat' } });
    expect(shown(rows, 'B')).toEqual([' cell.error', 'x cell.error']);
    expect(messages(rows)[1]).toContain('Cell A3 of the sheet Sheet1');
  });
});
