// Stores a page of rows, and stages the items of the rows that were mapped.

import { fault } from '../../domain/faults.ts';
import type { Issue } from '../../domain/issue.ts';
import { contentOf } from '../../domain/item.ts';
import type { MappedItem, MapResult } from '../../domain/mapping.ts';
import { type NaturalKey, naturalKeyOf } from '../../domain/natural-key.ts';
import type { Place } from '../../domain/place.ts';
import type { PageToStage, StageSummary } from '../../domain/ports/intake.ts';
import { type IncomingRecord, recordKey } from '../../domain/record.ts';
import { addCreates, countCreates } from '../contact/contact.ts';
import type { OwnedDesire } from '../items/desire.ts';
import { desireItems } from '../items/desire.ts';
import { createNameSet, type ItemName } from '../items/item-row.ts';
import { hasPart } from '../items/refs.ts';
import { column, insertMany, nextId, statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import { findKnownRecords, type IdentifiedRecord, identifyRow, isUnchanged } from './look-up-page.ts';
import { areUsesCurrent, isLookedUp, storeLookupEntries, storeUses, waitsForOwnStream } from './lookups.ts';
import { isPartial, itemsIn, type RecordState, stageRecord, type Tally } from './staging.ts';
import { countReplacedRow, countRows, streamNamed } from './streams.ts';

/** The result of storing a page. `ids` are the page's records, which are added to `seen` after the commit. */
interface StoredPage {
  changed: number;
  ids: ReadonlySet<number>;
  summary?: StageSummary;
}

const SQL = {
  isRunning: column<[number], number>('SELECT 1 FROM runs WHERE id = ? AND ended_at IS NULL'),
  setCursor: statement<[string, number]>('UPDATE streams SET cursor = ? WHERE id = ?'),
  keys: statement<[string], ItemName>(
    `SELECT i.kind, i.key FROM json_each(?) n CROSS JOIN items i ON i.kind = n.value ->> 0 AND i.key = n.value ->> 1`,
  ),
  naturalKeys: statement<[string], ItemName>(
    `SELECT i.kind, i.natural_key AS key FROM json_each(?) n
     CROSS JOIN items i ON i.kind = n.value ->> 0 AND i.natural_key = n.value ->> 1`,
  ),
  insert: statement<[number, string, string, string, string, string, string | null, number]>(
    `INSERT INTO records (stream_id, key, hash, raw, place, version, state, source_issues, run_id)
     VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?)`,
  ),
  change: statement<[string, string, string, string, string | null, number, number]>(
    `UPDATE records SET hash = ?, raw = ?, place = ?, version = version + 1, state = ?, source_issues = ?, run_id = ?,
     missing_since = NULL WHERE id = ?`,
  ),
  foundItems: statement<[number]>('UPDATE items SET missing_since = NULL WHERE record_id = ?'),
  movePlaces: statement<[string]>(
    `UPDATE records SET place = m.value ->> 1 FROM json_each(?) m WHERE records.id = m.value ->> 0
     AND records.state IN ('quarantined', 'pending') AND records.place <> m.value ->> 1`,
  ),
};

/**
 * Stores a page and stages the results of its mapping. Does not change `seen`.
 *
 * Stages rows in their order, so that pages of any size lead to the same ledger. New rows without contenders are
 * gathered and staged together. Any other row is staged alone, after all rows that were gathered before it.
 */
export function stagePage(tx: Tx, page: PageToStage): StoredPage {
  const { runId, source, records, seen, deferMapping, cursor, mapped, uncounted = 0 } = page;
  const stream = streamNamed(tx, source, page.stream);
  if (SQL.isRunning(tx).get(runId) === undefined) throw lateFault(page);
  // If the mapping has changed since the page was mapped, its rows wait to be mapped again.
  const isCurrent = mapped?.mappingRevision === stream.revision && !deferMapping;
  const results = isCurrent ? mapped.results : NO_RESULTS;
  const to: RecordsTo = { source, streamId: stream.id, runId, waiting: deferMapping ? 'stale' : 'pending' };
  const rows = createPageRows(tx, to, seen);

  const known = findKnownRecords(tx, stream.id, records);
  const names = pageNames(tx, results.values());
  for (const [at, row] of records.entries()) {
    const key = recordKey(row.identity, 1);
    const stored = known.get(key);
    const isFirst = !rows.has(key);
    if (stored && isFirst && isUnchanged(stored, row) && !seen.has(stored.id)) {
      rows.passUnchanged(row, { key, id: stored.id });
      continue;
    }
    const result = results.get(at);
    const made = result === undefined ? [] : names.take(result);
    if (stored || !isFirst || made === null || needsOrder(tx, result, stream.id)) rows.stageAlone(row, result);
    else if (result === undefined || !areUsesCurrent(tx, result.uses)) rows.gather({ row, key, mapped: null });
    else rows.gather({ row, key, mapped: { result, items: made } });
  }
  const { changed, ids, states, tally } = rows.end();

  countCreates(tx, tally.creates);
  const read = records.length + uncounted;
  countRows(tx, { runId, streamId: stream.id, read, unchanged: read - changed, ...states });
  // I1: the cursor moves only with its page.
  if (cursor !== undefined) SQL.setCursor(tx).run(JSON.stringify(cursor), stream.id);
  if (mapped === undefined) return { changed, ids };
  const { due, waiting, blocked } = tally;
  return { changed, ids, summary: { ...states, due, waiting, blocked } };
}

/** True if a result can only be staged after the rows that come before it on the same page. */
function needsOrder(tx: Tx, result: MapResult | undefined, streamId: number): boolean {
  return (
    result !== undefined && (itemsIn(result).some(hasPart) || (result.uses !== undefined && isLookedUp(tx, streamId)))
  );
}

const NO_RESULTS: ReadonlyMap<number, MapResult> = new Map();

/** Stores the rows of one page in their order. */
function createPageRows(tx: Tx, to: RecordsTo, seenBefore: PageToStage['seen']) {
  const tally: Tally = { due: 0, waiting: 0, blocked: 0, creates: new Map() };
  const states: Record<RecordState, number> = { mapped: 0, excluded: 0, quarantined: 0 };
  const ids = new Set<number>();
  const seen = { has: (id: number) => ids.has(id) || seenBefore.has(id) };
  const keys = new Set<string>();
  let changed = 0;
  let gathered: NewRecord[] = [];
  let unchanged: { id: number; place: IncomingRecord['place'] }[] = [];

  function passUnchanged(row: IncomingRecord, { key, id }: { key: string; id: number }): void {
    keys.add(key);
    ids.add(id);
    unchanged.push({ id, place: row.place });
  }

  function stageGathered(): void {
    movePlaces(tx, unchanged);
    unchanged = [];
    if (gathered.length > 0) for (const id of stageNewRecords(tx, gathered, to, tally)) ids.add(id);
    gathered = [];
  }

  return {
    /** True if an earlier row of the page has this record key. */
    has: (key: string) => keys.has(key),
    passUnchanged,
    /** Gathers a new row whose item names are free. */
    gather(record: NewRecord): void {
      keys.add(record.key);
      changed += 1;
      gathered.push(record);
      if (record.mapped !== null) states[record.mapped.result.status] += 1;
    },
    /** Stages a known, repeated or contested row separately. */
    stageAlone(row: IncomingRecord, result: MapResult | undefined): void {
      stageGathered();
      const identified = identifyRow(tx, row, to.streamId, seen);
      const { key, known } = identified;
      if (known && isUnchanged(known, row)) {
        passUnchanged(row, { key, id: known.id });
        return;
      }
      keys.add(key);
      changed += 1;
      const waits = waitsForOwnStream(tx, to.streamId, result?.uses);
      const id = storeRecord(tx, row, identified, waits ? { ...to, waiting: 'stale' } : to);
      ids.add(id);
      // If a lookup entry has changed since the mapping used it, the record waits for another mapping.
      if (result === undefined || waits || !areUsesCurrent(tx, result.uses)) return;
      const record = { id, source: to.source, missingSince: null, isNew: known === undefined };
      states[stageRecord(tx, record, result, { again: false, tally })] += 1;
    },
    end() {
      stageGathered();
      return { changed, ids, states, tally };
    },
  };
}

function lateFault({ runId, source, stream }: PageToStage): Error {
  return fault('interrupted', `Run ${runId} of ${source} has ended, so this page of ${stream} is not stored.`, {
    suggestion: 'Nothing is lost: the next run reads the page again.',
  });
}

/** An item that a row makes, with its natural key. */
interface NamedItem {
  item: MappedItem;
  naturalKey: NaturalKey | null;
}

/** The keys and natural keys that the items of the ledger and of earlier rows of the page have. */
interface PageNames {
  /**
   * Takes the names of the items that a row makes. Returns the items, or null if an item of the ledger or of an earlier
   * row has one of the names already.
   */
  take(result: MapResult): NamedItem[] | null;
}

/** Looks up the names of a whole page at once. */
function pageNames(tx: Tx, results: Iterable<MapResult>): PageNames {
  const named = new Map<MapResult, NamedItem[]>();
  const keys: [string, string][] = [];
  const naturalKeys: [string, string][] = [];
  for (const result of results) {
    const items = itemsIn(result).map((item) => ({
      item,
      naturalKey: naturalKeyOf(tx.profile, item.kind, item.payload),
    }));
    named.set(result, items);
    for (const { item, naturalKey } of items) {
      keys.push([item.kind, item.key]);
      if (naturalKey !== null) naturalKeys.push([item.kind, naturalKey.value]);
    }
  }
  const taken = createNameSet();
  const takenNaturally = createNameSet();
  if (keys.length > 0) for (const name of SQL.keys(tx).all(JSON.stringify(keys))) taken.add(name);
  if (naturalKeys.length > 0) {
    for (const name of SQL.naturalKeys(tx).all(JSON.stringify(naturalKeys))) takenNaturally.add(name);
  }

  return {
    take(result) {
      const items = named.get(result) ?? [];
      let isFree = true;
      for (const { item, naturalKey } of items) {
        if (!taken.add(item)) isFree = false;
        if (naturalKey !== null && !takenNaturally.add({ kind: item.kind, key: naturalKey.value })) isFree = false;
      }
      return isFree ? items : null;
    },
  };
}

/** A row that has no stored record, and its mapping. Its items have names that no other item has. */
interface NewRecord {
  row: IncomingRecord;
  key: string;
  /** Null for a row that is mapped later. */
  mapped: { result: MapResult; items: readonly NamedItem[] } | null;
}

const insertRecords = insertMany({
  into: 'records',
  columns: [
    'id',
    'stream_id',
    'key',
    'hash',
    'raw',
    'place',
    'version',
    'state',
    'source_issues',
    'issues',
    'run_id',
    'partial',
    'quarantined_at',
  ],
});

const insertBlockedProducts = insertMany({ into: 'holds', columns: ['record_id', 'product_key'] });

/**
 * Stores new records and stages their items, with few statements. Returns the records' ids in the same order.
 */
function stageNewRecords(
  tx: Tx,
  records: readonly NewRecord[],
  { source, streamId, runId, waiting }: RecordsTo,
  tally: Tally,
): number[] {
  const firstId = nextId(tx, 'records');
  const now = tx.clock.now();
  const ids = records.map((_, at) => firstId + at);
  insertRecords(
    tx,
    records.map(({ row, key, mapped }, at) => {
      const { hash, raw, place, issues } = row;
      const state = mapped === null ? waiting : stateOf(mapped.result);
      const why = mapped?.result.status === 'quarantined' ? JSON.stringify(mapped.result.issues) : null;
      // Only a waiting record keeps its run. All others are counted at once.
      const run = mapped === null ? runId : null;
      const where = JSON.stringify(place);
      const partial = mapped !== null && isPartial(mapped.result) ? 1 : 0;
      const since = state === 'quarantined' ? now : null;
      return [firstId + at, streamId, key, hash, raw, where, 1, state, issuesText(issues), why, run, partial, since];
    }),
  );
  insertBlockedProducts(
    tx,
    records.flatMap(({ mapped }, at) => blockedProductsOf(mapped?.result).map((key) => [firstId + at, key])),
  );
  const stored = records.map(({ row: { raw, issues } }, at) => ({ id: firstId + at, raw, issues }));
  storeLookupEntries(tx, streamId, stored, true);
  for (const [at, { mapped }] of records.entries()) storeUses(tx, firstId + at, mapped?.result.uses, true);
  const desires = records.flatMap(({ mapped }, at) => {
    const owner = { id: firstId + at, source, missingSince: null };
    return (mapped?.items ?? []).map(({ item, naturalKey }): OwnedDesire => {
      return { item, content: contentOf(item), naturalKey, known: undefined, owner };
    });
  });
  stageItems(tx, desires, source, tally);
  return ids;
}

function stageItems(tx: Tx, desires: readonly OwnedDesire[], source: string, tally: Tally): void {
  const created = { product: 0, material: 0, bom_item: 0 };
  for (const [at, staged] of desireItems(tx, desires, false).entries()) {
    if (staged) tally[staged] += 1;
    const kind = desires[at]?.item.kind;
    if (staged === 'due' && kind !== undefined) created[kind] += 1;
  }
  for (const kind of ['product', 'material'] as const) {
    if (created[kind] > 0) addCreates(tally.creates, source, kind, created[kind]);
  }
}

function stateOf({ status }: MapResult): RecordState {
  return status;
}

function blockedProductsOf(result: MapResult | undefined): readonly (string | null)[] {
  return result?.status === 'quarantined' ? result.blockedProducts : [];
}

/** The source, stream and run to which records belong, and the state of records that wait to be mapped. */
interface RecordsTo {
  source: string;
  streamId: number;
  runId: number;
  waiting: 'pending' | 'stale';
}

/** Stores a new or changed record as a record that waits to be mapped. Returns its id. */
function storeRecord(
  tx: Tx,
  row: IncomingRecord,
  { key, known }: IdentifiedRecord,
  { streamId, runId, waiting }: RecordsTo,
): number {
  const { hash, raw } = row;
  const issues = issuesText(row.issues);
  const place = JSON.stringify(row.place);
  const record = { raw, issues: row.issues };
  if (!known) {
    const id = Number(SQL.insert(tx).run(streamId, key, hash, raw, place, waiting, issues, runId).lastInsertRowid);
    storeLookupEntries(tx, streamId, [{ id, ...record }], true);
    return id;
  }
  if (known.missing === 1) SQL.foundItems(tx).run(known.id);
  const isWaiting = known.state === 'pending' || known.state === 'stale';
  if (isWaiting && known.runId !== null) countReplacedRow(tx, known.runId, streamId);
  SQL.change(tx).run(hash, raw, place, waiting, issues, runId, known.id);
  storeLookupEntries(tx, streamId, [{ id: known.id, ...record }], false);
  return known.id;
}

/**
 * Stores the new places of unchanged rows. Only records in quarantine or waiting for the mapping keep an exact place,
 * because only their places are shown.
 */
function movePlaces(tx: Tx, rows: readonly { id: number; place: Place }[]): void {
  if (rows.length === 0) return;
  SQL.movePlaces(tx).run(JSON.stringify(rows.map(({ id, place }) => [id, JSON.stringify(place)])));
}

/** The stored text of the issues that the connector has found in a row. */
function issuesText(issues: readonly Issue[]): string | null {
  return issues.length > 0 ? JSON.stringify(issues) : null;
}
