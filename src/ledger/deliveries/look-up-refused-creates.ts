import { NO_REASON, storedReason } from '../../domain/delivery/reason.ts';
import { markUnconfirmed } from '../items/reconcile.ts';
import { statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import { isStuck } from './delivery-states.ts';
import { reasonHas } from './reason-conditions.ts';

const SQL = {
  refused: statement<[string], { id: number; revision: number; reason: string }>(
    `SELECT i.id, i.revision, i.reason FROM items i
     WHERE ${isStuck('i')} AND i.state = 'rejected' AND i.reason ->> '$.lookAgain' = 1 AND i.source = +?`,
  ),
  // No list shows a BOM item, so only the profile can end its wait.
  left: statement<[{ now: number; source: string; takesAnswers: 0 | 1 }]>(
    `UPDATE items AS i SET due_at = @now
     WHERE ${isStuck('i')} AND i.state = 'in_doubt' AND i.due_at = 0 AND i.source = +@source
       AND ((i.operation = 'product.create' AND i.request_place IS NOT NULL)
         OR ((i.operation <> 'bom_item.create' OR @takesAnswers = 1) AND ${reasonHas('i', 'was_answered')})
         OR ${reasonHas('i', 'looked_up_by_runs')})`,
  ),
};

/**
 * Makes writes of a source due for another look-up if no list has shown them, because a list may show them now. These
 * are refused creates whose item a lagging list did not show, new products that an import may have made late, writes whose
 * answers proved too little, and new items that the platform has made several times. Sends nothing. A run begins with it.
 */
export function lookUpRefusedCreates(tx: Tx, source: string): void {
  const takesAnswers = tx.profile.answers.withoutProof === 'accept' ? 1 : 0;
  SQL.left(tx).run({ now: tx.clock.now(), source, takesAnswers });
  for (const { id, revision, reason } of SQL.refused(tx).all(source)) {
    markUnconfirmed(
      tx,
      { id, revision, state: 'rejected' },
      { reason: storedReason(reason) ?? NO_REASON, lookAt: tx.clock.now() },
    );
  }
}
