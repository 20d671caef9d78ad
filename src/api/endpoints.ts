// The complete endpoint table of the API document, as data. No other file repeats these facts.

import type { Operation, Scope } from '../domain/delivery/operation.ts';
import type { ListableKind } from '../domain/ports/target.ts';
import type { Profile } from '../domain/profile.ts';

/** The method that sends an operation, in the ports `Target`, `PlatformReader` or `PlatformAdmin`. */
type Sender =
  | 'Target.send'
  | 'Target.list'
  | 'PlatformReader.publications'
  | 'PlatformReader.passportPdf'
  | 'PlatformReader.reports'
  | 'PlatformReader.createReport'
  | 'PlatformAdmin.revokeKey';

/** One operation of the API document: its name in the document, and the form of its request. */
export interface Endpoint {
  /** The operation's name in the document. */
  title: string;
  method: 'GET' | 'POST' | 'PATCH';
  /** The path below the base URL, as in the document, with the trailing slash. `{…}` stands for an id. */
  path: string;
  /** Null if no scope is needed: an administrator's token replaces the key. */
  scope: Scope | null;
  /** The body of the request. */
  body: 'json' | 'none';
  /** The sections of the document about it. */
  sections: readonly string[];
  sentBy: Sender;
}

const COMMON = { body: 'json', sections: ['Endpoints', 'Errors'] } as const;
const PASSPORT = { ...COMMON, method: 'POST', body: 'none', sentBy: 'Target.send' } as const;
const READ = { ...COMMON, method: 'GET', scope: 'read', body: 'none' } as const;

export const ENDPOINTS = {
  'product.list': { ...READ, title: 'List products', path: '/api/products/', sentBy: 'Target.list' },
  'product.create': {
    ...COMMON,
    title: 'Create product',
    method: 'POST',
    path: '/api/products/',
    scope: 'write',
    sections: ['Endpoints', 'Resources and their fields: Product', 'Payload shapes', 'Errors'],
    sentBy: 'Target.send',
  },
  'bom_item.create': {
    ...COMMON,
    title: 'Add BOM item',
    method: 'POST',
    path: '/api/bom-items/',
    scope: 'write',
    sentBy: 'Target.send',
  },
  'material.list': { ...READ, title: 'List materials', path: '/api/materials/', sentBy: 'Target.list' },
  'material.create': {
    ...COMMON,
    title: 'Create material',
    method: 'POST',
    path: '/api/materials/',
    scope: 'write',
    sentBy: 'Target.send',
  },
  'material.update': {
    ...COMMON,
    title: 'Update material',
    method: 'PATCH',
    path: '/api/materials/{id}/',
    scope: 'write',
    sentBy: 'Target.send',
  },
  'passport.init': {
    ...PASSPORT,
    title: 'Initialize passport',
    path: '/api/dpp/{product_id}/init/',
    scope: 'write',
    sections: ['Endpoints', 'States and transitions', 'Errors'],
  },
  'passport.publish': {
    ...PASSPORT,
    title: 'Publish passport',
    path: '/api/dpp/{product_id}/publish/',
    scope: 'publish',
    sections: ['Endpoints', 'Payload shapes', 'Idempotency', 'States and transitions', 'Errors'],
  },
  'passport.unpublish': {
    ...PASSPORT,
    title: 'Unpublish passport',
    path: '/api/dpp/{product_id}/unpublish/',
    scope: 'publish',
    sections: ['Endpoints', 'Payload shapes', 'States and transitions', 'Errors'],
  },
  'publication.list': {
    ...READ,
    title: 'List publications',
    path: '/api/dpp/publications/',
    sentBy: 'PlatformReader.publications',
  },
  'passport.pdf': {
    ...READ,
    title: 'Export passport as PDF',
    path: '/api/exports/passport/{product_id}.pdf',
    sections: ['Endpoints', 'Payload shapes', 'Errors'],
    sentBy: 'PlatformReader.passportPdf',
  },
  'product.import': {
    ...COMMON,
    title: 'Bulk import of products',
    method: 'POST',
    path: '/api/imports/products/',
    scope: 'write',
    sentBy: 'Target.send',
  },
  'report.list': { ...READ, title: 'Read reports', path: '/api/reports/', sentBy: 'PlatformReader.reports' },
  'report.create': {
    ...COMMON,
    title: 'Create report',
    method: 'POST',
    path: '/api/reports/',
    // The document states no scope for creating a report. The profile can set another one.
    scope: 'read',
    sentBy: 'PlatformReader.createReport',
  },
  'api_key.revoke': {
    ...COMMON,
    title: 'Revoke API key',
    method: 'POST',
    path: '/api/api-keys/{key_id}/revoke/',
    scope: null,
    body: 'none',
    sections: ['Endpoints', 'Payload shapes', 'Authentication: Key revocation', 'Errors'],
    sentBy: 'PlatformAdmin.revokeKey',
  },
} as const satisfies Record<string, Endpoint>;

export type EndpointName = keyof typeof ENDPOINTS;

/** The names of all endpoints, in the document's order. */
export const ENDPOINT_NAMES = Object.keys(ENDPOINTS) as EndpointName[];

/** The writes with an endpoint. Updates of products and BOM items have none. */
export type SupportedOperation = Operation & EndpointName;

export const LIST_ENDPOINTS: Record<ListableKind, Endpoint> = {
  product: ENDPOINTS['product.list'],
  material: ENDPOINTS['material.list'],
};

/** True for the operations that have an endpoint. */
export function isSupported(operation: Operation): operation is SupportedOperation {
  return Object.hasOwn(ENDPOINTS, operation);
}

/** The scope of an operation under a profile. The document does not define the scope for creating a report. */
export function scopeOf(name: EndpointName, profile: Profile): Scope | null {
  return name === 'report.create' ? profile.scopes.reportCreate : ENDPOINTS[name].scope;
}

/** True if the path contains the id of one item. */
export function takesId(endpoint: Endpoint): boolean {
  return ID_IN_PATH.test(endpoint.path);
}

const ID_IN_PATH = /\{\w+\}/;

/**
 * The path of the endpoint with the remote id.
 *
 * @throws RangeError for an id that would change the path: empty, `.` or `..`
 */
export function pathOf(endpoint: Endpoint, id: string | number): string {
  const text = String(id);
  if (text === '' || text === '.' || text === '..') {
    throw new RangeError(`"${text}" cannot stand for an id in ${endpoint.path}`);
  }
  return endpoint.path.replace(ID_IN_PATH, () => encodeURIComponent(text));
}
