import type { OperationName } from '../../../src/sandbox/api/endpoints.ts';
import type { RunningSandbox } from './sandbox-caller.ts';

/** A request of a test. Its path has values in place of parameters. */
export interface CaseRequest {
  path: string;
  body?: unknown;
}

/** The requests that test one row of the endpoint table. They need the items that `prepareGround` creates. */
export interface OperationCase {
  succeeds: CaseRequest & { status: number };
  /** Bodies that are JSON but invalid. */
  invalid?: unknown[];
  /** The same request for an item that does not exist. `{}` is replaced by the id. */
  elsewhere?: string;
  /** Requests for pages that the list does not have. */
  beyond?: string[];
  /** Requests that a business rule blocks. */
  blocked?: CaseRequest[];
}

/** Ids of the items that `prepareGround` creates: the first ids of a new sandbox. */
const PLAIN = 1;
const INITIALIZED = 2;
const PUBLISHED = 3;
const INCOMPLETE = 4;
/** The key that a case revokes. The test's own key is the first one. */
const SPARE_KEY = 2;

/**
 * Four products, complete and without a passport, initialised, published, and initialised but incomplete; a material
 * that is on the BOM of the first three; and a spare key.
 */
export async function prepareGround({ call, sandbox }: Pick<RunningSandbox, 'call' | 'sandbox'>): Promise<void> {
  const post = (path: string, body?: unknown) => call('POST', path, body === undefined ? {} : { body });
  for (const id of [PLAIN, INITIALIZED, PUBLISHED]) {
    await post('/api/products/', { sku: `SKU-${id}`, name: 'Bucket', country_of_origin: 'DE' });
  }
  await post('/api/products/', { sku: `SKU-${INCOMPLETE}`, name: 'Bucket' });
  await post('/api/materials/', { code: 'ST-1', name: 'Steel', origin_country: 'SE' });
  for (const product of [PLAIN, INITIALIZED, PUBLISHED]) {
    await post('/api/bom-items/', { product, material: 1, quantity: '1.5', unit: 'kg' });
  }
  for (const id of [INITIALIZED, PUBLISHED, INCOMPLETE]) await post(`/api/dpp/${id}/init/`);
  await post(`/api/dpp/${PUBLISHED}/publish/`);
  await post('/api/reports/');
  sandbox.issueKey({ organization: 'acme', name: 'spare', scopes: ['read'] });
}

const BEYOND = ['?page=0', '?page=99', '?page=x', '?page='];

/** One case for every row of the endpoint table. */
export const CASES: Record<OperationName, OperationCase> = {
  'product.list': {
    succeeds: { path: '/api/products/', status: 200 },
    beyond: BEYOND.map((query) => `/api/products/${query}`),
  },
  'product.create': {
    succeeds: { path: '/api/products/', body: { sku: 'NEW', name: 'Pail' }, status: 201 },
    invalid: [{}, { sku: 'SKU-1', name: 'Taken' }, { sku: 'NEW', name: 'Pail', country_of_origin: 'XX' }, []],
  },
  'bom_item.create': {
    succeeds: { path: '/api/bom-items/', body: { product: PLAIN, material: 1, quantity: 1 }, status: 201 },
    invalid: [{}, { product: 99, material: 1, quantity: 1 }, { product: PLAIN, quantity: 1 }],
  },
  'material.list': {
    succeeds: { path: '/api/materials/', status: 200 },
    beyond: BEYOND.map((query) => `/api/materials/${query}`),
  },
  'material.create': {
    succeeds: { path: '/api/materials/', body: { name: 'Wood' }, status: 201 },
    invalid: [{}, { name: 'Steel', code: 'ST-1' }, { name: 'Wood', recycled_mass_fraction: 2 }],
  },
  'material.update': {
    succeeds: { path: '/api/materials/1/', body: { category: 'metal' }, status: 200 },
    invalid: [{ name: null }, { colour: 'grey' }],
    elsewhere: '/api/materials/{}/',
  },
  'passport.init': {
    succeeds: { path: `/api/dpp/${PLAIN}/init/`, status: 201 },
    invalid: [{ force: true }],
    elsewhere: '/api/dpp/{}/init/',
    blocked: [{ path: `/api/dpp/${INITIALIZED}/init/` }],
  },
  'passport.publish': {
    succeeds: { path: `/api/dpp/${INITIALIZED}/publish/`, status: 200 },
    invalid: [{ force: true }],
    elsewhere: '/api/dpp/{}/publish/',
    blocked: [PLAIN, PUBLISHED, INCOMPLETE].map((id) => ({ path: `/api/dpp/${id}/publish/` })),
  },
  'passport.unpublish': {
    succeeds: { path: `/api/dpp/${PUBLISHED}/unpublish/`, status: 200 },
    invalid: [{ force: true }],
    elsewhere: '/api/dpp/{}/unpublish/',
    blocked: [{ path: `/api/dpp/${INITIALIZED}/unpublish/` }],
  },
  'publication.list': {
    succeeds: { path: '/api/dpp/publications/', status: 200 },
    beyond: BEYOND.map((query) => `/api/dpp/publications/${query}`),
  },
  'passport.pdf': {
    succeeds: { path: `/api/exports/passport/${PUBLISHED}.pdf`, status: 200 },
    elsewhere: '/api/exports/passport/{}.pdf',
  },
  'product.import': {
    succeeds: { path: '/api/imports/products/', body: { products: [{ sku: 'NEW', name: 'Pail' }] }, status: 200 },
    invalid: [{}, { products: [] }, { products: 'all' }],
  },
  'report.list': {
    succeeds: { path: '/api/reports/', status: 200 },
    beyond: BEYOND.map((query) => `/api/reports/${query}`),
  },
  'report.create': {
    succeeds: { path: '/api/reports/', body: { type: 'summary' }, status: 201 },
    invalid: [{ type: 'everything' }, { title: '' }],
  },
  'api_key.revoke': {
    succeeds: { path: `/api/api-keys/${SPARE_KEY}/revoke/`, status: 200 },
    invalid: [{ force: true }],
    elsewhere: '/api/api-keys/{}/revoke/',
  },
};
