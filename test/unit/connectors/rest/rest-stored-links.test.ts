// Delta links in the cursor, which the ledger stores: without values that the config gives, because they may be secrets.

import { describe, expect, it } from 'vitest';
import { rest } from '../../../../connectors/rest/index.ts';
import { sha256Url } from '../../../../src/lib/hash.ts';
import type { JsonValue } from '../../../../src/sdk/index.ts';
import { idsOf, withAnswers } from '../../../support/rest/read-from.ts';
import type { RestCall, RestReply } from '../../../support/rest/rest-server.ts';

const KEY = 'key of+the,shop/42';
const ITEMS = {
  get: 'items',
  query: { access_key: KEY, $top: '{{size}}' },
  rows: '$.items',
  page: { by: 'nextLink', next: '$.next', size: 100 },
  changes: { deltaLink: '$.delta' },
  reconcile: '7d',
};

/** What an older version has stored for the request of `ITEMS`. */
function requestOfOlder(base: string): string {
  const { get, query, rows } = rest.streamOptions.parse(ITEMS) as { get: string; query: object; rows: unknown };
  const changes = { deltaLink: ['delta'], blindTo: [] };
  const account = sha256Url(JSON.stringify([undefined, undefined, undefined, []]));
  return sha256Url(
    JSON.stringify([`${base}/`, account, get, undefined, query, undefined, undefined, rows, changes, undefined]),
  ).slice(0, 16);
}

/** A server that ends its first read with this delta link, relative to its address, and gives no changes. */
const withLink =
  (link: string) =>
  ({ query, base }: RestCall): RestReply => ({
    body: { items: query.has('t') ? [] : [{ id: 1 }], delta: `${base}${link}` },
  });

/** The cursor after a read of everything, and the address that the read of the changes asks for. */
async function storedAndAsked(link: string, more: object = {}) {
  return await withAnswers(withLink(link), async (read) => {
    const { cursor = null, error } = await read({ ...ITEMS, ...more });
    expect(error).toBeNull();
    // As it comes from a ledger.
    const stored = JSON.parse(JSON.stringify(cursor)) as JsonValue;
    const changes = await read({ ...ITEMS, ...more }, { mode: 'changes', cursor: stored });
    expect(changes.error).toBeNull();
    return { cursor: stored, asked: changes.calls.map(({ url }) => url), pages: changes.pages };
  });
}

it.each([
  ['as our requests do', encodeURIComponent(KEY)],
  ['as forms do', 'key+of%2Bthe%2Cshop%2F42'],
  ['with the fewest signs', 'key%20of%2Bthe,shop/42'],
  ['without any', 'key%20of+the,shop/42'],
])(
  'a parameter of `query` is in no cursor, and the link is used as the server has written it: %s',
  async (_, written) => {
    const link = `/items?t=a%2fb+c&access_key=${written}&sig=%7E~%27!`;
    const { cursor, asked } = await storedAndAsked(link);
    expect(JSON.stringify(cursor)).not.toContain('shop');
    expect(asked).toEqual([link]);
  },
);

it('a parameter of `query` in an encoding of its own is in no cursor either', async () => {
  const { cursor, asked } = await storedAndAsked('/items?t=1&access_key=%6Bey%20of%2bthe,shop/42');
  expect(JSON.stringify(cursor)).not.toContain('shop');
  expect(asked).toEqual([`/items?t=1&access_key=${encodeURIComponent(KEY)}`]);
});

it('values that the config has in `page` and with a size are in no cursor either', async () => {
  const link = '/items?access_key=first&t=1&mine=second-key&%24top=100';
  const page = { by: 'cursor', cursor: '$.next', size: 100, query: { c: '{{cursor}}', mine: 'second-key' } };
  const { cursor, asked } = await storedAndAsked(link, { page });
  expect(cursor).toMatchObject({ link: './items?access_key=first&t=1&mine&%24top', own: { 2: 'own', 3: 'own' } });
  expect(asked).toEqual([link]);
});

it('a parameter that the server has changed stays in the link, and so does one that the config does not have', async () => {
  const link = '/items?access_key=for-this-link&t=1&mine&empty&&other=';
  const { cursor, asked } = await storedAndAsked(link, { query: { ...ITEMS.query, empty: '' } });
  expect(cursor).toMatchObject({ link: `.${link}` });
  expect(asked).toEqual([link]);
});

it('the path of `base` is in no cursor, because it may have a secret', async () => {
  await withAnswers(
    ({ path, query, base }) => ({
      body: { items: query.has('t') ? [{ id: 2 }] : [], delta: `${base}${path}?t=1` },
    }),
    async (read) => {
      const [first] = (await read(ITEMS)).calls;
      const options = { base: `${first?.base}/hooks/secret-of-the-path` };
      const { cursor = null } = await read(ITEMS, { options });
      expect(cursor).toMatchObject({ link: './items?t=1' });
      const changes = await read(ITEMS, { options, mode: 'changes', cursor });
      expect(changes.calls.map(({ url }) => url)).toEqual(['/hooks/secret-of-the-path/items?t=1']);
      expect(idsOf(changes.rows)).toEqual([2]);
    },
  );
});

