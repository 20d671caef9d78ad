import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { csv } from '../../../connectors/csv/index.ts';
import { xlsx } from '../../../connectors/xlsx/index.ts';
import type { SourceRow } from '../../../src/sdk/index.ts';
import { probe, readPages, readRows, temporaryFolder } from '../../support/connectors/connector-reader.ts';
import { textRow, workbook } from '../../support/connectors/workbook.ts';

const GROUP = { by: ['P'], sum: { mass: 'M' }, count: 'lines', first: { name: 'N' } };
const options = { delimiter: ';' };

async function read(lines: readonly string[], stream: object = {}, own: object = {}): Promise<SourceRow[]> {
  await using folder = await temporaryFolder({ 'in.csv': `${lines.join('\n')}\n` });
  const setup = { folder: folder.path, options: { ...options, ...own } };
  return await readRows(csv, { ...setup, stream: { path: 'in.csv', group: GROUP, ...stream } });
}

const fields = (rows: SourceRow[]) => rows.map((row) => row.fields);
const codes = (rows: SourceRow[]) => rows.map(({ issues = [] }) => issues.map(({ code }) => code).join());
const messages = (rows: SourceRow[]) => rows.flatMap(({ issues = [] }) => issues.map(({ message }) => message));

describe('the records of groups', () => {
  it('rows with the same value are one record, wherever they stand', async () => {
    const rows = await read(['P;M;N', 'P-1;0.1;', 'P-2;5;Fan', ' P-1;0.2;Pump', ';;', 'P-1;-1e-1;Motor']);
    expect(rows).toEqual([
      {
        fields: { P: 'P-1', mass: '0.2', lines: '3', name: 'Pump' },
        place: { file: 'in.csv', line: 2 },
      },
      { fields: { P: 'P-2', mass: '5', lines: '1', name: 'Fan' }, place: { file: 'in.csv', line: 3 } },
    ]);
  });

  it('a group may have several columns, and stand in several files', async () => {
    await using folder = await temporaryFolder({
      'a-1.csv': 'P;Q;M\nA;1;1\nA;2;2\n',
      'a-2.csv': 'Q;M;P\n1;10;A\n1;20;B\n',
      'a-3.csv': 'P;Q;M\n',
    });
    const group = { by: ['P', 'Q'], sum: { mass: 'M' } };
    const rows = await readRows(csv, { folder: folder.path, options, stream: { path: 'a-*.csv', group } });
    expect(fields(rows)).toEqual([
      { P: 'A', Q: '1', mass: '11' },
      { P: 'A', Q: '2', mass: '2' },
      { P: 'B', Q: '1', mass: '20' },
    ]);
  });

  it('sums are exact: the same as those of integers, in any order of the rows', async () => {
    const row = fc.record({ p: fc.nat(5), m: fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), places: fc.nat(20) });
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 1_200 }), async (given) => {
        const lines = given.map(({ p, m, places }) => `P-${p};${m}e-${places};`);
        const rows = await read(['P;M;N', ...lines]);
        const expected = new Map<string, bigint>();
        for (const { p, m, places } of given) {
          expected.set(`P-${p}`, (expected.get(`P-${p}`) ?? 0n) + m * 10n ** BigInt(20 - places));
        }
        const found = rows.map(({ fields: { P, mass } }) => {
          const [whole = '', fraction = ''] = String(mass as string).split('.');
          return [P, BigInt(whole.replace('-', '') + fraction.padEnd(20, '0')) * (whole.startsWith('-') ? -1n : 1n)];
        });
        expect(found).toEqual([...expected]);
      }),
      { numRuns: 20 },
    );
  });

  it('a group takes filled values, the columns of a tree and the numbers of decimal columns', async () => {
    const group = { by: ['assembly', 'S'], sum: { mass: 'M' } };
    const tree = { level: 'L', parent: { assembly: 'P' } };
    const lines = ['L;P;S;M', '0;Top;x;0', '1;A;;1,5', '1;B;;1.000,25'];
    const rows = await read(lines, { group: { ...group, by: ['S'] }, fill: ['S'], tree }, { decimalColumns: ['M'] });
    expect(fields(rows)).toEqual([{ S: 'x', mass: '1001.75' }]);
    const [top, below] = await read(lines, { group, fill: ['S'], tree }, { decimalColumns: ['M'] });
    // The top has no assembly, so its group is not known.
    expect(codes([top, below] as SourceRow[])).toEqual(['row.group', 'row.group']);
    expect(below?.fields).toEqual({ assembly: 'Top', S: 'x', mass: '1001.75' });
  });

  it('a workbook has groups too, and `check` names their columns', async () => {
    const sheet = textRow(1, 'P', 'M', 'N') + textRow(2, 'A', '1.5', 'x') + textRow(3, 'A', '2', 'y');
    await using folder = await temporaryFolder({ 'in.xlsx': workbook({ sheet }) });
    const setup = { folder: folder.path, stream: { path: 'in.xlsx', group: GROUP } };
    expect(fields(await readRows(xlsx, setup))).toEqual([{ P: 'A', mass: '3.5', lines: '2', name: 'x' }]);
    expect(await probe(xlsx, setup)).toContain('columns P, mass, lines, name');
  });

  it('many groups come in pages of bounded size, and a read without rows has none', async () => {
    const lines = Array.from({ length: 4_000 }, (_, at) => `P-${at % 1_300};1;`);
    await using folder = await temporaryFolder({ 'in.csv': `P;M;N\n${lines.join('\n')}\n`, 'empty.csv': 'P;M;N\n' });
    const sizes: number[] = [];
    const setup = { folder: folder.path, options, stream: { path: 'in.csv', group: GROUP } };
    for await (const page of readPages(csv, setup)) {
      sizes.push(page.rows.length);
      expect(page.asOf?.file).toBe('in.csv');
    }
    expect(sizes).toEqual([500, 500, 300]);
    expect(await readRows(csv, { ...setup, stream: { ...setup.stream, path: 'empty.csv' } })).toEqual([]);
  });
});

