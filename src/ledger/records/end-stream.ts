import type { Issue, Place } from '../../domain/issue.ts';
import type { EndedStream, SeenRecords, StreamEnd } from '../../domain/ports/intake.ts';
import { repeatedKey, type StreamIdentity } from '../../domain/record.ts';
import { heldKeysOf, newRecordsOf } from '../items/refs.ts';
import { endGoneDeliveries } from '../items/revisions.ts';
import { column, parseJson, parseJsonOrNull, statement, type Tx } from '../store/tx.ts';
import { countEnough, formSentence, KEYS_COMPARED } from './guard-limits.ts';
import { checkReleasedItems, settleCreatesOfRead } from './guarded-items.ts';
import { checkRead, holdOlderExport } from './guarded-reads.ts';
import { findKnownRecords } from './look-up-page.ts';
import { isLookedUp, noteStreamRead } from './lookups.ts';
import { countUseful, dropHeld, markMissing, splitLost } from './missing-records.ts';
import {
  countInterruptedRows,
  countPresentRecords,
  countRows,
  type StreamRow,
  storeWarnings,
  streamNamed,
} from './streams.ts';

/** To find out which records are lost takes up to 60 µs a record, and nothing else is done in that time. */
const SPLIT_MAX = 20_000;
/** If more records are gone, all of them count as lost, with or without items. */
const ALL_LOST = { lost: null, spare: [] };

/** Issues that depend on other rows or on lookup tables. The row may be used as it is when these change. */
const IS_OF_OTHERS = "code IN ('claim.conflict', 'natural_key.taken', 'refs.ambiguous') OR code LIKE 'lookup.%'";

/** Only the issues of the connector are known of a row that waits to be mapped. */
const IS_REFUSED = `CASE state
  WHEN 'quarantined' THEN partial = 0 AND EXISTS
    (SELECT 1 FROM (SELECT e.value ->> 'code' AS code FROM json_each(issues) e) AS found WHERE NOT (${IS_OF_OTHERS}))
  WHEN 'excluded' THEN FALSE WHEN 'mapped' THEN FALSE
  ELSE source_issues IS NOT NULL END`;

const SQL = {
  presentRecords: column<[number], number>('SELECT id FROM records WHERE stream_id = ? AND missing_since IS NULL'),
  countMissing: statement<[number, string | null, number | null, number, number]>(
    'UPDATE run_streams SET missing = missing + ?, guarded = ?, missed_by_changes = ? WHERE run_id = ? AND stream_id = ?',
  ),
  completeRead: statement<[{ streamId: number; runId: number; read: number; flags: 0 | 1; emptied: 0 | 1 | null }]>(
    `UPDATE streams SET complete_read = @read, flags_missing = @flags, emptied = @emptied,
       snapshot_at = (SELECT started_at FROM runs WHERE id = @runId) WHERE id = @streamId`,
  ),
  isAccepted: column<[number], number>('SELECT 1 FROM guarded_reads WHERE stream_id = ? AND accepted_at IS NOT NULL'),
  setTimes: statement<[number, string, number]>('UPDATE streams SET read_as_of = ?, read_files = ? WHERE id = ?'),
  setCursor: statement<[string, number]>('UPDATE streams SET cursor = ? WHERE id = ?'),
  keys: statement<[string], { id: number; key: string }>(
    'SELECT r.id, r.key FROM json_each(?) k CROSS JOIN records r ON r.id = k.value',
  ),
  idle: column<[string], number>(
    `SELECT k.value FROM json_each(?) k WHERE NOT EXISTS (SELECT 1 FROM items WHERE record_id = k.value)
       AND NOT EXISTS (SELECT 1 FROM lookup_entries WHERE record_id = k.value AND record_id > 0)`,
  ),
  unmapped: column<[number], number>(
    "SELECT count(*) FROM records WHERE stream_id = ? AND state = 'stale' AND missing_since IS NULL",
  ),
  itemKeys: statement<[string], { kind: string; key: string }>(
    'SELECT kind, key FROM items WHERE record_id IN (SELECT value FROM json_each(?)) ORDER BY id',
  ),
  releaseStale: statement<[number]>(
    "UPDATE records SET state = 'pending' WHERE stream_id = ? AND state = 'stale' AND missing_since IS NULL",
  ),
  usable: column<[number], number>(
    `SELECT id FROM records WHERE stream_id = ? AND missing_since IS NULL AND NOT (${IS_REFUSED})`,
  ),
  refused: column<[number], number>(
    `SELECT id FROM records WHERE stream_id = ? AND missing_since IS NULL AND ${IS_REFUSED}`,
  ),
  // Rows that came into quarantine after the last complete read: those with a hash of their content in place of a key, and those whose
  // parts are not known.
  unknown: column<[{ streamId: number; source: string; isKeyed: 0 | 1 }], number>(
    `SELECT r.id FROM records r WHERE r.stream_id = @streamId AND r.state = 'quarantined' AND r.missing_since IS NULL
       AND (r.quarantined_at IS NULL OR r.quarantined_at > coalesce((SELECT max(u.ended_at) FROM runs u
         WHERE u.source = @source AND u.started_at = (SELECT snapshot_at FROM streams WHERE id = @streamId)), 0))
       AND ((@isKeyed = 1 AND substr(r.key, 1, 43) = r.hash) OR EXISTS
         (SELECT 1 FROM (SELECT e.value ->> 'code' AS code FROM json_each(r.issues) e) AS found WHERE code = 'row.parts'))`,
  ),
  row: statement<[number], { place: string; issues: string }>(
    'SELECT place, coalesce(issues, source_issues) AS issues FROM records WHERE id = ?',
  ),
};

