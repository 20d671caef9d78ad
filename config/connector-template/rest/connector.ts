import { defineRestConnector, secret, z } from 'dpp-sync/sdk';

/** Reads the articles of a system that gives its lists in pages: `{"total": 2, "items": [{"id": "A-100", "name": "Pump", …}]}`. */
export default defineRestConnector({
  id: '{{id}}',
  title: 'Articles over REST',
  options: z.strictObject({
    baseUrl: z.url().describe('The address of the system, such as `https://erp.example.com`.'),
    token: secret().describe('The token of a user who may read.'),
  }),
  streamOptions: z.strictObject({
    list: z.enum(['articles']).describe('The list that is read: `articles`.'),
  }),
  source: ({ baseUrl, token }) => ({
    base: new URL('/api/v1', baseUrl).href,
    auth: { by: 'bearer', token },
    limits: { perSecond: 100, attempts: 3 },
  }),
  stream: ({ list }) => ({
    get: list,
    query: { limit: '{{size}}', offset: '{{offset}}', sort: 'id' },
    rows: '$.items',
    page: { by: 'offset', size: 50, total: '$.total' },
    changes: { by: '$.changed', query: { changed_since: '{{since}}' }, blindTo: ['articles that were deleted'] },
    reconcile: '7d',
  }),
});
