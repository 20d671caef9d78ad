import type { Operation } from '../../domain/delivery.ts';
import type { Profile } from '../../domain/profile.ts';
import { showsInPublications } from './publications.ts';

/** How a doubt about a write can be settled. */
export type UnconfirmedPolicy =
  /** The same revision may go out again: its key is honoured, or writing it twice is writing it once. */
  | 'resend'
  /** A complete listing tells whether the item is there, or the passport public. */
  | 'read_back'
  /** Nothing but a person can tell. */
  | 'person';

/** The way out of a doubt, by operation, as far as the profile trusts idempotency keys. */
export function unconfirmedPolicy(operation: Operation, profile: Profile): UnconfirmedPolicy {
  if (profile.idempotency === 'honoured') return 'resend';
  switch (operation) {
    case 'material.update':
    // A passport that is initialised already answers 409.
    case 'passport.init':
      return 'resend';
    case 'passport.publish':
      return profile.idempotency === 'publish' ? 'resend' : 'read_back';
    case 'product.create':
    case 'material.create':
    case 'passport.unpublish':
      return 'read_back';
    case 'product.import':
      // Like an update, an import that updates may be written twice; one that does not would make another product.
      return profile.productUpdate === 'import' ? 'resend' : 'person';
    case 'product.update':
    case 'bom_item.create':
    case 'bom_item.update':
      return 'person';
  }
}

/** Creates of what can be listed, and what shows in the list of publications. */
export function showsInListing(operation: Operation): boolean {
  return operation === 'product.create' || operation === 'material.create' || showsInPublications(operation);
}

/** Whether a write under another key does no harm where an earlier one has arrived. */
export function isRepeatable({ operation, profile }: { operation: Operation; profile: Profile }): boolean {
  return operation === 'material.update' || (operation === 'product.import' && profile.productUpdate === 'import');
}
