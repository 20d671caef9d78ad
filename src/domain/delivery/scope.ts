import { OPERATIONS, type Operation } from './operation.ts';

/** The scopes that an API key can have. */
export const SCOPES = ['read', 'write', 'publish'] as const;
export type Scope = (typeof SCOPES)[number];

/** The scope that a write needs. A read-back needs `read`. */
export function scopeOfWrite(operation: Operation): Scope {
  return operation === 'passport.publish' || operation === 'passport.unpublish' ? 'publish' : 'write';
}

/** The reading of each list of the API. */
export const LIST_ACCESSES = ['product.list', 'material.list', 'publication.list'] as const;
export type ListAccess = (typeof LIST_ACCESSES)[number];

/** What the API can refuse by itself: one kind of write, one list, or `read`, which stands for all other reads. */
export type Access = Operation | ListAccess | 'read';

export function isListAccess(access: Access): access is ListAccess {
  return LIST_ACCESSES.some((list) => list === access);
}

export function scopeOf(access: Access): Scope {
  return access === 'read' || isListAccess(access) ? 'read' : scopeOfWrite(access);
}

/** Everything that needs a scope. */
export function accessesOf(scope: Scope): Access[] {
  if (scope === 'read') return [...LIST_ACCESSES, 'read'];
  return OPERATIONS.filter((operation) => scopeOfWrite(operation) === scope);
}

/** Names a refused request in a sentence: `the list of materials`, `product.import`. */
export function accessWord(access: Access): string {
  return isListAccess(access) ? `the list of ${access.replace('.list', 's')}` : access;
}

/** A list of the API. */
export type ListName = 'product' | 'material' | 'publications';

/** The access that the API can refuse to reads of this list. */
export function accessOf(list: ListName): ListAccess {
  return list === 'publications' ? 'publication.list' : `${list}.list`;
}

/** The list that shows the effect of a write; null if no list shows it. */
export function listShowing(operation: Operation): ListName | null {
  switch (operation) {
    case 'product.create':
    case 'product.import':
      return 'product';
    case 'material.create':
    case 'material.update':
      return 'material';
    // The publications show a passport only while it is public.
    case 'passport.init':
    case 'passport.publish':
    case 'passport.unpublish':
      return 'publications';
    case 'bom_item.create':
    case 'product.update':
    case 'bom_item.update':
      return null;
  }
}
