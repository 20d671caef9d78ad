import type { ItemKind } from '../../domain/item.ts';
import type { PassportRules } from '../../domain/passport.ts';
import type { LedgerViews, MissingCounts } from '../../domain/ports/ledger/ledger-views.ts';
import type { MissingSelection } from '../../domain/ports/unconfirmed.ts';
import type { LedgerContext } from '../store/context.ts';
import type { Sqlite } from '../store/database.ts';

/**
 * SQL condition on the items table `i`: true if the source no longer has the item, and neither a person nor the config
 * has decided about it. A decision about a product is also that a person or the config wanted its passport to be
 * withdrawn, and the passport is not public. `@withdrawing` lists the sources with `onMissing: unpublish`.
 */
export const IS_MISSING = `(i.missing_since IS NOT NULL AND i.kind <> 'passport'
  AND i.missing_accepted IS NOT i.missing_since
  AND NOT (i.kind = 'product'
    AND NOT EXISTS (SELECT 1 FROM items q WHERE q.kind = 'passport' AND q.key = i.key
      AND q.baseline ->> 'status' = 'published')
    AND (i.source IN (SELECT value FROM json_each(@withdrawing))
      OR EXISTS (SELECT 1 FROM items q WHERE q.kind = 'passport' AND q.key = i.key
        AND q.desired ->> 'status' = 'unpublished'))))`;

/**
 * Marks missing items as accepted by a person, or only counts them. Call it inside a transaction. Without a name it takes the
 * items about which nobody has decided. A named item is accepted whatever was decided before, so that a person may accept
 * it again, or after its passport was withdrawn.
 */
export function createAcceptMissing({
  db,
  passportRules,
}: Pick<LedgerContext, 'db' | 'passportRules'>): (request: MissingSelection & { dryRun?: boolean }) => number {
  const selected = `i.missing_since IS NOT NULL AND i.kind <> 'passport'
    AND (@kind IS NULL OR i.kind = @kind) AND (@source IS NULL OR i.source = @source)
    AND CASE WHEN @name IS NULL THEN ${IS_MISSING} ELSE i.key = @name OR i.natural_key = @name END`;
  type Parameters = MissingSelection & { withdrawing: string };
  const count = db.prepare<[Parameters], number>(`SELECT count(*) FROM items i WHERE ${selected}`).pluck();
  const accept = db.prepare<[Parameters]>(`UPDATE items AS i SET missing_accepted = i.missing_since WHERE ${selected}`);
  return ({ dryRun = false, name, kind, source }) => {
    const withdrawing = JSON.stringify(passportRules.withdrawMissingOf);
    const parameters = { name, kind, source, withdrawing };
    return dryRun ? (count.get(parameters) ?? 0) : accept.run(parameters).changes;
  };
}

/** Counts missing items by kind. */
export function createMissingCounts(db: Sqlite, rules: PassportRules): LedgerViews['missingCounts'] {
  const counts = db.prepare<[{ sources: string; withdrawing: string }], { kind: ItemKind; n: number }>(
    `SELECT i.kind, count(*) AS n FROM items i
     WHERE ${IS_MISSING} AND (@sources = '[]' OR i.source IN (SELECT value FROM json_each(@sources))) GROUP BY i.kind`,
  );
  return (sources = []) => {
    const found: MissingCounts = {};
    const withdrawing = JSON.stringify(rules.withdrawMissingOf);
    for (const { kind, n } of counts.all({ sources: JSON.stringify(sources), withdrawing })) found[kind] = n;
    return found;
  };
}
