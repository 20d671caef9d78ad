// What the documentation of the systems says about the APIs that the presets read, and rows as the systems give them.

import { type JsonObject, type JsonValue, parseDocumentPath, valueAt } from '../../../src/sdk/index.ts';
import type { ApiRequest, RestApi } from '../../../src/sdk/testing/index.ts';
import { text } from '../../support/ledger/items.ts';
import { type ConfigStream, SIZE } from './config-stream.ts';

type Described = Omit<ConfigStream, 'source' | 'stream'>;

interface PresetSystem {
  /** The values of the variables in the preset. */
  env: (base: string) => Record<string, string>;
  streams: Record<string, Described>;
}

const LOGIN = { path: '/token', answer: (token: string) => ({ access_token: token, expires_in: 3600 }) };
const changedAt = '2024-03-01T02:30:00Z';
const inV2 = `/Date(${Date.parse(changedAt)})/`;
const inDatabase = '2024-03-01 02:30:00';

/** The first part of a text in a request that matches. */
const partOf =
  (at: string, pattern: RegExp) =>
  (request: ApiRequest): string | undefined =>
    pattern.exec(text(valueAt(request as JsonObject, parseDocumentPath(at) ?? [])))?.[1];

const ODATA = {
  rows: '$.value',
  page: { by: 'nextLink', next: '$["@odata.nextLink"]', size: SIZE, tokens: 'positions' },
  total: '$["@odata.count"]',
  totalAsked: '$.query["$count"]',
} as const;
const deltasOf = (entities: string, key: string): NonNullable<RestApi['changes']> => ({
  deltaLink: '$["@odata.deltaLink"]',
  gone: (row) => ({
    '@odata.context': `$metadata#${entities}/$deletedEntity`,
    id: `${entities}('${text(row[key])}')`,
    reason: 'deleted',
  }),
});

const ownPage = (entities: string): RestApi => ({
  ...ODATA,
  path: `/v2.0/t/e/api/acme/passports/v1.0/companies(1)/${entities}`,
  login: LOGIN,
  changes: { since: '$.query["$filter"]' },
});

const ODATA_2 = {
  rows: '$.d.results',
  page: { by: 'offset', at: '$.query["$skip"]', size: '$.query["$top"]' },
  order: '$.query["$orderby"]',
  total: '$.d.__count',
  totalAsked: '$.query["$inlinecount"]',
  changes: { since: partOf('$.query["$filter"]', /datetimeoffset'([^']+)'/) },
} as const;
const SAP_ENV = (base: string) => ({
  SAP_URL: base,
  SAP_USER: 'reader',
  SAP_PASSWORD: 'secret-of-sap',
  SAP_PLANT: '1010',
});
const SAP_BOMS: Described = {
  api: { ...ODATA_2, path: '/sap/opu/odata/sap/API_BILL_OF_MATERIAL_SRV;v=0002/MaterialBOM' },
  row: (number) => ({
    BillOfMaterialHeaderUUID: `0050-${number}`,
    Material: `FG${number}`,
    Plant: '1010',
    BillOfMaterialVariant: '1',
    LastChangeDateTime: inV2,
    to_BillOfMaterialItem: { results: [{ BillOfMaterialComponent: 'RM1', BillOfMaterialItemQuantity: '2.000' }] },
  }),
};

const search = (path: string): RestApi => ({
  path: `/api/rest/v1/${path}`,
  rows: '$._embedded.items',
  page: { by: 'nextLink', next: '$._links.next.href', size: '$.query.limit' },
  login: LOGIN,
  changes: { since: '$.query.search.updated[0].value' },
});

const resource = (path: string, filter: number): RestApi => ({
  path: `/api/resource/${path}`,
  rows: '$.data',
  page: { by: 'offset', at: '$.query.limit_start', size: '$.query.limit_page_length' },
  order: '$.query.order_by',
  changes: { since: `$.query.filters[${filter}][2]` },
});

