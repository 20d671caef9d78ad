import type { JsonObject, JsonValue } from '../../../../src/sdk/index.ts';
import { text } from '../../../support/ledger/items.ts';
import { type RestCall, type RestReply, startRestServer } from '../../../support/rest/rest-server.ts';

/** A record of Odoo. A many2one is an id, an empty value is false, and `write_date` is a text in UTC, as in the database. */
export type OdooRecord = JsonObject & { id: number };

type Condition = [field: string, operator: string, value: JsonValue];

interface SearchRead {
  domain?: Condition[];
  fields?: string[];
  order?: string;
  limit?: number;
  load?: string;
  context?: { active_test?: boolean };
}

const KEY = 'odoo-api-key-0001';
const DATABASE = 'acme';
const USER_ID = 7;
const MANY2ONE: Record<string, string> = {
  product_tmpl_id: 'product.template',
  product_id: 'product.product',
  bom_id: 'mrp.bom',
  product_uom_id: 'uom.uom',
  attribute_line_id: 'product.template.attribute.line',
};

/** Odoo's JSON-2 API and its older JSON-RPC, as documentation and code describe `search_read`. */
export async function startOdoo() {
  const odoo = {
    models: {} as Record<string, OdooRecord[]>,
    /** The time of the server. */
    now: Date.UTC(2026, 5, 1, 12),
  };

  const nameOf = (model: string, id: JsonValue): string =>
    text(odoo.models[model]?.find((one) => one.id === id)?.['name']) || `${model},${JSON.stringify(id)}`;

  function searchRead(model: string, { domain = [], fields = [], order = '', ...more }: SearchRead): JsonValue {
    const { limit = Number.POSITIVE_INFINITY, load = '_classic_read', context = {} } = more;
    const passes = (record: OdooRecord): boolean =>
      domain.every(([field, operator, value]) => {
        const own = record[field] ?? false;
        if (operator === '>') return Number(own) > Number(value);
        if (operator === '>=') return text(own) >= text(value);
        throw new Error(`The server of the test has no operator ${operator}.`);
      });
    // Without an order, the rows come as the model sorts them: here in the other direction.
    const found = (odoo.models[model] ?? [])
      .filter((record) => context.active_test === false || record['active'] !== false)
      .filter(passes)
      .toSorted((a, b) => (order === 'id' ? a.id - b.id : b.id - a.id))
      .slice(0, limit);
    const printed = (record: OdooRecord, field: string): JsonValue => {
      const value = record[field] ?? false;
      const target = MANY2ONE[field];
      return target === undefined || value === false || load === '' ? value : [value, nameOf(target, value)];
    };
    return found.map((record) => Object.fromEntries(fields.map((field) => [field, printed(record, field)])));
  }

  function json2({ path, body, headers }: RestCall): RestReply {
    if (headers.authorization !== `Bearer ${KEY}`) {
      return { status: 401, body: { name: 'werkzeug.exceptions.Unauthorized', message: 'Invalid apikey' } };
    }
    const [, model = '', method] = /^\/json\/2\/([\w.]+)\/(\w+)$/.exec(path) ?? [];
    if (method !== 'search_read') return { status: 404, body: { name: 'werkzeug.exceptions.NotFound' } };
    return { body: searchRead(model, body as SearchRead) };
  }

  function rpc({ body }: RestCall): RestReply {
    const { params } = body as { params: { service: string; method: string; args: JsonValue[] } };
    const [database, user, key, model, method, , options] = params.args;
    const isKnown = database === DATABASE && Number(user) === USER_ID && key === KEY;
    if (!isKnown || params.service !== 'object' || params.method !== 'execute_kw' || method !== 'search_read') {
      const debug = `Traceback: in check(${JSON.stringify(database)}, ${JSON.stringify(key)})`;
      const data = { name: 'odoo.exceptions.AccessDenied', debug, message: 'Access Denied' };
      return { body: { jsonrpc: '2.0', id: null, error: { code: 200, message: 'Odoo Server Error', data } } };
    }
    return { body: { jsonrpc: '2.0', id: null, result: searchRead(text(model), options as SearchRead) } };
  }

  const server = await startRestServer((call) => {
    const headers = { date: new Date(odoo.now).toUTCString() };
    return { headers, ...(call.path === '/jsonrpc' ? rpc(call) : json2(call)) };
  });
  return Object.assign(odoo, { server, close: () => server.close() });
}

export type Odoo = Awaited<ReturnType<typeof startOdoo>>;

/** The values of the variables of the presets. */
export function odooEnv({ server }: Odoo): Record<string, string> {
  return { ODOO_URL: server.base, ODOO_KEY: KEY, ODOO_DATABASE: DATABASE, ODOO_USER_ID: String(USER_ID) };
}
