import type { Operation } from '../../domain/delivery/operation.ts';
import { hasTrait, NO_REASON, type Reason, storedReason } from '../../domain/delivery/reason.ts';
import type { LedgerViews } from '../../domain/ports/ledger/ledger-views.ts';
import { reasonHas } from '../deliveries/reason-conditions.ts';
import type { Sqlite } from '../store/database.ts';

/** How many deliveries are searched for those that the API has refused. */
const SCHEDULED_MAX = 1000;

interface Refusal {
  operation: Operation;
  reason: Reason;
}

/**
 * What the API has refused and no delivery has shown to be granted since. Only the deliveries that were refused have the
 * reason; the other deliveries of the operation were not sent.
 */
export function createAccessRefusal(db: Sqlite): Pick<LedgerViews, 'accessRefusal' | 'refused'> {
  const sql = {
    // What the API has refused is due again at once, so it is among the first of the scheduled deliveries. SQLite takes the
    // reason from the row with the maximum, which is the latest refusal.
    refusals: db.prepare<[], { operation: Operation; reason: string; at: number }>(
      `SELECT d.operation, d.reason, max(d.due_at) AS at FROM (
         SELECT i.reason, i.operation, i.due_at FROM items i
         WHERE i.state IN ('due', 'in_doubt') AND i.due_at > 0 AND i.state = 'due' ORDER BY i.due_at LIMIT ${SCHEDULED_MAX}) d
       WHERE ${reasonHas('d', 'access_denied')} GROUP BY d.operation, d.reason ->> '$.code' ORDER BY at DESC`,
    ),
    operation: db
      .prepare<[string, string], Operation>('SELECT operation FROM items WHERE kind = ? AND key = ?')
      .pluck(),
    due: db.prepare<[{ sources: string }], { operation: Operation; count: number }>(
      `SELECT i.operation, count(*) AS count FROM items i WHERE i.state = 'due'
         AND (@sources = '[]' OR i.source IN (SELECT value FROM json_each(@sources)))
       GROUP BY i.operation ORDER BY i.operation`,
    ),
  };
  const refusals = (): Refusal[] =>
    sql.refusals.all().map(({ operation, reason }) => ({ operation, reason: storedReason(reason) ?? NO_REASON }));

  return {
    accessRefusal({ kind, key }) {
      const all = refusals();
      return all.length === 0 ? null : reasonFor(sql.operation.get(kind, key) ?? null, all);
    },

    refused(sources = []) {
      const all = refusals();
      if (all.length === 0) return [];
      return sql.due.all({ sources: JSON.stringify(sources) }).flatMap(({ operation, count }) => {
        const reason = reasonFor(operation, all);
        return reason === null ? [] : [{ operation, count, reason }];
      });
    },
  };
}

/** Why deliveries of this operation are not sent; null if none of the refusals is about it. */
function reasonFor(operation: Operation | null, refusals: readonly Refusal[]): Reason | null {
  // A refused key or plan stops every operation, and a 403 only its own.
  const found = refusals.find(({ reason, ...one }) => !hasTrait(reason, 'scope_denied') || one.operation === operation);
  return found?.reason ?? null;
}
