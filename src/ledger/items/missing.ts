// Items that their source no longer has, and items that the platform never got.
//
// If the source no longer has an item that the platform never got, neither a person nor the platform has to do anything: its open
// delivery is superseded, and it is counted nowhere. It stays in the ledger with its history. If its row comes back, it is staged
// again.

import type { MissingGroup } from '../../domain/attention.ts';
import { codesWith } from '../../domain/delivery/stored-reason.ts';
import type { MissingSelection } from '../../domain/ports/deliveries.ts';
import { column, type Reads, statement, type Tx } from '../store/tx.ts';
import { type ItemRow, isOpen, itemColumns, REVISIONS_MAX } from './item-row.ts';
import { storeMissingAccepted } from './item-writes.ts';
import { mayBeSinceBackup } from './restored.ts';

const MADE_NOTHING = codesWith('made_nothing')
  .map((code) => `'${code}'`)
  .join(', ');

/**
 * SQL condition on a revision: true if it was never sent, or if the last answer to it shows that it made no item. A person
 * who ends a delivery replaces its reason, so then only a delivery that was never sent is known to have made nothing.
 */
function madeNothing(of: string): string {
  const code = `${of}.reason ->> '$.code'`;
  return `iif(${of}.reason IS NULL OR ${code} = 'ignored', ${of}.sent_at IS NULL, ${code} IN (${MADE_NOTHING})
    AND ${of}.reason ->> '$.lookAgain' IS NULL AND ${of}.reason ->> '$.afterDoubt' IS NULL)`;
}

/**
 * SQL condition: true if it is certain that no write of the item has arrived. The API has acknowledged nothing, no write is in
 * flight or unconfirmed, and no revision may have made the item. A parked delivery had no clear answer. I6: what the ledger
 * does not know for certain is false, such as an item whose history was pruned, a BOM item of an adopted product, or a
 * write since the backup of a restored ledger.
 *
 * @param of the name of the items table in the SQL statement
 */
function neverArrived(of: string): string {
  return `(${of}.acknowledged = 0 AND ${of}.kind <> 'passport' AND ${of}.uncertain = 0 AND ${of}.revision <= ${REVISIONS_MAX}
    AND coalesce(${of}.state, 'due') IN ('waiting', 'due', 'blocked', 'rejected', 'superseded') AND ${madeNothing(of)}
    AND NOT EXISTS (SELECT 1 FROM history h WHERE h.item_id = ${of}.id AND NOT (h.state = 'superseded' AND ${madeNothing('h')}))
    AND NOT EXISTS (SELECT 1 FROM refs f JOIN items p ON p.kind = f.kind AND p.key = f.key
      WHERE f.item_id = ${of}.id AND f.role = 'product' AND p.parts_unknown = 1)
    AND NOT ${mayBeSinceBackup(of)})`;
}

/** SQL condition: true if the source no longer has the item, and the platform never got it, so that nothing has to be done. */
export function needsNothing(of: string): string {
  return `(${of}.missing_since IS NOT NULL AND ${neverArrived(of)})`;
}

/**
 * The state of an item: its open delivery's state, else its last delivery's. An item that the platform never got and that
 * its source no longer has is superseded. `of` is the name of the items table in the statement.
 */
export function itemState(of: string): string {
  return `CASE WHEN ${isOpen(of)} THEN ${of}.state WHEN ${of}.ignored_hash IS NOT NULL OR ${needsNothing(of)} THEN 'superseded' ELSE 'delivered' END`;
}

/** SQL condition on a missing product: true if a person or the config wanted its passport to be withdrawn. */
function isToBeWithdrawn(of: string): string {
  return `(${of}.source IN (SELECT value FROM json_each(@withdrawing))
    OR EXISTS (SELECT 1 FROM items q WHERE q.kind = 'passport' AND q.key = ${of}.key AND q.desired ->> 'status' = 'unpublished'))`;
}

/** SQL condition on a missing product: true if its passport was to be withdrawn, and is not public. */
function isWithdrawn(of: string): string {
  return `(NOT EXISTS (SELECT 1 FROM items q WHERE q.kind = 'passport' AND q.key = ${of}.key
      AND q.baseline ->> 'status' = 'published')
    AND ${isToBeWithdrawn(of)})`;
}

/** SQL condition: true if `i` is a BOM item whose product is missing too, and is accepted as missing or withdrawn. */
const IS_DECIDED_WITH_PRODUCT = `(i.kind = 'bom_item' AND EXISTS (
  SELECT 1 FROM refs f CROSS JOIN items p ON p.kind = f.kind AND p.key = f.key
  WHERE f.item_id = i.id AND f.role = 'product' AND p.missing_since IS NOT NULL
    AND (p.missing_accepted IS p.missing_since OR ${isWithdrawn('p')})))`;

/**
 * SQL condition on the items table `i`: true if the source no longer has the item, and neither a person nor the config
 * has decided about it. A decision about a product is also that a person or the config wanted its passport to be
 * withdrawn, and the passport is not public. Each decision about a missing product is also the decision about BOM items of
 * the product that are missing. Nothing has to be decided about an item that the platform never got. `@withdrawing` lists the
 * sources with `onMissing: unpublish`.
 */
