import { NO_REASON, storedReason } from '../../domain/reason.ts';
import type { Items } from '../items/items.ts';
import type { LedgerContext } from '../store/context.ts';
import { isStuck } from './delivery-states.ts';

/**
 * Has refused creates of a source looked up again whose item nobody could find: a list that lagged may show the item
 * now. Sends nothing. Call it inside the transaction that begins a run.
 */
export function createLookUpRefusedCreates(
  { db, clock }: Pick<LedgerContext, 'db' | 'clock'>,
  items: Pick<Items, 'markUnconfirmed'>,
): (source: string) => void {
  const refused = db.prepare<[string], { id: number; revision: number; reason: string }>(
    `SELECT i.id, i.revision, i.reason FROM items i
     WHERE ${isStuck('i')} AND i.state = 'rejected' AND i.reason ->> '$.lookAgain' = 1 AND i.source = +?`,
  );
  return (source) => {
    for (const { id, revision, reason } of refused.all(source)) {
      items.markUnconfirmed(
        { id, revision, state: 'rejected' },
        { reason: storedReason(reason) ?? NO_REASON, lookAt: clock.now() },
      );
    }
  };
}
