import { reasonShape, storedReason } from '../../domain/delivery/stored-reason.ts';
import type { Decision } from '../../domain/ports/deliveries.ts';
import { idsOf, revisionContent } from '../items/item-row.ts';
import { numberIn } from '../items/item-writes.ts';
import { statement, type Tx } from '../store/tx.ts';
import type { DeliveryRow } from './delivery-row.ts';

interface Failing {
  row: DeliveryRow;
  decision: Extract<Decision, { kind: 'blocked' | 'rejected' | 'parked' }>;
}

const SQL = {
  before: statement<[string], { id: number; operation: string; hash: string; reason: string }>(
    `SELECT h.item_id AS id, h.operation, h.desired_hash AS hash, h.reason FROM json_each(?) l
     CROSS JOIN history h ON h.item_id = ${numberIn('l', 0)} AND h.revision =
       (SELECT max(revision) FROM history WHERE item_id = ${numberIn('l', 0)} AND revision < ${numberIn('l', 1)})
     WHERE h.state = 'superseded' AND h.reason IS NOT NULL`,
  ),
};

/**
 * The ids of the items whose revision before this one was the same write, and failed for the same reason. The write was
 * sent again by itself or by a person, and nothing has changed.
 */
export function failedAgainAmong(tx: Tx, failing: readonly Failing[]): ReadonlySet<number> {
  if (failing.length === 0) return new Set();
  const list = JSON.stringify(failing.map(({ row: { id, revision } }) => [id, revision]));
  const before = new Map(
    SQL.before(tx)
      .all(list)
      .map((revision) => [revision.id, revision]),
  );
  const again = failing.filter(({ row, decision }) => {
    const last = before.get(row.id);
    const reason = storedReason(last?.reason ?? null);
    if (last === undefined || reason === null) return false;
    const isSameWrite = last.operation === row.operation && last.hash === revisionContent(row).hash;
    return isSameWrite && reasonShape(reason) === reasonShape(decision.reason);
  });
  return new Set(idsOf(again.map(({ row }) => row)));
}
