// The reads that the guard takes for broken exports: because of missing records, or because they are older than the last one.

import type { GuardedRead, MissingGuard } from '../../domain/ports/guarded-intake.ts';
import type { Accepted, OlderExport } from '../../domain/ports/intake.ts';
import { column, parseJson, statement, type Tx } from '../store/tx.ts';
import { exceeds, goneSentence, isMost, KEYS_NAMED, limitWords, percent } from './guard-limits.ts';

/** The figures of a complete read. */
interface CompleteRead {
  /** How many records count that the stream had before, and which of these are lost. See missing-records.ts. */
  present: number;
  lost: readonly number[];
  /** How many new records the export has, and a sentence about their keys. */
  fresh?: { records: number; sentence: () => string };
  /** How many rows the export has, and how many the last whole export had. */
  read: number;
  before: number | null;
  guard: MissingGuard;
  /** True if mappings look up the records of the stream. */
  isLookedUp?: boolean;
  /** True if `lost` and `present` contain all records, and not only those with items or lookup entries. */
  countsAll?: boolean;
  /** True if the source does not have the stream any more. The stream then counts as an export without rows. */
  isLeft?: boolean;
  /**
   * True if the guard holds the read because of released items. A person's acceptance of missing records is then kept
   * for the next read.
   */
  isHeld?: boolean;
  /** How many rows of the export may be the lost records, because their keys or parts are unknown. */
  unknown?: number;
}

/** True if the run in which the guard has decided about a read `g` did not have its stream, because the config has it no more. */
const IS_LEFT = `(EXISTS (SELECT 1 FROM runs r WHERE r.id = g.run_id)
  AND NOT EXISTS (SELECT 1 FROM run_streams a WHERE a.run_id = g.run_id AND a.stream_id = g.stream_id))`;

/** What the guard says about a source. */
export interface OpenGuard {
  message: string;
  acceptedAt: number | null;
  /** 1 if the config no longer has the stream. */
  isLeft: 0 | 1;
  /** 1 if the export is older than the last one. */
  isOlder: 0 | 1;
  /** Who has refused the read; null if nobody has. */
  refusedBy: string | null;
}

/** The first guarded read of a source, preferably one that no person has accepted or refused. */
export const GUARD_OF_SOURCE = `SELECT g.message, g.accepted_at AS acceptedAt, g.isLeft, g.isOlder, g.refused_by AS refusedBy FROM streams s
  JOIN (SELECT stream_id, message, accepted_at, refused_at, refused_by, iif(${IS_LEFT}, 1, 0) AS isLeft, 0 AS isOlder, 0 AS part
      FROM guarded_reads g
    UNION ALL SELECT stream_id, message, accepted_at, refused_at, refused_by, 0, 0, 1 FROM guarded_items
    UNION ALL SELECT stream_id, message, accepted_at, refused_at, refused_by, 0, 1, 2 FROM older_exports) g ON g.stream_id = s.id
  WHERE s.source = ? ORDER BY g.accepted_at NULLS FIRST, g.refused_at NULLS FIRST, s.id, g.part LIMIT 1`;

/**
 * The name of a lost record `l`, as people know it: its first item, else its key in a lookup table, else the key of its
 * row. The parts of a key are separated by a character that cannot be typed.
 */
const NAME = `replace(coalesce(
  (SELECT coalesce(i.natural_key, i.key) FROM items i WHERE i.record_id = l.record_id ORDER BY i.id LIMIT 1),
  (SELECT e.key FROM lookup_entries e WHERE e.record_id = l.record_id AND e.record_id > 0 LIMIT 1),
  (SELECT r.key FROM records r WHERE r.id = l.record_id)), char(31), ' / ')`;

/** SQL: the first names of the lost records of the stream in `streamId`, as rows of one column. */
function lostNames(streamId: string, limit: string): string {
  return `SELECT ${NAME} AS name FROM lost_records l WHERE l.stream_id = ${streamId} ORDER BY l.record_id LIMIT ${limit}`;
}

