/** The three scopes that an API key can carry. */
export const SCOPES = ['read', 'write', 'publish'] as const;
export type Scope = (typeof SCOPES)[number];

/** One row of the API document's endpoint table. */
export interface Endpoint {
  method: 'GET' | 'POST' | 'PATCH';
  /** As the document writes it, with its trailing slash and `{name}` for a path parameter. */
  path: string;
  scope: Scope;
  /**
   * What the document says of Idempotency-Key here: named for this operation, recommended for writes in general, or
   * without a meaning because nothing is written.
   */
  idempotencyKey: 'named' | 'recommended' | 'meaningless';
}

/** Every operation that the sandbox serves. A new one is a row here and a handler of the same name. */
export const ENDPOINTS = {
  'product.list': { method: 'GET', path: '/api/products/', scope: 'read', idempotencyKey: 'meaningless' },
  'product.create': { method: 'POST', path: '/api/products/', scope: 'write', idempotencyKey: 'recommended' },
  'material.list': { method: 'GET', path: '/api/materials/', scope: 'read', idempotencyKey: 'meaningless' },
  'material.create': { method: 'POST', path: '/api/materials/', scope: 'write', idempotencyKey: 'recommended' },
  'material.update': { method: 'PATCH', path: '/api/materials/{id}/', scope: 'write', idempotencyKey: 'recommended' },
  'bom_item.create': { method: 'POST', path: '/api/bom-items/', scope: 'write', idempotencyKey: 'recommended' },
} as const satisfies Record<string, Endpoint>;

export type OperationName = keyof typeof ENDPOINTS;

/** The names in the table's order. */
export const OPERATION_NAMES = Object.keys(ENDPOINTS) as OperationName[];