/** A value in a domain of Odoo: `[["id", ">", 20]]`. */
function inDomain(name: string, at: string) {
  const steps = parseDocumentPath(at) ?? [];
  return (request: ApiRequest): JsonValue | undefined => {
    const domain = valueAt(request as JsonObject, steps);
    const found = Array.isArray(domain) ? domain.find((one) => Array.isArray(one) && one[0] === name) : undefined;
    return Array.isArray(found) ? found[2] : undefined;
  };
}

/** The streams of Odoo, as `search_read` gives them with a request that has its arguments at a path. */
function odooStreams(at: string, apiOf: (model: string) => Pick<RestApi, 'path' | 'rows'>): Record<string, Described> {
  const stream = (model: string, row: Described['row']): Described => ({
    api: {
      ...apiOf(model),
      page: { by: 'keyset', at: inDomain('id', `${at}.domain`), after: '$.id', size: `${at}.limit` },
      order: `${at}.order`,
      changes: { since: inDomain('write_date', `${at}.domain`) },
    },
    row,
    change: (former) => ({ ...former, changes: Number(former['changes'] ?? 0) + 1 }),
  });
  return {
    products: stream('product.product', (id) => ({ id, name: `Pump ${id}`, write_date: inDatabase })),
    bills: stream('mrp.bom', (id) => ({
      id,
      product_tmpl_id: id,
      product_qty: 1,
      sequence: 5,
      write_date: inDatabase,
    })),
    lines: stream('mrp.bom.line', (id) => ({ id, bom_id: 1, product_id: id, product_qty: 2, write_date: inDatabase })),
    attributes: stream('product.template.attribute.value', (id) => ({ id, attribute_line_id: 1 })),
    units: stream('uom.uom', (id) => ({ id, name: `Unit ${id}` })),
  };
}

const SHOPIFY: Pick<RestApi, 'path' | 'rows' | 'login'> = {
  path: '/admin/api/2026-01/graphql.json',
  rows: '$',
  login: { ...LOGIN, header: 'x-shopify-access-token' },
};
/** A bulk operation. Its start, its state and the pages of changes have the same path. */
const bulk = (list: string): RestApi => ({
  ...SHOPIFY,
  page: {
    by: 'bulkJob',
    status: ({ body }) => text((body as JsonObject)['query']).includes('on BulkOperation'),
    job: '$.data.bulkOperationRunQuery.bulkOperation.id',
    state: '$.data.node.status',
    done: 'COMPLETED',
    result: '$.data.node.url',
    count: '$.data.node.objectCount',
  },
  changes: {
    since: partOf('$.body.variables.query', /updated_at:>='([^']+)'/),
    page: { by: 'graphql', at: '$.body.variables.after', connection: `$.data.${list}`, size: SIZE },
  },
});
const gid = (type: string, number: number) => `gid://shopify/${type}/${number}`;

