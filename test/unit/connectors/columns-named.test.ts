import { describe, expect, it } from 'vitest';
import type { MappingDefinition } from '../../../src/domain/mapping.ts';
import { Fault } from '../../../src/lib/errors.ts';
import {
  columnsNamedBy,
  createColumnCheck,
  likelyMisspelt,
  neededColumns,
} from '../../../src/pipeline/column-check.ts';
import type { SourceRow } from '../../../src/sdk/index.ts';

function named(mapping: Partial<MappingDefinition>): string[] {
  const columns = columnsNamedBy({ stream: 'default', path: 'm', ...mapping });
  return columns.map(({ name, path }) => `${path} ${name}`);
}

describe('the columns that a mapping needs', () => {
  it('the columns that a mapping needs are those of all its expressions, each with the first place that names it', () => {
    expect(
      named({
        when: 'row.MTART == "FERT"',
        key: 'row.MATNR',
        refs: { product: 'row.MATNR', material: 'row["Sort Fld"]' },
        fields: { name: 'row.A + row.B.c[0].d', weight: 'decimal(row["net-weight"], ",")' },
      }),
    ).toEqual([
      'm.when MTART',
      'm.key MATNR',
      'm.refs.material Sort Fld',
      'm.fields.name A',
      'm.fields.name B',
      'm.fields.weight net-weight',
    ]);
  });

  it.each([
    'has(row.X) ? row.X : ""',
    '"X" in row ? row["X"] : ""',
    '!has(row.X) || row.X == "1"',
    'lookup("row.csv", "X")',
    'other.X',
    '"row.X"',
  ])('the columns that a mapping needs are no optional ones, or no columns: %s', (expression) => {
    expect(named({ key: expression })).toEqual([]);
  });

  it('the columns that a mapping needs leave out those whose presence `when` asks for', () => {
    expect(named({ when: 'has(row.X) && row.Y != ""', key: 'row.X', fields: { a: 'row.Y', b: 'row.Z' } })).toEqual([
      'm.when Y',
      'm.fields.b Z',
    ]);
  });

  it('the columns that a mapping needs include those that another expression does not ask for', () => {
    expect(named({ key: 'row.X', fields: { a: 'has(row.X) ? row.X : ""' } })).toEqual(['m.key X']);
  });

  it('the columns that a mapping needs are not known where the mapping is a module or no expression', () => {
    expect(named({ module: '/x.ts' })).toEqual([]);
    expect(named({ key: 'row.' })).toEqual([]);
  });
});

const row = (file: string, fields: SourceRow['fields']): SourceRow => ({ fields, place: { file, line: 2 } });

