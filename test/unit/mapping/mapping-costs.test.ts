import { Environment } from '@marcbachmann/cel-js';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/lib/json.ts';
import { createMeter, ROW_STEPS_MAX } from '../../../src/pipeline/mapping/meter.ts';
import {
  issueOf,
  issuesOf,
  itemsOf,
  mapperOf,
  mapRow,
  problemOf,
  productWith,
  valueOf,
} from '../../support/connectors/map-row.ts';

const MIB = 1_048_576;
const long = 'a'.repeat(MIB);

/** Rows whose values are as long as a source lets them be, or as awkward. */
const ROW: JsonObject = {
  A: long,
  B: `${'a'.repeat(10_000)}b${'a'.repeat(10_000)}`,
  D: '9'.repeat(5000),
  DIGITS: '9'.repeat(MIB),
  BLANKS: `x${' '.repeat(MIB)}x`,
  LINES: 'a\n'.repeat(MIB / 2),
  L: Array.from({ length: 20_000 }, (_, index) => `e${index}`),
  N: Array.from({ length: 20_000 }, (_, index) => index),
  O: Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`k${index}`, { a: [index, { b: 'short' }] }])),
  LIGATURES: '\ufdfa'.repeat(MIB / 4),
};

/**
 * The work that an attacker or a broken export could bring about, by the function or operator that would do it. A step takes
 * nanoseconds, so what ends within `ROW_STEPS_MAX` ends soon; without the meter each of these took from seconds to for ever.
 */
const COSTLY = [
  'row.A.matches(".{1,200}x")',
  'row.A.matches("(a|aa|a.)*(b|bb|b.){9}")',
  'row.A.contains(row.B)',
  'row.A.indexOf(row.B)',
  'row.A.indexOf(row.B, 5)',
  'row.A.lastIndexOf(row.B)',
  'row.A.lastIndexOf(row.B, 1000000)',
  'row.A.split(row.B)[0]',
  'row.A.split(row.B, 3)[0]',
  'split(row.A, row.B)[0]',
  'pairs(row.A, row.B, "=")',
  'row.L.map(x, html_text(row.A))[0]',
  'row.L.map(x, decode_entities(row.A))[0]',
  'row.L.map(x, printable(row.A))[0]',
  'row.L.map(x, as_list(row.L))[0]',
  'row.L.map(x, row.A.upperAscii() + x)[0]',
  'row.L.map(x, row.A.lowerAscii())[0]',
  'row.L.map(x, row.BLANKS.trim())[0]',
  'row.L.map(x, row.A + x)[0]',
  'row.L.map(x, row.A.size())[0]',
  'row.L.map(x, size(row.O))[0]',
  'row.L.map(x, bytes(row.A).base64())[0]',
  'row.L.map(x, bytes(row.A).hex())[0]',
  'row.L.map(x, bytes(row.A) + bytes(row.A))[0]',
  'row.L.map(x, string(bytes(row.A)))[0]',
  'row.L.map(x, double(row.DIGITS))[0]',
  'row.L.map(x, row.A < row.B)[0]',
  'row.L.map(x, row.A.startsWith(row.A))[0]',
  'row.L.map(x, row.A.substring(1) == row.A)[0]',
  'row.L.map(x, timestamp(1).getHours("Europe/Berlin"))[0]',
  'row.L.map(x, row.L.map(y, x + y))',
  'row.L.map(x, row.L)',
  'row.L.map(x, row.L + row.L)',
  'row.L.filter(x, row.L.exists(y, y == "none"))',
  'row.L.exists(x, row.L.all(y, y != x))',
  'row.L.exists(x, row.N.exists_one(y, y == 1) && x == "")',
  'row.L.exists(x, row.O.exists(k, true) && x == "")',
  'row.L.filter(x, x in row.L)',
  'row.L.filter(x, "none" in row.L || "none" in row.N)',
  'row.L.filter(x, row.O == {"a": x})',
  'row.N.map(n, [row.O] == [row.O, n])',
  'row.A.split("").map(x, x)',
  'row.LINES.split("\\n").map(x, row.LINES.split("\\n"))',
  'cel.bind(a, row.A + row.A + row.A, cel.bind(b, a + a + a + a, cel.bind(c, b + b + b + b, c + c + c + c)))',
  'cel.bind(a, [row.A, row.A], cel.bind(b, [a, a, a, a], cel.bind(c, [b, b, b, b], [c, c, c, c] == [c, c, c, c])))',
  'cel.bind(a, [row.A], cel.bind(b, a + a + a + a + a, cel.bind(c, b + b + b + b + b, (c + c + c + c).join(","))))',
  '[row.O, row.O, row.O, row.O, row.O, row.O, row.O, row.O]',
  // `&&` and `||` may hide an error, but not that the limit was exceeded.
  'row.A.matches(".{1,200}x") || true',
  '!(row.A.matches(".{1,200}x") && false)',
];

