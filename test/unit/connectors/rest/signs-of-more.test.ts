// Signs of further pages at places that no option names: each of them stops a read that would miss rows.

import { describe, expect, it } from 'vitest';
import { SIGNS_OF_MORE, signInRow, signOfMore } from '../../../../src/sdk/rest/signs-of-more.ts';
import { idsOf, readFrom } from '../../../support/rest/read-from.ts';

const ROWS = [{ id: 1 }, { id: 2 }];
const NONE = { get: 'items', rows: '$.items', page: { by: 'none' } };

/** For each kind of sign a value of a member or a header that shows more rows than these two, and one that does not. */
const VALUES: Record<keyof typeof SIGNS_OF_MORE, { more: unknown; whole: unknown }> = {
  next: { more: 'abc', whole: null },
  more: { more: true, whole: false },
  moreBesideRows: { more: true, whole: false },
  last: { more: false, whole: true },
  total: { more: 3, whole: 2 },
  pages: { more: 2, whole: 1 },
  nextHeader: { more: '2', whole: '' },
  totalHeader: { more: '3', whole: '2' },
  pagesHeader: { more: '2', whole: '1' },
};
const SIGNS = Object.entries(SIGNS_OF_MORE).flatMap(([kind, names]) =>
  names.map((name) => ({ kind, name, ...VALUES[kind as keyof typeof VALUES] })),
);
const answerWith = ({ kind, name }: { kind: string; name: string }, value: unknown) =>
  kind.endsWith('Header')
    ? { headers: { [name]: String(value) }, body: { items: ROWS } }
    : { body: { items: ROWS, [name]: value } };

describe.each(SIGNS)('$name ($kind)', (sign) => {
  it('stops the read of one page if it shows more rows', async () => {
    const { error } = await readFrom(() => answerWith(sign, sign.more), NONE);
    expect(error?.message).toContain('does not show whether it is the last one');
    expect(error?.message.toLowerCase()).toContain(sign.name);
  });

  it('is no fault if it shows that the answer is whole', async () => {
    const { error, rows } = await readFrom(() => answerWith(sign, sign.whole), NONE);
    expect([error, idsOf(rows)]).toEqual([null, [1, 2]]);
  });
});

it.each([
  ['isLastPage', { isLastPage: false }, '$.isLastPage: false'],
  ['@nextLink', { '@nextLink': 'x' }, '`@nextLink`'],
  ['odata.nextLink', { 'odata.nextLink': 'x' }, '`odata.nextLink`'],
  ['next_page_token', { paging: { next_page_token: 'abc' } }, '$.paging.next_page_token: "abc"'],
  ['the cursor of Slack', { response_metadata: { next_cursor: 'abc' } }, '$.response_metadata.next_cursor: "abc"'],
  ['the pages of Strapi', { meta: { pagination: { pageCount: 2 } } }, '$.meta.pagination.pageCount: 2'],
  ['the total of Cloudflare', { result_info: { total_count: 25 } }, '$.result_info.total_count: 25'],
  ['the address of Salesforce', { done: false, nextRecordsUrl: '/q' }, '`nextRecordsUrl`'],
])('names the place of %s', async (_, members, place) => {
  const { error } = await readFrom(() => ({ body: { items: ROWS, ...members } }), NONE);
  expect(error?.message).toContain(place);
});

it.each([
  [206, 'items 0-1/25', true],
  [206, 'items 0-1/*', true],
  [206, '', true],
  [200, '0-1/3', true],
  [206, 'items 0-1/2', false],
  [200, '0-1/*', false],
])('status %s with the range "%s" is a part of the list: %s', async (status, range, isPart) => {
  const headers = range === '' ? {} : { 'content-range': range };
  const { error } = await readFrom(() => ({ status, headers, body: { items: ROWS } }), NONE);
  expect(error !== null).toBe(isPart);
});

it('an address or a flag stops pages that lead to each other as well, and a number does not', () => {
  const signOf = (members: object) => {
    const answer = { document: { items: [], ...members }, headers: {}, status: 206 };
    return signOfMore(answer, ['items'], { count: 0, counts: false });
  };
  expect(signOf({ meta: { nextPageToken: 'abc' } })).toBe('$.meta.nextPageToken: "abc"');
  expect(signOf({ isLastPage: false })).toBe('$.isLastPage: false');
  expect(signOf({ total: 25, pages: 3 })).toBeNull();
});

it('members of a row that have other meanings are no signs for a list within it', () => {
  const row = { lines: [], next: 'B-12', last: false, more: true, truncated: true, total: 99 };
  expect(signInRow(row, ['lines'])).toBeNull();
  expect(signInRow({ ...row, hasMore: true }, ['lines'])).toBe('$.hasMore: true');
});
