import type { Profile } from '../../domain/profile.ts';
import type { Items } from '../items/items.ts';
import type { LedgerContext } from '../store/context.ts';
import { isStuck } from './delivery-states.ts';

/** For each value of `productUpdate`: the items whose change was staged under another value, and is not in flight. */
const STAGED_OTHERWISE: Record<Profile['productUpdate'], string> = {
  import: `SELECT id FROM items WHERE ${isStuck('items')}
    AND state = 'blocked' AND operation = 'product.update'`,
  none: `SELECT id FROM items WHERE state = 'due' AND operation = 'product.import' AND uncertain = 0
    UNION ALL SELECT id FROM items WHERE ${isStuck('items')}
    AND state = 'rejected' AND operation = 'product.import'`,
};

/**
 * Stages changes of products again that were staged under another value of `productUpdate`. Call it inside a
 * transaction.
 */
export function createFollowProfile(
  { db, profile }: Pick<LedgerContext, 'db' | 'profile'>,
  items: Pick<Items, 'reconcile'>,
): () => void {
  const stagedOtherwise = db.prepare<[], number>(STAGED_OTHERWISE[profile.productUpdate]).pluck();
  return () => {
    for (const itemId of stagedOtherwise.all()) items.reconcile(itemId);
  };
}
