import { createContext, Script } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileLinearPattern } from '../../../src/pipeline/mapping/functions/text.ts';
import { cpuMs } from '../support/cpu-time.ts';

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

const sandboxed = createContext({ pattern: '', texts: [] });
const referenceTest = new Script(`texts.map((text) => new RegExp(pattern, 'u').test(text))`);

/** Whether the backtracking engine of the language matches each text; undefined if it takes more than 100 ms. */
function referenceMatches(pattern: string, texts: readonly string[]): readonly boolean[] | undefined {
  Object.assign(sandboxed, { pattern, texts });
  try {
    return Array.from(referenceTest.runInContext(sandboxed, { timeout: 100 }) as ArrayLike<boolean>);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return undefined;
    throw error;
  }
}

describe('linear patterns', () => {
  it('a linear pattern matches exactly what the same regular expression matches', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '1', '.', ']', '𝒳'), maxLength: 6 });
    let compared = 0;
    fc.assert(
      fc.property(anyPattern, fc.array(text, { minLength: 1, maxLength: 5 }), (pattern, texts) => {
        const compiled = compileLinearPattern(pattern);
        if (!compiled.ok) {
          expect(compiled.error).toMatch(/too large|too often|characters long/);
          return;
        }
        const expected = referenceMatches(pattern, texts);
        if (expected === undefined) return;
        const found = texts.map((sample) => compiled.value(sample, () => undefined));
        expect(found, `/${pattern}/ on ${JSON.stringify(texts)}`).toEqual(expected);
        compared += 1;
      }),
      { numRuns: 1000, interruptAfterTimeLimit: 30_000, markInterruptAsFailure: true },
    );
    expect(compared).toBeGreaterThan(750);
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
    ['\\bkg\\b', '12 kg net', true],
    ['\\bkg\\b', '12kg', false],
    ['(?<unit>kg|g)$', '12 kg', true],
    ['^\\u00e4$', 'ä', true],
  ])('the linear pattern %j on %j is %j', (pattern, text, expected) => {
    expect(matches(pattern, text)).toBe(expected);
  });

  it('a linear pattern takes time in proportion to the text where a backtracking engine would never end', () => {
    const text = `${'a'.repeat(20_000)}!`;
    const began = cpuMs();
    expect(matches('^(a+)+$', text)).toBe(false);
    expect(matches('^(a|a)*$', text)).toBe(false);
    expect(matches('^(.*)*(.*)*x$', text)).toBe(false);
    expect(cpuMs() - began).toBeLessThan(5_000);
  });

  it.each([
    ['(a)\\1', /back references/],
    ['(?=a)', /look-around/],
    ['(a', /group is never closed/],
    ['a)', /too many/],
    ['*a', /has nothing before it to repeat/],
    ['[a', /class is never closed/],
    ['a{3,2}', /above the second/],
    ['a{1001}', /too high/],
    ['a{999}b{999}a{9}', /too large/],
    ['((a{100}){100}){100}', /too high/],
    ['a'.repeat(501), /at most 500/],
    ['\\p{Nonsense}', /cannot be read/],
  ])('a linear pattern refuses %j', (pattern, reason) => {
    expect(errorOf(pattern)).toMatch(reason);
  });

  it('a linear pattern that repeats nothing many times over is refused at once', () => {
    expect(errorOf(`${'('.repeat(20)}${'){200}'.repeat(20)}`)).toMatch(/too high/);
  });
});
