import type { JsonObject } from '../../../src/sdk/index.ts';
import type { ConnectorFixtures, Sample } from '../../../src/sdk/testing/index.ts';
import { type RestCall, type RestReply, startRestServer } from '../../support/rest/rest-server.ts';

const TOKEN = 'a-token-of-the-tests';
const SIZE = 500;
const LIMITS = { perSecond: 1_000, attempts: 1 };
const numbered = (from: number, count: number): JsonObject[] =>
  Array.from({ length: count }, (_, at) => ({
    id: from + at + 1,
    name: `A part with a name of some length ${from + at + 1}`,
  }));

const PAGED = {
  query: { limit: '{{size}}' },
  rows: '$.items',
  page: { by: 'cursor', cursor: '$.next', query: { after: '{{cursor}}' }, total: '$.total' },
};

/** A page of a list with the numbers up to `count`, with the token of the next page. */
function pageOf({ query }: RestCall, count: number): JsonObject & { items: JsonObject[] } {
  const after = Number(query.get('after') ?? 0);
  const items = numbered(after, Math.min(Number(query.get('limit')), count - after));
  // A full page always leads to another one, which may have no rows.
  const next = items.length === Number(query.get('limit')) ? String(after + items.length) : null;
  return { items, total: count, next };
}

const SAMPLES: Record<string, (call: RestCall) => RestReply> = {
  '/parts': (call) => ({ body: pageOf(call, 25) }),
  '/none': (call) => ({ body: pageOf(call, 0) }),
  '/odd': () => ({ text: '[{"id":1,"weight":12345678901234567890},{"id":2,"name":null},"no object"]' }),
  '/boms': () => ({ body: [{ id: 1 }, { id: 2 }] }),
  '/boms/1': () => ({ body: { lines: [{ line: 1 }, { line: 2 }] } }),
  '/boms/2': () => ({ status: 404, text: 'gone' }),
};

/** The server of the small sources. A request without the login is refused. */
export function startSamples() {
  return startRestServer((call) => {
    if (call.headers.authorization !== `Bearer ${TOKEN}`)
      return { status: 401, text: `not ${call.headers.authorization}` };
    return SAMPLES[call.path]?.(call) ?? { status: 404 };
  });
}

/** The fixtures with which the conformance kit checks the rest connector. @param base the address of the small sources */
export function restFixtures(base: string): ConnectorFixtures {
  const options = (at: string) => ({ base: at, auth: { by: 'bearer', token: TOKEN }, limits: LIMITS });
  const sample = (
    about: string,
    stream: JsonObject,
    more: Pick<Sample, 'rows' | 'withIssues'>,
    key = ['id'],
  ): Sample => ({
    about,
    options: options(base),
    stream,
    key,
    ...more,
  });
  const parts = { get: 'parts', ...PAGED, page: { ...PAGED.page, size: 10 } };
  const none = { by: 'none' };
  return {
    folder: '/nowhere',
    samples: [
      sample('several pages', parts, { rows: 25 }),
      sample('no rows', { ...parts, get: 'none' }, { rows: 0 }),
      sample('odd values', { get: 'odd', page: none }, { rows: 3, withIssues: 1 }),
      sample(
        'children, and a row whose children are gone',
        { get: 'boms', page: none, each: { get: 'boms/{{row.id}}', rows: '$.lines', into: 'lines' } },
        { rows: 2, withIssues: 1 },
      ),
      sample(
        'rows of children',
        { get: 'boms', page: none, each: { get: 'boms/{{row.id}}', rows: '$.lines', parent: { id: '$.id' } } },
        { rows: 3, withIssues: 1 },
        ['id', 'line'],
      ),
    ],
    refused: [
      { options: options('http://erp.example.com'), stream: parts },
      { options: options(base), stream: { get: 'parts' } },
      { options: options(base), stream: { get: 'parts?limit=10', page: none } },
      { options: options(base), stream: { ...parts, page: { by: 'cursor', cursor: '$.next' } } },
    ],
    unreachable: {
      options: options('https://no-such-host.invalid'),
      stream: parts,
      key: ['id'],
      names: 'https://no-such-host.invalid',
    },
    secrets: [TOKEN],
    async large(rows) {
      let given = 0;
      let damage: ((page: JsonObject & { items: JsonObject[] }) => RestReply) | null = null;
      const server = await startRestServer((call) => {
        const page = pageOf(call, rows);
        given += page.items.length;
        return damage?.(page) ?? { body: page };
      });
      return {
        options: options(server.base),
        stream: { get: 'parts', ...PAGED, page: { ...PAGED.page, size: SIZE } },
        key: ['id'],
        given: () => given,
        close: () => server.close(),
        damages: [
          { about: 'the connection is cut', now: async () => void (damage = () => ({ cut: true })) },
          { about: 'the server fails', now: async () => void (damage = () => ({ status: 500 })) },
          {
            about: 'the token is lost',
            now: async () => void (damage = (page) => ({ body: { ...page, next: null } })),
          },
          {
            about: 'the list is lost',
            now: async () => void (damage = (page) => ({ body: { ...page, items: null } })),
          },
          { about: 'the answers are no JSON', now: async () => void (damage = () => ({ text: '<html>' })) },
        ],
      };
    },
  };
}
