import { createContext, Script } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileLinearPattern } from '../../src/pipeline/mapping/expressions/linear-pattern.ts';

function matches(pattern: string, text: string): boolean {
  const compiled = compileLinearPattern(pattern);
  if (!compiled.ok) throw new Error(compiled.error);
  return compiled.value(text, () => undefined);
}

function errorOf(pattern: string): string {
  const compiled = compileLinearPattern(pattern);
  return compiled.ok ? '' : compiled.error;
}

/** Patterns by grammar, so that nearly all of them are sound. */
const { pattern: anyPattern } = fc.letrec<{ pattern: string; atom: string; piece: string }>((tie) => ({
  atom: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom('a', 'b', 'c', '.', '[ab]', '[^a]', '\\d', '\\w', '\\.', '[a-c]', '^', '$', '\\u0061', '[\\]a]'),
    tie('pattern').map((inner) => `(${inner})`),
    tie('pattern').map((inner) => `(?:${inner})`),
  ),
  piece: fc
    .tuple(tie('atom'), fc.constantFrom('', '', '', '*', '+', '?', '{2}', '{1,3}', '{0,2}', '{2,}', '*?', '+?'))
    .map(([atom, quantifier]) => (/[$^]$/.test(atom) ? atom : atom + quantifier)),
  pattern: fc
    .array(fc.array(tie('piece'), { minLength: 0, maxLength: 3 }), { minLength: 1, maxLength: 2 })
    .map((choices) => choices.map((pieces) => pieces.join('')).join('|')),
}));

const sandboxed = createContext({ pattern: '', text: '' });
const referenceTest = new Script(`new RegExp(pattern, 'u').test(text)`);

/** What the backtracking engine of the language says, or nothing where it does not come to an end in 100 ms. */
function referenceMatches(pattern: string, text: string): boolean | undefined {
  Object.assign(sandboxed, { pattern, text });
  try {
    return Boolean(referenceTest.runInContext(sandboxed, { timeout: 100 }));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return undefined;
    throw error;
  }
}

describe('linear patterns', () => {
  it('match exactly what the same regular expression matches', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '1', '.', ']', '𝒳'), maxLength: 6 });
    let compared = 0;
    fc.assert(
      fc.property(anyPattern, fc.array(text, { minLength: 1, maxLength: 5 }), (pattern, texts) => {
        const compiled = compileLinearPattern(pattern);
        if (!compiled.ok) {
          expect(compiled.error).toMatch(/too large|nested|characters long/);
          return;
        }
        for (const sample of texts) {
          const found = compiled.value(sample, () => undefined);
          const expected = referenceMatches(pattern, sample);
          if (expected === undefined) return;
          expect(found, `/${pattern}/ on "${sample}"`).toBe(expected);
        }
        compared += 1;
      }),
      { numRuns: 2000, interruptAfterTimeLimit: 15_000, markInterruptAsFailure: true },
    );
    expect(compared).toBeGreaterThan(1500);
  });

  it.each([
    ['^[A-Z]{2}-\\d+$', 'DE-17', true],
    ['^[A-Z]{2}-\\d+$', 'DE-17x', false],
    ['ST|KG', 'xKGx', true],
    ['^(ST|KG)$', 'xKG', false],
    ['ß', 'Straße', true],
    ['^.$', '𝒳', true],
    ['\\p{Lu}', 'aÄb', true],
    ['^$', '', true],
    ['a.b', 'a\nb', false],
  ])('%j on %j is %j', (pattern, text, expected) => {
    expect(matches(pattern, text)).toBe(expected);
  });

  it('take time in proportion to the text where a backtracking engine would never end', () => {
    const text = `${'a'.repeat(20_000)}!`;
    const began = performance.now();
    expect(matches('^(a+)+$', text)).toBe(false);
    expect(matches('^(a|a)*$', text)).toBe(false);
    expect(matches('^(.*)*(.*)*x$', text)).toBe(false);
    expect(performance.now() - began).toBeLessThan(5_000);
  });

  it.each([
    ['(a)\\1', /back references/],
    ['(?=a)', /look-around/],
    ['(?<n>a)', /named groups/],
    ['\\ba', /word borders/],
    ['(a', /never closed/],
    ['a)', /too many/],
    ['*a', /belongs to nothing/],
    ['[a', /belongs to nothing/],
    ['a{3,2}', /wrong way round/],
    ['a{999}', /more than 200/],
    ['((a{100}){100}){100}', /too large/],
    ['a'.repeat(501), /at most 500/],
    ['('.repeat(40) + ')'.repeat(40), /nested/],
    ['\\p{Nonsense}', /cannot be read/],
  ])('refuse %j', (pattern, reason) => {
    expect(errorOf(pattern)).toMatch(reason);
  });

  it('are compiled at once even where they repeat nothing many times over', () => {
    expect(matches(`${'('.repeat(20)}${'){200}'.repeat(20)}`, 'x')).toBe(true);
  });
});
