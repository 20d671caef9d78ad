import type { Profile } from '../profile.ts';
import type { Operation } from './operation.ts';

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
