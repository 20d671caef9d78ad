import type { EndedStream, SeenRecords, StreamEnd } from '../../domain/ports/intake.ts';
import { repeatedKey } from '../../domain/record.ts';
import { heldKeysOf, newRecordsOf } from '../items/held-creates.ts';
import { disownItem, endGoneDeliveries, itemsOfRecord } from '../items/items.ts';
import { column, statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import { countEnough, formSentence, KEYS_COMPARED } from './guard-limits.ts';
import { checkReleasedItems } from './guarded-items.ts';
import { checkRead } from './guarded-reads.ts';
import { dropLookupEntries, isLookedUp, noteStreamRead } from './lookups.ts';
import { countUseful, splitLost } from './losses.ts';
import { holdOlderExport } from './older-exports.ts';
import { firstIfAllRefused } from './refused-reads.ts';
import { countInterruptedRows, countRows, storeWarnings } from './run-accounts.ts';
import { settleCreatesOfRead } from './settle-held-creates.ts';
import { countPresentRecords, streamNamed } from './streams.ts';

/** To find out which records are lost takes up to 60 µs a record, and nothing else is done in that time. */
const SPLIT_MAX = 20_000;
/** If more records are gone, all of them count as lost, with or without items. */
const ALL_LOST = { lost: null, spare: [] };

const SQL = {
  presentRecords: column<[number], number>('SELECT id FROM records WHERE stream_id = ? AND missing_since IS NULL'),
  missRecord: statement<[number, number]>('UPDATE records SET missing_since = ? WHERE id = ?'),
  missItems: statement<[number, number]>('UPDATE items SET missing_since = ? WHERE record_id = ?'),
  countMissing: statement<[number, string | null, number | null, number, number]>(
    'UPDATE run_streams SET missing = ?, guarded = ?, missed_by_changes = ? WHERE run_id = ? AND stream_id = ?',
  ),
  completeRead: statement<[number, number, number, number]>(
    `UPDATE streams SET complete_read = ?, flags_missing = ?, snapshot_at = (SELECT started_at FROM runs WHERE id = ?)
     WHERE id = ?`,
  ),
  setTimes: statement<[number, string, number]>('UPDATE streams SET read_as_of = ?, read_files = ? WHERE id = ?'),
  setCursor: statement<[string, number]>('UPDATE streams SET cursor = ? WHERE id = ?'),
  requeueContenders: statement<[number]>(
    `UPDATE records SET state = 'pending', version = version + 1
     WHERE state IN ('mapped', 'quarantined') AND missing_since IS NULL AND id IN
       (SELECT c.record_id FROM items i JOIN contenders c ON c.kind = i.kind AND c.key = i.key WHERE i.record_id = ?)`,
  ),
  key: column<[number], string>('SELECT key FROM records WHERE id = ?'),
  makesSomething: column<[{ id: number }], number>(
    `SELECT 1 WHERE EXISTS (SELECT 1 FROM items WHERE record_id = @id)
       OR EXISTS (SELECT 1 FROM lookup_entries WHERE record_id = @id AND record_id > 0)`,
  ),
  byKey: column<[number, string], number>('SELECT id FROM records WHERE stream_id = ? AND key = ?'),
  unmapped: column<[number], number>(
    "SELECT count(*) FROM records WHERE stream_id = ? AND state = 'stale' AND missing_since IS NULL",
  ),
  itemKeys: statement<[string], { kind: string; key: string }>(
    'SELECT kind, key FROM items WHERE record_id IN (SELECT value FROM json_each(?)) ORDER BY id',
  ),
  releaseStale: statement<[number]>(
    "UPDATE records SET state = 'pending' WHERE stream_id = ? AND state = 'stale' AND missing_since IS NULL",
  ),
};

/**
 * Ends the read of a stream: marks the records that a complete read did not see as missing, unless all its rows are
 * refused, or the guard treats the read as broken.
 */
export function endStream(
  tx: Tx,
  { runId, source, stream, seen, read, cursor, missedByChanges, flagItems, guard, uncounted = 0, ...end }: StreamEnd,
): EndedStream {
  const row = streamNamed(tx, source, stream);
  if (uncounted > 0) countRows(tx, { runId, streamId: row.id, ...unchangedRows(uncounted) });
  storeWarnings(tx, { runId, source, stream, warnings: end.warnings ?? [] });
  let missing = 0;
  let guarded: string | null = null;
  if (end.held !== undefined) {
    guarded = end.held.message;
    holdOlderExport(tx, row.id, runId, end.held);
    SQL.countMissing(tx).run(0, guarded, null, runId, row.id);
  }
  const refused = seen && firstIfAllRefused(tx, row.id, seen);
  if (seen && refused === null) {
    const present = countPresentRecords(tx, row.id);
    const unread = seen.size() === present ? [] : unseen(tx, row.id, seen);
    const fresh = newRecordsOf(tx, row.id);
    const { dropped, known } = dropHeld(tx, unread, fresh);
    const { repeated, gone } = splitRepeated(tx, row.id, known, seen);
    missing = gone.length;
    const { lost, spare } = gone.length > SPLIT_MAX ? ALL_LOST : splitLost(tx, gone);
    const forItems = checkReleasedItems(tx, row.id, { runId, guard, gone });
    const figures = {
      ...(lost === null
        ? { lost: gone, present: present - dropped.length - repeated.length - fresh.size, countsAll: true }
        : figuresOf(tx, row.id, { lost, fresh: fresh.size, guard })),
      fresh: {
        records: fresh.size + (SQL.unmapped(tx).get(row.id) ?? 0),
        sentence: () => formOf(tx, row.id, gone),
      },
      read,
      before: row.completeRead,
      isHeld: forItems !== null,
    };
    const forRecords = checkRead(tx, row.id, { runId, ...figures, guard });
    guarded = [forRecords, forItems].filter((message) => message !== null).join(' ') || null;
    // Even if the guard holds this read, the rows in `spare` count as missing now. Otherwise a row that was removed or
    // corrected would be shown as repeated or quarantined for as long as the guard holds the read.
    markMissing(tx, [...dropped, ...repeated, ...(guarded === null ? gone : spare)], flagItems);
    endGoneDeliveries(tx, source);
    if (guarded === null) SQL.completeRead(tx).run(read, flagItems ? 1 : 0, runId, row.id);
    SQL.countMissing(tx).run(missing, guarded, missedByChanges ?? null, runId, row.id);
  }
  if (seen && refused === null && end.times !== undefined) {
    SQL.setTimes(tx).run(end.times.asOf, JSON.stringify(end.times.files), row.id);
  }
  // The records of a guarded snapshot are stored as well, so the next read of changes begins at the end of this
  // snapshot.
  if (cursor !== undefined && refused === null) SQL.setCursor(tx).run(JSON.stringify(cursor), row.id);
  // Makes the records pending that wait for the end of the read. After a change of the mapping all stored records
  // become pending.
  countInterruptedRows(tx, row.id, runId);
  SQL.releaseStale(tx).run(row.id);
  noteStreamRead(tx, row.id);
  settleCreatesOfRead(tx, row.id, refused === null ? end.creates : 'resume');
  return { missing, guarded, refused };
}

function unseen(tx: Tx, streamId: number, seen: SeenRecords): number[] {
  const gone: number[] = [];
  for (const id of SQL.presentRecords(tx).iterate(streamId)) if (!seen.has(id)) gone.push(id);
  return gone;
}

/** The figures of a read by which the guard decides. Records from which nothing comes do not count. */
function figuresOf(
  tx: Tx,
  streamId: number,
  { lost, fresh, guard }: { lost: readonly number[]; fresh: number; guard: StreamEnd['guard'] },
) {
  const enough = countEnough(lost.length, guard);
  const present = lost.length === 0 ? 0 : countUseful(tx, streamId, enough < 0 ? enough : enough + fresh) - fresh;
  return { lost, present, isLookedUp: isLookedUp(tx, streamId) };
}

/** Whether the keys of the new items only have another form than the keys of the items that are gone. */
function formOf(tx: Tx, streamId: number, gone: readonly number[]): string {
  const former = SQL.itemKeys(tx).all(JSON.stringify(gone.slice(0, KEYS_COMPARED)));
  const [most] = [...Map.groupBy(former, ({ kind }) => kind)].toSorted(([, a], [, b]) => b.length - a.length);
  if (most === undefined) return '';
  const [kind, ofKind] = most;
  const fresh = heldKeysOf(tx, streamId, kind, KEYS_COMPARED);
  const isAll = gone.length <= KEYS_COMPARED && fresh.length < KEYS_COMPARED;
  return formSentence({ former: ofKind.map(({ key }) => key), fresh, isAll });
}

/**
 * Splits off the records that repeat the key of a record which the read has seen, and that make nothing. Their rows are not gone:
 * they have become rows of that record, as after a change of what identifies the rows.
 */
function splitRepeated(tx: Tx, streamId: number, gone: readonly number[], seen: SeenRecords) {
  const repeated: number[] = [];
  const others: number[] = [];
  for (const id of gone) {
    const repeats = repeatedKey(SQL.key(tx).get(id) ?? '');
    const first = repeats === null ? undefined : SQL.byKey(tx).get(streamId, repeats);
    const isSeen = first !== undefined && seen.has(first);
    (isSeen && SQL.makesSomething(tx).get({ id }) === undefined ? repeated : others).push(id);
  }
  return { repeated, gone: others };
}

/** Deletes the held creates of records that are gone again, because these items never reached the platform. */
function dropHeld(tx: Tx, gone: readonly number[], fresh: Set<number>): { dropped: number[]; known: number[] } {
  if (fresh.size === 0) return { dropped: [], known: [...gone] };
  const dropped = gone.filter((id) => fresh.has(id));
  for (const id of dropped) {
    fresh.delete(id);
    for (const item of itemsOfRecord(tx, id)) disownItem(tx, item);
  }
  const isDropped = new Set(dropped);
  return { dropped, known: gone.filter((id) => !isDropped.has(id)) };
}

function markMissing(tx: Tx, gone: readonly number[], flagItems: boolean): void {
  const now = tx.clock.now();
  for (const id of gone) {
    SQL.missRecord(tx).run(now, id);
    dropLookupEntries(tx, id);
    if (flagItems) SQL.missItems(tx).run(now, id);
    // Another record that makes the same item may own it now.
    SQL.requeueContenders(tx).run(id);
  }
}

/** The counts of a page without changes. */
function unchangedRows(rows: number) {
  return { read: rows, unchanged: rows, mapped: 0, excluded: 0, quarantined: 0 };
}
