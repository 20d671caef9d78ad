import { NO_REASON, storedReason } from '../../domain/reason.ts';
import type { Items } from '../items/items.ts';
import { type LedgerContext } from '../store/context.ts';
import { isStuck } from './delivery-states.ts';

/**
 * Has creates of a source looked for again that were refused although nobody found the item: a list that lagged behind shows
 * it by now. Nothing is sent for that. For use inside the transaction that begins a run.
 */
export function createLookAgain(
  { db, clock }: Pick<LedgerContext, 'db' | 'clock'>,
  items: Items,
): (source: string) => void {
  const refused = db.prepare<[string], { id: number; itemId: number; reason: string }>(
    `SELECT d.id, d.item_id AS itemId, d.reason FROM deliveries d CROSS JOIN items i ON i.id = d.item_id
     WHERE ${isStuck('d')} AND d.state = 'rejected' AND d.reason ->> '$.lookAgain' = 1 AND i.source = +?`,
  );
  return (source) => {
    for (const { id, itemId, reason } of refused.all(source)) {
      items.suspect(
        { id, itemId, state: 'rejected' },
        { reason: storedReason(reason) ?? NO_REASON, lookAt: clock.now() },
      );
    }
  };
}
