import { expect, it } from 'vitest';
import { sentenceLines } from '../../../src/cli/text/style.ts';
import { replaySentences } from '../../../src/operations/replay.ts';
import { failedRunText } from '../../../src/operations/results.ts';
import { selectedSentences } from '../../../src/operations/settle-selected.ts';
import { plainText } from '../../../src/web/html.ts';
import { outcomeText } from '../../../src/web/pages/tasks/outcome-text.ts';

const replayed = {
  records: 9,
  passing: 7,
  unmapped: 1,
  staged: 7,
  quarantined: 2,
  leftUnconfirmed: 1,
  passports: { asked: 2, incomplete: 1 },
};

const nothing = {
  items: {},
  passports: {},
  quarantined: 0,
  guarded: [],
  held: [],
  failedRuns: [],
  suspended: [],
  refused: [],
};
const synced = { ...nothing, fault: null, runs: [], left: 0, requests: { sent: 7 }, attention: { stuck: [] } };

function shownOnPage(name: string, result: unknown): string {
  const text = outcomeText({ name, outcome: { ok: true, result } });
  return text === null ? '' : plainText(text);
}

it.each([true, false])('a command and a page say the same about a replay, with dryRun %s', (dryRun) => {
  const sentences = replaySentences(replayed, dryRun);
  expect(sentences.length).toBeGreaterThan(5);
  const lines = sentenceLines(sentences).filter((line) => !line.startsWith('  '));
  // A dry run has no sync after it, and the page of any other replay goes on with its sync.
  const page = shownOnPage('replay', { replayed, synced: dryRun ? null : synced });
  expect(page.startsWith(lines.join(' '))).toBe(true);
});

it('a page says the same about stored rows that a retry and a replay map again', () => {
  const sentences = replaySentences(replayed, false).map(({ text }) => text);
  const outcome = {
    kind: 'product',
    key: 'P1',
    naturalKey: null,
    operation: 'product.create',
    state: 'delivered',
    reason: null,
  };
  const page = shownOnPage('retry-deliveries', {
    needless: 0,
    replayed,
    outcomes: [outcome],
    delivered: 1,
    stillStuck: 0,
    synced: { ...synced, fault: { message: 'The API cannot be reached.', suggestion: 'Look at its host.' } },
  });
  expect(sentences.filter((text) => !page.includes(text))).toEqual([]);
  expect(page).toContain('The API cannot be reached. Look at its host.');
});

it('a command and a page say the same about a run that failed', () => {
  const run = { source: 'erp', error: 'The file is gone.' };
  expect(shownOnPage('sync', { ...synced, failedRuns: [run] })).toContain(failedRunText(run));
});

it('a command and a page say the same about items that were settled together', () => {
  const result = { selected: 5, settled: 3, left: 2, released: 1 };
  expect(shownOnPage('settle-selected', result)).toBe(sentenceLines(selectedSentences(result, true)).join(' '));
});

it('a command names the command that shows more about a sentence', () => {
  expect(sentenceLines(replaySentences(replayed, false))).toEqual(
    expect.arrayContaining(['The list of rows with an error has the reasons.', '  dpp-sync quarantine']),
  );
});

it('a replay that finds no record says so', () => {
  const none = { ...replayed, records: 0, unmapped: 0, leftUnconfirmed: 0, passports: { asked: 0, incomplete: 0 } };
  expect(sentenceLines(replaySentences(none, false))).toEqual(['No record matches: there is nothing to replay.']);
});
