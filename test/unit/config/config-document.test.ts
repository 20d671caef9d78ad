import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDocumentText } from '../../../src/config/document.ts';
import { formatPath } from '../../../src/config/problem.ts';
import { faultOf } from '../../support/worlds/config-folder.ts';

function valueOf(text: string): unknown {
  const document = parseDocumentText(text);
  if (!document.ok) throw new Error(JSON.stringify(document.error));
  return document.value.value;
}

function problemsOfText(text: string): { line: number | null; message: string }[] {
  const document = parseDocumentText(text);
  return document.ok ? [] : document.error;
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);

describe('the parsing of a config file', () => {
  it('a config file keeps numbers that YAML would rewrite as they were written', () => {
    expect(valueOf('[0123, 0x10, .5, 12345678901234567890, 1.50, -7, 1e3, true]')).toEqual([
      '0123',
      '0x10',
      '.5',
      '12345678901234567890',
      1.5,
      -7,
      1000,
      true,
    ]);
    expect(valueOf('0012: x')).toEqual({ '0012': 'x' });
  });

  it('a config file may have placeholders without quotes, within braces too', () => {
    expect(valueOf('{ a: ${file:/run/x}, b: [${A:-x, y}, "${B:-#1}"], c: p${C}s }')).toEqual({
      a: '${file:/run/x}',
      b: ['${A:-x, y}', '${B:-#1}'],
      c: 'p${C}s',
    });
  });

  it.each([
    ['a key that is there twice', 'a: 1\nb: 2\na: 3', 3],
    ['a tag', 'a: 1\nb: !secret x', 2],
    ['an alias to nothing', 'a: 1\nb: *x', 2],
    ['a tab as indentation', 'a:\n\tb: 1', 2],
    ['a bracket that is not closed', 'a: [1, 2', 1],
    ['a second document', 'a: 1\n---\nb: 2', 2],
    ['a key that is a list', 'a: 1\n? [b]\n: c', 2],
    ['a missing space after a colon', 'a:\n  b:c\n  d: e', 2],
  ])('a config file with %s is rejected and the line is named', (_what, text, line) => {
    expect(problemsOfText(text)[0]).toMatchObject({ line });
  });

  it('a config file with syntax errors is rejected with the first one alone, and with every repeated key', () => {
    expect(problemsOfText('a: }\nb: }\nc: }\nd: 1\nd: 2').length).toBeLessThanOrEqual(2);
    expect(problemsOfText('a: 1\na: 2\na: 3').map(({ line }) => line)).toEqual([2, 3]);
  });

  it('a config file is rejected with all values at once whose brackets or commas need quotes', () => {
    const text = [
      'fields: { name: row["Materiał"], sku: row.SKU }',
      'key: row["Sort Fld"]',
      'refs: { product: country(row["a b"], 1), part: \'row["c d"]\' }',
      'more: { quantity: decimal(row.a, ",") }',
    ].join('\n');
    expect(problemsOfText(text).map(({ line }) => line)).toEqual([1, 3, 4]);
    for (const { message } of problemsOfText(text)) expect(message).toContain('expected it in quotes');
    const unclosed = problemsOfText('a: { b: "x, c: y }\nd: "e"\nf: { g: row["x"] }');
    expect(unclosed).toMatchObject([{ message: expect.stringContaining('missing here or before') }]);
  });

  it('the parser of a config file survives alias bombs, deep nesting and files that are too large', async () => {
    const levels = Array.from(
      { length: 9 },
      (_, level) => `l${level + 1}: &l${level + 1} [${`*l${level},`.repeat(9)}]`,
    );
    expect(problemsOfText(`l0: &l0 [x]\n${levels.join('\n')}`)[0]?.message).toContain('aliases');
    expect(problemsOfText('['.repeat(400_000))[0]?.message).toContain('nested too deeply');
    expect(problemsOfText(`${'['.repeat(150)}${']'.repeat(150)}`)[0]?.message).toContain('nested too deeply');
    expect((await faultOf(`a: ${'x'.repeat(1_100_000)}`)).message).toContain('larger than');
  });

  it('a merge key gives a map the members of others, of which the first ones win, and its own before all', () => {
    const text =
      'a: &a { x: 1, y: { z: ${file:/run/x} } }\nb: &b\n  <<: *a\n  x: 3\nc: { n: 0, <<: [*b, { x: 5, q: 7 }] }\nd: "<<"';
    const y = { z: '${file:/run/x}' };
    expect(valueOf(text)).toEqual({ a: { x: 1, y }, b: { x: 3, y }, c: { n: 0, x: 3, y, q: 7 }, d: '<<' });
  });

  it('a problem in a merged member has the line on which the member is written', () => {
    const document = parseDocumentText('a: &a\n  x:\n    z: 1\nb: &b { <<: *a, v: 2 }\nc:\n  <<: [*b]\n  w: 3');
    if (!document.ok) throw new Error(JSON.stringify(document.error));
    const paths = [
      ['c', 'x', 'z'],
      ['c', 'v'],
      ['c', 'w'],
      ['c', 'absent'],
      ['c', '<<'],
    ];
    expect(paths.map((path) => document.value.lineOf(path))).toEqual([3, 4, 7, 5, 5]);
  });

  it.each([
    ['a number', 'a: 1\nb:\n  <<: 5', 3, 'found << with another value than named values'],
    ['a list of texts', 'a: 1\nb:\n  <<: [x]', 3, 'found << with another value than named values'],
    ['an alias of a list', 'a: &a [[1]]\nb: { <<: *a }', 2, 'found << with another value than named values'],
    ['an alias to nothing', 'a: 1\nb: { <<: *a }', 2, 'found an alias (*…) to nothing'],
    ['the map itself', 'b: 1\na: &a\n  <<: *a', 3, 'found << that merges more than 100 maps'],
    [
      'ever more maps',
      `l0: &l0 { x: 1 }\n${upTo(12)
        .map(
          (level) =>
            `l${level}: &l${level} { <<: [${upTo(9)
              .map(() => `*l${level - 1}`)
              .join(', ')}] }`,
        )
        .join('\n')}`,
      4,
      'found << that merges more than 100 maps',
    ],
  ])('a merge key with %s is rejected and the line is named', (_what, text, line, message) => {
    expect(problemsOfText(text)[0]).toMatchObject({ line, message: expect.stringContaining(message) });
  });

  it('a config file keeps a member called __proto__ a member', () => {
    expect(Object.keys(valueOf('__proto__: { a: 1 }') as object)).toEqual(['__proto__']);
  });

  it('the parser of a config file reads every JSON text as JSON.parse does, but for integers that would lose digits', () => {
    const safe = (value: unknown): boolean =>
      typeof value === 'object' && value !== null
        ? Object.values(value).every(safe)
        : typeof value !== 'number' || !/^-?\d+$/.test(String(value)) || Number.isSafeInteger(value);
    const json = fc.jsonValue({ maxDepth: 4, stringUnit: 'grapheme' }).filter(safe);
    fc.assert(
      fc.property(json, fc.constantFrom(undefined, 2, '\t'), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        expect(valueOf(text)).toEqual(JSON.parse(text));
      }),
      { numRuns: 500 },
    );
  });

  it('the parser of a config file never throws, whatever the text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...'a: -\n[]{}"\'#&*!|>%@`?,$\t\\~<'.split('')), maxLength: 60 }),
        (text) => {
          parseDocumentText(text);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('the parser of a config file finds the line of a path, or of the part of it that is there', () => {
    const document = parseDocumentText('a:\n  - b: 1\n    c: { d: 2 }\n  - e: 3\n');
    if (!document.ok) throw new Error('not parsed');
    expect(document.value.lineOf(['a', 0, 'c', 'd'])).toBe(3);
    expect(document.value.lineOf(['a', 1, 'e'])).toBe(4);
    expect(document.value.lineOf(['a', 1, 'nope'])).toBe(4);
    expect(document.value.lineOf(['nope'])).toBe(1);
  });

  it('paths in a config file are written as people write them', () => {
    expect(formatPath(['sources', 0, 'streams', 'a b', 'key', 1])).toBe('sources[0].streams["a b"].key[1]');
  });
});
