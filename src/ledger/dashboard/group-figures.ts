// What is counted of the members of stuck groups: the passports that they keep from being published, and their values at fault.

import type { CauseValue } from '../../domain/ports/ledger/dashboard-views.ts';
import {
  FIRST_CODE,
  FIRST_FIELD,
  IS_QUARANTINED,
  NEEDS_PERSON,
  type RecordGroup,
  SHAPE,
  type StuckGroup,
} from '../items/stuck-groups.ts';
import { column, perDatabase, statement } from '../store/tx.ts';
import type { DashboardReads } from './catalog.ts';

/** What is known of the members of a cause. */
export interface Figures {
  /** How many passports they keep from being published; null if that is not known. */
  passportsHeld: number | null;
  /** Their values at fault, the most frequent first, and how many other values there are. */
  values: CauseValue[];
  otherValues: number;
}

export const NO_VALUES = { values: [], otherValues: 0 } as const satisfies Partial<Figures>;

/** The members of a larger group are not counted one by one, because that takes too long. */
export const MEMBERS_MAX = 20_000;
/** How many members one call looks at. A later call looks at the rest. */
const LOOKED_AT_MAX = 25_000;
/** For this long the figures of a group with the same members are used again. Meanwhile some passports may have been withdrawn. */
export const KEPT_MS = 60_000;
/** At most this many values of a cause are named. */
export const VALUES_MAX = 10;

/** SQL condition: true if everybody can see the passport of the product with this key. Nothing keeps it from being published. */
export const isPublished = (key: string) =>
  `EXISTS (SELECT 1 FROM items q WHERE q.kind = 'passport' AND q.key = ${key} AND q.baseline = '{"status":"published"}')`;
/**
 * The products that contain one of the `members`, as a material or as a component. Their BOM items wait for it, and so do their
 * passports.
 */
export const PRODUCTS_WITH_PART = `SELECT m.cause, f.key FROM members m CROSS JOIN refs u ON u.kind IN ('product', 'material') AND u.key = m.key
         AND u.role <> 'product' AND (u.kind = m.kind OR u.either = 1)
         JOIN refs f ON f.item_id = u.item_id AND f.role = 'product' WHERE m.kind IN ('material', 'product')`;
const OF_GROUP = `${IS_QUARANTINED} AND r.stream_id = CAST(e.value ->> '$.streamId' AS INTEGER) AND ${FIRST_CODE} IS e.value ->> '$.code'
         AND ${FIRST_FIELD} IS e.value ->> '$.field'`;
/** SQL expression: the value of the first issue of a record `r`, as text. */
export const FIRST_VALUE = "CASE WHEN json_valid(r.issues) THEN CAST(r.issues ->> '$[0].value' AS TEXT) END";

interface Held {
  id: string;
  held: number;
}

