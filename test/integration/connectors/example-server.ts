import { type RestCall, type RestReply, startRestServer } from '../../support/rest/rest-server.ts';

const TOKEN = 'a-token-of-the-example';
const PRODUCTS = [
  { id: 1, sku: 'A-100', name: 'Pump', ean: '4006381333931', updated_at: '2026-01-01T08:00:00Z' },
  { id: 2, sku: 'A-200', name: 'Seal', ean: null, updated_at: '2026-01-02T08:00:00Z' },
];
const PARTS: Record<string, object[]> = { 1: [{ position: 10, component: 2, quantity: 2.5 }], 2: [] };

/** The API in the example of docs/connectors/rest.md. */
export async function startExampleApi() {
  const server = await startRestServer(answer);
  return { ...server, options: { base: `${server.base}/api/v1`, auth: { by: 'bearer', token: TOKEN } } };
}

function answer({ path, query, headers }: RestCall): RestReply {
  if (headers.authorization !== `Bearer ${TOKEN}`) return { status: 401 };
  const [, id] = /^\/api\/v1\/products\/(\d+)\/parts$/.exec(path) ?? [];
  if (id !== undefined) return { body: { parts: PARTS[id] ?? [] } };
  if (path !== '/api/v1/products' || query.get('sort') !== 'id') return { status: 404 };
  const since = query.get('updated_since') ?? '';
  const found = PRODUCTS.filter((one) => one.updated_at >= since);
  const offset = Number(query.get('offset'));
  return { body: { total: found.length, items: found.slice(offset, offset + Number(query.get('limit'))) } };
}
