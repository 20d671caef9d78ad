import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const LEDGER = join(import.meta.dirname, '../../../src/ledger');

const texts = globSync('**/*.ts', { cwd: LEDGER }).map((file) => ({
  file,
  text: readFileSync(join(LEDGER, file), 'utf8'),
}));

describe('the functions of the ledger', () => {
  it('only the group commit and inTransaction make a transaction', () => {
    const makers = texts.filter(({ text }) => /\bas (?:[\w ]+ & |unknown as )?(?:Tx|Transaction)\b/.test(text));
    expect(makers.map(({ file }) => file).toSorted()).toEqual(['store/group-commit.ts', 'store/tx.ts']);
  });

  it('have a name of their own, so that a call can be read alone', () => {
    const names = texts.flatMap(({ text }) =>
      [...text.matchAll(/^export (?:async )?function (\w+)/gm)].map(([, name]) => name),
    );
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  it('write items in a few files, and their states in one of them', () => {
    const writes = /\b(?:UPDATE|INSERT INTO|DELETE FROM) items\b|\b(?:table|into): 'items',/;
    const writers = texts.filter(({ text }) => writes.test(text));
    expect(writers.map(({ file }) => file).toSorted()).toEqual([
      'items/desire.ts',
      'items/item-writes.ts',
      'items/requests.ts',
      'items/revisions.ts',
      'store/upkeep.ts',
    ]);
    const setsState = /\bSET state =|(?<!\.)\bstate = (?:v\.|@|\?|\$|CASE|NULL)|\bstate: 'TEXT'|^ +'state',$/m;
    expect(writers.filter(({ text }) => setsState.test(text)).map(({ file }) => file)).toEqual(['items/revisions.ts']);
  });

  it('name what only SQLite has in one folder', () => {
    const others = texts.filter(({ file }) => !file.startsWith('store/') && file !== 'schema.sql');
    const own = /\bpragma\b|\bsqlite_\w+|\bVACUUM\b|\bSQLITE_[A-Z]+|from 'better-sqlite3'/i;
    expect(others.filter(({ text }) => own.test(text)).map(({ file }) => file)).toEqual([]);
    expect(texts.some(({ file, text }) => file === 'store/database.ts' && own.test(text))).toBe(true);
  });
});
