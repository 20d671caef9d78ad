import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ALERTS } from '../../../src/domain/words/alerts.ts';
import { FAULT_CASES, FAULTS } from '../../../src/domain/words/faults.ts';
import { GUARD, HELD_RUN, UNREAD_LIST, UNUSED_IMPORTS } from '../../../src/domain/words/holds.ts';
import { ISSUES } from '../../../src/domain/words/issues.ts';
import { REASONS } from '../../../src/domain/words/reasons.ts';
import { GONE, STATES } from '../../../src/domain/words/states.ts';
import type { Words } from '../../../src/domain/words/word.ts';
import { SANDBOX_FAULTS } from '../../../src/sandbox/storage/sandbox-faults.ts';
import { cellsOf, wordsOfHold } from '../../generate/troubleshooting-page.ts';

const ROOT = join(import.meta.dirname, '../../..');
const page = readFileSync(join(ROOT, 'docs/troubleshooting.md'), 'utf8');
const HELD = Object.fromEntries(
  Object.entries({ ...GUARD, run: HELD_RUN }).map(([name, row]) => [name, wordsOfHold(row)]),
);
/** The tables whose entries have a code that is shown alone in the first column. */
const CODES = { FAULTS, SANDBOX_FAULTS, REASONS, ISSUES };
const TABLES = { ...CODES, ...FAULT_CASES, STATES, GONE, HELD, UNREAD_LIST, UNUSED_IMPORTS, ALERTS };
const ENTRIES = Object.entries(TABLES).flatMap(([table, words]) =>
  Object.entries<Words>(words).map(([code, entry]) => ({ table, code, entry })),
);

/** Where an issue may be made: the codes of other texts have no such place. */
const MAKERS = [
  'src/pipeline',
  'src/sdk',
  'src/domain/*.ts',
  'src/daemon/sources',
  'src/ledger/records',
  'src/ledger/items',
  'connectors',
];

describe('docs/troubleshooting.md', () => {
  it('docs/troubleshooting.md has the words of each code', () => {
    expect(ENTRIES.length).toBeGreaterThan(180);
    const shown = ENTRIES.filter(({ entry }) => page.includes(`| ${cellsOf(entry).join(' | ')} |`));
    expect(shown.length).toBe(ENTRIES.length);
    const codes = ENTRIES.filter(({ table }) => Object.hasOwn(CODES, table)).map(({ code }) => code);
    expect(codes.filter((code) => !page.includes(`| \`${code}\` |`))).toEqual([]);
    const alerts = Object.entries(ALERTS).map(([condition, { about }]) => [condition, about].filter(Boolean).join('/'));
    expect(alerts.filter((id) => !page.includes(`| \`${id}\` |`))).toEqual([]);
  });

  it('docs/troubleshooting.md says in full sentences what each code means and what to do', () => {
    for (const { table, code, entry } of ENTRIES) {
      const { title, meaning, cure } = entry;
      expect(title, code).toMatch(table === 'ISSUES' ? /^[A-Z]/ : /^(?:[A-Z`]|dpp-sync ).*\.$/s);
      if (meaning !== undefined) expect(meaning, code).toMatch(/^(?:[A-Z`]|dpp-sync ).*\.$/s);
      expect(cure, code).toMatch(/^(?:[A-Z`]|dpp-sync ).*\.$/s);
    }
  });

  it('docs/troubleshooting.md has only codes of issues that the code can report', () => {
    const files = MAKERS.flatMap((part) => globSync(part.endsWith('.ts') ? part : `${part}/**/*.ts`, { cwd: ROOT }));
    const text = files.map((file) => readFileSync(join(ROOT, file), 'utf8')).join('\n');
    expect(Object.keys(ISSUES).filter((code) => !text.includes(`'${code}'`))).toEqual([]);
  });

  it('docs/troubleshooting.md is complete, because our connectors only report issues with an entry', () => {
    const open = globSync('connectors/**/*.ts', { cwd: ROOT }).filter((file) =>
      /\b(?:type )?Issue\b/.test(readFileSync(join(ROOT, file), 'utf8')),
    );
    expect(open).toEqual([]);
  });
});
