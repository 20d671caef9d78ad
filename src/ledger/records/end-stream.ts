import type { EndedStream, SeenRecords, StreamEnd } from '../../domain/ports/intake.ts';
import type { HeldCreates } from '../items/held-creates.ts';
import type { Items } from '../items/items.ts';
import type { LedgerContext } from '../store/context.ts';
import { countEnough, formSentence, KEYS_COMPARED } from './guard-limits.ts';
import type { GuardedItems } from './guarded-items.ts';
import type { GuardedReads } from './guarded-reads.ts';
import type { Lookups } from './lookups.ts';
import type { Losses } from './losses.ts';
import type { RefusedReads } from './refused-reads.ts';
import type { RunAccounts } from './run-accounts.ts';
import type { SettleHeldCreates } from './settle-held-creates.ts';
import type { Streams } from './streams.ts';

/** To find out which records are lost takes up to 60 µs a record, and nothing else is done in that time. */
const SPLIT_MAX = 20_000;
/** If more records are gone, all of them count as lost, with or without items. */
const ALL_LOST = { lost: null, spare: [] };

interface EndStreamParts {
  refusedReads: RefusedReads;
  guardedReads: Pick<GuardedReads, 'check' | 'hold'>;
  guardedItems: Pick<GuardedItems, 'check'>;
  streams: Streams;
  accounts: RunAccounts;
  lookups: Pick<Lookups, 'recordGone' | 'streamWasRead' | 'isLookedUp'>;
  losses: Losses;
  items: Pick<Items, 'ownedBy' | 'disown' | 'endGone'>;
  heldCreates: Pick<HeldCreates, 'newRecords' | 'keys'>;
  settleHeldCreates: Pick<SettleHeldCreates, 'readEnded'>;
}

/**
 * Returns a function that ends the read of a stream: it marks the records that a complete read did not see as missing,
 * unless all its rows are refused, or the guard treats the read as broken. Run the returned function as one transaction.
 */
