// The conformance kit: a sound connector passes every check, and for each check there is a connector that fails it.

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type ConnectorFixtures, connectorChecks } from '../../src/sdk/testing/index.ts';
import { removeFolder } from '../support/machine/remove-folder.ts';
import { type Flaw, fixturesFor, flawedConnector } from './support/flawed-connector.ts';

const folder = mkdtempSync(join(tmpdir(), 'dpp-kit-'));
writeFileSync(join(folder, 'lines.txt'), 'one\ntwo\nthree\n');
afterAll(() => removeFolder(folder));

function checksWith(flaw: Flaw | null, more: Partial<ConnectorFixtures> = {}) {
  let given = 0;
  const fixtures = fixturesFor(
    folder,
    () => given,
    () => {
      given = 0;
    },
  );
  return connectorChecks(
    flawedConnector(flaw, () => {
      given += 1;
    }),
    { ...fixtures, ...more },
  );
}

const FAILING: Record<Flaw, [check: RegExp, words: RegExp]> = {
  'bad id': [/^has an id/, /The id has lower-case/],
  'no description': [/^describes every option/, /limit needs/],
  'takes unknown options': [/^refuses options/, /should be refused/],
  'check fails': [/^checks a source/, /The check is broken/],
  'missing file is empty': [/^reports a source that is not there/, /should have failed/],
  'loses the last row': [/^reads every row: /, /The read gives 2 rows, .* and the sample says 3/],
  'row without place': [/^gives the place/, /names a file/],
  'places twice': [/^gives the place/, /same place/],
  'field that JSON cannot hold': [/^gives fields/, /JSON cannot hold/],
  'other rows again': [/^reads the same rows again/, /Two whole reads differ/],
  'first page only': [/^reads every row of a large source/, /The read gives \d+ of 2000 rows/],
  'large pages': [/^reads every row of a large source/, /A page has 2000 rows/],
  'progress goes back': [/^reads every row of a large source/, /goes back/],
  'loses rows after a stop': [/^reads everything after/, /lacks rows/],
  'repeats at a cursor': [/^goes on from each cursor/, /gives the wrong rows/],
  'loses a row at a cursor': [/^goes on from each cursor/, /gives the wrong rows/],
  'repeats other rows': [/^goes on from each cursor/, /gives the wrong rows/],
  'names no record': [/^names each record/, /lacks a key column/],
  'names the wrong record': [/^names each record/, /name other records/],
  'keeps a record': [/^names each record/, /has a record that is gone/],
  'forgets the end': [/^finds nothing new/, /begins everything again/],
  'absurd cursor is the end': [/^refuses a cursor/, /neither an error nor all rows/],
  'ignores changes': [/^reports a source that fails or changes/, /no error says so/],
  'reads everything first': [/^holds a page/, /bytes are held/],
  'reads ahead': [/^holds a page/, /before the caller asked for them/],
  'cannot be stopped': [/^stops when/, /should have failed/],
  'leaves a file open': [/^leaves nothing open/, /file descriptor/],
  'leaves a timer': [/^leaves nothing open/, /Timeout/],
  'shows its token': [/^marks its secrets/, /The option token is not marked/],
  'logs the secret': [/^shows no secret/, /secret number 1/],
  'error has the secret': [/^shows no secret/, /secret number 1/],
  'cursor has the secret': [/^shows no secret/, /secret number 1/],
  'warning has the secret encoded': [/^shows no secret/, /secret number 1/],
  'other values than the source has': [/^reads every row: /, /other fields than `first`/],
  'rounds numbers': [/^gives fields/, /above 2\^53/],
  'shares fields': [/^reads every row of a large source/, /share the object/],
  'one read per source': [/^gives a stream again/, /lacks rows/],
  'check reads everything': [/^checks a large source/, /has read 20000 rows/],
  'check names other columns': [/^names the columns/, /columns that no row has/],
  'other columns than rows': [/^names the columns/, /other columns than those that were named/],
  'goes on without columns': [/^names the columns/, /should have failed/],
  'takes away what is held': [/^takes nothing away/, /that the guard holds/],
  'facts stay the same': [/^looks at a source/, /the facts stay the same/],
  'facts always differ': [/^looks at a source/, /facts of two looks differ/],
  'a look of nothing breaks': [/^looks at a source/, /should throw a sourceFault/],
  'cuts characters': [/^reads every row of a large source/, /cut in two/],
  'breaks at damage': [/^reports a source that fails or changes/, /a new pull should throw a sourceFault/],
  'loses changes during a read': [/^gives each change/, /during a snapshot is never given/],
};

describe('a sound connector', () => {
  for (const { name, run } of checksWith(null)) it(name, run);
});

describe('a connector with a flaw', () => {
  it.each(Object.entries(FAILING))('a connector with a flaw fails its check: %s', async (flaw, [name, words]) => {
    const check = checksWith(flaw as Flaw).find((one) => name.test(one.name));
    await expect(check?.run()).rejects.toThrow(words);
  });

  it('a connector that may repeat rows repeats the last ones before its cursor, and no others', async () => {
    const check = (flaw: Flaw) => checksWith(flaw, { repeats: true }).find(({ name }) => name.startsWith('goes on'));
    expect(check('repeats at a cursor')?.name).toBe('goes on from each cursor without loss');
    await expect(check('repeats at a cursor')?.run()).resolves.toBeUndefined();
    for (const flaw of ['repeats other rows', 'loses a row at a cursor'] as const)
      await expect(check(flaw)?.run()).rejects.toThrow(/repeats other rows than those before it|gives the wrong rows/);
  });

  it('a connector with a flaw exists for every check', () => {
    const patterns = Object.values(FAILING).map(([name]) => name);
    const left = checksWith(null).filter(({ name }) => !patterns.some((pattern) => pattern.test(name)));
    expect(left.map(({ name }) => name)).toEqual([
      'gives pages within bounds, and progress that reaches its total: three lines',
    ]);
  });
});
