import { storedReason } from '../../../domain/delivery/reason.ts';
import type { ItemKind } from '../../../domain/item.ts';
import type { LedgerViews } from '../../../domain/ports/ledger/ledger-views.ts';
import type { Sqlite } from '../../store/database.ts';
import { createDeliverySteps, type DeliverySteps } from './delivery-steps.ts';

/** How many deliveries are searched for one that the API has refused. */
const SCHEDULED_MAX = 1000;

/** The steps of deliveries, with the facts of the ledger about first contact and refusals by the API. */
export function createStoredDeliverySteps(db: Sqlite, views: Pick<LedgerViews, 'apiWait'>): DeliverySteps {
  const sql = {
    contact: db.prepare<[string], { failure: string | null }>(
      'SELECT failure FROM listings WHERE kind = ? AND needed > 0',
    ),
    // A delivery that the API has refused is due again at once, so it is among the first of the scheduled deliveries.
    refusal: db
      .prepare<[{ kind: string; key: string }], string>(
        `SELECT d.reason FROM (
           SELECT i.reason, i.operation FROM items i
           WHERE i.state IN ('due', 'in_doubt') AND i.due_at > 0 AND i.state = 'due' ORDER BY i.due_at LIMIT ${SCHEDULED_MAX}) d
         WHERE d.reason ->> '$.code' IN ('denied_key', 'denied_plan') OR (d.reason ->> '$.code' = 'denied_scope'
           AND d.operation = (SELECT operation FROM items WHERE kind = @kind AND key = @key)) LIMIT 1`,
      )
      .pluck(),
  };

  function contactOf(kind: ItemKind) {
    const row = sql.contact.get(kind);
    return row === undefined ? null : { failure: storedReason(row.failure) };
  }

  return createDeliverySteps({
    firstContact: contactOf,
    refusal: (item) => storedReason(sql.refusal.get(item) ?? null),
    apiWait: () => views.apiWait(),
  });
}
