import { NO_REASON, storedReason } from '../../../domain/delivery/reason.ts';
import type { ItemKind } from '../../../domain/item.ts';
import type { LedgerViews } from '../../../domain/ports/ledger/ledger-views.ts';
import { isStuck } from '../../deliveries/delivery-states.ts';
import type { Sqlite } from '../../store/database.ts';
import { type AwaitedProof, createDeliverySteps, type DeliverySteps } from './delivery-steps.ts';

/** The steps of deliveries, with what the ledger knows of first contact and of refusals of the API. */
export function createStoredDeliverySteps(
  db: Sqlite,
  views: Pick<LedgerViews, 'apiWait' | 'accessRefusal' | 'guardedReads'>,
): DeliverySteps {
  const sql = {
    contact: db.prepare<[string], { failure: string | null }>(
      'SELECT failure FROM listings WHERE kind = ? AND needed > 0',
    ),
    proof: db.prepare<[], { key: string; dueAt: number; reason: string }>(
      `SELECT i.key, i.due_at AS dueAt, i.reason FROM items i
       WHERE ${isStuck('i')} AND i.state = 'in_doubt' AND i.operation = 'product.import'
         AND i.reason ->> '$.code' = 'change_proof' ORDER BY i.due_at LIMIT 1`,
    ),
  };

  function contactOf(kind: ItemKind) {
    const row = sql.contact.get(kind);
    return row === undefined ? null : { failure: storedReason(row.failure) };
  }

  function awaitedProof(): AwaitedProof | null {
    const row = sql.proof.get();
    if (row === undefined) return null;
    return { key: row.key, isHeld: row.dueAt === 0, message: (storedReason(row.reason) ?? NO_REASON).message };
  }

  return createDeliverySteps({
    firstContact: contactOf,
    refusal: (item) => views.accessRefusal(item),
    apiWait: () => views.apiWait(),
    awaitedProof,
    guarded: (source) => views.guardedReads([source]),
  });
}