const SQL = {
  // A row whose product is unknown blocks the passports of all products: `unmade` are those that only rows in quarantine would make.
  heldByRecords: statement<[string], Held & { all: 0 | 1; unmade: number }>(
    `WITH stuck AS MATERIALIZED (SELECT e.value ->> '$.id' AS cause, r.id
       FROM json_each(?) e CROSS JOIN records r INDEXED BY records_by_issue WHERE ${OF_GROUP}),
     members AS MATERIALIZED (
       SELECT w.cause, 'product' AS kind, h.product_key AS key FROM stuck w CROSS JOIN holds h ON h.record_id = w.id
       UNION SELECT w.cause, 'material', m.material_key FROM stuck w CROSS JOIN held_materials m ON m.record_id = w.id)
     SELECT p.cause AS id, count(p.key) AS held, max(p.key IS NULL) AS "all",
       sum(p.key IS NOT NULL AND NOT EXISTS (SELECT 1 FROM items i WHERE i.kind = 'product' AND i.key = p.key)) AS unmade FROM (
       SELECT cause, key FROM members WHERE kind = 'product' UNION ${PRODUCTS_WITH_PART}) p
     WHERE p.key IS NULL OR NOT ${isPublished('p.key')} GROUP BY 1`,
  ),
  // A product blocks its own passport, and a BOM item blocks the passport of its product.
  heldByItems: statement<[string], Held>(
    `WITH members AS MATERIALIZED (SELECT e.value ->> '$.id' AS cause, i.id, i.kind, i.key
       FROM json_each(?) e CROSS JOIN items i INDEXED BY items_by_reason WHERE ${NEEDS_PERSON}
         AND i.state = e.value ->> '$.state' AND ${SHAPE} = e.value ->> '$.shape' AND i.source = e.value ->> '$.source')
     SELECT p.cause AS id, count(*) AS held FROM (
       SELECT cause, key FROM members WHERE kind IN ('product', 'passport')
       UNION SELECT m.cause, f.key FROM members m JOIN refs f ON f.item_id = m.id AND f.role = 'product' WHERE m.kind = 'bom_item'
       UNION ${PRODUCTS_WITH_PART}) p
     WHERE NOT ${isPublished('p.key')} GROUP BY 1`,
  ),
  ofAllProducts: column<[], number>(
    `SELECT count(*) FROM items p WHERE p.kind = 'product' AND NOT ${isPublished('p.key')}`,
  ),
  values: statement<[string], CauseValue & { id: string; distinct: number }>(
    `SELECT v.id, v.value, v.count, v."distinct" FROM (
       SELECT g.id, g.value, g.count, count(*) OVER (PARTITION BY g.id) AS "distinct",
         row_number() OVER (PARTITION BY g.id ORDER BY g.count DESC, g.value) AS place
       FROM (SELECT e.value ->> '$.id' AS id, ${FIRST_VALUE} AS value, count(*) AS count
         FROM json_each(?) e CROSS JOIN records r INDEXED BY records_by_issue WHERE ${OF_GROUP} GROUP BY 1, 2) g
       WHERE g.value IS NOT NULL) v
     WHERE v.place <= ${VALUES_MAX} ORDER BY v.id, v.place`,
  ),
};

/** The figures of groups, as long as they are used again. */
const keptFigures = perDatabase(() => new Map<string, { of: string; figures: Figures; until: number }>());

/** The figures of each group, by its id. */
export function figuresOf(reads: DashboardReads, groups: readonly StuckGroup[]): Map<string, Figures> {
  const kept = keptFigures(reads);
  const nameOf = ({ count, firstId, since, until }: StuckGroup) => `${count} ${firstId} ${since} ${until}`;
  let left = LOOKED_AT_MAX;
  const counted = groups.filter((group) => {
    const known = kept.get(group.id);
    if (known?.of === nameOf(group) && reads.now() < known.until) return false;
    if (group.count > MEMBERS_MAX || group.count > left) return false;
    left -= group.count;
    return true;
  });
  const figures = count(reads, counted);
  for (const group of counted) {
    const found = figures(group.id);
    kept.set(group.id, { of: nameOf(group), figures: found, until: reads.now() + KEPT_MS });
  }
  return new Map(
    groups.map((group) => {
      const known = kept.get(group.id);
      return [group.id, known?.of === nameOf(group) ? known.figures : { passportsHeld: null, ...NO_VALUES }];
    }),
  );
}

function count(reads: DashboardReads, groups: readonly StuckGroup[]): (id: string) => Figures {
  const ofRecords = groups.filter((group): group is RecordGroup => group.type === 'quarantine');
  const ofItems = groups.filter(({ type }) => type !== 'quarantine');
  const [records, items] = [JSON.stringify(ofRecords), JSON.stringify(ofItems)];
  const byRecords = ofRecords.length === 0 ? [] : SQL.heldByRecords(reads).all(records);
  const byItems = ofItems.length === 0 ? [] : SQL.heldByItems(reads).all(items);
  const ofAllProducts = byRecords.some(({ all }) => all === 1) ? (SQL.ofAllProducts(reads).get() ?? 0) : 0;
  const held = new Map([
    ...byRecords.map((one) => [one.id, one.all === 1 ? ofAllProducts + one.unmade : one.held] as const),
    ...byItems.map((one) => [one.id, one.held] as const),
  ]);
  const values = Map.groupBy(ofRecords.length === 0 ? [] : SQL.values(reads).all(records), ({ id }) => id);
  return (id) => {
    const named = values.get(id) ?? [];
    return {
      passportsHeld: held.get(id) ?? 0,
      values: named.map(({ value, count: members }) => ({ value, count: members })),
      otherValues: Math.max(0, (named[0]?.distinct ?? 0) - named.length),
    };
  };
}
