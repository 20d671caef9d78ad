import type { LedgerContext } from '../store/context.ts';
import { createMeta } from '../store/meta.ts';
import type { Items } from './items.ts';

/** The name under which the ledger stores that this work is done. */
const DONE = 'given_ids_reconciled';

/**
 * Reconciles the items whose remote ids other items took over under an earlier version, which did not reconcile them.
 * Reads all items, but only once in the life of a ledger. Call it inside a transaction.
 */
export function createReconcileGivenIds(
  { db }: Pick<LedgerContext, 'db'>,
  items: Pick<Items, 'idsGivenAway' | 'reconcile'>,
): () => void {
  const meta = createMeta(db);
  return () => {
    if (meta.get(DONE) !== null) return;
    for (const itemId of items.idsGivenAway()) items.reconcile(itemId);
    meta.set(DONE, '1');
  };
}
