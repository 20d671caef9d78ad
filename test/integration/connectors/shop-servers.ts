// The shops of docs/connectors/shops.md: lists of rows, with the paging, the filter and the traps of each system.

import type { JsonObject, JsonValue } from '../../../src/sdk/index.ts';
import type { RestCall, RestReply } from '../../support/rest/rest-server.ts';

export interface ShopRow {
  id: number;
  name: string;
  changed: string;
}

type Shop = (call: RestCall, rows: readonly ShopRow[]) => RestReply;

const cut = (rows: readonly ShopRow[], page: number, size: number) => rows.slice((page - 1) * size, page * size);
const since = (rows: readonly ShopRow[], time: string | null) =>
  time === null ? rows : rows.filter(({ changed }) => Date.parse(changed) >= Date.parse(time));
/** An order that is another one for each page, as databases give it for equal values. */
const unstable = (rows: readonly ShopRow[], page: number) => {
  const first = (page * 7) % Math.max(rows.length, 1);
  return [...rows.slice(first), ...rows.slice(0, first)];
};

export const SHOPS: Record<string, Shop> = {
  shopware({ path, body, headers }, rows) {
    if (path === '/api/oauth/token') return { body: { access_token: 'a-shopware-token', expires_in: 600 } };
    if (headers.authorization !== 'Bearer a-shopware-token') return { status: 401 };
    const asked = body as {
      page: number;
      limit: number;
      filter?: JsonValue;
      sort?: JsonValue;
      'total-count-mode'?: number;
    };
    const time = /"updatedAt","parameters":\{"gte":"([^"]+)"/.exec(JSON.stringify(asked.filter ?? null))?.[1] ?? null;
    const found = since(asked.sort === undefined ? unstable(rows, asked.page) : rows, time);
    const data = cut(found, asked.page, asked.limit).map((row) => ({
      id: `id-${row.id}`,
      productNumber: `S-${row.id}`,
      updatedAt: row.changed,
      translated: { name: headers['sw-inheritance'] === '1' ? row.name : null },
    }));
    return { body: { total: asked['total-count-mode'] === 1 ? found.length : data.length, data } };
  },
  magento({ query }, rows) {
    const value = (name: string) => query.get(`searchCriteria${name}`);
    const time = value('[filterGroups][0][filters][0][value]');
    const isSorted = value('[sortOrders][0][field]') === 'entity_id';
    const found = since(
      isSorted ? rows : unstable(rows, Number(value('[currentPage]'))),
      time === null ? null : `${time}Z`,
    );
    const size = Number(value('[pageSize]'));
    // The page behind the last one is the last one again.
    const page = Math.min(Number(value('[currentPage]')), Math.max(1, Math.ceil(found.length / size)));
    const items = cut(found, page, size).map(({ id, name, changed }) => ({
      id,
      sku: `S-${id}`,
      name,
      updated_at: changed,
    }));
    return { body: { items, total_count: found.length } };
  },
  woocommerce({ path, query }, rows) {
    const [, parent] = /products\/(\d+)\/variations$/.exec(path) ?? [];
    if (parent !== undefined)
      return { body: [{ id: 1_000 + Number(parent), sku: `V-${parent}`, name: `Variation of ${parent}` }] };
    const size = Number(query.get('per_page'));
    if (size > 100) return { status: 400, body: { code: 'rest_invalid_param' } };
    const time = query.get('modified_after');
    const sorted = query.get('orderby') === 'id' ? rows : unstable(rows, Number(query.get('page')));
    const found = since(query.has('type') ? sorted.slice(0, 1) : sorted, time === null ? null : `${time}Z`);
    return {
      headers: { 'X-WP-Total': String(found.length) },
      body: cut(found, Number(query.get('page')), size).map(({ id, name, changed }) => ({
        id,
        sku: `S-${id}`,
        name,
        date_modified_gmt: changed.replace('Z', ''),
      })),
    };
  },
  plentymarkets({ path, query, headers, body }, rows) {
    if (path === '/rest/login') {
      const { username } = body as JsonObject;
      return username === 'dpp' ? { body: { access_token: 'a-plenty-token', expires_in: 86_400 } } : { status: 401 };
    }
    if (headers.authorization !== 'Bearer a-plenty-token') return { status: 401 };
    const found = since(rows, query.get('updatedBetween'));
    const [page, size] = [Number(query.get('page')), Number(query.get('itemsPerPage'))];
    const entries = cut(found, page, size).map(({ id, name, changed }) => ({
      id,
      updatedAt: changed,
      texts: [{ lang: query.get('lang'), name1: name }],
    }));
    return { body: { page, totalsCount: found.length, isLastPage: page * size >= found.length, entries } };
  },
  pimcore({ query, body }, rows) {
    if (query.get('apikey') !== 'a-key-of-pimcore') return { status: 403 };
    const { query: text, variables } = body as {
      query: string;
      variables: { first: number; after: number; filter?: string };
    };
    if (!text.includes('published: false'))
      return { body: { errors: [{ message: 'The test expects unpublished objects.' }] } };
    const [, seconds] = /"\$gte":(\d+)/.exec(variables.filter ?? '') ?? [];
    const found = since(rows, seconds === undefined ? null : new Date(Number(seconds) * 1_000).toISOString());
    const edges = found.slice(variables.after, variables.after + variables.first).map(({ id, name, changed }) => ({
      node: { id: String(id), sku: `S-${id}`, name, modificationDate: Date.parse(changed) / 1_000 },
    }));
    return { body: { data: { getProductListing: { totalCount: found.length, edges } } } };
  },
};
