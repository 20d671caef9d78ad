/** The three scopes that an API key can carry. */
export const SCOPES = ['read', 'write', 'publish'] as const;
export type Scope = (typeof SCOPES)[number];

/** One row of the API document's endpoint table. */
export interface Endpoint {
  /** The operation's name in the document. */
  title: string;
  method: 'GET' | 'POST' | 'PATCH';
  /** The path in the form of the document, with its trailing slash and `{name}` for a path parameter. */
  path: string;
  /** The scope that an API key needs; `administrator` is the one operation that takes a session instead of a key. */
  scope: Scope | 'administrator';
  /**
   * The statement of the API document about Idempotency-Key for this operation: named for this operation, recommended
   * for writes in general, or without a meaning because nothing is written.
   */
  idempotencyKey: 'named' | 'recommended' | 'meaningless';
}

/** Every operation that the sandbox serves. A new operation needs a row here and a handler with the same name. */
export const ENDPOINTS = {
  'product.list': {
    title: 'List products',
    method: 'GET',
    path: '/api/products/',
    scope: 'read',
    idempotencyKey: 'meaningless',
  },
  'product.create': {
    title: 'Create product',
    method: 'POST',
    path: '/api/products/',
    scope: 'write',
    idempotencyKey: 'recommended',
  },
  'bom_item.create': {
    title: 'Add BOM item',
    method: 'POST',
    path: '/api/bom-items/',
    scope: 'write',
    idempotencyKey: 'recommended',
  },
  'material.list': {
    title: 'List materials',
    method: 'GET',
    path: '/api/materials/',
    scope: 'read',
    idempotencyKey: 'meaningless',
  },
  'material.create': {
    title: 'Create material',
    method: 'POST',
    path: '/api/materials/',
    scope: 'write',
    idempotencyKey: 'recommended',
  },
  'material.update': {
    title: 'Update material',
    method: 'PATCH',
    path: '/api/materials/{id}/',
    scope: 'write',
    idempotencyKey: 'recommended',
  },
  'passport.init': {
    title: 'Initialize passport',
    method: 'POST',
    path: '/api/dpp/{product_id}/init/',
    scope: 'write',
    idempotencyKey: 'recommended',
  },
  'passport.publish': {
    title: 'Publish passport',
    method: 'POST',
    path: '/api/dpp/{product_id}/publish/',
    scope: 'publish',
    idempotencyKey: 'named',
  },
  'passport.unpublish': {
    title: 'Unpublish passport',
    method: 'POST',
    path: '/api/dpp/{product_id}/unpublish/',
    scope: 'publish',
    idempotencyKey: 'recommended',
  },
  'publication.list': {
    title: 'List publications',
    method: 'GET',
    path: '/api/dpp/publications/',
    scope: 'read',
    idempotencyKey: 'meaningless',
  },
  'passport.pdf': {
    title: 'Export passport as PDF',
    method: 'GET',
    path: '/api/exports/passport/{product_id}.pdf',
    scope: 'read',
    idempotencyKey: 'meaningless',
  },
  'product.import': {
    title: 'Bulk import of products',
    method: 'POST',
    path: '/api/imports/products/',
    scope: 'write',
    idempotencyKey: 'recommended',
  },
  'report.list': {
    title: 'Read reports',
    method: 'GET',
    path: '/api/reports/',
    scope: 'read',
    idempotencyKey: 'meaningless',
  },
  'report.create': {
    title: 'Create report',
    method: 'POST',
    path: '/api/reports/',
    scope: 'read',
    idempotencyKey: 'recommended',
  },
  'api_key.revoke': {
    title: 'Revoke API key',
    method: 'POST',
    path: '/api/api-keys/{key_id}/revoke/',
    scope: 'administrator',
    idempotencyKey: 'recommended',
  },
} as const satisfies Record<string, Endpoint>;

export type OperationName = keyof typeof ENDPOINTS;

/** The names in the table's order. */
export const OPERATION_NAMES = Object.keys(ENDPOINTS) as OperationName[];
