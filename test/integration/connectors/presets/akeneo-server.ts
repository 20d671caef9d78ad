import type { JsonObject } from '../../../../src/sdk/index.ts';
import { text } from '../../../support/ledger/items.ts';
import { type RestCall, type RestReply, startRestServer } from '../../../support/rest/rest-server.ts';

/** A product or a product model, as Akeneo's API prints it. `updated` is in milliseconds here. */
export type AkeneoRow = JsonObject & { updated: number };

const CLIENT = `Basic ${Buffer.from('client:client-secret-1').toString('base64')}`;
const LIMIT_MAX = 100;

/** Akeneo's API as its documentation describes it: tokens with refresh, `search_after`, and filters in the time zone of the PIM. */
export async function startAkeneo({ offsetHours = 0 }: { offsetHours?: number } = {}) {
  const pim = {
    products: [] as AkeneoRow[],
    models: [] as AkeneoRow[],
    /** The time of the PIM. */
    now: Date.UTC(2026, 5, 1, 12),
    /** How many requests a token is good for. */
    requestsOfToken: Number.POSITIVE_INFINITY,
    /** True for an answer that lacks the address of the next page. */
    losesNext: false,
    grants: [] as string[],
  };
  let tokens = 0;
  let left = 0;

  /** A time on the wall clock of the PIM, as PHP prints it. */
  const wallClock = (at: number): string => new Date(at + offsetHours * 3_600_000).toISOString().slice(0, 19);

  function token({ headers, body }: RestCall): RestReply {
    const given = new URLSearchParams(text(body));
    const grant = given.get('grant_type');
    const isGood =
      headers.authorization === CLIENT &&
      (grant === 'password'
        ? given.get('username') === 'dpp' && given.get('password') === 'pim-password-1'
        : given.get('refresh_token') === `refresh-token-${tokens}`);
    if (!isGood) return { status: 422, body: { code: 422, message: 'No user found for the given credentials' } };
    pim.grants.push(String(grant));
    tokens += 1;
    left = pim.requestsOfToken;
    const pair = { access_token: `access-token-${tokens}`, refresh_token: `refresh-token-${tokens}` };
    return { body: { ...pair, expires_in: 3600, token_type: 'bearer', scope: null } };
  }

  function list({ path, query, base }: RestCall, rows: readonly AkeneoRow[], key: string): RestReply {
    const limit = Number(query.get('limit') ?? 10);
    if (limit > LIMIT_MAX)
      return { status: 422, body: { code: 422, message: 'You cannot request more than 100 items.' } };
    const search = JSON.parse(query.get('search') ?? '{}') as { updated?: { operator: string; value: string }[] };
    const since = search.updated?.[0]?.value.replace(' ', 'T') ?? '';
    const after = query.get('search_after') ?? '';
    // A variant is found by the time of its model too, and is printed with its own.
    const changedAt = ({ updated, parent }: AkeneoRow): number =>
      Math.max(updated, ...pim.models.flatMap((model) => (model['code'] === parent ? [changedAt(model)] : [])));
    const found = rows
      .filter((row) => wallClock(changedAt(row)) > since && text(row[key]) > after)
      .toSorted((a, b) => (text(a[key]) < text(b[key]) ? -1 : 1))
      .slice(0, limit);
    const next = new URLSearchParams(query);
    next.delete('search_locale');
    next.set('search_after', text(found.at(-1)?.[key]));
    const links =
      found.length === limit && !pim.losesNext ? { next: { href: `${base}${path}?${next.toString()}` } } : {};
    const items = found.map((row) => ({ _links: { self: {} }, ...row, updated: `${wallClock(row.updated)}+00:00` }));
    return { body: { _links: { self: {}, first: {}, ...links }, _embedded: { items } } };
  }

  const server = await startRestServer((call) => {
    const headers = { date: new Date(pim.now).toUTCString() };
    if (call.path === '/api/oauth/v1/token') return { headers, ...token(call) };
    if (call.headers.authorization !== `Bearer access-token-${tokens}` || left === 0) {
      return { headers, status: 401, body: { code: 401, message: 'The access token provided has expired.' } };
    }
    left -= 1;
    if (call.path === '/api/rest/v1/products-uuid') return { headers, ...list(call, pim.products, 'uuid') };
    if (call.path === '/api/rest/v1/product-models') return { headers, ...list(call, pim.models, 'code') };
    return { headers, status: 404, body: { code: 404, message: 'Not Found' } };
  });
  return Object.assign(pim, { server, close: () => server.close() });
}

export type Akeneo = Awaited<ReturnType<typeof startAkeneo>>;

/** The values of the variables of the preset. */
export function akeneoEnv({ server }: Akeneo): Record<string, string> {
  return {
    AKENEO_URL: server.base,
    AKENEO_CLIENT_ID: 'client',
    AKENEO_CLIENT_SECRET: 'client-secret-1',
    AKENEO_USER: 'dpp',
    AKENEO_PASSWORD: 'pim-password-1',
  };
}
