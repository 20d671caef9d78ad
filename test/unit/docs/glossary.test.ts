import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');

/** The folders of `src` in which no retired word may stand. */
const CHECKED_FOLDERS = ['domain', 'queue', 'observe', 'daemon', 'delivery', 'ledger', 'pipeline'];
/** Names of countries are not ours. */
const UNCHECKED_FILES = ['src/pipeline/mapping/functions/country.ts'];

/** Retired words, and the words to use. Words that also have an everyday meaning are left to the reviewer of a change. */
const RETIRED: readonly [was: RegExp, use: string][] = [
  [/\b(?:doorbells?|bells?)\b/, 'wake-up job'],
  [/\b(?:rings?|ringing|rung)\b/, 'enqueue'],
  [/\b(?:hears?|heard|hearings?)\b/, 'receive, handle'],
  [/\bfeeders?\b/, 'dispatcher'],
  [/\bin hand\b/, 'in flight'],
  [/\bmend(?:s|ed|ing)?\b/, 'fix'],
  [/\bstir(?:s|red|ring)?\b/, 'dirty, needs evaluation'],
  [/\bcanar(?:y|ies)\b/, 'probe'],
  [/\b(?:judg(?:e|es|ed|ing)|judge?ments?|verdicts?)\b/, 'classify, decide'],
  [/\bsightings?\b/, 'listing match'],
  [/\bdoubt(?:s|ed|ful)?\b/, 'unconfirmed'],
  [/\bperson'?s'? word\b/, 'manual resolution'],
  [/\bwaiting line\b/, 'priority queue'],
  [/\bput(?:s|ting)? aside\b/, 'dead-letter'],
  [/\bpass(?:es|ed|ing)? over\b/, 'skip unchanged'],
  [/\bwakes? heirs?\b/, 'requeue contenders'],
  [/\bsuspect(?:s|ed)?\b|\bsuspicions?\b/, 'look up'],
  [/\blost time\b/, 'since the backup'],
  [/\bresidue\b/, 'refusal streak'],
  [/\bcrowds?\b/, 'fair share'],
  [/\b(?:tells?|told|telling)\b/, 'report'],
  [/\b(?:go|goes|going|gone|went) out\b/, 'is sent'],
  [/\b(?:come|comes|came|coming) to\b/, 'becomes'],
  [/\bcompany\b/, 'batch'],
  [/\bmov(?:e|es|ed|ing) on\b/, 'change state'],
  [/\banew\b/, 'again'],
  [/\balike\b/, 'in the same way'],
];
/** Names that other programs and stored ledgers know, and that stay. */
const CONTRACT = /\bin_doubt\b|\bapi\.doubt\b|\bdelivery\.doubt\b|'doubt'|'suspect'|\bafterDoubt\b/g;

/** Text in which names in camel case and words with hyphens are separate words, in small letters. */
function wordsOf(text: string): string {
  return text
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/[-_\s]+|\s*\n\s*(?:\*|\/\/)?\s*/g, ' ')
    .toLowerCase();
}

function retiredIn(text: string): string[] {
  const lines = text.replaceAll(CONTRACT, '').split('\n');
  return lines.flatMap((line) =>
    RETIRED.filter(([was]) => was.test(wordsOf(line))).map(([, use]) => `${line.trim()} (use: ${use})`),
  );
}

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const GLOSSARY = read('docs/glossary.md');
const TERMS = [...GLOSSARY.matchAll(/^\| ([^|]+?) \| ([^|]+?) \|$/gm)].flatMap(([, term = '', meaning = '']) =>
  term === 'word' || term.startsWith('---') ? [] : [{ term, meaning }],
);

describe('the glossary', () => {
  const source = wordsOf(globSync('src/**/*.ts', { cwd: ROOT }).map(read).join('\n'));

  it('the glossary has each word once', () => {
    expect(TERMS.length).toBeGreaterThan(50);
    expect(new Set(TERMS.map(({ term }) => term)).size).toBe(TERMS.length);
  });

  it.each(TERMS)('the glossary describes "$term" in one sentence', ({ meaning }) => {
    expect(meaning.replaceAll(/`[^`]*`/g, 'NAME')).toMatch(/^[A-Z][^.]*\.$/);
  });

  it.each(TERMS)('the glossary has "$term", which the code uses', ({ term }) => {
    const isUsed = new RegExp(`\\b${wordsOf(term)}(?:s|es|d|ed|ing)?\\b`).test(source);
    expect(isUsed).toBe(true);
  });
});

describe('retired words', () => {
  const files = CHECKED_FOLDERS.flatMap((folder) => globSync(`src/${folder}/**/*.{ts,sql}`, { cwd: ROOT })).filter(
    (file) => !UNCHECKED_FILES.includes(file),
  );

  it('retired words are found in names and in texts, so that the check can fail', () => {
    expect(retiredIn('const heardJobs = 1;')).toEqual(['const heardJobs = 1; (use: receive, handle)']);
    expect(retiredIn('// It is put aside, and goes out anew.')).toHaveLength(3);
    expect(retiredIn("state = 'in_doubt'; ring_for(string); recommended")).toHaveLength(1);
  });

  it.each(files)('retired words are not in %s', (file) => {
    expect(retiredIn(read(file))).toEqual([]);
  });
});