export const PRESETS: Record<string, PresetSystem> = {
  'business-central': {
    env: () => ({
      BC_TENANT: 't',
      BC_ENVIRONMENT: 'e',
      BC_CLIENT_ID: 'c',
      BC_CLIENT_SECRET: 'secret-of-bc',
      BC_COMPANY_ID: '1',
    }),
    streams: {
      items: {
        api: {
          ...ODATA,
          path: '/v2.0/t/e/api/v2.0/companies(1)/items',
          login: LOGIN,
          changes: deltasOf('items', 'id'),
        },
        row: (at) => ({ id: `0f3a-${at}`, number: String(1_000 + at), displayName: `Item ${at}`, type: 'Inventory' }),
      },
      itemDetails: {
        api: ownPage('itemDetails'),
        row: (at) => ({
          id: `0f3a-${at}`,
          number: String(1_000 + at),
          countryOfOrigin: 'DE',
          systemModifiedAt: changedAt,
        }),
      },
      bomLines: {
        api: ownPage('bomLines'),
        row: (at) => ({
          id: `7b1c-${at}`,
          parentItemNumber: '1000',
          number: String(7_000 + at),
          quantityPer: 2,
          systemModifiedAt: changedAt,
        }),
      },
    },
  },
  'sap-odata-v4': {
    env: SAP_ENV,
    streams: {
      products: {
        api: {
          ...ODATA,
          path: '/sap/opu/odata4/sap/api_product/srvd_a2x/sap/product/0002/Product',
          changes: deltasOf('Product', 'Product'),
        },
        row: (at) => ({ Product: `FG${at}`, BaseUnit: 'PC' }),
      },
      boms: SAP_BOMS,
    },
  },
  'sap-odata-v2': {
    env: SAP_ENV,
    streams: {
      products: {
        api: { ...ODATA_2, path: '/sap/opu/odata/sap/API_PRODUCT_SRV/A_Product' },
        row: (at) => ({ Product: `FG${at}`, BaseUnit: 'PC', LastChangeDateTime: inV2 }),
      },
      boms: SAP_BOMS,
    },
  },
  'akeneo-rest': {
    env: (base) => ({
      AKENEO_URL: base,
      AKENEO_CLIENT_ID: 'c',
      AKENEO_CLIENT_SECRET: 'secret-of-akeneo',
      AKENEO_USER: 'u',
      AKENEO_PASSWORD: 'password-of-akeneo',
    }),
    streams: {
      models: {
        api: search('product-models'),
        row: (at) => ({ code: `pump-${at}`, family: 'pumps', updated: changedAt }),
      },
      products: {
        api: search('products-uuid'),
        row: (at) => ({ uuid: `0b1c-${at}`, family: 'pumps', updated: changedAt }),
      },
    },
  },
  erpnext: {
    env: (base) => ({ ERPNEXT_URL: base, ERPNEXT_KEY: 'key-of-erpnext', ERPNEXT_SECRET: 'secret-of-erpnext' }),
    streams: {
      items: {
        api: resource('Item', 0),
        row: (at) => ({ name: `ITEM-${at}`, item_name: `Pump ${at}`, modified: `${inDatabase}.000000` }),
      },
      boms: {
        api: {
          // Three conditions are those of each read.
          ...resource('BOM', 3),
          // The lines of a bill.
          answer: ({ path }) => ({ data: { items: [{ item_code: `part of ${path}`, qty: 2 }] } }),
        },
        row: (at) => ({ name: `BOM-${at}`, item: `ITEM-${at}`, quantity: 1, modified: `${inDatabase}.000000` }),
      },
    },
  },
  odoo: {
    env: (base) => ({ ODOO_URL: base, ODOO_KEY: 'key-of-odoo' }),
    streams: odooStreams('$.body', (model) => ({ path: `/json/2/${model}/search_read`, rows: '$' })),
  },
  'odoo-rpc': {
    env: (base) => ({ ODOO_URL: base, ODOO_KEY: 'key-of-odoo', ODOO_DATABASE: 'd', ODOO_USER_ID: '2' }),
    streams: odooStreams('$.body.params.args[6]', () => ({ path: '/jsonrpc', rows: '$.result' })),
  },
  shopify: {
    env: (base) => ({ SHOPIFY_URL: base, SHOPIFY_CLIENT_ID: 'c', SHOPIFY_CLIENT_SECRET: 'secret-of-shopify' }),
    streams: {
      products: {
        api: bulk('products'),
        row: (at) => ({ id: gid('Product', at), title: `Shirt ${at}`, status: 'ACTIVE', updatedAt: changedAt }),
      },
      variants: {
        api: bulk('productVariants'),
        row: (at) => ({ id: gid('ProductVariant', at), title: 'S', sku: `S-${at}`, updatedAt: changedAt }),
      },
      bundles: {
        api: bulk('productVariants'),
        row: (at) => ({
          id: gid('ProductVariantComponent', at),
          quantity: 2,
          productVariant: { id: gid('ProductVariant', at) },
          __parentId: gid('ProductVariant', 1_000 + at),
        }),
      },
      materials: {
        api: {
          ...SHOPIFY,
          page: { by: 'graphql', at: '$.body.variables.after', connection: '$.data.metaobjects', size: SIZE },
        },
        row: (at) => ({ handle: `steel-${at}`, name: { value: `Steel ${at}` }, country: { value: 'DE' } }),
      },
    },
  },
};
