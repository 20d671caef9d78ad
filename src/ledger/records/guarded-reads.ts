// The reads that the guard takes for broken exports because of missing records, and what the guard holds of all reads.

import type { GuardedRead } from '../../domain/ports/guarded-read.ts';
import type { MissingGuard } from '../../domain/ports/intake.ts';
import { parseJson } from '../store/context.ts';
import { column, statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import { exceeds, goneSentence, isMost, KEYS_NAMED, limitWords, percent } from './guard-limits.ts';
import { lostNames, namesOfLost, releasedNames, replaceLostRecords } from './lost-records.ts';
import { acceptMissingOfOlder, forgetOlderExport } from './older-exports.ts';

/** The figures of a complete read. */
interface CompleteRead {
  /** How many records count that the stream had before, and which of these are lost. See losses.ts. */
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
}

/** The first guarded read of a source, preferably one that no person has accepted. */
export const GUARD_OF_SOURCE = `SELECT g.message, g.accepted_at AS acceptedAt, g.isLeft, g.isOlder FROM streams s
  JOIN (SELECT stream_id, message, accepted_at, ${IS_LEFT} AS isLeft, 0 AS isOlder FROM guarded_reads g
    UNION ALL SELECT stream_id, message, accepted_at, 0, 0 FROM guarded_items
    UNION ALL SELECT stream_id, message, accepted_at, 0, 1 FROM older_exports) g ON g.stream_id = s.id
  WHERE s.source = ? ORDER BY g.accepted_at LIMIT 1`;

/** Of each read, at most this many of the records or items that are gone are named. */
const GONE_MAX = '100';

/**
 * The reads that the guard holds for missing records, for released items or because of their age, and that no person has
 * accepted. They are of the sources in the JSON list `@sources`. An empty list stands for all sources.
 */
export const OPEN_GUARDED_READS = `SELECT s.source, s.name AS stream, g.runId, g.since, g.missing, g.read, g.released,
    iif(g.holds = 1, (SELECT count(*) FROM held_creates h WHERE h.stream_id = g.stream_id), 0) AS creates, g.message,
    g.isLeft, g.isOlder, iif(g.isOlder, '[]', iif(g.released > 0, (SELECT json_group_array(name) FROM (${releasedNames('g.stream_id', GONE_MAX)})),
      (SELECT json_group_array(name) FROM (${lostNames('g.stream_id', GONE_MAX)})))) AS gone
  FROM (
    SELECT stream_id, run_id AS runId, since, missing, read, 0 AS released, message, holds_creates AS holds,
      ${IS_LEFT} AS isLeft, 0 AS isOlder FROM guarded_reads g
      WHERE accepted_at IS NULL
    UNION ALL
    SELECT g.stream_id, g.run_id, g.since, coalesce(a.missing, 0), coalesce(a.read, 0), g.released, g.message, g.holds_creates, 0, 0
      FROM guarded_items g LEFT JOIN run_streams a ON a.run_id = g.run_id AND a.stream_id = g.stream_id
      WHERE g.accepted_at IS NULL
    UNION ALL
    SELECT stream_id, run_id, since, missing, read, 0, message, 0, 0, 1 FROM older_exports WHERE accepted_at IS NULL
  ) g JOIN streams s ON s.id = g.stream_id
  WHERE @sources = '[]' OR s.source IN (SELECT value FROM json_each(@sources))
  ORDER BY s.source, s.id, g.isOlder, g.released`;

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

const SQL = {
  accepted: column<[{ streamId: number; missing: number; read: number }], number>(
    `SELECT 1 FROM guarded_reads WHERE stream_id = @streamId AND accepted_at IS NOT NULL
     AND @missing <= missing AND @read >= read`,
  ),
  guard: statement<[GuardRow]>(
    `INSERT INTO guarded_reads (stream_id, run_id, since, missing, read, message, holds_creates)
     VALUES (@streamId, @runId, @now, @missing, @read, @message, @holdsCreates)
     ON CONFLICT DO UPDATE SET run_id = @runId, missing = @missing, read = @read, message = @message,
       holds_creates = @holdsCreates, accepted_at = NULL`,
  ),
  release: statement<[number, 0 | 1]>(
    'DELETE FROM guarded_reads WHERE stream_id = ? AND (accepted_at IS NULL OR ? = 0)',
  ),
  open: statement<[{ sources: string }], OpenGuardedRead>(OPEN_GUARDED_READS),
  accept: ['guarded_reads', 'guarded_items', 'older_exports'].map((table) =>
    statement<[{ sources: string; now: number }]>(
      `UPDATE ${table} SET accepted_at = @now WHERE accepted_at IS NULL
       AND stream_id IN (SELECT id FROM streams WHERE source IN (SELECT value FROM json_each(@sources)))`,
    ),
  ),
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
 * Accepts the missing records, the released items and the older exports that the guard holds of these sources. Returns
 * these reads.
 */
export function acceptGuarded(tx: Tx, sources: readonly string[]): GuardedRead[] {
  // An empty list stands for all sources in the query, but for no source here.
  if (sources.length === 0) return [];
  const listed = JSON.stringify(sources);
  const reads = SQL.open(tx).all({ sources: listed }).map(guardedReadOf);
  acceptMissingOfOlder(tx, listed);
  for (const accept of SQL.accept) accept(tx).run({ sources: listed, now: tx.clock.now() });
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
  return null;
}