/** SQL: the first names of the released items of the stream in `streamId`, as rows of one column. */
export function releasedNames(streamId: string, limit: string): string {
  return `SELECT coalesce(i.natural_key, i.key) AS name FROM released l CROSS JOIN items i ON i.id = l.item_id
    WHERE l.stream_id = ${streamId} ORDER BY l.item_id LIMIT ${limit}`;
}

/** SQL condition on a read `g` that the guard holds: true if a person has to decide about it, or has refused it. */
const isHeld = (which: 'asked' | 'refused') =>
  `g.accepted_at IS NULL AND g.refused_at IS ${which === 'asked' ? 'NULL' : 'NOT NULL'}`;

/**
 * SQL: sets what remains of a refusal when the guard holds a stream again. A person who has refused an export is not asked about one
 * that lacks no more.
 */
export const keptRefusal = (table: string, isCovered: string) =>
  `refused_at = iif(${isCovered}, ${table}.refused_at, NULL), refused_by = iif(${isCovered}, ${table}.refused_by, NULL)`;

/** SQL: the streams of the source `@source`. */
const STREAMS = '(SELECT id FROM streams WHERE source = @source)';

/** Of each read, at most this many of the records or items that are gone are named. */
const GONE_MAX = '100';

/**
 * The reads that the guard holds for missing records, for released items or because of their age, and that no person has
 * accepted. They are of the sources in the JSON list `@sources`. An empty list stands for all sources.
 *
 * @param which `asked`: those about which a person has to decide; `refused`: those that a person has refused
 */
const heldReads = (
  which: 'asked' | 'refused',
) => `SELECT s.source, s.name AS stream, g.runId, g.since, g.missing, g.read, g.released,
    iif(g.holds = 1, (SELECT count(*) FROM held_creates h WHERE h.stream_id = g.stream_id), 0) AS creates, g.message,
    g.isLeft, g.isOlder, iif(g.isOlder = 1, '[]', iif(g.released > 0, (SELECT json_group_array(name) FROM (${releasedNames('g.stream_id', GONE_MAX)}) AS found),
      (SELECT json_group_array(name) FROM (${lostNames('g.stream_id', GONE_MAX)}) AS found))) AS gone
  FROM (
    SELECT stream_id, run_id AS runId, since, missing, read, 0 AS released, message, holds_creates AS holds,
      iif(${IS_LEFT}, 1, 0) AS isLeft, 0 AS isOlder FROM guarded_reads g
      WHERE ${isHeld(which)}
    UNION ALL
    SELECT g.stream_id, g.run_id, g.since, coalesce(a.missing, 0), coalesce(a.read, 0), g.released, g.message, g.holds_creates, 0, 0
      FROM guarded_items g LEFT JOIN run_streams a ON a.run_id = g.run_id AND a.stream_id = g.stream_id
      WHERE ${isHeld(which)}
    UNION ALL
    SELECT stream_id, run_id, since, missing, read, 0, message, 0, 0, 1 FROM older_exports g WHERE ${isHeld(which)}
  ) g JOIN streams s ON s.id = g.stream_id
  WHERE (@sources = '[]' OR s.source IN (SELECT value FROM json_each(@sources)))
  ORDER BY s.source, s.id, g.isOlder, g.released`;

/** The held reads about which a person has to decide. */
export const OPEN_GUARDED_READS = heldReads('asked');

export type OpenGuardedRead = Omit<GuardedRead, 'isLeft' | 'isOlder' | 'gone'> & {
  isLeft: 0 | 1;
  isOlder: 0 | 1;
  gone: string;
};

export function guardedReadOf({ isLeft, isOlder, gone, ...read }: OpenGuardedRead): GuardedRead {
  return { ...read, isLeft: isLeft === 1, isOlder: isOlder === 1, gone: parseJson<string[]>(gone) };
}

