import { afterEach, describe, expect, it } from 'vitest';
import { rest } from '../../../../connectors/rest/index.ts';
import { idsOf, upTo } from '../../../support/rest/read-from.ts';
import { readRest } from '../../../support/rest/read-rest.ts';
import { type RestCall, type RestServer, startRestServer } from '../../../support/rest/rest-server.ts';

let server: RestServer | undefined;
afterEach(() => server?.close());

const ROWS = upTo(5).map((id) => ({ id, at: '2026-06-01T12:00:00Z' }));

/** Everything in one answer, and changes in pages of two rows. */
const STREAM = {
  get: 'items',
  rows: '$.items',
  page: { by: 'none' },
  changes: {
    by: '$.at',
    query: { since: '{{since}}' },
    page: { by: 'keyset', after: '$.id', size: 2, query: { after: '{{after}}' } },
  },
  reconcile: '7d',
};

/** @param cap the most rows that the server gives as changes */
async function readBoth(stream: object, cap?: number) {
  server = await startRestServer(({ query }: RestCall) => {
    const behind = ROWS.filter(({ id }) => id > Number(query.get('after') ?? 0));
    const headers = { date: 'Mon, 01 Jun 2026 12:00:00 GMT' };
    return { headers, body: { items: query.has('since') ? behind.slice(0, 2) : behind } };
  });
  const settings = { options: { base: server.base, limits: { perSecond: 1000 } }, stream };
  const whole = await readRest(rest, settings);
  expect(whole.error).toBeNull();
  expect(idsOf(whole.rows)).toEqual(upTo(5));
  // A complete read has another kind of pages here, which has no such limit.
  const capped = { ...settings, stream: { ...stream, ...(cap === undefined ? {} : { cap }) } };
  return await readRest(rest, capped, { mode: 'changes', cursor: whole.cursor ?? null });
}

describe('changes with pages of their own', () => {
  it('are read page by page, and the complete read is not', async () => {
    const changed = await readBoth(STREAM);
    expect(changed.error).toBeNull();
    expect(idsOf(changed.rows)).toEqual(upTo(5));
    expect(server?.calls.map(({ query }) => query.get('after'))).toEqual([null, null, '2', '4', '5']);
  });

  it('ask for a complete read if the server gives no more of them', async () => {
    const { error, pages } = await readBoth(STREAM, 4);
    expect(error).toBeNull();
    expect(pages.at(-1)?.beginAgain).toContain('items has more changes than the server gives for one request');
    expect(pages.at(-1)?.cursor).toBeUndefined();
  });
});

it.each([
  ['{{after}} without which pages would not go on', { by: 'keyset', after: '$.id', size: 2 }, ['changes', 'page']],
  [
    'a placeholder without a value',
    { by: 'cursor', cursor: '$.next', query: { c: '{{after}}' } },
    ['changes', 'page', 'query'],
  ],
])('pages of changes lack %s', (_, page, path) => {
  const stream = { ...STREAM, changes: { ...STREAM.changes, page } };
  const issues = rest.streamOptions.safeParse(stream).error?.issues ?? [];
  expect(issues.map((issue) => issue.path)).toContainEqual(path);
});
