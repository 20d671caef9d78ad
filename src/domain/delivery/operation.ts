import type { ItemKind } from '../item.ts';
import type { Profile } from '../profile.ts';

/**
 * The writes that the API knows or that an item can need. `product.update` and `bom_item.update` have no endpoint:
 * changed products are sent together as one `product.import` if the profile says that an import updates.
 */
export const OPERATIONS = [
  'product.create',
  'product.update',
  'product.import',
  'material.create',
  'material.update',
  'bom_item.create',
  'bom_item.update',
  'passport.init',
  'passport.publish',
  'passport.unpublish',
] as const;
export type Operation = (typeof OPERATIONS)[number];

/** The kind of item that an operation is about. An operation on a passport is about its product. */
export function kindOf(operation: Operation): ItemKind {
  const subject = operation.slice(0, operation.indexOf('.'));
  return subject === 'passport' ? 'product' : (subject as ItemKind);
}

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

/** How an unconfirmed write can be resolved. */
export type UnconfirmedPolicy =
  /** The same revision may be sent again: the API honours its key, or writing twice has the effect of writing once. */
  | 'resend'
  /** A complete listing shows whether the item exists, or whether the passport is public. */
  | 'read_back'
  /** Only a person can find out. */
  | 'person';

/** How an unconfirmed write of this operation is resolved. It depends on whether the profile trusts idempotency keys. */
export function unconfirmedPolicy(operation: Operation, profile: Profile): UnconfirmedPolicy {
  if (profile.idempotency === 'honoured') return 'resend';
  switch (operation) {
    case 'material.update':
    // The API answers 409 if the passport is initialised already.
    case 'passport.init':
      return 'resend';
    case 'passport.publish':
      return profile.idempotency === 'publish' ? 'resend' : 'read_back';
    case 'product.create':
    case 'material.create':
    case 'passport.unpublish':
      return 'read_back';
    case 'product.import':
      // An import that updates may be sent twice, like any update. An import that creates would make a second product.
      return profile.productUpdate === 'import' ? 'resend' : 'person';
    case 'product.update':
    case 'bom_item.create':
    case 'bom_item.update':
      return 'person';
  }
}

/**
 * True for publishing and withdrawing a passport. The list of publications does not show whether a passport is
 * initialised.
 */
export function showsInPublications(operation: Operation): boolean {
  return operation === 'passport.publish' || operation === 'passport.unpublish';
}

/** True for creates of kinds that have a list, and for writes whose effect the list of publications shows. */
export function showsInListing(operation: Operation): boolean {
  return operation === 'product.create' || operation === 'material.create' || showsInPublications(operation);
}

/** Whether the write may be repeated under another key without harm if an earlier one has arrived. */
export function isRepeatable({ operation, profile }: { operation: Operation; profile: Profile }): boolean {
  return operation === 'material.update' || (operation === 'product.import' && profile.productUpdate === 'import');
}