describe('the work of an expression', () => {
  it.each(COSTLY)('the work of an expression is bounded, and more is an issue: %s', async (expression) => {
    const issue = await issueOf(expression, ROW);
    expect(issue).toMatchObject({ code: 'expression.costly', field: 'x', expression });
    expect(issue.message).toContain('20,000,000 steps');
    expect(issue.cure).toContain('substring()');
    expect(JSON.stringify(issue).length).toBeLessThan(3000);
  });

  it.each([
    ['duration(row.D + "s").getHours()', 'duration.format'],
    ['duration(row.D).getHours()', 'duration.format'],
    ['duration("1" + row.BLANKS).getHours()', 'duration.format'],
    ['timestamp(row.DIGITS).getHours()', 'expression.failed'],
    ['int(row.DIGITS)', 'expression.number'],
    ['uint(row.DIGITS) == uint(1) ? 1 : 2', 'expression.failed'],
    ['bool(row.A)', 'expression.failed'],
    ['row.O[row.A]', 'member.missing'],
    ['row.A == 1', 'expression.types'],
    ['timestamp(1).getHours(row.A)', 'expression.failed'],
    ['country(row.LIGATURES)', 'country.long'],
    ['unit(row.LIGATURES)', 'unit.long'],
    ['decimal(row.DIGITS)', 'decimal.long'],
    ['gtin(row.DIGITS)', 'gtin.long'],
    ['date(row.DIGITS)', 'date.long'],
  ])('the work of an expression is small for an absurdly long text, as is the issue: %s', async (expression, code) => {
    const issue = await issueOf(expression, ROW);
    expect(issue).toMatchObject({ code, field: 'x' });
    expect(JSON.stringify(issue).length).toBeLessThan(5000);
  });

  it('the work is counted for all expressions of a row together, and the cheap ones are not blamed', async () => {
    const costly = 'row.A.contains("none") ? "y" : "n"';
    const fields = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`x${index}`, costly]));
    const mapper = await mapperOf([
      { to: 'product', key: '"K"', fields: { sku: '"S"', ...fields, name: 'row.B.substring(0, 3)' } },
    ]);
    const issues = issuesOf(mapper, ROW);
    expect(new Set(issues.map(({ code }) => code))).toEqual(new Set(['expression.costly']));
    expect(issues.length).toBeGreaterThan(30);
    expect(issues.map(({ field }) => field)).not.toContain('name');
    // The next row has all its steps again.
    expect(itemsOf(mapper, { ...ROW, A: 'short' })).toHaveLength(1);
  });

  it('the work of an expression is counted in the same way for one row at any time', async () => {
    const mapper = await mapperOf([productWith('row.A.contains("none") ? "y" : "n"')]);
    const row = { A: long };
    for (let turn = 0; turn < 50; turn += 1) expect(mapRow(mapper, row).status).toBe('mapped');
  });

  it('the work of an expression may be as much as mappings need for long descriptions and long lists', async () => {
    const text = 'The pump is made of steel, brass and rubber. '.repeat(2300);
    const lines = Array.from({ length: 2000 }, (_, index) => ({
      type: index % 2 ? 'main' : 'spare',
      code: `C-${index}`,
    }));
    expect(await valueOf('row.T.matches("rubber. $") ? "y" : "n"', { T: text })).toBe('y');
    expect(await valueOf('row.T.trim().split(". ").filter(s, s.contains("steel")).size()', { T: text })).toBe(2300);
    expect(await valueOf('row.L.filter(l, l.type == "main").map(l, l.code).size()', { L: lines })).toBe(1000);
    expect(await valueOf('row.L.filter(l, l.code in ["C-1", "C-7"]).map(l, l.code)', { L: lines })).toEqual([
      'C-1',
      'C-7',
    ]);
  });

  it('each function of the library that could take too long has one of ours in its place, with the same results', async () => {
    const row = { A: 'a,b,c,b', E: '' };
    expect(
      await valueOf(
        '[row.A.indexOf("b"), row.A.indexOf("b", 3), row.A.lastIndexOf("b"), row.A.lastIndexOf("b", 5)]',
        row,
      ),
    ).toEqual([2, 6, 6, 2]);
    expect(await valueOf('[row.A.indexOf("z"), row.A.indexOf("", 2)]', row)).toEqual([-1, 2]);
    expect(await valueOf('row.A.split(",", 2)', row)).toEqual(['a', 'b,c,b']);
    expect(await valueOf('row.A.split(",", 0).size() + row.A.split(",", -1).size()', row)).toBe(4);
    expect(await valueOf('row.A.contains("b,c") && !row.A.contains("z")', row)).toBe(true);
    expect(await valueOf('duration("1h30m").getMinutes()', row)).toBe(90);
    expect(await valueOf('duration("-.5h").getMinutes()', row)).toBe(-30);
    expect((await issueOf('row.A.indexOf("b", 99)', row)).message).toContain('no character 99');
    expect((await problemOf('row.A.size().contains("x")')).message).toMatch(/^contains\(\) of number/);
    expect((await problemOf('bytes(row.A).json().a')).message).toContain('json() cannot be used');
  });

  /** After an update of the library, look at its new functions, and add each function above that can take long. */
  it('each function that the library brings has its work counted', () => {
    const names = new Set(new Environment().getDefinitions().functions.map(({ name }) => name));
    expect([...names].sort().join(' ')).toMatchInlineSnapshot(
      `"all at base64 bind bool bytes contains double duration dyn endsWith exists exists_one filter getDate getDayOfMonth getDayOfWeek getDayOfYear getFullYear getHours getMilliseconds getMinutes getMonth getSeconds has hasValue hex indexOf int join json lastIndexOf lowerAscii map matches none of or orValue size split startsWith string substring timestamp trim type uint upperAscii value"`,
    );
  });
});

describe('the meter', () => {
  it('the meter stops a walk through a value that contains itself many times over', () => {
    const meter = createMeter();
    let nested: unknown = 'x';
    for (let level = 0; level < 60; level += 1) nested = [nested, nested];
    expect(() => meter.run(() => nested)).toThrow(`${ROW_STEPS_MAX.toLocaleString('en-US')} steps`);
  });
});