interface GuardRow extends Pick<GuardedRead, 'runId' | 'missing' | 'read' | 'message'> {
  streamId: number;
  holdsCreates: 0 | 1;
  now: number;
}

const TABLES = ['guarded_reads', 'guarded_items', 'older_exports'] as const;

/** Accepts what the guard holds of the source: what older exports lack, and then the reads themselves. */
const acceptIn = (which: 'asked' | 'refused') => [
  // What the older export lacks is accepted with it, also if the guard holds another export of the stream.
  statement<[{ source: string; now: number }]>(
    `INSERT INTO guarded_reads (stream_id, run_id, since, missing, read, message, accepted_at)
     SELECT stream_id, run_id, since, missing, read, message, @now FROM older_exports g
     WHERE ${isHeld(which)} AND missing > 0 AND stream_id IN ${STREAMS}
     ON CONFLICT (stream_id) DO UPDATE SET missing = max(guarded_reads.missing, excluded.missing), read = min(guarded_reads.read, excluded.read),
       accepted_at = @now, refused_at = NULL, refused_by = NULL`,
  ),
  ...TABLES.map((table) =>
    statement<[{ source: string; now: number }]>(
      `UPDATE ${table} AS g SET accepted_at = @now, refused_at = NULL, refused_by = NULL
       WHERE ${isHeld(which)} AND stream_id IN ${STREAMS}`,
    ),
  ),
];

const SQL = {
  accepted: column<[{ streamId: number; missing: number; read: number }], number>(
    `SELECT 1 FROM guarded_reads WHERE stream_id = @streamId AND accepted_at IS NOT NULL
     AND @missing <= missing AND @read >= read`,
  ),
  guard: statement<[GuardRow]>(
    `INSERT INTO guarded_reads (stream_id, run_id, since, missing, read, message, holds_creates)
     VALUES (@streamId, @runId, @now, @missing, @read, @message, @holdsCreates)
     ON CONFLICT (stream_id) DO UPDATE SET run_id = @runId, missing = @missing, read = @read, message = @message,
       holds_creates = @holdsCreates, accepted_at = NULL,
       ${keptRefusal('guarded_reads', 'excluded.missing <= guarded_reads.missing AND excluded.read >= guarded_reads.read')}`,
  ),
  release: statement<[number, 0 | 1]>(
    'DELETE FROM guarded_reads WHERE stream_id = ? AND (accepted_at IS NULL OR ? = 0)',
  ),
  open: statement<[{ sources: string }], OpenGuardedRead>(OPEN_GUARDED_READS),
  refused: statement<[{ sources: string }], OpenGuardedRead>(heldReads('refused')),
  refuse: TABLES.map((table) =>
    statement<[{ source: string; now: number; by: string }]>(
      `UPDATE ${table} AS g SET refused_at = @now, refused_by = @by WHERE ${isHeld('asked')} AND stream_id IN ${STREAMS}${
        table === 'guarded_reads' ? ` AND NOT ${IS_LEFT}` : ''
      }`,
    ),
  ),
  accept: { asked: acceptIn('asked'), refused: acceptIn('refused') },
  hold: statement<[OlderExport & { streamId: number; runId: number; now: number }]>(
    `INSERT INTO older_exports (stream_id, run_id, since, as_of, missing, read, message)
     VALUES (@streamId, @runId, @now, @asOf, @missing, @read, @message)
     ON CONFLICT (stream_id) DO UPDATE SET run_id = @runId, as_of = @asOf, missing = @missing, read = @read, message = @message,
       accepted_at = NULL, ${keptRefusal(
         'older_exports',
         'coalesce(excluded.as_of, -1) = coalesce(older_exports.as_of, -1) AND excluded.missing <= older_exports.missing AND excluded.read >= older_exports.read',
       )}`,
  ),
  forget: statement<[number]>('DELETE FROM older_exports WHERE stream_id = ?'),
  acceptedExport: statement<[number], { asOf: number | null }>(
    'SELECT as_of AS asOf FROM older_exports WHERE stream_id = ? AND accepted_at IS NOT NULL',
  ),
  remove: statement<[number]>('DELETE FROM lost_records WHERE stream_id = ?'),
  add: statement<[number, string]>(
    `INSERT INTO lost_records (record_id, stream_id)
     SELECT CAST(value AS INTEGER), CAST(? AS INTEGER) FROM json_each(?) WHERE TRUE`,
  ),
  ids: column<[number], number>('SELECT record_id FROM lost_records WHERE stream_id = ?'),
  requeueContenders: statement<[string]>(
    `UPDATE records SET state = 'pending', version = version + 1
     WHERE id IN (
       SELECT c.record_id FROM contenders c CROSS JOIN records r ON r.id = c.record_id
       CROSS JOIN items i ON i.kind = c.kind AND i.key = c.key
       WHERE r.state = 'quarantined' AND r.missing_since IS NULL AND i.record_id <> r.id
         AND i.record_id IN (SELECT value FROM json_each(?)))`,
  ),
  names: column<[number, number], string>(lostNames('?', '?')),
};

