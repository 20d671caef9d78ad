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
});
