import type { Operation } from '../../domain/delivery/operation.ts';
import { hasTrait, NO_REASON, type Reason, storedReason } from '../../domain/delivery/reason.ts';
import type { ItemKind } from '../../domain/item.ts';
import type { AdoptedChanges } from '../../domain/ports/first-contact.ts';
import type { LedgerViews } from '../../domain/ports/ledger/ledger-views.ts';
import { isStuck, reasonHas } from '../items/item-row.ts';
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

/** The open questions of first contact: suspended creates, and adopted items about which a person has to decide. */
export function createContactViews(db: Sqlite): Pick<LedgerViews, 'suspended' | 'adoptedChanges' | 'unansweredParts'> {
  const ofSources = "(@sources = '[]' OR i.source IN (SELECT value FROM json_each(@sources)))";
  const blocked = `items i WHERE ${isStuck('i')} AND i.state = 'blocked' AND ${ofSources}`;
  const sql = {
    suspended: db.prepare<
      [{ sources: string }],
      Omit<ReturnType<LedgerViews['suspended']>[number], 'reason'> & { failure: string | null }
    >(
      `SELECT l.kind, l.failure,
         (SELECT count(*) FROM listed e WHERE e.kind = l.kind) AS listed,
         (SELECT count(*) FROM items i
          WHERE i.state = 'due' AND i.operation = l.kind || '.create' AND ${ofSources}) AS creates
       FROM listings l WHERE l.needed > 0 ORDER BY l.kind DESC`,
    ),
    adopted: db.prepare<[{ sources: string }], { source: string; kind: ItemKind; items: number }>(
      `SELECT i.source, i.kind, count(*) AS items FROM ${blocked} AND i.adopted = 1 AND ${reasonHas('i', 'adopted_change')}
       GROUP BY 1, 2 ORDER BY 1, 2 DESC`,
    ),
    fields: db.prepare<[{ sources: string }], { source: string; kind: ItemKind; field: string; items: number }>(
      `SELECT s.source, s.kind, f.key AS field, count(*) AS items
       FROM (SELECT i.source, i.kind, i.reason FROM ${blocked} AND i.adopted = 1 AND ${reasonHas('i', 'adopted_change')}) s
       CROSS JOIN json_each(s.reason, '$.fields') f GROUP BY +s.source, +s.kind, +f.key ORDER BY items DESC, field`,
    ),
    parts: db.prepare<[{ sources: string }], { products: number; bomItems: number }>(
      `SELECT count(DISTINCT f.key) AS products, count(*) AS bomItems FROM items i
       CROSS JOIN refs f ON f.item_id = i.id AND f.role = 'product'
       WHERE ${isStuck('i')} AND i.state = 'blocked' AND ${ofSources} AND ${reasonHas('i', 'parts_unknown')}`,
    ),
  };
  const listed = (sources: readonly string[] = []) => ({ sources: JSON.stringify(sources) });

  return {
    suspended: (sources = []) =>
      sql.suspended
        .all(listed(sources))
        .filter(({ creates }) => creates > 0 || sources.length === 0)
        .map(({ failure, ...row }) => ({ ...row, reason: storedReason(failure) })),
    adoptedChanges(sources) {
      const all: AdoptedChanges[] = sql.adopted.all(listed(sources)).map((row) => ({ ...row, fields: {} }));
      for (const { source, kind, field, items } of all.length === 0 ? [] : sql.fields.all(listed(sources))) {
        const group = all.find((one) => one.source === source && one.kind === kind);
        if (group !== undefined) group.fields[field] = items;
      }
      return all;
    },
    unansweredParts: (sources) => sql.parts.get(listed(sources)) ?? { products: 0, bomItems: 0 },
  };
}