export function createEndStream(
  { db, clock }: Pick<LedgerContext, 'db' | 'clock'>,
  parts: EndStreamParts,
): (end: StreamEnd) => EndedStream {
  const {
    refusedReads,
    guardedReads,
    guardedItems,
    streams,
    accounts,
    lookups,
    losses,
    items,
    heldCreates,
    settleHeldCreates,
  } = parts;
  const sql = {
    presentRecords: db
      .prepare<[number], number>('SELECT id FROM records WHERE stream_id = ? AND missing_since IS NULL')
      .pluck(),
    missRecord: db.prepare<[number, number]>('UPDATE records SET missing_since = ? WHERE id = ?'),
    missItems: db.prepare<[number, number]>('UPDATE items SET missing_since = ? WHERE record_id = ?'),
    countMissing: db.prepare<[number, string | null, number | null, number, number]>(
      'UPDATE run_streams SET missing = ?, guarded = ?, missed_by_changes = ? WHERE run_id = ? AND stream_id = ?',
    ),
    setWarnings: db.prepare<[string, number, number]>(
      'UPDATE run_streams SET warnings = ? WHERE run_id = ? AND stream_id = ?',
    ),
    completeRead: db.prepare<[number, number, number, number]>(
      `UPDATE streams SET complete_read = ?, flags_missing = ?, snapshot_at = (SELECT started_at FROM runs WHERE id = ?)
       WHERE id = ?`,
    ),
    setAsOf: db.prepare<[number, number]>('UPDATE streams SET read_as_of = ? WHERE id = ?'),
    setCursor: db.prepare<[string, number]>('UPDATE streams SET cursor = ? WHERE id = ?'),
    requeueContenders: db.prepare<[number]>(
      `UPDATE records SET state = 'pending', version = version + 1
       WHERE state IN ('mapped', 'quarantined') AND missing_since IS NULL AND id IN
         (SELECT c.record_id FROM items i JOIN contenders c ON c.kind = i.kind AND c.key = i.key WHERE i.record_id = ?)`,
    ),
    isUpload: db.prepare<[number], number>("SELECT 1 FROM runs WHERE id = ? AND cause = 'upload'").pluck(),
    unmapped: db
      .prepare<[number], number>(
        "SELECT count(*) FROM records WHERE stream_id = ? AND state = 'stale' AND missing_since IS NULL",
      )
      .pluck(),
    itemKeys: db.prepare<[string], { kind: string; key: string }>(
      'SELECT kind, key FROM items WHERE record_id IN (SELECT value FROM json_each(?)) ORDER BY id',
    ),
    releaseStale: db.prepare<[number]>(
      "UPDATE records SET state = 'pending' WHERE stream_id = ? AND state = 'stale' AND missing_since IS NULL",
    ),
  };

  function unseen(streamId: number, seen: SeenRecords): number[] {
    const gone: number[] = [];
    for (const id of sql.presentRecords.iterate(streamId)) if (!seen.has(id)) gone.push(id);
    return gone;
  }

  /** The figures of a read by which the guard decides. Records from which nothing comes do not count. */
  function figuresOf(
    streamId: number,
    { lost, fresh, guard }: { lost: readonly number[]; fresh: number; guard: StreamEnd['guard'] },
  ) {
    const enough = countEnough(lost.length, guard);
    const present = lost.length === 0 ? 0 : losses.useful(streamId, enough < 0 ? enough : enough + fresh) - fresh;
    return { lost, present, isLookedUp: lookups.isLookedUp(streamId) };
  }

  /** Whether the keys of the new items only have another form than the keys of the items that are gone. */
  function formOf(streamId: number, gone: readonly number[]): string {
    const former = sql.itemKeys.all(JSON.stringify(gone.slice(0, KEYS_COMPARED)));
    const [most] = [...Map.groupBy(former, ({ kind }) => kind)].toSorted(([, a], [, b]) => b.length - a.length);
    if (most === undefined) return '';
    const [kind, ofKind] = most;
    const fresh = heldCreates.keys(streamId, kind, KEYS_COMPARED);
    const isAll = gone.length <= KEYS_COMPARED && fresh.length < KEYS_COMPARED;
    return formSentence({ former: ofKind.map(({ key }) => key), fresh, isAll });
  }

  /** Deletes the held creates of records that are gone again, because these items never reached the platform. */
  function dropHeld(gone: readonly number[], fresh: Set<number>): { dropped: number[]; known: number[] } {
    if (fresh.size === 0) return { dropped: [], known: [...gone] };
    const dropped = gone.filter((id) => fresh.has(id));
    for (const id of dropped) {
      fresh.delete(id);
      for (const item of items.ownedBy(id)) items.disown(item);
    }
    const isDropped = new Set(dropped);
    return { dropped, known: gone.filter((id) => !isDropped.has(id)) };
  }

  function markMissing(gone: readonly number[], flagItems: boolean): void {
    const now = clock.now();
    for (const id of gone) {
      sql.missRecord.run(now, id);
      lookups.recordGone(id);
      if (flagItems) sql.missItems.run(now, id);
      // Another record that makes the same item may own it now.
      sql.requeueContenders.run(id);
    }
  }

  return ({ runId, source, stream, seen, read, cursor, missedByChanges, flagItems, guard, uncounted = 0, ...end }) => {
    const row = streams.get(source, stream);
    if (uncounted > 0) accounts.count({ runId, streamId: row.id, ...unchangedRows(uncounted) });
    if (end.warnings && end.warnings.length > 0) sql.setWarnings.run(JSON.stringify(end.warnings), runId, row.id);
    let missing = 0;
    let guarded = end.held ?? null;
    if (guarded !== null) {
      guardedReads.hold(row.id, { runId, message: guarded });
      sql.countMissing.run(0, guarded, null, runId, row.id);
    }
    const refused = seen && refusedReads.check(row.id, seen);
    if (seen && refused === null) {
      const present = streams.countPresent(row.id);
      const unread = seen.size() === present ? [] : unseen(row.id, seen);
      const fresh = heldCreates.newRecords(row.id);
      const { dropped, known: gone } = dropHeld(unread, fresh);
      missing = gone.length;
      const { lost, spare } = gone.length > SPLIT_MAX ? ALL_LOST : losses.split(gone);
      const forItems = guardedItems.check(row.id, { runId, guard, gone });
      const figures = {
        ...(lost === null
          ? { lost: gone, present: present - dropped.length - fresh.size, countsAll: true }
          : figuresOf(row.id, { lost, fresh: fresh.size, guard })),
        fresh: {
          records: fresh.size + (sql.unmapped.get(row.id) ?? 0),
          sentence: () => formOf(row.id, gone),
        },
        read,
        before: row.completeRead,
        isHeld: forItems !== null,
      };
      const forRecords = guardedReads.check(row.id, { runId, ...figures, guard });
      guarded = [forRecords, forItems].filter((message) => message !== null).join(' ') || null;
      // Even if the guard holds this read, the rows in `spare` count as missing now. Otherwise a row that was removed or
      // corrected would be shown as repeated or quarantined for as long as the guard holds the read.
      markMissing([...dropped, ...(guarded === null ? gone : spare)], flagItems);
      items.endGone(source);
      if (guarded === null) sql.completeRead.run(read, flagItems ? 1 : 0, runId, row.id);
      sql.countMissing.run(missing, guarded, missedByChanges ?? null, runId, row.id);
    }
    if (seen && refused === null && end.asOf !== undefined) sql.setAsOf.run(end.asOf, row.id);
    // The records of a guarded snapshot are stored as well, so the next read of changes begins at the end of this
    // snapshot.
    if (cursor !== undefined && refused === null) sql.setCursor.run(JSON.stringify(cursor), row.id);
    // Makes the records pending that wait for the end of the read. After a change of the mapping all stored records
    // become pending.
    accounts.interruptedPassedBy(row.id, runId);
    sql.releaseStale.run(row.id);
    lookups.streamWasRead(row.id);
    if (sql.isUpload.get(runId) === undefined) settleHeldCreates.readEnded(row.id);
    return { missing, guarded, refused };
  };
}

/** The counts of a page without changes. */
function unchangedRows(rows: number) {
  return { read: rows, unchanged: rows, mapped: 0, excluded: 0, quarantined: 0 };
}