it.each([
  ['another key is sent with the link', { access_key: 'renewed', part: 'a' }, ['/items?t=1&access_key=renewed&part=a']],
  ['another parameter means that everything is read', { access_key: 'first', part: 'b' }, []],
])('%s', async (_name, query, asked) => {
  await withAnswers(withLink('/items?t=1&access_key=first&part=a'), async (read) => {
    const { cursor = null } = await read({ ...ITEMS, query: { access_key: 'first', part: 'a' } });
    const { pages, calls } = await read({ ...ITEMS, query }, { mode: 'changes', cursor });
    expect(calls.map(({ url }) => url)).toEqual(asked);
    expect(pages.some(({ beginAgain }) => beginAgain !== undefined)).toBe(asked.length === 0);
  });
});

it('the cursor of an older version, with the whole link and the digest of all parameters, is read', async () => {
  await withAnswers(withLink('/items?t=1&access_key=first'), async (read) => {
    const { calls } = await read(ITEMS);
    const link = `${calls[0]?.base}/items?t=1&access_key=${encodeURIComponent(KEY)}`;
    const older = { request: requestOfOlder(calls[0]?.base ?? ''), link };
    const changes = await read(ITEMS, { mode: 'changes', cursor: older });
    expect(changes.calls.map(({ url }) => url)).toEqual([`/items?t=1&access_key=${encodeURIComponent(KEY)}`]);
  });
});

it('until the last page of a read of changes the cursor stays as it was stored', async () => {
  const many = Array.from({ length: 1_200 }, (_, at) => ({ id: at }));
  const { cursor, pages } = await withAnswers(
    ({ query, base }) => ({
      body: {
        items: query.has('t') ? many : [],
        delta: `${base}/items?t=1&access_key=${encodeURIComponent(KEY)}`,
      },
    }),
    async (read) => {
      const page = { by: 'nextLink', next: '$.next' };
      const query = { access_key: KEY };
      const all = await read({ ...ITEMS, page, query });
      const changes = await read({ ...ITEMS, page, query }, { mode: 'changes', cursor: all.cursor ?? null });
      return { cursor: all.cursor, pages: changes.pages };
    },
  );
  expect(pages.length).toBeGreaterThan(2);
  for (const page of pages) expect(page.cursor).toEqual(cursor);
});

it('a link whose parameter the config no longer has is not used, and everything is read', async () => {
  const page = { by: 'cursor', cursor: '$.next', size: 100, query: { c: '{{cursor}}', mine: 'second-key' } };
  await withAnswers(withLink('/items?t=1&mine=second-key'), async (read) => {
    const { cursor = null } = await read({ ...ITEMS, page });
    const without = { ...ITEMS, page: { ...page, query: { c: '{{cursor}}' } } };
    const { pages, calls } = await read(without, { mode: 'changes', cursor });
    expect(pages).toEqual([{ rows: [], beginAgain: 'The request of items has changed since its last read.' }]);
    expect(calls).toEqual([]);
  });
});

describe('a secret that the server repeats under another name or within a value', () => {
  const AUTH = 'key-of the+login/7';
  const written = (secret: string, times: number): string =>
    times === 0 ? secret : written(encodeURIComponent(secret), times - 1);
  const PLACES: [string, string][] = [
    ['under another name', `/items?t=1&k=${written(AUTH, 1)}`],
    ['with a prefix', `/items?t=1&k=Bearer%20${written(AUTH, 1)}`],
    ['under a name in another case', `/items?t=1&ApiKey=${written(AUTH, 1)}`],
    ['as a form writes it', '/items?t=1&k=key-of+the%2Blogin%2F7'],
    ['within an address in a parameter', `/items?%24deltatoken=u%3D${written(`http://a/b?c=${AUTH}`, 2)}`],
    ['within an address in an address', `/items?t=${written(`/x?y=${written(AUTH, 2)}`, 1)}`],
    ['in its path', `/items/${written(AUTH, 1)}?t=1`],
    ['of a parameter of the request', `/items?t=1&again=${written(KEY, 1)}`],
    ['of a header', `/items?t=1&again=${written('key-of-the-header', 1)}`],
    ['of the config', '/items?t=1&again=value-from-the-environment'],
  ];

  it.each(PLACES)('is in no cursor, and the next read is complete: %s', async (_, link) => {
    await withAnswers(withLink(link), async (read) => {
      const [first] = (await read(ITEMS)).calls;
      const auth = { by: 'apiKey', query: 'apikey', key: AUTH };
      const headers = { 'X-Api-Key': 'key-of-the-header', Accept: 'application/json' };
      const hasSecret = (text: string) => text.includes('value-from-the-environment');
      const options = { base: first?.base, auth, headers };
      const { pages, rows, cursor, warnings, error } = await read(ITEMS, { options, hasSecret });
      expect(error).toBeNull();
      expect(idsOf(rows)).toEqual([1]);
      expect(cursor).toBeUndefined();
      expect(warnings).toEqual([
        'The delta link of items has a secret of the source in it, so it is not stored, and the next read is complete. Send the secret in a header (`auth` of the source), or replace `changes` of the stream by a filter on the time of the last change.',
      ]);
      expect(JSON.stringify(pages)).not.toMatch(/key-of|of\+the|environment/);
    });
  });

  it('ends a read of changes, whose position stays, with a complete one', async () => {
    const answer = ({ query, base }: RestCall): RestReply => ({
      body: { items: [], delta: `${base}/items?t=2${query.has('t') ? `&again=${encodeURIComponent(KEY)}` : ''}` },
    });
    await withAnswers(answer, async (read) => {
      const { cursor = null } = await read(ITEMS);
      const { pages } = await read(ITEMS, { mode: 'changes', cursor });
      expect(pages).toEqual([
        { rows: [], beginAgain: expect.stringContaining('The delta link of items has a secret of the source in it') },
      ]);
    });
  });
});
