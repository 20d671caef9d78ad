import type { JsonObject, JsonValue } from '../../../../src/sdk/index.ts';
import { text } from '../../../support/ledger/items.ts';
import { type RestCall, type RestReply, startRestServer } from '../../../support/rest/rest-server.ts';

/** A document of Frappe. Its times are texts on the wall clock of the site. */
export type FrappeDoc = JsonObject & { name: string; creation: string; modified: string };

const TOKEN = 'token key-0001:secret-0001';
/** A list without `limit_page_length` has so many documents. */
const PAGE_LENGTH = 20;

/** The REST API of Frappe as its documentation and its code describe it: lists with fields, filters and an order, and whole documents. */
export async function startErpnext({ offsetHours }: { offsetHours: number }) {
  const site = {
    docs: { Item: [], BOM: [] } as Record<string, FrappeDoc[]>,
    /** The time of the server. */
    now: Date.UTC(2026, 5, 1, 12),
    /** A time on the wall clock of the site, as the database stores it. */
    wallClock: (at: number): string => {
      return new Date(at + offsetHours * 3_600_000).toISOString().replace('T', ' ').replace('Z', '000');
    },
  };

  function list({ query }: RestCall, docs: readonly FrappeDoc[]): RestReply {
    const fields = JSON.parse(query.get('fields') ?? '["name"]') as string[];
    const filters = JSON.parse(query.get('filters') ?? '[]') as [string, string, JsonValue][];
    const order = (query.get('order_by') ?? 'modified desc').split(', ').map((one) => one.split(' '));
    const start = Number(query.get('limit_start') ?? 0);
    const length = Number(query.get('limit_page_length') ?? PAGE_LENGTH);
    if (fields.includes('items')) return { status: 500, body: { exc_type: 'OperationalError' } };
    const passes = (doc: FrappeDoc): boolean =>
      filters.every(([field, operator, value]) =>
        operator === '=' ? doc[field] === value : text(doc[field]) >= text(value),
      );
    const compare = (a: FrappeDoc, b: FrappeDoc): number => {
      for (const [field = '', direction] of order) {
        const [first, second] = [text(a[field]), text(b[field])];
        if (first !== second) return first < second === (direction === 'asc') ? -1 : 1;
      }
      return 0;
    };
    const found = docs
      .filter(passes)
      .toSorted(compare)
      .slice(start, start + length);
    const data = found.map((doc) => Object.fromEntries(fields.map((field) => [field, doc[field] ?? null])));
    return { body: { data } };
  }

  const server = await startRestServer((call) => {
    const headers = { date: new Date(site.now).toUTCString() };
    if (call.headers.authorization !== TOKEN) {
      return { headers, status: 401, body: { exc_type: 'AuthenticationError' } };
    }
    const [, doctype = '', name] = /^\/api\/resource\/(\w+)(?:\/(.+))?$/.exec(call.path) ?? [];
    const docs = site.docs[doctype];
    if (docs === undefined) return { headers, status: 404, body: { exc_type: 'DoesNotExistError' } };
    if (name === undefined) return { headers, ...list(call, docs) };
    const doc = docs.find((one) => one.name === name);
    return doc === undefined
      ? { headers, status: 404, body: { exc_type: 'DoesNotExistError' } }
      : { headers, body: { data: doc } };
  });
  return Object.assign(site, { server, close: () => server.close() });
}

export type Erpnext = Awaited<ReturnType<typeof startErpnext>>;

/** The values of the variables of the preset. */
export function erpnextEnv({ server }: Erpnext): Record<string, string> {
  return { ERPNEXT_URL: server.base, ERPNEXT_KEY: 'key-0001', ERPNEXT_SECRET: 'secret-0001' };
}
