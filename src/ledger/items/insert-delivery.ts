import { type DeliveryState, idempotencyKey } from '../../domain/delivery.ts';
import type { Reason } from '../../domain/reason.ts';
import type { LedgerContext } from '../store/context.ts';
import type { ItemRow } from './item-row.ts';
import type { WantedWrite } from './wanted.ts';

/** With `isNew` it was written just now, with the revision that its first delivery will have. */
export type ReconciledItem = ItemRow & { isNew?: true };

/** Gives what writes an item's next delivery, and its id. For use inside a transaction. */
export function createInsertDelivery({
  db,
  clock,
  epoch,
  target,
}: Pick<LedgerContext, 'db' | 'clock' | 'epoch' | 'target'>): (
  item: ReconciledItem,
  write: WantedWrite,
  state: DeliveryState,
  reason: Reason | null,
) => number {
  const sql = {
    clearIgnored: db.prepare<[number]>('UPDATE items SET ignored_hash = NULL WHERE id = ?'),
    nextRevision: db.prepare<[number]>('UPDATE items SET revision = revision + 1 WHERE id = ?'),
    insert: db.prepare<[number, string, number, string, string, string, string, string | null, 0 | 1, number]>(
      `INSERT INTO deliveries
         (item_id, operation, revision, state, idempotency_key, desired, desired_hash, reason, by_hand, staged_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
  };

  return (item, { operation, desired, desiredHash, byHand }, state, reason) => {
    if (!item.isNew) sql.nextRevision.run(item.id);
    if (item.ignoredHash !== null) sql.clearIgnored.run(item.id);
    const revision = item.revision + 1;
    const key = idempotencyKey({
      epoch,
      target,
      operation,
      subject: item.id,
      naturalKey: item.naturalKey ?? item.key,
      payloadHash: desiredHash,
      revision,
    });
    const why = reason === null ? null : JSON.stringify(reason);
    const what = [item.id, operation, revision, state, key, desired, desiredHash] as const;
    const inserted = sql.insert.run(...what, why, byHand ? 1 : 0, clock.now());
    return Number(inserted.lastInsertRowid);
  };
}
