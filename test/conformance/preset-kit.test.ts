// The streams of the presets for REST APIs, against servers that do what real systems do to a reader.

import { describe, it } from 'vitest';
import { rest } from '../../connectors/rest/index.ts';
import { isJsonObject, type JsonObject, type JsonValue, parseDocumentPath, valueAt } from '../../src/sdk/index.ts';
import { type ApiRequest, type RestApi, type RestFixtures, restChecks } from '../../src/sdk/testing/index.ts';
import { type PresetSource, sourcesOfPreset } from '../support/rest/preset-world.ts';
import { fixturesOf, SIZE } from './support/config-stream.ts';

/** A stream of a preset, with what the documentation says about its API. */
function presetStream(
  preset: string,
  stream: string,
  {
    env,
    api,
    row,
  }: { env: (base: string) => Record<string, string>; api: RestApi; row: (number: number) => JsonObject },
): [string, RestFixtures] {
  const source = (base: string): PresetSource => {
    const [own] = sourcesOfPreset(preset, { env: env(base), size: SIZE });
    if (own === undefined) throw new Error(`The preset ${preset} has no source.`);
    const { options } = own;
    const auth = options['auth'];
    if (isJsonObject(auth) && auth['by'] === 'oauth2') auth['tokenUrl'] = `${base}/token`;
    // The address of a preset may be that of the system itself.
    options['base'] = addressHere(options['base'], base);
    return own;
  };
  return [`${preset}, ${stream}`, fixturesOf({ source, stream, api, row })];
}

function addressHere(address: JsonValue | undefined, base: string): string {
  const { pathname } = new URL(typeof address === 'string' ? address : base);
  return `${base}${pathname === '/' ? '' : pathname}`;
}

const LOGIN = { path: '/token', answer: (token: string) => ({ access_token: token, expires_in: 3600 }) };
const changedAt = '2024-03-01T02:30:00Z';

const BC_ENV = () => ({
  BC_TENANT: 't',
  BC_ENVIRONMENT: 'e',
  BC_CLIENT_ID: 'c',
  BC_CLIENT_SECRET: 'secret-of-bc',
  BC_COMPANY_ID: '1',
});
const SAP_ENV = (base: string) => ({
  SAP_URL: base,
  SAP_USER: 'reader',
  SAP_PASSWORD: 'secret-of-sap',
  SAP_PLANT: '1010',
});
const AKENEO_LOGIN = {
  AKENEO_CLIENT_ID: 'c',
  AKENEO_CLIENT_SECRET: 'secret-of-akeneo',
  AKENEO_USER: 'u',
  AKENEO_PASSWORD: 'password-of-akeneo',
};
const ODATA = {
  rows: '$.value',
  page: { by: 'nextLink', next: '$["@odata.nextLink"]', size: SIZE, tokens: 'positions' },
  total: '$["@odata.count"]',
  totalAsked: '$.query["$count"]',
} as const;
const deleted = (entities: string, key: JsonValue | undefined) => ({
  '@odata.context': `$metadata#${entities}/$deletedEntity`,
  id: `${entities}('${String(key as string)}')`,
  reason: 'deleted',
});

/** A value in a domain of Odoo: `[["id", ">", 20]]`. */
function inDomain(name: string, at: string) {
  const steps = parseDocumentPath(at) ?? [];
  return ({ body }: ApiRequest): JsonValue | undefined => {
    const domain = valueAt(body, steps);
    const found = Array.isArray(domain) ? domain.find((one) => Array.isArray(one) && one[0] === name) : undefined;
    return Array.isArray(found) ? found[2] : undefined;
  };
}