/**
 * Returns why a complete read counts as a broken export, and stores the reason until a complete export comes. Null
 * for a whole read. A read that misses no more than a person has accepted counts as whole.
 */
export function checkRead(
  tx: Tx,
  streamId: number,
  { runId, ...complete }: CompleteRead & { runId: number },
): string | null {
  const { lost, read, isHeld = false } = complete;
  const missing = lost.length;
  forgetOlderExport(tx, streamId);
  const reason = guardAgainst(complete);
  if (reason === null || SQL.accepted(tx).get({ streamId, missing, read }) !== undefined) {
    SQL.release(tx).run(streamId, isHeld ? 1 : 0);
    replaceLostRecords(tx, streamId, []);
    return null;
  }
  replaceLostRecords(tx, streamId, lost);
  const message = `${reason}${goneSentence(namesOfLost(tx, streamId, KEYS_NAMED), missing)}`;
  const holdsCreates = isMost({ lost: missing, known: complete.present }) ? 1 : 0;
  SQL.guard(tx).run({ streamId, runId, message, missing, read, holdsCreates, now: tx.clock.now() });
  return message;
}

/**
 * Accepts the missing records, the released items and the older exports that the guard holds of these sources. What a person has
 * refused before is accepted where nothing else of the source waits for a decision. Returns these reads.
 */
export function acceptGuarded(tx: Tx, { sources }: { sources: readonly string[] }): Accepted {
  const reads = sources.flatMap((source) => {
    const asked = SQL.open(tx).all({ sources: JSON.stringify([source]) });
    const held = asked.length > 0 ? asked : SQL.refused(tx).all({ sources: JSON.stringify([source]) });
    const accept = SQL.accept[asked.length > 0 ? 'asked' : 'refused'];
    for (const step of accept) step(tx).run({ source, now: tx.clock.now() });
    return held.map(guardedReadOf);
  });
  return { sources, reads };
}

/**
 * Refuses the reads of a source that the guard holds: what its streams had stays, and nobody is asked about them until more is missing.
 * A stream that the config no longer has gives no export that could be refused. Returns the refused reads.
 */
export function refuseGuarded(tx: Tx, { source, by }: { source: string; by: string }): GuardedRead[] {
  const reads = SQL.open(tx)
    .all({ sources: JSON.stringify([source]) })
    .map(guardedReadOf)
    .filter(({ isLeft }) => !isLeft);
  for (const refuse of SQL.refuse) refuse(tx).run({ source, by, now: tx.clock.now() });
  return reads;
}

/**
 * Returns why a complete read is taken for a broken export; null if it is not. Nothing is marked as missing after a
 * broken export.
 */
