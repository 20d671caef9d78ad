// How much of a stream was read, as the pages of a read say it.

import { expect, it } from 'vitest';
import type { Page } from '../../../../src/sdk/index.ts';
import { readFrom, upTo } from '../../../support/rest/read-from.ts';

const ROWS = upTo(1_200).map((id) => ({ id }));

/** The progress of each page of a read, from a server that gives 400 rows on each page. */
async function progressOf(page: object): Promise<Page['progress'][]> {
  const { pages, error } = await readFrom(
    ({ query }) => {
      const from = Number(query.get('c') ?? 0);
      const next = from + 400 < ROWS.length ? from + 400 : null;
      return { body: { items: ROWS.slice(from, from + 400), next, total: ROWS.length } };
    },
    { get: 'items', rows: '$.items', page: { by: 'cursor', cursor: '$.next', query: { c: '{{cursor}}' }, ...page } },
  );
  expect(error).toBeNull();
  return pages.map(({ progress }) => progress);
}

it('pages say how many of all rows were read, if the server states how many there are', async () => {
  expect(await progressOf({ total: '$.total' })).toEqual([
    { done: 800, total: 1_200 },
    { done: 1_200, total: 1_200 },
    { done: 1_200, total: 1_200 },
  ]);
});

it('pages say nothing if the number of all rows is not known', async () => {
  expect(await progressOf({})).toEqual([undefined, undefined, undefined]);
});
