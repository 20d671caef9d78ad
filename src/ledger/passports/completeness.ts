// Decides whether a product is complete, so that its passport may be initialised and published. A complete product and
// all its BOM items are delivered with the content that their source has now. None of their rows is in quarantine, and
// every source of parts was read and mapped completely. Each blocker is a sentence that names the cure.

import { guardAdvice } from '../../domain/advice.ts';
import type { DeliveryState } from '../../domain/delivery/delivery.ts';
import { storedReason } from '../../domain/delivery/stored-reason.ts';
import { formatPlace, type Issue, type Place } from '../../domain/issue.ts';
import type { ItemKind } from '../../domain/item.ts';
import { kindWord, stateWord } from '../../domain/words/states.ts';
import { idsOf, isOpen } from '../items/item-row.ts';
import { GUARD_OF_SOURCE, type OpenGuard } from '../records/guarded-reads.ts';
import { column, parseJson, parseJsonOrNull, type Reads, statement } from '../store/tx.ts';

/** The columns of a product that its completeness depends on. */
export interface EvaluatedProduct {
  id: number;
  key: string;
  appearedAt: number;
}

/** A database with the rules for passports. A reload of the config may change the rules. */
type PassportReads = Pick<Reads, 'db' | 'passportRules'>;

interface PartRow {
  key: string;
  state: DeliveryState | null;
  reason: string | null;
  recordState: string | null;
  place: string | null;
  /** The first item for which a waiting item waits, as JSON. */
  waitsFor: string | null;
}

interface QuarantinedRow {
  place: string;
  issues: string | null;
}

/** The state of an item's open delivery; null if it has none. */
const OPEN_STATE = `iif(${isOpen('i')}, i.state, NULL) AS state`;

/** The first item to which a waiting item `i` refers and that the platform does not have. */
const WAITS_FOR = `iif(i.state = 'waiting', (SELECT json_object('kind', w.kind, 'key', w.key, 'either', iif(w.either = 1 AND t.id IS NULL, 1, 0),
    'isGiven', iif(t.id IS NULL, 0, 1))
  FROM refs w LEFT JOIN items t ON t.kind = w.kind AND t.key = w.key
  WHERE w.item_id = i.id AND nullif(t.remote_id, 'null') IS NULL ORDER BY w.role LIMIT 1), NULL) AS waitsFor`;

/**
 * SQL condition: true if the row is in quarantine and its sound items are used nevertheless. Such a row does not block
 * passports through these items.
 */
const IS_PARTIAL = "(r.state = 'quarantined' AND r.partial = 1)";

/**
 * The state of the row that makes an item; null if no row does. A missing row has no state here, because it is not
 * mapped any more.
 */
const RECORD_STATE = `CASE WHEN r.missing_since IS NOT NULL THEN NULL WHEN ${IS_PARTIAL} THEN 'mapped' ELSE r.state END AS recordState`;

/** If the guard holds a read of a source, parts of any product may be missing. */
function guardBlocker(source: string, { message, acceptedAt, isLeft, isOlder, refusedBy }: OpenGuard): string {
  const held = `The guard holds the source ${source}, so it is not known whether the product has all its parts: ${message}`;
  if (acceptedAt !== null)
    return `${held} A person has accepted this export. Read the source again: \`dpp-sync sync ${source}\`.`;
  if (refusedBy !== null) return `${held} ${refusedBy} has refused this export. The next whole export ends this.`;
  return `${held} ${guardAdvice({ source, isLeft: isLeft === 1, isOlder: isOlder === 1 })}`;
}

/** The quarantined rows in `holds`. */
const QUARANTINED = `JOIN records r ON r.id = h.record_id
   JOIN streams s ON s.id = r.stream_id AND s.source IN (SELECT value FROM json_each(@sources))
   WHERE r.state = 'quarantined' AND r.missing_since IS NULL`;

