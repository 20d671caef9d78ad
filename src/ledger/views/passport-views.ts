import { storedReason } from '../../domain/delivery/stored-reason.ts';
import { type PassportDesire, type PassportState, type PassportStatus, wantedByPolicy } from '../../domain/passport.ts';
import type { PassportView } from '../../domain/ports/ledger/ledger-views.ts';
import { isOpen } from '../items/item-row.ts';
import { blockersOfAll, commonBlockers, type EvaluatedProduct } from '../passports/completeness.ts';
import { parseJsonOrNull, statement } from '../store/tx.ts';

import type { ViewReads } from './view-reads.ts';

const BLOCKERS_MAX = 10;

// The state of a passport. A product whose passport is wanted further and has no open delivery is incomplete: for a
// complete product the evaluation would have staged a delivery. A passport that a person has withdrawn before it was
// published is withdrawn too, although the platform has only initialised it.
export const PASSPORT_STATE = `CASE
  WHEN q.state IN ('blocked', 'rejected', 'parked') OR (q.state = 'in_doubt' AND q.due_at = 0) THEN 'blocked'
  WHEN ${isOpen('q')} IS NOT TRUE AND p.missing_since IS NULL AND p.record_id IS NOT NULL
    AND coalesce(json_extract(q.baseline, '$.status'), 'none') <> 'published'
    AND CASE json_extract(q.desired, '$.because') WHEN 'person' THEN json_extract(q.desired, '$.status') = 'published'
        ELSE @wanted = 'published' OR (@wanted IS NOT NULL AND json_extract(q.baseline, '$.status') IS NULL) END THEN 'incomplete'
  WHEN json_extract(q.desired, '$.because') = 'person' AND json_extract(q.desired, '$.status') <> 'published'
    AND coalesce(json_extract(q.baseline, '$.status'), 'none') <> 'published' THEN 'unpublished'
  WHEN json_extract(q.baseline, '$.status') IS NOT NULL THEN json_extract(q.baseline, '$.status')
  ELSE 'none' END`;
/** All products `p`, each with its passport `q`. */
export const FROM_PRODUCTS = `FROM items p LEFT JOIN items q ON q.kind = 'passport' AND q.key = p.key`;

interface PassportRow extends EvaluatedProduct {
  /** The key or natural key by which the product was found. */
  name: string;
  state: PassportState;
  desired: string | null;
  acknowledged: PassportStatus | null;
  reason: string | null;
}

interface PassportQuery {
  names: string;
  wanted: PassportStatus | null;
}

// Two statements, each with its own index: a single statement with OR would read all products. Several products may have
// the same natural key.
const byColumn = (column: string) =>
  statement<[PassportQuery], PassportRow>(
    `SELECT n.value AS name, p.id, p.key, p.appeared_at AS appearedAt, ${PASSPORT_STATE} AS state, q.desired,
       json_extract(q.baseline, '$.status') AS acknowledged, iif(${isOpen('q')}, q.reason, NULL) AS reason
     FROM json_each(@names) n CROSS JOIN items p ON p.kind = 'product' AND p.${column} = n.value
     LEFT JOIN items q ON q.kind = 'passport' AND q.key = p.key ORDER BY p.id DESC`,
  );
const SQL = { byKey: byColumn('key'), byNaturalKey: byColumn('natural_key') };

/** The passports of the products with these keys or natural keys, by these names. A name without a product is left out. */
export function passportsOf(
  reads: Pick<ViewReads, 'db' | 'passportRules'>,
  names: readonly string[],
): ReadonlyMap<string, PassportView> {
  const rows = productsNamed(reads, names);
  if (rows.size === 0) return new Map();
  const common = passportBlockers(reads);
  const products = new Map(Array.from(rows.values(), (row) => [row.id, row]));
  const own = blockersOfAll(reads, [...products.values()], BLOCKERS_MAX);
  return new Map(
    [...rows].map(([name, { id, state, acknowledged, desired, reason }]) => {
      const blockers = [...common, ...(own.get(id) ?? [])].slice(0, BLOCKERS_MAX);
      const wanted = parseJsonOrNull<PassportDesire>(desired);
      return [name, { state, acknowledged, desired: wanted, reason: storedReason(reason), blockers }];
    }),
  );
}

/** The passport of the product with this key or natural key; null if there is no such product. */
export function passportOf(reads: Pick<ViewReads, 'db' | 'passportRules'>, product: string): PassportView | null {
  return passportsOf(reads, [product]).get(product) ?? null;
}

/** A key comes before a natural key. Of several products with a natural key, the first one is found. */
function productsNamed(
  reads: Pick<ViewReads, 'db' | 'passportRules'>,
  names: readonly string[],
): Map<string, PassportRow> {
  const wanted = wantedByPolicy(reads.passportRules);
  const found = (of: typeof SQL.byKey, left: readonly string[]): [string, PassportRow][] =>
    left.length === 0
      ? []
      : of(reads)
          .all({ names: JSON.stringify(left), wanted })
          .map((row) => [row.name, row]);
  const byKey = new Map(found(SQL.byKey, names));
  return new Map([
    ...byKey,
    ...found(
      SQL.byNaturalKey,
      names.filter((name) => !byKey.has(name)),
    ),
  ]);
}

/** Why no passport can be initialised or published now. */
export function passportBlockers(reads: Pick<ViewReads, 'db' | 'passportRules'>): string[] {
  return commonBlockers(reads, BLOCKERS_MAX);
}
