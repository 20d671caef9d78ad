import { describe, expect, it } from 'vitest';
import {
  issueOf,
  issuesOf,
  itemsOf,
  mapperOf,
  mapRow,
  problemOf,
  problemsOf,
  productWith,
  valueOf,
} from '../../support/connectors/map-row.ts';

describe('an expression', () => {
  it.each([
    ['row.A', { A: 'x' }, 'x'],
    ['row["Sort Fld"]', { 'Sort Fld': 'x' }, 'x'],
    ['row["Größe"]', { Größe: 'x' }, 'x'],
    ['row.constructor', { constructor: 'ACME' }, 'ACME'],
    ['row.O.a.b', { O: { a: { b: 'x' } } }, 'x'],
    ['row.L[1]', { L: ['x', 'y'] }, 'y'],
    ['row.A + "/" + row.B', { A: 'a', B: 'b' }, 'a/b'],
    ['row.A + "/" + row.N', { A: 'a', N: 10 }, 'a/10'],
    ['row.N + "-" + row.F', { N: 3, F: 0.0000001 }, '3-0.0000001'],
    ['"L" + 5', {}, 'L5'],
    ['row.N * 2', { N: 2.5 }, 5],
    ['2 * row.N', { N: 4 }, 8],
    ['row.N / 8', { N: 1 }, 0.125],
    ['row.N + 1', { N: 1 }, 2],
    ['row.N - 0.9', { N: 1 }, 0.1],
    ['row.N + 0.2', { N: 0.1 }, 0.3],
    ['{"a": row.N + 0.2}', { N: 0.1 }, { a: 0.3 }],
    ['row.N', { N: 0.30000000000000004 }, 0.30000000000000004],
    ['7 / 2', {}, 3],
    ['double(row.Q) * 2', { Q: '1.5' }, 3],
    ['double(decimal(row.P, ",")) / 100', { P: '4,35' }, 0.0435],
    ['row.N > 3 ? "many" : "few"', { N: 5 }, 'many'],
    ['row.N == 5 ? "y" : "n"', { N: 5 }, 'y'],
    ['row.N in [5, 6] ? "y" : "n"', { N: 5 }, 'y'],
    ['row.A == "" ? null : "A"', { A: 'x' }, 'A'],
    ['row.A == "x" ? null : "A"', { A: 'x' }, undefined],
    ['row.A == null ? "none" : row.A', { A: null }, 'none'],
    ['has(row.A) ? row.A : "none"', {}, 'none'],
    ['row.A', { A: null }, undefined],
    ['row.A', { A: '' }, undefined],
    ['row.A', { A: '   ' }, undefined],
    ['row.B', { B: false }, false],
    ['size(row.L)', { L: [1, 2] }, 2],
    ['9007199254740993', {}, '9007199254740993'],
    ['row.L.map(x, x * 2)', { L: [1, 2] }, [2, 4]],
    [
      'row.L.filter(x, x.q > 1).map(x, x.n)',
      {
        L: [
          { n: 'a', q: 1 },
          { n: 'b', q: 2 },
        ],
      },
      ['b'],
    ],
    ['row.L.exists(x, x == "b")', { L: ['a', 'b'] }, true],
    ['{"value": decimal(row.W), "unit": unit(row.U)}', { W: '1.50', U: 'KG' }, { value: '1.5', unit: 'KGM' }],
    ['{"value": decimal(row.W), "unit": unit(row.U)}', { W: '', U: '' }, undefined],
    ['[row.A, "", null]', { A: 'x' }, ['x']],
    ['cel.bind(a, row.A.trim(), a + a)', { A: ' x ' }, 'xx'],
    ['row.A.split("kg").join("")', { A: '1,4kg' }, '1,4'],
    ['row.A.trim().upperAscii().substring(0, 2)', { A: ' abc ' }, 'AB'],
    ['country(row.A)', { A: 'Germany' }, 'DE'],
    ['country(row.A)', { A: '' }, undefined],
    ['unit(row.A)', { A: 'ST' }, 'C62'],
    ['decimal(row.A)', { A: '302.35-' }, '-302.35'],
    ['gtin(row.A)', { A: '4006381333931' }, '04006381333931'],
    ['date(row.A, "DD.MM.YYYY")', { A: '11.05.2021' }, '2021-05-11'],
    ['row.A.matches("^[0-9]+$")', { A: '123' }, true],
    ['row.L.exists(x, x.matches("^b"))', { L: ['ab', 'ba'] }, true],
  ])('the expression %s over %j gives %j', async (expression, row, expected) => {
    expect(await valueOf(expression, row)).toEqual(expected);
  });

  it.each([
    ['row.A.constructor', { A: 'x' }, 'member.missing'],
    ['row.constructor', { A: 'x' }, 'column.missing'],
    ['row["__proto__"]', { A: 'x' }, 'column.missing'],
    ['row.O.toString', { O: {} }, 'member.missing'],
    ['row.L["length"]', { L: [1] }, 'member.missing'],
    ['row.A > 5', { A: '7' }, 'expression.types'],
    ['row.A == 5', { A: '5' }, 'expression.types'],
    ['5 != row.A', { A: '5' }, 'expression.types'],
    ['row.A * 2', { A: '5' }, 'expression.types'],
    ['row.A + "x"', { A: null }, 'expression.types'],
    ['size(row.A)', { A: 5 }, 'expression.types'],
    ['row.A.trim()', { A: null }, 'expression.types'],
    ['row.A ? 1 : 2', { A: 'x' }, 'expression.types'],
    ['double(row.A)', { A: '1,5' }, 'expression.number'],
    ['row.A / 0', { A: 5 }, 'number.infinite'],
    ['1 / 0', {}, 'expression.failed'],
    ['row.A + ""', { A: 2 ** 60 }, 'number.inexact'],
    ['timestamp("2020-01-01T00:00:00Z")', {}, 'value.type'],
    ['b"abc"', {}, 'value.type'],
    ['type(row.A)', { A: 'x' }, 'value.type'],
    ['row.A', { A: 'half \ud800' }, 'text.malformed'],
    ['row.A', { A: 'NUL \u0000' }, 'text.malformed'],
    ['{"name": [row.A]}', { A: 'C1 \u0080' }, 'text.malformed'],
    ['{row.A: "x"}', { A: 'no character \ufffe' }, 'text.malformed'],
    ['country(row.A)', { A: 'Atlantis' }, 'country.unknown'],
    ['country(row.A)', { A: ['DE'] }, 'country.type'],
    ['decimal(row.A)', { A: '1,5' }, 'decimal.ambiguous'],
  ])('the expression %s over %j is an issue: %s', async (expression, row, code) => {
    const issue = await issueOf(expression, row);
    expect(issue).toMatchObject({ code, field: 'x', expression });
    expect(issue.message).toMatch(/\.$/);
    expect(issue.message).not.toMatch(/overload|dyn/);
  });

  it('an issue of a comparison of a number with text names the text to compare with, and a check that fits for empty text', async () => {
    expect((await issueOf('row.A == "x"', { A: 35.5 })).cure).toBe(
      'Compare with text ("35.5"), or make a number first: double(…).',
    );
    for (const expression of ['row.A == ""', '"" == row.A', 'row.A != ""']) {
      const { cure = '' } = await issueOf(expression, { A: 35.5 });
      const [check = ''] = /decimal\(row\.X\) == null/.exec(cure) ?? [];
      expect(cure).toContain('`row.X == null`');
      expect(cure).not.toContain('35.5');
      expect(await valueOf(check.replace('X', 'A'), { A: 35.5 })).toBe(false);
      expect(await valueOf(check.replace('X', 'A'), { A: '' })).toBe(true);
    }
  });

  it('an expression that lacks a column names the columns of the row, and the nearest', async () => {
    const issue = await issueOf('row.MATNR', { MATN: '1', WERKS: '2' });
    expect(issue.message).toBe('The column "MATNR" does not exist; the row has MATN, WERKS.');
    expect(issue.cure).toContain('Did you mean "MATN"?');
  });

  it('an issue of an expression shows the value of its column, or of all its columns by name', async () => {
    expect((await issueOf('country(row.HERKL)', { HERKL: 'QQ' })).value).toBe('QQ');
    expect((await issueOf('country(row.A + row.B)', { A: 'Q', B: 'Q', C: 'x' })).value).toEqual({ A: 'Q', B: 'Q' });
    expect((await issueOf('country(row.A)', { A: 'Q'.repeat(5000) })).value).toHaveLength(201);
  });

  it('an expression never changes the row', async () => {
    const row = Object.freeze({ L: Object.freeze(['a']) as string[], O: Object.freeze({ a: 'b' }) });
    expect(await valueOf('row.L + ["b"]', row)).toEqual(['a', 'b']);
    expect(await valueOf('row.O', row)).toEqual({ a: 'b' });
  });
});

