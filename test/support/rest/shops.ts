// The systems of docs/connectors/shops.md: what their documentation says about their APIs, and rows as they give them.

import type { JsonObject, JsonValue } from '../../../src/sdk/index.ts';
import type { ApiRequest, RestApi } from '../../../src/sdk/testing/index.ts';
import { filesOfPage } from '../docs/page-files.ts';
import { text } from '../ledger/items.ts';
import { type PresetSource, sourcesIn } from './preset-world.ts';

export interface Shop {
  api: RestApi;
  row: (number: number) => JsonObject;
}

const PAGE = filesOfPage('shops.md');

/** The names of the examples on the page. */
export const EXAMPLES = Object.keys(PAGE).map((file) => file.replace('.yaml', ''));

const ENV = {
  SHOP_CLIENT: 'a-client',
  SHOP_SECRET: 'a-secret-of-the-shop',
  SHOP_TOKEN: 'a-token-of-the-shop',
  SHOP_KEY: 'a-key-of-the-shop',
  SHOP_USER: 'a-user',
  SHOP_PASSWORD: 'a-password-of-the-shop',
  PIM_KEY: 'a-key-of-the-pim',
};

export interface ExampleFor {
  /** The address of a server in place of the system. */
  base: string;
  /** How many rows a page has. */
  size: number;
  /** Changes the text of the example. */
  edit?: ((text: string) => string) | undefined;
}

/** The source of an example. */
export function sourceOfExample(example: string, { base, size, edit = (same) => same }: ExampleFor): PresetSource {
  const shown = edit(String(PAGE[`${example}.yaml`])).replaceAll(/https:\/\/\w+\.example\.com/g, base);
  const [source] = sourcesIn(shown, { env: ENV, size });
  if (source === undefined) throw new Error(`docs/connectors/shops.md has no example ${example}.`);
  return source;
}

/** A place in requests of which only one value has an effect. */
const only =
  (value: JsonValue, of: (request: ApiRequest) => JsonValue | undefined) =>
  (request: ApiRequest): true | undefined =>
    of(request) === value || undefined;

const graphql = ({ body }: ApiRequest) => body as { query: string; variables: { filter?: string } };

export const SHOPS: Record<string, Shop> = {
  shopware: {
    api: {
      path: '/api/search/product',
      rows: '$.data',
      page: { by: 'page', at: '$.body.page', size: '$.body.limit' },
      order: '$.body.sort[0].field',
      total: '$.total',
      totalAsked: only(1, ({ body }) => (body as JsonObject)['total-count-mode']),
      login: { path: '/api/oauth/token', answer: (token) => ({ access_token: token, expires_in: 600 }) },
      changes: {
        since({ body }) {
          const { filter } = body as { filter?: { queries: { field: string; parameters: { gte: string } }[] }[] };
          if (filter === undefined) return undefined;
          // A new product has no `updatedAt`.
          const created = filter[0]?.queries.find(({ field }) => field === 'createdAt');
          return created?.parameters.gte ?? '9999-12-31';
        },
      },
      given: (row, { headers }) => (headers['sw-inheritance'] === '1' ? row : { ...row, translated: { name: null } }),
    },
    row: (number) => ({
      id: `0190c3f2${number}`,
      productNumber: `S-${number}`,
      updatedAt: null,
      translated: { name: `Part ${number}` },
    }),
  },
  magento: {
    api: {
      path: '/rest/V1/products',
      rows: '$.items',
      page: {
        by: 'page',
        at: '$.query["searchCriteria[currentPage]"]',
        size: '$.query["searchCriteria[pageSize]"]',
      },
      order: only('entity_id', ({ query }) => query['searchCriteria[sortOrders][0][field]']),
      total: '$.total_count',
      changes: { since: '$.query["searchCriteria[filterGroups][0][filters][0][value]"]' },
    },
    row: (number) => ({ id: number, sku: `S-${number}`, name: `Part ${number}`, updated_at: '2024-03-01 02:30:00' }),
  },
  woocommerce: {
    api: {
      path: '/wp-json/wc/v3/products',
      rows: '$',
      page: { by: 'page', at: '$.query.page', size: '$.query.per_page' },
      order: only('id', ({ query }) => query['orderby']),
      total: { header: 'X-WP-Total' },
      changes: {
        // Without `dates_are_gmt` the time is that of the site.
        since: ({ query: { modified_after: time, dates_are_gmt: isGmt } }) =>
          time === undefined ? undefined : `${text(time)}${isGmt === 'true' ? 'Z' : '-10:00'}`,
      },
      given: (row, { query }) => (query['type'] === undefined || row['type'] === query['type'] ? row : null),
      answer({ path }) {
        const [, parent] = /\/products\/(\d+)\/variations$/.exec(path) ?? [];
        if (parent === undefined) return undefined;
        return [{ id: 5_000_000 + Number(parent), sku: `V-${parent}`, name: `Variation of ${parent}` }];
      },
    },
    row: (number) => ({
      id: number,
      sku: `S-${number}`,
      name: `Part ${number}`,
      type: number % 7 === 0 ? 'simple' : 'variable',
      date_modified_gmt: '2024-03-01T02:30:00',
    }),
  },
  plentymarkets: {
    api: {
      path: '/rest/items',
      rows: '$.entries',
      page: { by: 'page', at: '$.query.page', size: '$.query.itemsPerPage' },
      total: '$.totalsCount',
      login: { path: '/rest/login', answer: (token) => ({ access_token: token }) },
      // The filter may know only days, and those of another time zone. This one begins with the next day.
      changes: {
        since: '$.query.updatedBetween',
        timeOf: (time) => Date.parse(time.slice(0, 10)) + 86_400_000,
      },
    },
    row: (number) => ({
      id: number,
      itemType: 'default',
      updatedAt: '2024-03-01T02:30:00+01:00',
      texts: [{ lang: 'de', name1: `Part ${number}` }],
    }),
  },
  pimcore: {
    api: {
      path: '/pimcore-graphql-webservices/products',
      rows: '$.data.getProductListing.edges[*].node',
      page: { by: 'offset', at: '$.body.variables.after', size: '$.body.variables.first' },
      order: (request) => graphql(request).query.includes('sortBy: "id"') || undefined,
      total: '$.data.getProductListing.totalCount',
      totalAsked: (request) => graphql(request).query.includes('totalCount') || undefined,
      changes: { since: (request) => /"\$gte":(\d+)/.exec(graphql(request).variables.filter ?? '')?.[1] },
      // Every fifth object is not published.
      given: (row, request) =>
        Number(row['id']) % 5 === 0 && !graphql(request).query.includes('published: false') ? null : row,
    },
    row: (number) => ({
      id: String(number),
      sku: `S-${number}`,
      name: `Part ${number}`,
      modificationDate: 1_709_256_600,
    }),
  },
};
