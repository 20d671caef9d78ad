import { describe, it } from 'node:test';
import { restChecks } from 'dpp-sync/sdk/testing';
import connector from './connector.ts';

/** A row as the documentation of the system shows it. `dpp-sync connector record` gives rows of the system itself. */
const article = (number: number) => ({
  id: `A-${number}`,
  name: `Article ${number}`,
  country: 'DE',
  changed: '2026-03-01T02:30:00Z',
});

const checks = restChecks(connector, {
  settings: (base) => ({
    options: { baseUrl: base, token: 'a-token-of-the-tests' },
    stream: { list: 'articles' },
    key: ['id'],
  }),
  // What the documentation says about the API. A server on this machine takes its place.
  api: {
    path: '/api/v1/articles',
    rows: '$.items',
    page: { by: 'offset', at: '$.query.offset', size: '$.query.limit' },
    order: '$.query.sort',
    total: '$.total',
    changes: { since: '$.query.changed_since' },
  },
  // At least three pages.
  records: Array.from({ length: 120 }, (_, at) => article(at + 1)),
});

// Most of the time they wait to send a request again.
describe('the connector', { concurrency: true }, () => {
  for (const { name, run } of checks) it(name, run);
});
