import { storedReason } from '../../domain/delivery/reason.ts';
import { type PassportDesire, type PassportRules, type PassportStatus, wantedByPolicy } from '../../domain/passport.ts';
import type { LedgerViews, PassportState } from '../../domain/ports/ledger/ledger-views.ts';
import { isOpen } from '../items/item-row.ts';
import { blockersOf, commonBlockers, type EvaluatedProduct } from '../passports/completeness.ts';
import type { Sqlite } from '../store/database.ts';
import { parseJsonOrNull } from '../store/tx.ts';

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
interface PassportRow extends EvaluatedProduct {
  state: PassportState;
  desired: string | null;
  acknowledged: PassportStatus | null;
  reason: string | null;
}

/** The state of each passport. */
export function createPassportViews(
  db: Sqlite,
  rules: PassportRules,
): Pick<LedgerViews, 'passport' | 'passportBlockers'> {
  const reads = { db, passportRules: rules };
  const sql = {
    // Two statements, each with its own index: a single statement with OR would read all products.
    byColumn: ['key', 'natural_key'].map((column) =>
      db.prepare<[{ name: string; wanted: PassportStatus | null }], PassportRow>(
        `SELECT p.id, p.key, p.appeared_at AS appearedAt, ${PASSPORT_STATE} AS state, q.desired,
           json_extract(q.baseline, '$.status') AS acknowledged, iif(${isOpen('q')}, q.reason, NULL) AS reason ${FROM_PRODUCTS}
         WHERE p.kind = 'product' AND p.${column} = @name LIMIT 1`,
      ),
    ),
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
  };
}