describe('a sum that is not certain', () => {
  it.each([
    ['1,5', 'holds "1,5", which is not a plain number'],
    ['', 'is empty'],
    ['NaN', 'holds "NaN", which is not a plain number'],
  ])('the value %j puts the record of its group in quarantine, and names the line', async (value, found) => {
    const rows = await read(['P;M;N', 'A;1;x', `A;${value};y`, 'A;2;z', 'B;3;x']);
    expect(fields(rows)).toEqual([
      { P: 'A', mass: '', lines: '3', name: 'x' },
      { P: 'B', mass: '3', lines: '1', name: 'x' },
    ]);
    expect(codes(rows)).toEqual(['row.sum', '']);
    expect(messages(rows)).toEqual([`Column M of the row at in.csv:3 ${found}, so the sum mass is not certain.`]);
  });

  it('many wrong values of a group are counted', async () => {
    const [row] = await read(['P;M;N', ...Array.from({ length: 15 }, () => 'A;x;')]);
    expect(row?.issues).toHaveLength(11);
    expect(row?.issues?.at(-1)?.message).toBe('The group has 5 further issues, which are not listed.');
  });

  it('a damaged text in a first value is an issue of the record, and one elsewhere is none', async () => {
    const rows = await read(['P;M;N;O', 'A;1;\ufffd;x', 'B;1;y;\ufffd']);
    expect(rows.map(({ issues }) => issues?.map(({ code, field }) => [code, field]))).toEqual([
      [['row.encoding', 'name']],
      undefined,
    ]);
  });

  it.each([
    ['could not be read', 'A;1;x;too long', 'row.columns'],
    ['has no value in a column of `by`', ';1;x', 'row.group'],
    ['has a damaged value there', 'A\ufffd;1;x', 'row.group,row.encoding'],
  ])('no sum is certain where a row %s', async (_about, line, code) => {
    const rows = await read(['P;M;N', 'A;1;x', line, 'B;3;x']);
    expect(codes(rows)).toEqual([code, 'row.group', 'row.group']);
    expect(messages(rows).slice(-2)).toEqual(
      Array(2).fill('It is not known which group the row at in.csv:3 belongs to, so no sum of this read is certain.'),
    );
    expect(rows[0]?.fields['P']).not.toBe('A');
    expect(rows[0]?.issues?.[0]?.onlyField).toBeUndefined();
  });

  it('more groups than fit into memory stop the read before any record', async () => {
    const lines = ['P;M;N', ...Array.from({ length: 2_000 }, (_, at) => `P-${at};1;`)];
    const maxBytes = 500_000;
    await expect(read(lines, { group: { ...GROUP, maxBytes } })).rejects.toMatchObject({
      message: expect.stringMatching(/^The \d{3} groups so far need more than 500000 bytes of memory\. No record/),
      suggestion: expect.stringContaining('group.maxBytes'),
    });
    expect(await read(lines, { group: { ...GROUP, maxBytes: 2_000_000 } })).toHaveLength(2_000);
  });
});

describe('the option `group`', () => {
  it.each([
    [{ by: ['Q'] }, 'in.csv: the column Q of `group.by` is missing'],
    [{ by: ['P'], sum: { mass: 'Mass' } }, 'in.csv: the column Mass of `group.sum` is missing'],
    [{ by: ['P'], first: { name: 'Nam' } }, 'in.csv: the column Nam of `group.first` is missing'],
  ])('%j is refused where the file lacks the column', async (group, message) => {
    await expect(read(['P;M;N', 'A;1;x'], { group })).rejects.toThrow(message);
  });

  it('it is refused with names twice, and with changes', () => {
    const refused = (stream: object) =>
      csv.streamOptions.safeParse({ path: 'in.csv', ...stream }).error?.issues.map(({ message }) => message);
    expect(refused({ group: { by: ['P'], count: 'P' } })).toEqual([
      'different names in `by`, `sum`, `count` and `first`',
    ]);
    expect(refused({ group: { by: ['P'] }, contents: 'changes' })).toEqual([
      '`contents: snapshot` beside it, because a file of changes may lack rows of a group',
    ]);
    expect(refused({ group: { by: ['P'] } })).toBeUndefined();
  });

  it('a column is found whose name looks like that of the config', async () => {
    const rows = await read(['\u00a0P;M\u200b;N', 'A;1;x'].map((line) => line.replace('\u200b', ' ')));
    expect(fields(rows)).toEqual([{ P: 'A', mass: '1', lines: '1', name: 'x' }]);
  });
});