const SQL = {
  products: statement<[string], PartRow & { id: number; missing: number; released: number }>(
    `SELECT i.id, i.key, ${OPEN_STATE}, i.reason, ${RECORD_STATE}, r.place, ${WAITS_FOR}, i.missing_since IS NOT NULL AS missing,
       i.missing_since IS NULL AND i.record_id IS NULL AS released
     FROM json_each(?) k CROSS JOIN items i ON i.id = k.value LEFT JOIN records r ON r.id = i.record_id`,
  ),
  // Of each product the first ones. A BOM item that its source no longer has and that never reached the API does not count.
  parts: statement<[{ keys: string; limit: number }], PartRow & { product: string }>(
    `SELECT * FROM (
       SELECT f.key AS product, row_number() OVER (PARTITION BY f.key ORDER BY i.id) AS number, i.key, ${OPEN_STATE}, i.reason,
         ${RECORD_STATE}, r.place, ${WAITS_FOR}
       FROM json_each(@keys) k CROSS JOIN refs f ON f.kind = 'product' AND f.key = k.value AND f.role = 'product'
       CROSS JOIN items i ON i.id = f.item_id LEFT JOIN records r ON r.id = i.record_id
       WHERE i.kind = 'bom_item' AND (
         (${isOpen('i')} AND (i.missing_since IS NULL OR i.state IN ('due', 'sending', 'in_doubt') OR i.uncertain = 1))
         OR (r.state IN ('quarantined', 'pending', 'stale') AND r.missing_since IS NULL AND NOT ${IS_PARTIAL}))
     ) p WHERE number <= @limit ORDER BY product, number`,
  ),
  withParts: column<[string], string>(
    `SELECT DISTINCT f.key FROM json_each(?) k CROSS JOIN refs f ON f.kind = 'product' AND f.key = k.value AND f.role = 'product'
     CROSS JOIN items i ON i.id = f.item_id WHERE i.kind = 'bom_item'`,
  ),
  rowsOf: statement<[{ sources: string; keys: string; limit: number }], QuarantinedRow & { product: string }>(
    `SELECT * FROM (
       SELECT h.product_key AS product, row_number() OVER (PARTITION BY h.product_key ORDER BY r.id) AS number, r.place, r.issues
       FROM json_each(@keys) k CROSS JOIN holds h ON h.product_key = k.value ${QUARANTINED}
     ) p WHERE number <= @limit ORDER BY product, number`,
  ),
  rowsOfAny: statement<[{ sources: string; limit: number }], QuarantinedRow>(
    `SELECT r.place, r.issues FROM holds h ${QUARANTINED} AND h.product_key IS NULL ORDER BY r.id LIMIT @limit`,
  ),
  lastRun: statement<[string], { result: string | null; endedAt: number | null }>(
    "SELECT result, ended_at AS endedAt FROM runs WHERE source = ? AND cause <> 'upload' ORDER BY id DESC LIMIT 1",
  ),
  // An accepted read still blocks, because only the next run marks its missing records.
  guarded: statement<[string], OpenGuard>(GUARD_OF_SOURCE),
  // A missing row stays stale after a change of the mapping. It is mapped when it comes back.
  unmapped: statement<[string], { found: number }>(
    `SELECT 1 AS found FROM streams s WHERE s.source = ?
     AND (EXISTS (SELECT 1 FROM records r WHERE r.stream_id = s.id AND r.state = 'pending')
          OR EXISTS (SELECT 1 FROM records r WHERE r.stream_id = s.id AND r.state = 'stale'
            AND r.missing_since IS NULL)) LIMIT 1`,
  ),
};

/** The blockers of the passports of all products, as at most `limit` sentences. */
export function commonBlockers(reads: PassportReads, limit: number): string[] {
  const listed = JSON.stringify(reads.passportRules.sources);
  const unread = reads.passportRules.partSources
    .map((source) => sourceBlocker(reads, source))
    .filter((blocker) => blocker !== null);
  const rows = SQL.rowsOfAny(reads)
    .all({ sources: listed, limit })
    .map((row) => `A row with an error may belong to the product: ${rowText(row)}`);
  return [...unread, ...rows].slice(0, limit);
}

