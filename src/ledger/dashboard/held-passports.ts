import type { Sqlite } from '../store/database.ts';
import { FIRST_CODE, FIRST_FIELD, IS_QUARANTINED, NEEDS_PERSON, SHAPE, type StuckGroup } from './stuck-groups.ts';

/** The passports of a group with more members are not counted, because counting takes too long. */
const MEMBERS_MAX = 20_000;
/** How many members one call looks at. A later call counts the rest. */
const LOOKED_AT_MAX = 25_000;

/** For this long a count of a group with the same members is used again. Meanwhile some passports may have been withdrawn. */
const KEPT_MS = 60_000;
/** SQL condition: true if everybody can see the passport of the product with this key. Nothing keeps it from being published. */
const isPublished = (key: string) =>
  `EXISTS (SELECT 1 FROM items q WHERE q.kind = 'passport' AND q.key = ${key} AND q.baseline = '{"status":"published"}')`;

/** How many passports the members of a group keep from being published; null if that is not known. */
export type HeldPassports = (group: StuckGroup, budget: { left: number }) => number | null;

export function newBudget(): { left: number } {
  return { left: LOOKED_AT_MAX };
}

/** Counts by group. `now` gives milliseconds of a clock that is never set back. */
export function createHeldPassports(db: Sqlite, now: () => number): HeldPassports {
  const sql = {
    ofRecords: db.prepare<
      [{ streamId: number; code: string | null; field: string | null }],
      { held: number; all: number | null }
    >(
      `SELECT count(DISTINCT iif(${isPublished('h.product_key')}, NULL, h.product_key)) AS held,
         max(h.product_key IS NULL) AS "all"
       FROM records r INDEXED BY records_by_issue CROSS JOIN holds h ON h.record_id = r.id
       WHERE ${IS_QUARANTINED} AND r.stream_id = @streamId AND ${FIRST_CODE} IS @code AND ${FIRST_FIELD} IS @field`,
    ),
    // A product blocks its own passport, a BOM item blocks the passport of its product, and a material blocks the
    // passports of the products that contain it.
    ofItems: db
      .prepare<[{ state: string; shape: string; source: string }], number>(
        `WITH members AS MATERIALIZED (SELECT i.id, i.kind, i.key FROM items i INDEXED BY items_by_reason
           WHERE ${NEEDS_PERSON} AND i.state = @state AND ${SHAPE} = @shape AND i.source = @source)
         SELECT count(*) FROM (
           SELECT key FROM members WHERE kind IN ('product', 'passport')
           UNION SELECT f.key FROM members m JOIN refs f ON f.item_id = m.id AND f.role = 'product' WHERE m.kind = 'bom_item'
           UNION SELECT f.key FROM members m CROSS JOIN refs u ON u.kind = 'material' AND u.key = m.key
             JOIN refs f ON f.item_id = u.item_id AND f.role = 'product' WHERE m.kind = 'material') p
         WHERE NOT ${isPublished('p.key')}`,
      )
      .pluck(),
  };
  const known = new Map<string, { of: string; held: number | null; until: number }>();

  function count(group: StuckGroup): number | null {
    if (group.type !== 'quarantine') return sql.ofItems.get(group) ?? 0;
    const { streamId, code, field } = group;
    const row = sql.ofRecords.get({ streamId, code, field });
    // A row whose product is unknown blocks the passports of all products.
    return row === undefined || row.all === 1 ? null : row.held;
  }

  return (group, budget) => {
    const of = `${group.count} ${group.firstId} ${group.since}`;
    const before = known.get(group.id);
    if (before?.of === of && now() < before.until) return before.held;
    if (group.count > MEMBERS_MAX || group.count > budget.left) return before?.held ?? null;
    budget.left -= group.count;
    const held = count(group);
    known.set(group.id, { of, held, until: now() + KEPT_MS });
    return held;
  };
}
