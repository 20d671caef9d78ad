import { expect, it } from 'vitest';
import { sentenceLines } from '../../../src/cli/text/style.ts';
import { replaySentences } from '../../../src/operations/replay.ts';
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

function shownOnPage(name: string, result: unknown): string {
  const text = outcomeText({ name, outcome: { ok: true, result } });
  return text === null ? '' : plainText(text);
}

it.each([true, false])('a command and a page say the same about a replay, with dryRun %s', (dryRun) => {
  const sentences = replaySentences(replayed, dryRun);
  expect(sentences.length).toBeGreaterThan(5);
  const lines = sentenceLines(sentences).filter((line) => !line.startsWith('  '));
  // A dry run has no sync after it, and the page of any other replay goes on with its sync.
  const nothing = { items: {}, passports: {}, quarantined: 0, guarded: [], failedRuns: [], suspended: [], refused: [] };
  const synced = { ...nothing, fault: null, runs: [], left: 0, requests: { sent: 7 }, attention: { stuck: [] } };
  const page = shownOnPage('replay', { replayed, synced: dryRun ? null : synced });
  expect(page.startsWith(lines.join(' '))).toBe(true);
});

it('a command and a page say the same about items that were settled together', () => {
  const result = { selected: 5, settled: 3, left: 2, released: 1 };
  expect(shownOnPage('settle-selected', result)).toBe(sentenceLines(selectedSentences(result, true)).join(' '));
});

it('a command names the command that shows more about a sentence', () => {
  expect(sentenceLines(replaySentences(replayed, false))).toEqual(
    expect.arrayContaining(['The reasons are in the quarantine.', '  dpp-sync quarantine']),
  );
});

it('a replay that finds no record says so', () => {
  const nothing = { ...replayed, records: 0, unmapped: 0, leftUnconfirmed: 0, passports: { asked: 0, incomplete: 0 } };
  expect(sentenceLines(replaySentences(nothing, false))).toEqual(['No record matches: there is nothing to replay.']);
});
