import { readMeta, writeMeta } from '../store/meta.ts';
import type { Tx } from '../store/tx.ts';
import { idsGivenAway } from './given-ids.ts';
import { reconcile } from './reconcile.ts';

/** The name under which the ledger stores that this work is done. */
const DONE = 'given_ids_reconciled';

/**
 * Reconciles the items whose remote ids other items took over under an earlier version, which did not reconcile them.
 * Reads all items, but only once in the life of a ledger.
 */
export function reconcileGivenIds(tx: Tx): void {
  if (readMeta(tx, DONE) !== null) return;
  for (const itemId of idsGivenAway(tx)) reconcile(tx, itemId);
  writeMeta(tx, DONE, '1');
}