describe('a page of a table', () => {
  const stream = { name: 'default', key: ['MATNR', 'WERKS'], path: 'sources[0].options' };
  const mapping = { stream: 'default', path: 'sources[0].mappings[0]', key: 'row.MATNR', fields: { name: 'row.NAME' } };
  const mappings = [mapping, { ...mapping, stream: 'other', key: 'row.NEVER' }];
  const erp = { id: 'erp', path: 'sources[0]', mappings, lookups: {} };
  const needed = neededColumns(erp, stream, [erp]);
  const problemOf = (rows: SourceRow[]): Fault | undefined => {
    try {
      createColumnCheck(needed).rows(rows);
      return undefined;
    } catch (error) {
      if (error instanceof Fault) return error;
      throw error;
    }
  };

  it.each([
    ['\ufeff\ufeffMATNR', 'two byte order marks'],
    ['MATNR\u00a0', 'a no-break space'],
    [' MATNR\r', 'a blank and a line end'],
  ])('a page of a table has the names of the config where its header has %j', (header) => {
    const issues = [{ code: 'row.encoding', message: 'x', field: header, onlyField: true as const }];
    const rows = [row('a.csv', { [header]: '1', WERKS: '1', NAME: 'x' })];
    rows.push({ ...rows[0], issues } as SourceRow);
    expect(createColumnCheck(needed).rows(rows)).toMatchObject([
      { fields: { MATNR: '1' } },
      { fields: { MATNR: '1' }, issues: [{ field: 'MATNR' }] },
    ]);
  });

  it('a tombstone needs no column that a mapping reads, and its columns have the names of the config', () => {
    const tombstone = { ...row('a.csv', { ' MATNR': '1', WERKS: '2' }), isGone: true as const };
    const check = createColumnCheck(needed);
    check.rows([row('a.csv', { ' MATNR': '1', WERKS: '2', NAME: 'x' })]);
    expect(check.rows([{ ...tombstone, place: { file: 'b.csv', line: 2 } }])).toMatchObject([
      { fields: { MATNR: '1', WERKS: '2' }, isGone: true },
    ]);
    expect(problemOf([tombstone])).toBeUndefined();
  });

  it('a page of a table has composed names, also of columns that may be absent, and exact names stay', () => {
    const check = createColumnCheck(
      [
        { name: 'Größe', path: 'p' },
        { name: ' X', path: 'p' },
      ],
      ['PRICE'],
    );
    const fields = { 'Gro\u0308ße': '1', ' X': '2', X: '3', 'PRICE ': '4', constructor: '5' };
    const [found] = check.rows([row('a.csv', fields as never)]);
    expect(Object.keys(found?.fields ?? {})).toEqual(['Größe', ' X', 'X', 'PRICE', 'constructor']);
  });

  it('a page of a table is refused with the invisible characters of a similar name', () => {
    expect(problemOf([row('a.csv', { 'MAT\u200bNR': '1', WERKS: '1', NAME: 'x' })])?.message).toContain(
      'the column MATNR is missing; did you mean MAT\\u200bNR?',
    );
  });

  it('a page of a table is refused with one sentence where a column was renamed', () => {
    expect(problemOf([row('a.csv', { MATNR_2: '1', WERKS: '1', NAME: 'x' })])).toMatchObject({
      code: 'source.unreadable',
      path: 'sources[0].options.key',
      message: 'a.csv: the column MATNR is missing; did you mean MATNR_2? There are: "MATNR_2", "WERKS", "NAME".',
      suggestion: 'Correct the name in the config, or export the column.',
    });
  });

  it('a page of a table is refused with all columns that are missing', () => {
    expect(problemOf([row('a.csv', { Naem: 'x', WERKS: '' })])?.message).toBe(
      'a.csv: these columns are missing: MATNR, NAME (did you mean Naem?). There are: "Naem", "WERKS".',
    );
  });

  it('a page of a table is refused with the columns that a wrong delimiter has made, and with a cure for it', () => {
    expect(problemOf([row('a.csv', { 'MATNR;WERKS;NAME': '1;2;x' })])).toMatchObject({
      message: expect.stringContaining('There is one column: "MATNR;WERKS;NAME".'),
      suggestion: expect.stringContaining('check `delimiter` and `encoding`'),
    });
  });

  it('a page of a table is refused with an expression that asks for a column, where one could', () => {
    expect(problemOf([row('a.csv', { MATNR: '1', WERKS: '' })])?.suggestion).toContain('has(row.NAME)');
  });

  it('a page of a table has to have the columns that lookups of any source take from it', () => {
    const lookups = {
      own: { stream: 'default', key: ['MATNR'], value: 'TEXT' },
      file: { file: '/x.csv', key: ['NEVER'], value: 'NEVER' },
      others: { source: 'pim', stream: 'default', key: ['NEVER'], value: 'NEVER' },
    };
    const ofOther = { weights: { source: 'erp', stream: 'default', key: ['LANG', 'MATNR'], value: ['W', 'U'] } };
    const pim = { id: 'pim', path: 'sources[1]', mappings: [], lookups: ofOther };
    expect(neededColumns({ ...erp, lookups }, stream, [{ ...erp, lookups }, pim]).slice(needed.length)).toEqual([
      { name: 'TEXT', path: 'sources[0].lookups.own' },
      { name: 'LANG', path: 'sources[1].lookups.weights' },
      { name: 'W', path: 'sources[1].lookups.weights' },
      { name: 'U', path: 'sources[1].lookups.weights' },
    ]);
  });

  it('the columns of a table are checked by the first good row of each file', () => {
    const good = { MATNR: '1', WERKS: '1', NAME: 'x' };
    const broken: SourceRow = { ...row('a.csv', { MATNR: '1' }), issues: [{ code: 'row.columns', message: 'Short.' }] };
    expect(problemOf([broken, row('a.csv', good), row('a.csv', {})])).toBeUndefined();
    expect(problemOf([row('a.csv', good), row('b.csv', { MATNR: '1', WERKS: '1' })])?.message).toBe(
      'b.csv: the column NAME is missing. There are: "MATNR", "WERKS".',
    );
  });
});

it('names of documents are only suspected where a similar one was seen', () => {
  const needed = [
    { name: 'waight', path: 'm.fields.weight' },
    { name: 'colour', path: 'm.fields.colour' },
    { name: 'sku', path: 'm.key' },
  ];
  expect(likelyMisspelt(needed, ['sku', 'weight'])).toEqual([
    'm.fields.weight names waight, which the first record lacks; did you mean weight?',
  ]);
});
