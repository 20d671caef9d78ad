import { NO_REASON, storedReason } from '../../domain/delivery/reason.ts';
import type { Items } from '../items/items.ts';
import type { LedgerContext } from '../store/context.ts';
import { isStuck } from './delivery-states.ts';
import { reasonHas } from './reason-conditions.ts';

/**
 * Makes writes of a source due for another look-up if no list has shown them, because a list may show them now.
 * These are refused creates whose item a lagging list did not show, new products that an import may have made late, writes
 * whose answers proved too little, and new items that the platform has made several times. Sends nothing. Call it inside the transaction that begins a run.
 */
export function createLookUpRefusedCreates(
  { db, clock, profile }: Pick<LedgerContext, 'db' | 'clock' | 'profile'>,
  items: Pick<Items, 'markUnconfirmed'>,
): (source: string) => void {
  const refused = db.prepare<[string], { id: number; revision: number; reason: string }>(
    `SELECT i.id, i.revision, i.reason FROM items i
     WHERE ${isStuck('i')} AND i.state = 'rejected' AND i.reason ->> '$.lookAgain' = 1 AND i.source = +?`,
  );
  // No list shows a BOM item, so only the profile can end its wait.
  const takesAnswers = profile.answers.withoutProof === 'accept' ? 1 : 0;
  const left = db.prepare<[number, string]>(
    `UPDATE items AS i SET due_at = ?
     WHERE ${isStuck('i')} AND i.state = 'in_doubt' AND i.due_at = 0 AND i.source = +?
       AND ((i.operation = 'product.create' AND i.request_place IS NOT NULL)
         OR ((i.operation <> 'bom_item.create' OR ${takesAnswers}) AND ${reasonHas('i', 'was_answered')})
         OR ${reasonHas('i', 'looked_up_by_runs')})`,
  );
  return (source) => {
    left.run(clock.now(), source);
    for (const { id, revision, reason } of refused.all(source)) {
      items.markUnconfirmed(
        { id, revision, state: 'rejected' },
        { reason: storedReason(reason) ?? NO_REASON, lookAt: clock.now() },
      );
    }
  };
}