describe('an expression that cannot be compiled', () => {
  it.each([
    ['DRAFT', /"DRAFT" is not known/, /row\.DRAFT.*"DRAFT" in double quotes/],
    ['row.Größe', /Unexpected character/, /row\["…"\]/],
    ['row.name-en_US', /"en_US" is not known/, /row\["…"\]/],
    ['row.A = "x"', /Unexpected character/, /written ==/],
    ['unit(“kg”)', /Unexpected character: “/, /straight quotes/],
    ['row.A == "x" and row.B == "y" ? 1 : 2', /The word "and" is not expected here/, /joined with &&/],
    ['row.A == "x" OR row.B == "y" ? 1 : 2', /The word "OR" is not expected here/, /joined with \|\|/],
    ['row.Sort Fld', /The word "Fld" is not expected here/, /row\["…"\]/],
    ['if(row.A == "", "x", row.A)', /Reserved identifier: if/, /\? null : row\.X/],
    ['row.A +', /incomplete or has a syntax error/, undefined],
    ['"open', /Unterminated string/, undefined],
    ['contry(row.A)', /no function contry/, /Did you mean country/],
    ['country(row.A, "x", 1)', /country\(\) cannot be called/, undefined],
    ['"a" < 1', /< cannot be applied to text and number/, /double\(/],
    ['"a" && true', /true or false, but this is text/, undefined],
    ['row.A == "x" ? 1 : 1.5', /same type/, /dyn\(/],
    ['row.A.matches("(a+")', /never closed/, undefined],
    ['row.A.matches(row.B)', /literal text/, undefined],
    ['row.A.matches("(?=a)")', /look-around/, undefined],
    ['lookup(row.FILE, row.A)', /literal text/, undefined],
    ['decimal(row.A, ";")', /decimal mark/, undefined],
    ['date(row.A, "DD.MM.YY")', /not understood/, undefined],
    ['row.A.map(x, x.map(y, y.map(z, z)))', /nested more than 2/, /module/],
    [`${'('.repeat(60)}1${')'.repeat(60)}`, /too large/, /module/],
    [Array.from({ length: 400 }, () => '1').join(' + '), /too large/, /module/],
    [`"${'x'.repeat(5000)}"`, /at most 4000/, undefined],
    [
      'eval("1")',
      /no function eval/,
      /^The functions are as_list, bool, .*, decode_entities, .*unit\. docs\/mapping-reference/,
    ],
    [
      'row.A.sanitize()',
      /no function sanitize/,
      /^A text has contains, .*trim, .*and a list all, .*join, .* docs\/mapping-reference/,
    ],
    ['row.A.replace("kg", "")', /no function replace/, /row\.X\.split\("a"\)\.join\("b"\)/],
    ['row.A.toUpperCase()', /no function toUpperCase/, /upperAscii/],
    ['process.env', /"process" is not known/, undefined],
    ['globalThis', /"globalThis" is not known/, undefined],
  ])('an expression that cannot be compiled says why: %s', async (expression, message, cure) => {
    const problem = await problemOf(expression);
    expect(problem.path).toBe('sources[0].mappings[0].fields.x');
    expect(problem.message).toMatch(message);
    if (cure !== undefined) expect(problem.cure).toMatch(cure);
  });

  it('an expression that cannot be compiled says at which character the fault begins', async () => {
    expect(await problemOf('  row.A + foo ')).toMatchObject({ expression: 'row.A + foo', position: 9 });
  });
});

describe('a mapping', () => {
  it('a mapping makes the items of the design document', async () => {
    const mapper = await mapperOf([
      {
        to: 'product',
        key: 'row.MATNR',
        when: 'row.MTART == "FERT"',
        fields: { sku: 'row.MATNR', name: 'row.MAKTX', status: '"DRAFT"', country_of_origin: 'country(row.HERKL)' },
      },
      {
        stream: 'boms',
        to: 'bom_item',
        key: 'row.STLNR + "/" + row.POSNR',
        refs: { product: 'row.MATNR', material: 'row.IDNRK' },
        fields: { quantity: 'decimal(row.MENGE)', unit: 'unit(row.MEINS)' },
      },
    ]);
    expect(mapper.streams).toEqual(['products', 'boms']);
    expect(itemsOf(mapper, { MATNR: '000123', MTART: 'FERT', MAKTX: 'Chair', HERKL: 'deu' })).toEqual([
      {
        kind: 'product',
        key: '000123',
        payload: { sku: '000123', name: 'Chair', status: 'DRAFT', country_of_origin: 'DE' },
        refs: [],
        mapping: 0,
      },
    ]);
    const bom = mapRow(
      mapper,
      { STLNR: '7', POSNR: '0010', MATNR: '000123', IDNRK: 'M1', MENGE: '2.500', MEINS: 'ST' },
      'boms',
    );
    expect(bom).toEqual({
      status: 'mapped',
      items: [
        {
          kind: 'bom_item',
          key: '7/0010',
          payload: { quantity: '2.5', unit: 'C62' },
          refs: [
            { role: 'product', kind: 'product', key: '000123' },
            { role: 'material', kind: 'material', key: 'M1' },
          ],
          mapping: 1,
        },
      ],
    });
  });

  it('a mapping excludes a row that no mapping wants, and rows of streams without mappings', async () => {
    const mapper = await mapperOf([{ ...productWith('"x"'), when: 'row.T == "FERT"' }]);
    expect(mapRow(mapper, { T: 'ROH' })).toEqual({ status: 'excluded' });
    expect(mapRow(mapper, { T: 'FERT' }, 'other')).toEqual({ status: 'excluded' });
  });

  it('mappings make several items of one row, each with the number of its mapping', async () => {
    const mapper = await mapperOf([
      { ...productWith('"x"'), stream: 'other' },
      { to: 'material', key: 'row.A', fields: { name: 'row.A' } },
      { ...productWith('"x"'), when: 'false' },
      { to: 'product', key: 'row.A', fields: { sku: 'row.A', name: 'row.A' } },
    ]);
    expect(itemsOf(mapper, { A: 'a' }).map(({ kind, mapping }) => [kind, mapping])).toEqual([
      ['material', 1],
      ['product', 3],
    ]);
  });

  it('a mapping turns numbers into text by one rule for keys, refs and text fields', async () => {
    const mapper = await mapperOf([
      {
        to: 'bom_item',
        key: 'row.pk',
        refs: { product: 'row.part', component: '10 + 1' },
        fields: { quantity: 'row.qty', position: 'row.seq' },
      },
    ]);
    expect(itemsOf(mapper, { pk: 5, part: 1.5, qty: 0.00001, seq: 10 })[0]).toMatchObject({
      key: '5',
      refs: [
        { role: 'product', key: '1.5' },
        { role: 'component', key: '11' },
      ],
      payload: { quantity: '0.00001', position: '10' },
    });
    expect(
      issuesOf(mapper, { pk: 2 ** 60, part: true, qty: 1, seq: 2 ** 60 }).map(({ code, field }) => [code, field]),
    ).toEqual([
      ['number.inexact', 'key'],
      ['key.type', 'refs.product'],
      ['number.inexact', 'position'],
    ]);
  });

  it('a mapping names the character that no text may have, and its place', async () => {
    expect(await issueOf('row.A', { A: 'ab\u001fc' })).toMatchObject({
      message: 'The text has a control character: U+001F, as character 3.',
      value: 'ab\u001fc',
    });
  });

  it('a mapping trims keys and refs, so that padded columns still meet, and refuses control characters', async () => {
    const mapper = await mapperOf([{ ...productWith('"x"'), key: 'row.A' }]);
    expect(itemsOf(mapper, { A: ' 1 ' })[0]?.key).toBe('1');
    expect(issuesOf(mapper, { A: 'a\u0000b' })[0]).toMatchObject({ code: 'key.characters', field: 'key' });
    expect(issuesOf(mapper, { A: '  ' })[0]).toMatchObject({ code: 'key.empty', field: 'key', expression: 'row.A' });
    expect(issuesOf(mapper, { A: null })[0]).toMatchObject({ code: 'key.empty' });
  });

  it('a mapping whose key names no column is reported as one without a key', async () => {
    const mapper = await mapperOf([{ ...productWith('"x"'), key: '""' }]);
    expect(issuesOf(mapper, { A: '1' })[0]).toMatchObject({
      code: 'key.empty',
      message: 'The mapping has no key yet: its `key` gives empty text for every record.',
      cure: expect.stringContaining('Set `key` of the mapping to the column'),
    });
  });

  it('a mapping leaves an empty ref out, so that a row may choose between material and component', async () => {
    const mapper = await mapperOf([
      {
        to: 'bom_item',
        key: 'row.K',
        refs: { product: 'row.P', material: 'row.M', component: 'row.C' },
        fields: { quantity: '1' },
      },
    ]);
    expect(itemsOf(mapper, { K: '1', P: 'p', M: 'm', C: '' })[0]?.refs.map(({ role }) => role)).toEqual([
      'product',
      'material',
    ]);
    expect(issuesOf(mapper, { K: '1', P: 'p', M: '', C: '' })[0]?.code).toBe('refs.part');
    expect(issuesOf(mapper, { K: '1', P: 'p', M: 'm', C: 'c' })[0]?.code).toBe('refs.part');
    expect(issuesOf(mapper, { K: '1', P: '', M: 'm', C: '' })[0]).toMatchObject({
      code: 'refs.product',
      expression: 'row.P',
      value: '',
    });
  });

  it('a mapping reports all faults of a row, of evaluation and of validation, and none twice', async () => {
    const mapper = await mapperOf([
      {
        to: 'product',
        key: 'row.MISSING',
        fields: { sku: 'row.S', name: 'row.N', country_of_origin: 'country(row.C)', gtin: 'row.G' },
      },
      { to: 'material', key: 'row.S', when: 'row.S', fields: { name: 'row.S' } },
    ]);
    const issues = issuesOf(mapper, { S: 'a', N: '', C: 'QQ', G: '12' });
    expect(issues.map(({ code, field, expression }) => [code, field, expression])).toEqual([
      ['column.missing', 'key', 'row.MISSING'],
      ['country.unknown', 'country_of_origin', 'country(row.C)'],
      ['field.required', 'name', 'row.N'],
      ['field.invalid', 'gtin', 'row.G'],
      ['when.type', 'when', 'row.S'],
    ]);
    expect(issues[2]).toMatchObject({ value: '', cure: expect.stringContaining('Fill N') });
  });

  it('a mapping does not call a required field missing whose expression has failed', async () => {
    const mapper = await mapperOf([{ to: 'product', key: 'row.A', fields: { sku: 'row.A', name: 'country(row.C)' } }]);
    expect(issuesOf(mapper, { A: 'a', C: 'QQ' }).map(({ code }) => code)).toEqual(['country.unknown']);
  });

  it('a row has none of its items used where one of its mappings fails', async () => {
    const mapper = await mapperOf([productWith('"x"'), productWith('country(row.C)')]);
    expect(mapRow(mapper, { C: 'QQ' }).status).toBe('quarantined');
  });

  it('a mapping does not follow a row into the depths', async () => {
    const mapper = await mapperOf([productWith('row.A')]);
    let deep: unknown[] = [];
    for (let level = 0; level < 20_000; level++) deep = [deep];
    expect(issuesOf(mapper, { A: deep as never })[0]?.code).toBe('row.depth');
  });

  it('a mapping has all its problems named at once, each with its place in the config', async () => {
    const problems = await problemsOf([
      { to: 'bom_item', key: 'foo', refs: { product: 'bar' }, fields: { unit: 'baz(1)' } },
      { to: 'product', key: 'row.A', refs: { product: 'row.A' }, fields: { sku: 'row.A' } },
      { fields: { a: '(' } },
      { to: 'product', fields: { sku: '1', name: '2' }, when: '"x"' },
    ]);
    expect(problems.map(({ path }) => path)).toEqual([
      'sources[0].mappings[0].key',
      'sources[0].mappings[0].refs.product',
      'sources[0].mappings[0].fields.unit',
      'sources[0].mappings[0].fields.quantity',
      'sources[0].mappings[0].refs',
      'sources[0].mappings[1].fields.name',
      'sources[0].mappings[1].refs',
      'sources[0].mappings[2]',
      'sources[0].mappings[2].fields.a',
      'sources[0].mappings[3]',
      'sources[0].mappings[3].when',
    ]);
  });
});