const STREAMS: [string, RestFixtures][] = [
  presetStream('business-central', 'items', {
    env: BC_ENV,
    api: {
      ...ODATA,
      path: '/v2.0/t/e/api/v2.0/companies(1)/items',
      login: LOGIN,
      changes: { deltaLink: '$["@odata.deltaLink"]', gone: ({ id }) => deleted('items', id) },
    },
    row: (at) => ({ id: `0f3a-${at}`, number: String(1_000 + at), displayName: `Item ${at}`, type: 'Inventory' }),
  }),
  presetStream('business-central', 'itemDetails', {
    env: BC_ENV,
    api: {
      ...ODATA,
      path: '/v2.0/t/e/api/acme/passports/v1.0/companies(1)/itemDetails',
      login: LOGIN,
      changes: { since: '$.query["$filter"]' },
    },
    row: (at) => ({ id: `0f3a-${at}`, number: String(1_000 + at), countryOfOrigin: 'DE', systemModifiedAt: changedAt }),
  }),
  presetStream('sap-odata-v4', 'products', {
    env: SAP_ENV,
    api: {
      ...ODATA,
      path: '/sap/opu/odata4/sap/api_product/srvd_a2x/sap/product/0002/Product',
      changes: { deltaLink: '$["@odata.deltaLink"]', gone: ({ Product }) => deleted('Product', Product) },
    },
    row: (at) => ({ Product: `FG${at}`, BaseUnit: 'PC' }),
  }),
  presetStream('sap-odata-v2', 'products', {
    env: SAP_ENV,
    api: {
      path: '/sap/opu/odata/sap/API_PRODUCT_SRV/A_Product',
      rows: '$.d.results',
      page: { by: 'offset', at: '$.query["$skip"]', size: '$.query["$top"]' },
      order: '$.query["$orderby"]',
      total: '$.d.__count',
      totalAsked: '$.query["$inlinecount"]',
      changes: { since: '$.query["$filter"]' },
    },
    row: (at) => ({ Product: `FG${at}`, BaseUnit: 'PC', LastChangeDateTime: `/Date(${Date.parse(changedAt)})/` }),
  }),
  presetStream('akeneo-rest', 'products', {
    env: (base) => ({ AKENEO_URL: base, ...AKENEO_LOGIN }),
    api: {
      path: '/api/rest/v1/products-uuid',
      rows: '$._embedded.items',
      page: { by: 'nextLink', next: '$._links.next.href', size: '$.query.limit' },
      login: LOGIN,
      changes: { since: '$.query.search.updated[0].value' },
    },
    row: (at) => ({ uuid: `0b1c-${at}`, family: 'pumps', updated: changedAt }),
  }),
  presetStream('erpnext', 'items', {
    env: (base) => ({ ERPNEXT_URL: base, ERPNEXT_KEY: 'key-of-erpnext', ERPNEXT_SECRET: 'secret-of-erpnext' }),
    api: {
      path: '/api/resource/Item',
      rows: '$.data',
      page: { by: 'offset', at: '$.query.limit_start', size: '$.query.limit_page_length' },
      order: '$.query.order_by',
      changes: { since: '$.query.filters[0][2]' },
    },
    row: (at) => ({ name: `ITEM-${at}`, item_name: `Pump ${at}`, modified: '2024-03-01 02:30:00.000000' }),
  }),
  presetStream('erpnext', 'boms', {
    env: (base) => ({ ERPNEXT_URL: base, ERPNEXT_KEY: 'key-of-erpnext', ERPNEXT_SECRET: 'secret-of-erpnext' }),
    api: {
      path: '/api/resource/BOM',
      rows: '$.data',
      page: { by: 'offset', at: '$.query.limit_start', size: '$.query.limit_page_length' },
      order: '$.query.order_by',
      // Three conditions are those of each read.
      changes: { since: '$.query.filters[3][2]' },
      // The lines of a bill.
      answer: ({ path }) => ({ data: { items: [{ item_code: `part of ${path}`, qty: 2 }] } }),
    },
    row: (at) => ({ name: `BOM-${at}`, item: `ITEM-${at}`, quantity: 1, modified: '2024-03-01 02:30:00.000000' }),
  }),
  presetStream('odoo', 'products', {
    env: (base) => ({ ODOO_URL: base, ODOO_KEY: 'key-of-odoo' }),
    api: {
      path: '/json/2/product.product/search_read',
      rows: '$',
      page: { by: 'keyset', at: inDomain('id', '$.domain'), after: '$.id', size: '$.body.limit' },
      order: '$.body.order',
      changes: { since: inDomain('write_date', '$.domain') },
    },
    row: (at) => ({ id: at, name: `Pump ${at}`, write_date: '2024-03-01 02:30:00' }),
  }),
  presetStream('odoo-rpc', 'products', {
    env: (base) => ({ ODOO_URL: base, ODOO_KEY: 'key-of-odoo', ODOO_DATABASE: 'd', ODOO_USER_ID: '2' }),
    api: {
      path: '/jsonrpc',
      rows: '$.result',
      page: {
        by: 'keyset',
        at: inDomain('id', '$.params.args[6].domain'),
        after: '$.id',
        size: '$.body.params.args[6].limit',
      },
      order: '$.body.params.args[6].order',
      changes: { since: inDomain('write_date', '$.params.args[6].domain') },
    },
    row: (at) => ({ id: at, name: `Pump ${at}`, write_date: '2024-03-01 02:30:00' }),
  }),
  presetStream('shopify', 'materials', {
    env: (base) => ({ SHOPIFY_URL: base, SHOPIFY_CLIENT_ID: 'c', SHOPIFY_CLIENT_SECRET: 'secret-of-shopify' }),
    api: {
      path: '/admin/api/2026-01/graphql.json',
      rows: '$',
      page: { by: 'graphql', at: '$.body.variables.after', connection: '$.data.metaobjects', size: SIZE },
      login: { ...LOGIN, header: 'x-shopify-access-token' },
    },
    row: (at) => ({ handle: `steel-${at}`, name: { value: `Steel ${at}` }, country: { value: 'DE' } }),
  }),
];

// Most of the time they wait to send a request again.
describe('the presets', { concurrent: true }, () => {
  describe.each(STREAMS)('the preset %s', (_, fixtures) => {
    for (const { name, run } of restChecks(rest, fixtures)) it(name, run);
  });
});
