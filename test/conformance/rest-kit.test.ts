// The checks of REST connectors: the rest connector passes all of them with each kind of paging, and for each check there is a
// connector that fails it.

import { describe, expect, it } from 'vitest';
import { rest } from '../../connectors/rest/index.ts';
import { type RestFixtures, restChecks, restChecksLeftOut } from '../../src/sdk/testing/index.ts';
import { flawedFixtures, flawedRest } from './support/flawed-rest/connector.ts';
import type { RestFlaw, RestKind } from './support/flawed-rest/flaws.ts';
import { APIS } from './support/rest-apis.ts';

// Most of the time they wait to send a request again.
describe('the rest connector', { concurrent: true }, () => {
  describe.each(Object.entries(APIS))('the rest connector with %s', (_, fixtures) => {
    for (const { name, run } of restChecks(rest, fixtures)) it(name, run);
  });
});

const KINDS: RestKind[] = ['none', 'delta', 'cursor', 'page', 'keyset', 'bulk'];
const checksOf = (kind: RestKind, flaw: RestFlaw | null) => restChecks(flawedRest(kind, flaw), flawedFixtures(kind));

describe.each(KINDS)('a sound reader of another author with %s', (kind) => {
  for (const { name, run } of checksOf(kind, null)) it(name, run);
});

/** Which checks a flaw fails, and with which kind of paging. */
const FAILING: Record<RestFlaw, [kind: RestKind, ...checks: RegExp[]]> = {
  'shows its token': ['none', /^marks its secrets/],
  'reads one page': ['delta', /^gives each row once$/],
  'stops at a short page': [
    'delta',
    /^gives .*: a page in the middle is short/,
    /^the changes: .*: a page in the middle is short/,
  ],
  'stops at an empty page': ['cursor', /: a page in the middle has no rows/],
  'compares no numbers': [
    'page',
    /: rows in the middle are hidden/,
    /: a row that was read disappears$/,
    /: a row that was read disappears, and/,
    /: a row that was read moves/,
  ],
  'trusts the number of rows': ['page', /too low/, /the first two pages/, /is that of the page/],
  'takes an absent number for none': ['page', /all rows is null/, /all rows is absent/],
  'ignores a page that repeats': ['page', /: a page comes again in place/, /: the page beyond the end/],
  'a limit of pages is the end': ['page', /^reads a list of many pages/],
  'gives a row twice': ['page', /: a row appears before/, /: a row that was read moves/],
  'a lost link is the end': [
    'delta',
    /^fails: the way to the next page/,
    /^the changes: fails: the way to the next page/,
  ],
  'an absent flag is false': ['cursor', /: the flag of the last page is lost/],
  'the cap is the end': ['cursor', /: the server ends at its cap/],
  'a token that is 0 or empty ends': ['cursor', /: tokens are 0 and empty/],
  'repeats a request that cannot be repeated': ['cursor', /: a request that has failed cannot/],
  'gives up at 429': ['delta', /^gives each .*: .* 429 and Retry-After/, /429 and without/, /^the changes: .*429/],
  'a failure is an empty page': ['delta', /: .* once with 500/, /^fails: .* 503 each time/, /^the changes: .*503/],
  'a cut answer is an empty page': [
    'delta',
    /: the connection is cut once/,
    /^fails: the connection/,
    /^the changes: .*cut/,
  ],
  'does not log in again': [
    'delta',
    /^gives each row once: a token of the login/,
    /^the changes: .*a token of the login/,
  ],
  'a refused login is the end': ['delta', /: the login is refused/],
  'HTML is an empty page': ['delta', /^fails: a page is HTML/, /^the changes: .*HTML/],
  'what is not found is empty': ['delta', /^fails: the list is not found/],
  'null is an empty list': ['delta', /^fails: the list of an answer is null/, /^the changes: .*is null/],
  'parses with JSON.parse': ['delta', /: an integer is beyond/],
  'ignores a link': ['none', /: an answer of a list without pages/],
  'a full answer is complete': ['none', /: an answer has all rows/],
  'a failed job has no rows': ['bulk', /: the job fails/],
  'does not count lines': ['bulk', /: the file of the job lacks/],
  'asks by its own clock': ['keyset', /^the changes have each row/],
  'asks from the end of the last read': ['keyset', /^the changes have a row that has changed while/],
  'asks from the beginning of the last read': ['keyset', /^the changes have a row that has changed before/],
  'changes have one page': ['keyset', /^the changes have each row/],
  'goes on after changes by its own clock': ['keyset', /^a later read of changes/],
  'leaves out tombstones': ['delta', /^the changes say that a record is gone/],
  'a forgotten link is nothing new': ['delta', /any more \(410\)/, /any more \(404\)/],
  'a lost delta link is nothing new': ['delta', /^a snapshot without a delta link/, /^changes whose last page/],
};

describe('a reader with a flaw', () => {
  const cases = Object.entries(FAILING).flatMap(([flaw, [kind, ...names]]) =>
    names.map((name) => [flaw as RestFlaw, name, kind] as const),
  );
  it.each(cases)('a reader with a flaw fails its check: %s, %s', async (flaw, name, kind) => {
    const found = checksOf(kind, flaw).filter((one) => name.test(one.name));
    expect(found.map((one) => one.name)).toHaveLength(1);
    await expect(found[0]?.run()).rejects.toThrow();
  });

  it('a reader with a flaw exists for every check', () => {
    const names = new Set(KINDS.flatMap((kind) => checksOf(kind, null).map((one) => one.name)));
    const left = [...names].filter((name) => !cases.some(([, pattern]) => pattern.test(name)));
    expect(left).toEqual([]);
  });
});

describe('the checks of REST connectors', () => {
  it('each check that a kind of paging does not have is left out with a reason', () => {
    const leftOut = Object.fromEntries(
      Object.entries(APIS).map(([kind, fixtures]) => [
        kind,
        restChecksLeftOut(fixtures).map(({ title, reason }) => `${title}: ${reason}`),
      ]),
    );
    expect(leftOut).toMatchSnapshot();
  });

  it('a stream with links and neither a size nor a total fails the check of the lost link, which names both', async () => {
    const fixtures = APIS['nextLink and size'];
    if (fixtures === undefined) throw new Error('The fixtures are gone.');
    const bare: RestFixtures = {
      ...fixtures,
      settings: (base) => {
        const settings = fixtures.settings(base);
        return {
          ...settings,
          stream: { ...settings.stream, query: { limit: 10 }, page: { by: 'nextLink', next: '$.next' } },
        };
      },
    };
    const check = restChecks(rest, bare).find(({ name }) => name.includes('the way to the next page is lost'));
    await expect(check?.run()).rejects.toThrow(/ends as complete, with 20 rows in place of 35\. .*`size` or `total`/);
  });
});