export const IS_MISSING = `(i.missing_since IS NOT NULL AND i.kind <> 'passport'
  AND i.missing_accepted IS NOT i.missing_since
  AND NOT (i.kind = 'product' AND ${isWithdrawn('i')}) AND NOT ${IS_DECIDED_WITH_PRODUCT} AND NOT ${neverArrived('i')})`;

/** SQL condition on the items table `i`: true for a missing item about which nothing has to be decided any more. */
export const IS_MISSING_AND_DECIDED = `(i.missing_since IS NOT NULL AND i.kind <> 'passport' AND NOT ${IS_MISSING}
  AND NOT ${needsNothing('i')})`;

/** SQL condition on the items table `i`: true if a person has selected the item. */
const IS_SELECTED = `i.missing_since IS NOT NULL AND i.kind <> 'passport'
  AND (@kind IS NULL OR i.kind = @kind) AND (@source IS NULL OR i.source = @source)
  AND CASE WHEN @name IS NULL THEN ${IS_MISSING} ELSE i.key = @name OR i.natural_key = @name END`;

/** The items of a source, or those that some records make. */
export type GoneItems = { source: string } | { records: readonly number[] };

/** The open deliveries of items that need nothing. */
const OPEN_GONE = `${isOpen('i')} AND ${needsNothing('i')} ORDER BY +i.id`;

type Parameters = MissingSelection & { withdrawing: string };

const SQL = {
  count: column<[Parameters], number>(`SELECT count(*) FROM items i WHERE ${IS_SELECTED}`),
  selected: column<[Parameters], number>(`SELECT i.id FROM items i WHERE ${IS_SELECTED} ORDER BY +i.id`),
  openOfSource: statement<[string], ItemRow>(
    `SELECT ${itemColumns('i')} FROM items i WHERE +i.source = ? AND ${OPEN_GONE}`,
  ),
  openOfRecords: statement<[string], ItemRow>(
    `SELECT ${itemColumns('i')} FROM json_each(?) k CROSS JOIN items i ON i.record_id = k.value WHERE ${OPEN_GONE}`,
  ),
};

/** The items that their source no longer has, that never reached the API, and whose delivery is open. */
export function openGoneItems(tx: Tx, of: GoneItems): ItemRow[] {
  return 'source' in of ? SQL.openOfSource(tx).all(of.source) : SQL.openOfRecords(tx).all(JSON.stringify(of.records));
}

/**
 * Marks missing items as accepted by a person, or only counts them. Without a name it takes the items about which nobody
 * has decided. A named item is accepted whatever was decided before, so that a person may accept it again, or after its
 * passport was withdrawn.
 */
export function acceptMissing(
  tx: Tx,
  { dryRun = false, name, kind, source }: MissingSelection & { dryRun?: boolean },
): number {
  const withdrawing = JSON.stringify(tx.passportRules.withdrawMissingOf);
  const parameters = { name, kind, source, withdrawing };
  if (dryRun) return SQL.count(tx).get(parameters) ?? 0;
  const ids = SQL.selected(tx).all(parameters);
  storeMissingAccepted(tx, ids);
  return ids.length;
}

/** SQL expression on the items table `i`, for an item that its source no longer has: its `MissingOutcome`. */
const OUTCOME = `CASE WHEN i.missing_accepted IS i.missing_since THEN 'accepted'
  WHEN ${IS_DECIDED_WITH_PRODUCT} THEN 'with_product' WHEN i.kind <> 'product' THEN 'kept'
  WHEN ${isToBeWithdrawn('i')} THEN coalesce((SELECT CASE q.baseline ->> 'status' WHEN 'published' THEN 'unpublishing'
      WHEN 'unpublished' THEN 'unpublished' END FROM items q WHERE q.kind = 'passport' AND q.key = i.key), 'not_public')
  ELSE 'kept' END`;

const COUNTS = {
  outcomes: statement<[{ sources: string; withdrawing: string }], MissingGroup>(
    `SELECT i.kind, ${OUTCOME} AS outcome, count(*) AS count FROM items i
     WHERE i.missing_since IS NOT NULL AND i.kind <> 'passport' AND NOT ${neverArrived('i')}
       AND (@sources = '[]' OR i.source IN (SELECT value FROM json_each(@sources))) GROUP BY 1, 2 ORDER BY 1, 2`,
  ),
  ignored: statement<[string], MissingGroup>(
    `SELECT i.kind, 'ignored' AS outcome, count(*) AS count
     FROM streams s JOIN records r ON r.stream_id = s.id AND r.missing_since IS NOT NULL
       JOIN items i ON i.record_id = r.id AND i.missing_since IS NULL
     WHERE s.source IN (SELECT value FROM json_each(?)) GROUP BY 1 ORDER BY 1`,
  ),
};

/** Counts missing items by kind and by what becomes of them. */
export function missingOutcomes(
  reads: Pick<Reads, 'db' | 'passportRules'>,
  sources: readonly string[] = [],
): MissingGroup[] {
  const withdrawing = JSON.stringify(reads.passportRules.withdrawMissingOf);
  return COUNTS.outcomes(reads).all({ sources: JSON.stringify(sources), withdrawing });
}

/** Counts items of these sources whose record is missing and that do not count as missing. */
export function ignoredMissing(reads: Pick<Reads, 'db'>, sources: readonly string[]): MissingGroup[] {
  return sources.length === 0 ? [] : COUNTS.ignored(reads).all(JSON.stringify(sources));
}
