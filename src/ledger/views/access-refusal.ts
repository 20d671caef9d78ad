import { storedReason } from '../../domain/delivery/reason.ts';
import type { LedgerViews } from '../../domain/ports/ledger/ledger-views.ts';
import type { Sqlite } from '../store/database.ts';

/** How many deliveries are searched for one that the API has refused. */
const SCHEDULED_MAX = 1000;

export function createAccessRefusal(db: Sqlite): LedgerViews['accessRefusal'] {
  // What the API has refused is due again at once, so it is among the first of the scheduled deliveries.
  const refusal = db
    .prepare<[{ kind: string; key: string }], string>(
      `SELECT d.reason FROM (
         SELECT i.reason, i.operation FROM items i
         WHERE i.state IN ('due', 'in_doubt') AND i.due_at > 0 AND i.state = 'due' ORDER BY i.due_at LIMIT ${SCHEDULED_MAX}) d
       WHERE d.reason ->> '$.code' IN ('denied_key', 'denied_plan') OR (d.reason ->> '$.code' = 'denied_scope'
         AND d.operation = (SELECT operation FROM items WHERE kind = @kind AND key = @key)) LIMIT 1`,
    )
    .pluck();
  return ({ kind, key }) => storedReason(refusal.get({ kind, key }) ?? null);
}