function guardAgainst(read: CompleteRead): string | null {
  // Fewer rows without a loss: the rows that are gone were quarantined, excluded or repeated.
  const missing = read.lost.length;
  if (missing === 0) return null;
  const loss = { lost: missing, known: read.present };
  if (exceeds(loss, read.guard)) {
    const limits = limitWords(loss, read.guard);
    if (read.isLeft) {
      return `The config no longer has this stream, and no other stream has ${missing} of its ${read.present} records (${limits}), so none of them was marked as missing.`;
    }
    const are = missing === 1 ? 'is' : 'are';
    const useful = read.isLookedUp ? 'records with items or lookup entries' : 'records with items';
    const records = read.countsAll ? 'records' : useful;
    const gone = `${missing} of ${read.present} ${records} ${are} missing from this export (${limits})`;
    const { fresh } = read;
    if (fresh === undefined || fresh.records === 0 || !isMost(loss)) {
      return `${gone}, so none of them was marked as missing.`;
    }
    const news = fresh.records === 1 ? '1 is new' : `${fresh.records} are new`;
    return `${gone}, and ${news}. So none of the missing ones was marked as missing, and none of the new ones is created.${fresh.sentence()}`;
  }
  const drop = read.before === null || read.before === 0 ? 0 : 1 - read.read / read.before;
  if (drop > read.guard.maxDrop) {
    return `This export has ${read.read} rows where the last export had ${read.before} (${percent(drop)} less, allowed are ${percent(read.guard.maxDrop)}), so no record was marked as missing.`;
  }
  const { unknown = 0 } = read;
  if (unknown === 0) return null;
  const lack = `${missing} ${missing === 1 ? 'record is' : 'records are'} missing from this export`;
  const rows = unknown === 1 ? 'one of its rows' : `${unknown} of its rows`;
  return `${lack}, and nobody knows which ${unknown === 1 ? 'record' : 'records'} ${rows} ${unknown === 1 ? 'is' : 'are'}, because of an error. So none was marked as missing, and no passport is withdrawn.`;
}

// Exports that the guard holds before their first row, because they are older than the last one that was read.

/** Stores that the guard holds an older export. What it holds of the export before stays held. */
export function holdOlderExport(tx: Tx, streamId: number, runId: number, older: OlderExport): void {
  const { message, asOf, missing, read } = older;
  SQL.hold(tx).run({ streamId, runId, message, asOf, missing, read, now: tx.clock.now() });
}

/** Another export of the stream was read, so the older one is held no longer. */
function forgetOlderExport(tx: Tx, streamId: number): void {
  SQL.forget(tx).run(streamId);
}

/** The time of the older export of a stream that a person has accepted; undefined if there is none. */
export function acceptedOlderExport(tx: Tx, streamId: number): { asOf: number | null } | undefined {
  return SQL.acceptedExport(tx).get(streamId);
}

// The records that a read lacks while the guard holds it.

/** SQL condition on an item `i`: a read that the guard holds lacks its record, or its records no longer make it. */
export const IS_HELD = `i.id IN (SELECT h.id FROM lost_records l CROSS JOIN items h ON h.record_id = l.record_id
  UNION SELECT l.item_id FROM released l JOIN guarded_items g ON g.stream_id = l.stream_id)`;

/**
 * Stores which records the last read of a stream lacks. An empty list removes them.
 *
 * The reason of a row that contradicts one of these records says that the record is lost. So such rows are mapped again when a
 * record becomes lost, or is lost no more.
 */
function replaceLostRecords(tx: Tx, streamId: number, recordIds: readonly number[]): void {
  const before = new Set(SQL.ids(tx).iterate(streamId));
  const now = new Set(recordIds);
  const changed = [...recordIds.filter((id) => !before.has(id)), ...[...before].filter((id) => !now.has(id))];
  if (changed.length > 0) SQL.requeueContenders(tx).run(JSON.stringify(changed));
  SQL.remove(tx).run(streamId);
  if (recordIds.length > 0) SQL.add(tx).run(streamId, JSON.stringify(recordIds));
}

/** The names of the first lost records of a stream. */
function namesOfLost(tx: Tx, streamId: number, limit: number): string[] {
  return SQL.names(tx).all(streamId, limit);
}
