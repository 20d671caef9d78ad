import { storedReason } from '../../../domain/delivery/reason.ts';
import type { ItemKind } from '../../../domain/item.ts';
import type { LedgerViews } from '../../../domain/ports/ledger/ledger-views.ts';
import type { Sqlite } from '../../store/database.ts';
import { createDeliverySteps, type DeliverySteps } from './delivery-steps.ts';

/** The steps of deliveries, with what the ledger knows of first contact and of refusals of the API. */
export function createStoredDeliverySteps(
  db: Sqlite,
  views: Pick<LedgerViews, 'apiWait' | 'accessRefusal' | 'guardedReads'>,
): DeliverySteps {
  const sql = {
    contact: db.prepare<[string], { failure: string | null }>(
      'SELECT failure FROM listings WHERE kind = ? AND needed > 0',
    ),
  };

  function contactOf(kind: ItemKind) {
    const row = sql.contact.get(kind);
    return row === undefined ? null : { failure: storedReason(row.failure) };
  }

  return createDeliverySteps({
    firstContact: contactOf,
    refusal: (item) => views.accessRefusal(item),
    apiWait: () => views.apiWait(),
    guarded: (source) => views.guardedReads([source]),
  });
}