/** The other blockers of the passports of these products, by the id of the product: of each about `limit` sentences. */
export function blockersOfAll(
  reads: PassportReads,
  products: readonly EvaluatedProduct[],
  limit: number,
): ReadonlyMap<number, string[]> {
  if (products.length === 0) return new Map();
  const keys = JSON.stringify(products.map(({ key }) => key));
  const stored = new Map(
    SQL.products(reads)
      .all(JSON.stringify(idsOf(products)))
      .map((row) => [row.id, row]),
  );
  const sources = JSON.stringify(reads.passportRules.sources);
  const rows = Map.groupBy(SQL.rowsOf(reads).all({ sources, keys, limit }), ({ product }) => product);
  const parts = Map.groupBy(SQL.parts(reads).all({ keys, limit }), ({ product }) => product);
  const withParts = new Set(SQL.withParts(reads).all(keys));
  const reading = reads.passportRules.bomSources.map((source) => {
    return { source, endedAt: SQL.lastRun(reads).get(source)?.endedAt ?? 0 };
  });
  return new Map(
    products.map(({ id, key, appearedAt }) => {
      const found: string[] = [];
      const product = stored.get(id);
      if (product?.missing === 1) found.push('The source no longer has the product.');
      if (product?.released === 1) found.push('No row of the source makes the product any more.');
      if (product) found.push(...partBlockers('The product', product));
      for (const row of rows.get(key) ?? []) found.push(`A row of the product has an error: ${rowText(row)}`);
      for (const part of parts.get(key) ?? []) found.push(...partBlockers(`Its BOM item ${part.key}`, part));
      const unread = withParts.has(key) ? [] : reading.filter(({ endedAt }) => endedAt < appearedAt);
      for (const { source } of unread) {
        found.push(
          `No BOM item of the product is known, and the source ${source} has not been read since the product was first read.`,
        );
      }
      return [id, found.slice(0, limit)];
    }),
  );
}

/** The ids of those of these products whose passports nothing blocks. */
export function completeAmong(reads: PassportReads, products: readonly EvaluatedProduct[]): ReadonlySet<number> {
  if (products.length === 0 || commonBlockers(reads, 1).length > 0) return new Set();
  const blockers = blockersOfAll(reads, products, 1);
  return new Set(products.flatMap(({ id }) => (blockers.get(id)?.length === 0 ? id : [])));
}

function sourceBlocker(reads: PassportReads, source: string): string | null {
  const run = SQL.lastRun(reads).get(source);
  if (!run) return `The source ${source} gives parts and has never been read.`;
  if (run.result === null) return `The source ${source} gives parts and is being read.`;
  if (run.result !== 'complete')
    return `The last read of the source ${source}, which gives parts, ${ENDINGS[run.result] ?? run.result}.`;
  const guarded = SQL.guarded(reads).get(source);
  if (guarded !== undefined) return guardBlocker(source, guarded);
  return SQL.unmapped(reads).get(source)
    ? `Not all rows of the source ${source}, which gives parts, are mapped yet.`
    : null;
}

const ENDINGS: Record<string, string> = {
  failed: 'failed',
  held: 'is held, because it would do more than is allowed',
  interrupted: 'was interrupted',
};

function partBlockers(what: string, { state, reason, recordState, place, waitsFor }: PartRow): string[] {
  const blockers: string[] = [];
  if (state !== null) {
    const why = storedReason(reason)?.message;
    const target = why === undefined && waitsFor !== null ? ` for the ${targetText(waitsFor)}` : '';
    blockers.push(`${what} is ${stateWord(state)}${target}${why === undefined ? '.' : `: ${why}`}`);
  }
  if (recordState === 'quarantined') blockers.push(`${what} has a changed row with an error: ${placeText(place)}`);
  if (recordState === 'pending' || recordState === 'stale') blockers.push(`${what} has a row that is not mapped yet.`);
  return blockers;
}

/** The words for an item that no source may have given yet, so that it may be a product or a material. */
function targetText(waitsFor: string): string {
  const { kind, key, either, isGiven } = parseJson<{
    kind: ItemKind;
    key: string;
    either: 0 | 1 | null;
    isGiven: 0 | 1;
  }>(waitsFor);
  const name = `${either === 1 ? 'product or material' : kindWord(kind)} ${key}`;
  return isGiven === 1 ? name : `${name}, which is in no file`;
}

function rowText({ place, issues }: QuarantinedRow): string {
  const message = parseJsonOrNull<Issue[]>(issues)?.[0]?.message;
  return message === undefined ? placeText(place) : `${formatPlace(parseJson<Place>(place))}: ${message}`;
}

function placeText(place: string | null): string {
  return place === null ? 'no place is known.' : `${formatPlace(parseJson<Place>(place))}.`;
}