/**
 * Ends the read of a stream: marks the records that a complete read did not see as missing, unless all its rows are
 * refused, or the guard treats the read as broken.
 */
export function endStream(
  tx: Tx,
  {
    runId,
    source,
    stream,
    seen,
    read,
    cursor,
    missedByChanges,
    flagItems,
    withdraws = false,
    guard,
    uncounted = 0,
    ...end
  }: StreamEnd,
): EndedStream {
  const row = streamNamed(tx, source, stream);
  if (uncounted > 0) countRows(tx, [{ runId, streamId: row.id, ...unchangedRows(uncounted) }]);
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
      unknown: withdraws && missing > 0 ? countUnknown(tx, row, { source, seen }) : 0,
    };
    // The guard forgets what a person has accepted once the accepted read has come.
    const emptied = read > 0 ? null : present > 0 && SQL.isAccepted(tx).get(row.id) === undefined ? 1 : 0;
    const forRecords = checkRead(tx, row.id, { runId, ...figures, guard });
    guarded = [forRecords, forItems].filter((message) => message !== null).join(' ') || null;
    // Even if the guard holds this read, the rows in `spare` count as missing now. Otherwise a row that was removed or
    // corrected would be shown as repeated or quarantined for as long as the guard holds the read.
    markMissing(tx, [...dropped, ...repeated, ...(guarded === null ? gone : spare)], { flagItems });
    endGoneDeliveries(tx, { source });
    const flags = flagItems ? 1 : 0;
    if (guarded === null) SQL.completeRead(tx).run({ streamId: row.id, runId, read, flags, emptied });
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

/**
 * How many new rows of a read may be records that it seems to lack, because their keys or their parts are unknown. A row that an
 * earlier complete read had too, such as one with a sum, stands for no record that has gone since.
 */
function countUnknown(
  tx: Tx,
  { id: streamId, identity }: StreamRow,
  { source, seen }: { source: string; seen: SeenRecords },
): number {
  const of = parseJsonOrNull<StreamIdentity>(identity);
  const isKeyed = of?.by === 'columns' || (of?.by === 'mappings' && of.mappings.length > 0) ? 1 : 0;
  return SQL.unknown(tx)
    .all({ streamId, source, isKeyed })
    .filter((id) => seen.has(id)).length;
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
  if (gone.length === 0) return { repeated: [], gone: [] };
  const numbered = SQL.keys(tx)
    .all(JSON.stringify(gone))
    .flatMap(({ id, key }) => {
      const repeats = repeatedKey(key);
      return repeats === null ? [] : [{ id, repeats }];
    });
  if (numbered.length === 0) return { repeated: [], gone: [...gone] };
  const firsts = findKnownRecords(
    tx,
    streamId,
    numbered.map(({ repeats }) => repeats),
  );
  const isSeen = ({ repeats }: { repeats: string }) => seen.has(firsts.get(repeats)?.id ?? 0);
  const repeated = new Set(SQL.idle(tx).all(JSON.stringify(numbered.filter(isSeen).map(({ id }) => id))));
  return { repeated: [...repeated], gone: gone.filter((id) => !repeated.has(id)) };
}

/** The counts of a page without changes. */
function unchangedRows(rows: number) {
  return { read: rows, unchanged: rows, mapped: 0, excluded: 0, quarantined: 0 };
}

// Finds complete reads whose rows are all refused.

/**
 * Returns the first row of a read if all its rows are refused; null if it has no row, or one that is not refused. A row
 * is refused if nothing of it is used, because of what it holds.
 */
function firstIfAllRefused(tx: Tx, streamId: number, seen: SeenRecords): EndedStream['refused'] {
  if (seen.size() === 0) return null;
  for (const id of SQL.usable(tx).iterate(streamId)) if (seen.has(id)) return null;
  let first: number | undefined;
  for (const id of SQL.refused(tx).iterate(streamId))
    if (seen.has(id) && (first === undefined || id < first)) first = id;
  const row = first === undefined ? undefined : SQL.row(tx).get(first);
  return row ? { place: parseJson<Place>(row.place), issues: parseJson<Issue[]>(row.issues) } : null;
}
