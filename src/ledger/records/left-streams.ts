import type { LeftStreamRules } from '../../domain/ports/intake.ts';
import { endGoneDeliveries } from '../items/items.ts';
import { column, statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import { checkRead } from './guarded-reads.ts';
import { dropLookupEntries } from './lookups.ts';
import { MAKES_ITEM } from './losses.ts';

/** A stream that the config does not have any more, or to which it gives another name. */
interface LeftStream {
  id: number;
  source: string;
  name: string;
  /** 1 if the config does not have the stream's source either. */
  isOfLostSource: number;
  /** The number of rows in its last complete read. */
  completeRead: number | null;
}

/** Why the records of a left stream were not marked as missing. */
export interface GuardedStream {
  stream: string;
  message: string;
}

/** SQL condition on the streams table `s`: true if the config does not have the source of the stream. */
const IS_OF_LOST_SOURCE = "(@sources <> '[]' AND s.source NOT IN (SELECT value FROM json_each(@sources)))";

/** SQL condition: true if the run did not have the stream. A run has no streams if its source could not be opened. */
const IS_LEFT = `(${IS_OF_LOST_SOURCE} OR s.source = (SELECT source FROM runs WHERE id = @runId))
  AND s.id NOT IN (SELECT stream_id FROM run_streams WHERE run_id = @runId)
  AND EXISTS (SELECT 1 FROM run_streams WHERE run_id = @runId)`;

const SQL = {
  left: statement<[{ runId: number; sources: string }], LeftStream>(
    `SELECT s.id, s.source, s.name, s.complete_read AS completeRead, ${IS_OF_LOST_SOURCE} AS isOfLostSource
     FROM streams s WHERE ${IS_LEFT} ORDER BY s.id`,
  ),
  isMapping: column<[{ runId: number }], number>(
    `SELECT 1 FROM run_streams a WHERE a.run_id = @runId AND (
       EXISTS (SELECT 1 FROM records r WHERE r.stream_id = a.stream_id AND r.state = 'pending')
       OR EXISTS (SELECT 1 FROM records r WHERE r.stream_id = a.stream_id AND r.state = 'stale'
         AND r.missing_since IS NULL)) LIMIT 1`,
  ),
  present: column<[number], number>('SELECT id FROM records WHERE stream_id = ? AND missing_since IS NULL'),
  // A contender makes the same item, with the same content or with other content. A row that only has the same
  // natural key makes another item, so it does not count.
  unreplaced: column<[{ recordId: number; runId: number; sources: string }], number>(
    `SELECT 1 FROM items i WHERE i.record_id = @recordId AND NOT EXISTS (
       SELECT 1 FROM contenders c JOIN records r ON r.id = c.record_id JOIN streams s ON s.id = r.stream_id
       WHERE c.kind = i.kind AND c.key = i.key AND r.missing_since IS NULL AND NOT (${IS_LEFT}) AND ${MAKES_ITEM}) LIMIT 1`,
  ),
  missRecord: statement<[number, number]>('UPDATE records SET missing_since = ? WHERE id = ?'),
  missItems: statement<[number, number]>('UPDATE items SET missing_since = ? WHERE record_id = ?'),
  requeueContenders: statement<[number]>(
    `UPDATE records SET state = 'pending', version = version + 1
     WHERE state IN ('mapped', 'quarantined') AND missing_since IS NULL AND id IN
       (SELECT c.record_id FROM items i JOIN contenders c ON c.kind = i.kind AND c.key = i.key WHERE i.record_id = ?)`,
  ),
};

/**
 * Releases the items of streams that the source of a complete run no longer has, when the run ends.
 *
 * No run reads these streams again, so no other row could ever make the items of their records. If present rows of
 * other streams make the same items as a record, these rows replace the record, and its items are not marked as missing
 * meanwhile. All other records are marked as missing, unless the guard treats their number as a mistake in the config.
 * The records are handled when every row of the source is mapped, because only then it is known which records are
 * replaced.
 *
 * A stream may also belong to a source that the config no longer has. That source may have got another id, so rows of
 * other streams replace the records of this stream as well, but only if the guard allows the number of its records that
 * would be left. The records that are left are not marked as missing, because the source may be missing from the config
 * by mistake.
 */
export function releaseLeftStreams(tx: Tx, runId: number, { guard, flagItems }: LeftStreamRules): GuardedStream[] {
  const guarded: GuardedStream[] = [];
  // A reload may have changed the sources since the last run.
  const sources = JSON.stringify(tx.passportRules.sources);
  const isMapping = SQL.isMapping(tx).get({ runId }) !== undefined;
  for (const { id: streamId, source, name, completeRead, isOfLostSource } of SQL.left(tx).all({ runId, sources })) {
    const present = SQL.present(tx).all(streamId);
    const size = Math.max(present.length, completeRead ?? 0);
    const allowed = Math.min(size * guard.maxMissing, guard.maxMissingCount);
    const goneMax = isOfLostSource === 1 ? allowed : Number.POSITIVE_INFINITY;
    const found = split(tx, present, { runId, sources }, goneMax);
    if (found === null) continue;
    const { replaced, gone } = found;
    giveWay(tx, replaced);
    if (isMapping || isOfLostSource === 1) continue;
    const figures = { lost: gone, present: size, read: size - gone.length, before: null };
    const message = checkRead(tx, streamId, { runId, ...figures, guard, isLeft: true });
    if (message !== null) {
      guarded.push({ stream: name, message });
      continue;
    }
    for (const id of gone) {
      SQL.missRecord(tx).run(tx.clock.now(), id);
      dropLookupEntries(tx, id);
      if (flagItems) SQL.missItems(tx).run(tx.clock.now(), id);
    }
    endGoneDeliveries(tx, source);
  }
  return guarded;
}

/** Splits records by whether present rows replace them. Null if nothing replaces more than `goneMax` of them. */
function split(
  tx: Tx,
  present: readonly number[],
  { runId, sources }: { runId: number; sources: string },
  goneMax: number,
) {
  const replaced: number[] = [];
  const gone: number[] = [];
  for (const id of present) {
    const isReplaced = SQL.unreplaced(tx).get({ recordId: id, runId, sources }) === undefined;
    (isReplaced ? replaced : gone).push(id);
    if (gone.length > goneMax) return null;
  }
  return { replaced, gone };
}

/** Lets the rows that replace records take over their items. */
function giveWay(tx: Tx, records: readonly number[]): void {
  for (const id of records) {
    SQL.missRecord(tx).run(tx.clock.now(), id);
    dropLookupEntries(tx, id);
    SQL.requeueContenders(tx).run(id);
  }
}
