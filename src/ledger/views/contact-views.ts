import { storedReason } from '../../domain/delivery/reason.ts';
import type { ItemKind } from '../../domain/item.ts';
import type { AdoptedChanges } from '../../domain/ports/first-contact.ts';
import type { LedgerViews } from '../../domain/ports/ledger/ledger-views.ts';
import { isStuck } from '../deliveries/delivery-states.ts';
import { reasonHas } from '../deliveries/reason-conditions.ts';
import type { Sqlite } from '../store/database.ts';

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
