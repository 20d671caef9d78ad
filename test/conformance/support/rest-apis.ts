import type { JsonObject } from '../../../src/sdk/index.ts';
import type { RestApi, RestFixtures } from '../../../src/sdk/testing/index.ts';

const ROWS = Array.from({ length: 35 }, (_, at) => ({ id: at + 1, name: `Part ${at + 1}`, hasHoles: at % 2 === 0 }));
const SIZE = 10;
const LIMITS = { perSecond: 1_000, attempts: 2 };

/** An API with the stream that reads it. */
function apiWith(
  api: Omit<RestApi, 'path' | 'rows'> & { rows?: string },
  stream: JsonObject,
  options: (base: string) => JsonObject = () => ({}),
): RestFixtures {
  const list = { get: 'items', ...(api.page.by === 'graphql' || api.page.by === 'bulkJob' ? {} : { rows: '$.items' }) };
  return {
    settings: (base) => ({
      options: { base: `${base}/api`, limits: LIMITS, ...options(base) },
      stream: { ...list, ...stream },
      key: ['id'],
    }),
    api: { path: '/api/items', rows: '$.items', ...api },
    records: ROWS,
  };
}

const SINCE = {
  changes: { by: '$.updated', query: { since: '{{since}}' } },
  reconcile: '7d',
};
const OFFSET = { offset: '{{offset}}', limit: '{{size}}' };
const PAGE = { page: '{{page}}', limit: '{{size}}' };
const LIMIT = { limit: '{{size}}' };

/** An API for each kind of paging, with what proves its end. */
export const APIS: Record<string, RestFixtures> = {
  none: apiWith({ page: { by: 'none', size: 40 } }, { page: { by: 'none', size: 40 } }),
  'nextLink and size': apiWith(
    { page: { by: 'nextLink', next: '$.next', size: '$.query.limit' } },
    { query: LIMIT, page: { by: 'nextLink', next: '$.next', size: SIZE } },
  ),
  'nextLink of positions and total': apiWith(
    {
      page: { by: 'nextLink', next: '$["@odata.nextLink"]', size: SIZE, tokens: 'positions' },
      total: '$["@odata.count"]',
    },
    { page: { by: 'nextLink', next: '$["@odata.nextLink"]', countsRows: true, total: '$["@odata.count"]' } },
  ),
  'nextLink and delta link': apiWith(
    {
      page: { by: 'nextLink', next: '$["@odata.nextLink"]', size: SIZE },
      total: '$["@odata.count"]',
      changes: {
        deltaLink: '$["@odata.deltaLink"]',
        gone: ({ id }) => ({ '@removed': { reason: 'deleted' }, id: id ?? null }),
      },
    },
    {
      page: { by: 'nextLink', next: '$["@odata.nextLink"]', total: '$["@odata.count"]' },
      changes: { deltaLink: '$["@odata.deltaLink"]', gone: { at: '$["@removed"]', key: { id: '$.id' } } },
    },
  ),
  header: apiWith(
    { page: { by: 'header', size: SIZE }, total: { header: 'X-Total' } },
    { page: { by: 'header', total: { header: 'X-Total' } } },
  ),
  'cursor and null': apiWith(
    { page: { by: 'cursor', at: '$.query.cursor', next: '$.next', size: '$.query.limit' }, restarts: true },
    {
      query: LIMIT,
      page: { by: 'cursor', cursor: '$.next', size: SIZE, query: { cursor: '{{cursor}}' } },
      onError: 'restart',
    },
  ),
  'cursor and flag': apiWith(
    { page: { by: 'cursor', at: '$.query.cursor', next: '$.next', more: '$.hasMore', size: SIZE }, cap: 40 },
    {
      page: { by: 'cursor', cursor: '$.next', end: 'flag', more: '$.hasMore', query: { cursor: '{{cursor}}' } },
      cap: 40,
    },
  ),
  keyset: apiWith(
    {
      page: { by: 'keyset', at: '$.query.after', after: '$.id', size: '$.query.limit' },
      changes: { since: '$.query.since' },
    },
    { query: LIMIT, page: { by: 'keyset', after: '$.id', size: SIZE, query: { after: '{{after}}' } }, ...SINCE },
  ),
  offset: apiWith(
    { page: { by: 'offset', at: '$.query.offset', size: '$.query.limit' }, changes: { since: '$.query.since' } },
    { query: OFFSET, page: { by: 'offset', size: SIZE }, ...SINCE },
  ),
  'offset and total': apiWith(
    { page: { by: 'offset', at: '$.query.offset', size: '$.query.limit' }, total: '$.total', cap: 40 },
    { query: OFFSET, page: { by: 'offset', size: SIZE, end: 'total', total: '$.total' }, cap: 40 },
  ),
  page: apiWith(
    { page: { by: 'page', at: '$.query.page', size: '$.query.limit' }, total: '$.total' },
    { query: PAGE, page: { by: 'page', size: SIZE, total: '$.total' } },
  ),
  'page and flag, with a login': apiWith(
    {
      page: { by: 'page', at: '$.query.page', more: '$.more', size: '$.query.limit' },
      total: '$.total',
      login: { path: '/token', answer: (token) => ({ access_token: token, expires_in: 3600 }) },
    },
    { query: PAGE, page: { by: 'page', size: SIZE, end: 'flag', more: '$.more', total: '$.total' } },
    (base) => ({
      auth: {
        by: 'oauth2',
        grant: 'client_credentials',
        tokenUrl: `${base}/token`,
        clientId: 'kit',
        clientSecret: 'a-secret-of-the-kit',
      },
    }),
  ),
  graphql: apiWith(
    { rows: '$', page: { by: 'graphql', at: '$.body.variables.after', connection: '$.data.items', size: SIZE } },
    { body: { query: '{ items { nodes { id name } } }' }, page: { by: 'graphql', connection: '$.data.items' } },
  ),
  bulkJob: apiWith(
    {
      page: {
        by: 'bulkJob',
        status: '/api/jobs',
        job: '$.id',
        state: '$.state',
        done: 'COMPLETED',
        result: '$.url',
        count: '$.lines',
      },
    },
    {
      method: 'POST',
      page: {
        by: 'bulkJob',
        status: { get: 'jobs/{{job}}' },
        job: '$.id',
        state: '$.state',
        done: ['COMPLETED'],
        running: ['RUNNING'],
        result: '$.url',
        count: '$.lines',
        poll: '1s',
      },
    },
  ),
};
