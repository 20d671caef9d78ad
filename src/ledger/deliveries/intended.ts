// What deliveries ask for, beside what the platform has acknowledged: the content of a plan.

import { storedReason } from '../../domain/delivery/stored-reason.ts';
import type { ItemRef } from '../../domain/item.ts';
import type { IntendedWrite, LeftItem, PublicProduct } from '../../domain/ports/deliveries.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { acknowledgedContent, isStuck, revisionContent } from '../items/item-row.ts';
import { parseJson, parseJsonOrNull, type Reads, statement } from '../store/tx.ts';
import { type DeliveryRow, SELECT_LISTED_DELIVERIES } from './delivery-row.ts';

interface LeftRow extends Omit<LeftItem, 'reason'> {
  reason: string | null;
}

const LEFT = 'i.id, i.kind, i.key, i.natural_key AS naturalKey, i.source, i.state, i.reason, i.due_at AS dueAt';

const SQL = {
  rows: statement<[string], DeliveryRow>(SELECT_LISTED_DELIVERIES),
  refs: statement<[string], ItemRef & { itemId: number; remoteId: string | null }>(
    `SELECT refs.item_id AS itemId, refs.role, refs.kind, refs.key, to_item.remote_id AS remoteId FROM json_each(+?) listed
     CROSS JOIN refs ON refs.item_id = listed.value
     LEFT JOIN items to_item ON to_item.kind = refs.kind AND to_item.key = refs.key ORDER BY refs.item_id, refs.role`,
  ),
  // Two reads, each by its own index.
  stuck: statement<[{ afterId: number; limit: number }], LeftRow>(
    `SELECT ${LEFT} FROM items i WHERE ${isStuck('i')} AND i.id > @afterId ORDER BY i.id LIMIT @limit`,
  ),
  waiting: statement<[{ afterId: number; limit: number }], LeftRow>(
    `SELECT ${LEFT} FROM items i WHERE i.state = 'waiting' AND i.id > @afterId ORDER BY i.id LIMIT @limit`,
  ),
  // The products whose passports show one of these items: the product itself, the product of a BOM item, and the products
  // whose BOM items name a material or another product.
  shownBy: statement<[string], Omit<PublicProduct, 'passportId'> & { passportId: string | null }>(
    `WITH listed AS (SELECT i.id, i.kind, i.key FROM json_each(+?) l CROSS JOIN items i ON i.id = l.value),
       shown AS (
         SELECT key FROM listed WHERE kind = 'product'
         UNION SELECT r.key FROM listed CROSS JOIN refs r ON r.item_id = listed.id AND r.role = 'product'
           WHERE listed.kind = 'bom_item'
         UNION SELECT r.key FROM listed CROSS JOIN refs u ON u.kind = listed.kind AND u.key = listed.key AND u.role <> 'product'
           CROSS JOIN refs r ON r.item_id = u.item_id AND r.role = 'product'
           WHERE listed.kind IN ('material', 'product'))
     SELECT p.id, p.key, p.natural_key AS naturalKey, p.source, q.remote_id AS passportId FROM shown
     CROSS JOIN items q ON q.kind = 'passport' AND q.key = shown.key
     CROSS JOIN items p ON p.kind = 'product' AND p.key = shown.key
     WHERE q.baseline = '{"status":"published"}' ORDER BY p.id`,
  ),
};

/** The content of these deliveries, by their ids. */
export function intendedWrites(reads: Reads, ids: readonly number[]): ReadonlyMap<number, IntendedWrite> {
  const listed = JSON.stringify(ids);
  const refs = Map.groupBy(SQL.refs(reads).all(listed), ({ itemId }) => itemId);
  return new Map(
    SQL.rows(reads)
      .all(listed)
      .map((row) => [
        row.id,
        {
          desired: parseJson<JsonObject>(revisionContent(row).text),
          before: parseJsonOrNull<JsonObject>(acknowledgedContent(row)?.text ?? null),
          refs: (refs.get(row.id) ?? []).map(({ role, kind, key, remoteId }) => ({
            role,
            kind,
            key,
            remoteId: parseJsonOrNull<JsonValue>(remoteId),
          })),
        },
      ]),
  );
}

/** A page of the items that need a person or other items, in the order of their ids. */
export function leftItems(
  reads: Reads,
  { of, ...page }: { of: 'stuck' | 'waiting'; afterId: number; limit: number },
): LeftItem[] {
  return SQL[of](reads)
    .all(page)
    .map((row) => ({ ...row, reason: storedReason(row.reason) }));
}

/** The products whose passports are public and show one of these items. */
export function publicProductsOf(reads: Reads, ids: readonly number[]): PublicProduct[] {
  return SQL.shownBy(reads)
    .all(JSON.stringify(ids))
    .map(({ passportId, ...product }) => ({ ...product, passportId: parseJsonOrNull<JsonValue>(passportId) }));
}
