import type { Operation } from '../domain/delivery.ts';
import type { ListableKind } from '../domain/ports/target.ts';

/** Scopes that an API key can have. */
type Scope = 'read' | 'write' | 'publish';

/** One operation of the API document: what it is called there, and what it takes to ask for it. */
export interface Endpoint {
  /** The operation's name in the document. */
  title: string;
  method: 'GET' | 'POST' | 'PATCH';
  /** Path below the base URL, trailing slash included; `{id}` stands for a remote id. */
  path: string;
  scope: Scope;
  /** Where the document says so. */
  section: string;
}

/** The writes that the API has an endpoint for. Updates of products and BOM items have none. */
export type SupportedOperation = Exclude<Operation, 'product.update' | 'bom_item.update'>;

const SECTION = 'Endpoints';

export const WRITE_ENDPOINTS: Record<SupportedOperation, Endpoint> = {
  'product.create': {
    title: 'Create product',
    method: 'POST',
    path: '/api/products/',
    scope: 'write',
    section: SECTION,
  },
  'material.create': {
    title: 'Create material',
    method: 'POST',
    path: '/api/materials/',
    scope: 'write',
    section: SECTION,
  },
  'material.update': {
    title: 'Update material',
    method: 'PATCH',
    path: '/api/materials/{id}/',
    scope: 'write',
    section: SECTION,
  },
  'bom_item.create': {
    title: 'Add BOM item',
    method: 'POST',
    path: '/api/bom-items/',
    scope: 'write',
    section: SECTION,
  },
};

export const LIST_ENDPOINTS: Record<ListableKind, Endpoint> = {
  product: { title: 'List products', method: 'GET', path: '/api/products/', scope: 'read', section: SECTION },
  material: { title: 'List materials', method: 'GET', path: '/api/materials/', scope: 'read', section: SECTION },
};

/** Asked on an impossible product only, to learn whether a key has the publish scope. */
export const PUBLISH_ENDPOINT: Endpoint = {
  title: 'Publish passport',
  method: 'POST',
  path: '/api/dpp/{id}/publish/',
  scope: 'publish',
  section: SECTION,
};

/** True for the operations that have an endpoint. */
export function isSupported(operation: Operation): operation is SupportedOperation {
  return Object.hasOwn(WRITE_ENDPOINTS, operation);
}

/**
 * The endpoint's path with the remote id in its place.
 *
 * @throws RangeError for an id that would make another path of it: empty, `.` or `..`.
 */
export function pathOf(endpoint: Endpoint, id: string | number): string {
  const text = String(id);
  if (text === '' || text === '.' || text === '..') {
    throw new RangeError(`"${text}" cannot stand for an id in ${endpoint.path}`);
  }
  return endpoint.path.replace('{id}', () => encodeURIComponent(text));
}
