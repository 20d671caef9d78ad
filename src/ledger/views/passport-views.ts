import { storedReason } from '../../domain/delivery/reason.ts';
import { type PassportDesire, type PassportRules, type PassportStatus, wantedByPolicy } from '../../domain/passport.ts';
import type {
  LedgerViews,
  PassportCounts,
  PassportState,
  SourceCounts,
} from '../../domain/ports/ledger/ledger-views.ts';
import { isOpen } from '../deliveries/delivery-states.ts';
import { blockersOf, commonBlockers, type EvaluatedProduct } from '../passports/completeness.ts';
import { parseJsonOrNull } from '../store/context.ts';
import type { Sqlite } from '../store/database.ts';
import { createItemTotals } from './item-totals.ts';

const BLOCKERS_MAX = 10;

// The state of a passport. A product whose passport is wanted further and has no open delivery is incomplete: for a
// complete product the evaluation would have staged a delivery. A passport that a person has withdrawn before it was
// published is withdrawn too, although the platform has only initialised it.
export const PASSPORT_STATE = `CASE
  WHEN q.state IN ('blocked', 'rejected', 'parked') OR (q.state = 'in_doubt' AND q.due_at = 0) THEN 'blocked'
  WHEN ${isOpen('q')} IS NOT TRUE AND p.missing_since IS NULL AND p.record_id IS NOT NULL
    AND coalesce(json_extract(q.baseline, '$.status'), 'none') <> 'published'
    AND CASE json_extract(q.desired, '$.because') WHEN 'person' THEN json_extract(q.desired, '$.status') = 'published'
        ELSE @wanted = 'published' END THEN 'incomplete'
  WHEN json_extract(q.desired, '$.because') = 'person' AND json_extract(q.desired, '$.status') <> 'published'
    AND coalesce(json_extract(q.baseline, '$.status'), 'none') <> 'published' THEN 'unpublished'
  WHEN json_extract(q.baseline, '$.status') IS NOT NULL THEN json_extract(q.baseline, '$.status')
  WHEN q.id IS NULL AND @wanted IS NOT NULL AND p.missing_since IS NULL AND p.record_id IS NOT NULL THEN 'incomplete'
  ELSE 'none' END`;
/** All products `p`, each with its passport `q`. */
export const FROM_PRODUCTS = `FROM items p LEFT JOIN items q ON q.kind = 'passport' AND q.key = p.key`;
const FROM_PASSPORTS = `FROM items q CROSS JOIN items p ON q.kind = 'passport' AND p.key = q.key`;
const IS_PRODUCT = `p.kind = 'product' AND (@sources = '[]' OR p.source IN (SELECT value FROM json_each(@sources)))`;

interface PassportRow extends EvaluatedProduct {
  state: PassportState;
  desired: string | null;
  acknowledged: PassportStatus | null;
  reason: string | null;
}

interface CountQuery {
  sources: string;
  wanted: PassportStatus | null;
}

interface CountRow {
  state: PassportState;
  n: number;
}

function countsFrom(from: string): string {
  return `SELECT ${PASSPORT_STATE} AS state, count(*) AS n ${from} WHERE ${IS_PRODUCT} GROUP BY 1`;
}

/**
 * Counts the passports of each source. Without a policy it reads only products that have a passport: all other products
 * have the state `none`, and are counted without reading them.
 */
export function createPassportsBySource(
  db: Sqlite,
  rules: PassportRules,
): (products: ReadonlyMap<string, number>) => SourceCounts['passports'] {
  const [ofProducts, ofPassports] = [FROM_PRODUCTS, FROM_PASSPORTS].map((from) =>
    db.prepare<[CountQuery], SourceCounts['passports'][number]>(
      `SELECT p.source, ${PASSPORT_STATE} AS state, count(*) AS count ${from} WHERE ${IS_PRODUCT} GROUP BY 1, 2`,
    ),
  );
  return (products) => {
    const wanted = wantedByPolicy(rules);
    const found = (wanted === null ? ofPassports : ofProducts)?.all({ sources: '[]', wanted }) ?? [];
    const rest = new Map(products);
    for (const { source, count } of found) rest.set(source, (rest.get(source) ?? 0) - count);
    for (const [source, count] of rest) {
      if (count <= 0) continue;
      const none = found.find((row) => row.source === source && row.state === 'none');
      if (none) none.count += count;
      else found.push({ source, state: 'none', count });
    }
    return found;
  };
}

/** The state of each passport, and how many passports are in each state. */
export function createPassportViews(
  db: Sqlite,
  rules: PassportRules,
): Pick<LedgerViews, 'passport' | 'passportBlockers' | 'passportCounts'> {
  const reads = { db, passportRules: rules };
  const totals = createItemTotals(db);
  const sql = {
    // Two statements, each with its own index: a single statement with OR would read all products.
    byColumn: ['key', 'natural_key'].map((column) =>
      db.prepare<[{ name: string; wanted: PassportStatus | null }], PassportRow>(
        `SELECT p.id, p.key, p.appeared_at AS appearedAt, ${PASSPORT_STATE} AS state, q.desired,
           json_extract(q.baseline, '$.status') AS acknowledged, iif(${isOpen('q')}, q.reason, NULL) AS reason ${FROM_PRODUCTS}
         WHERE p.kind = 'product' AND p.${column} = @name LIMIT 1`,
      ),
    ),
    countsOfProducts: db.prepare<[CountQuery], CountRow>(countsFrom(FROM_PRODUCTS)),
    countsOfPassports: db.prepare<[CountQuery], CountRow>(countsFrom(FROM_PASSPORTS)),
  };

  return {
    passport(product) {
      const [byKey, byNaturalKey] = sql.byColumn;
      const wanted = wantedByPolicy(rules);
      const row = byKey?.get({ name: product, wanted }) ?? byNaturalKey?.get({ name: product, wanted });
      if (!row) return null;
      const blockers = [...commonBlockers(reads, BLOCKERS_MAX), ...blockersOf(reads, row, BLOCKERS_MAX)];
      return {
        state: row.state,
        acknowledged: row.acknowledged,
        desired: parseJsonOrNull<PassportDesire>(row.desired),
        reason: storedReason(row.reason),
        blockers: blockers.slice(0, BLOCKERS_MAX),
      };
    },

    passportBlockers: () => commonBlockers(reads, BLOCKERS_MAX),

    // All counts are made in one transaction, so that they are of the same moment.
    passportCounts: db.transaction((sources: readonly string[] = []) => {
      const counts: PassportCounts = {};
      const wanted = wantedByPolicy(rules);
      const query = wanted === null ? sql.countsOfPassports : sql.countsOfProducts;
      const rows = query.all({ sources: JSON.stringify(sources), wanted });
      for (const { state, n } of rows) counts[state] = n;
      // Without a policy the query above reads only products that have a passport. All other products have the state
      // `none`.
      const others = wanted === null ? (totals(sources).product ?? 0) - sum(rows) : 0;
      if (others > 0) counts.none = (counts.none ?? 0) + others;
      return counts;
    }),
  };
}

function sum(rows: readonly { n: number }[]): number {
  return rows.reduce((total, { n }) => total + n, 0);
}
