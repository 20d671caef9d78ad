// Records that a read of changes says are gone. A row that says so is a tombstone.

import type { CheckedGone, ComparedGone, GoneToCheck } from '../../domain/ports/guarded-intake.ts';
import type { ReadPage } from '../../domain/ports/intake.ts';
import { joinKey, keyParts, repeatedKey } from '../../domain/record.ts';
import { newRecordsAmong, newRecordsOf } from '../items/refs.ts';
import { endGoneDeliveries } from '../items/revisions.ts';
import { column, type Reads, statement, type Tx } from '../store/tx.ts';
import { countEnough, exceeds, limitWords } from './guard-limits.ts';
import { isLookedUp } from './lookups.ts';
import { countUseful, dropHeld, markMissing, splitLost } from './missing-records.ts';
import { streamNamed } from './streams.ts';

const SQL = {
  // The key of a repeated row is its identity, the character 31 and a number.
  present: statement<[{ streamId: number; identities: string }], { id: number; key: string; identity: string }>(
    `SELECT r.id, r.key, k.value AS identity FROM json_each(@identities) k
     CROSS JOIN records r ON r.stream_id = +@streamId AND r.key >= k.value AND r.key < k.value || char(32)
     WHERE r.missing_since IS NULL ORDER BY r.id`,
  ),
  sinceComplete: column<[{ streamId: number; source: string; runId: number }], number>(
    `SELECT coalesce(sum(a.missing), 0) FROM run_streams a WHERE a.stream_id = @streamId AND a.run_id < @runId
     AND a.run_id > coalesce((SELECT max(id) FROM runs WHERE source = @source AND result = 'complete' AND cause <> 'upload'), 0)`,
  ),
  flagMissing: statement<[0 | 1, number]>('UPDATE streams SET flags_missing = ? WHERE id = ?'),
  countMissing: statement<[number, number, number]>(
    'UPDATE run_streams SET missing = missing + ? WHERE run_id = ? AND stream_id = ?',
  ),
  unknown: column<[{ streamId: number; identities: string }], string>(
    `SELECT k.value FROM json_each(@identities) k
     WHERE NOT EXISTS (SELECT 1 FROM records r WHERE r.stream_id = @streamId AND r.key = k.value)`,
  ),
  presentKeys: column<[{ streamId: number; count: number }], string>(
    'SELECT key FROM records WHERE stream_id = @streamId AND missing_since IS NULL ORDER BY key LIMIT @count',
  ),
};

/** The present records of a stream with these identities. */
function presentRecords(reads: Reads, streamId: number, identities: readonly string[]): number[] {
  return SQL.present(reads)
    .all({ streamId, identities: JSON.stringify(identities) })
    .filter(({ key, identity }) => key === identity || repeatedKey(key) === identity)
    .map(({ id }) => id);
}

/**
 * Decides whether the guard allows that these records are gone. What unfinished runs have found to be gone counts with them,
 * so that a run that fails again and again cannot take away more than one run may.
 */
export function checkGone(
  reads: Reads,
  { runId, source, stream, identities, before, guard }: GoneToCheck,
): CheckedGone {
  const { id: streamId } = streamNamed(reads, source, stream);
  const gone = presentRecords(reads, streamId, identities);
  const fresh = newRecordsAmong(reads, gone);
  const { lost: own } = splitLost(
    reads,
    gone.filter((id) => !fresh.has(id)),
  );
  const earlier = before?.lost ?? SQL.sinceComplete(reads).get({ streamId, source, runId }) ?? 0;
  const lost = earlier + own.length;
  const known = before?.known ?? 0;
  const { misnamed, compared } = misnamedAmong(reads, streamId, {
    identities,
    before: before ?? { misnamed: null, compared: 0 },
  });
  const names = { misnamed, compared };
  if (own.length === 0 || (known > 0 && !exceeds({ lost, known }, guard))) {
    return { lost, known, ...names, excess: null };
  }
  const loss = { lost, known: earlier + countKnown(reads, streamId, countEnough(lost, guard)) };
  if (!exceeds(loss, guard)) return { ...loss, ...names, excess: null };
  const what = isLookedUp(reads, streamId) ? 'records with items or lookup entries' : 'records with items';
  return { ...loss, ...names, excess: `${lost} of ${loss.known} ${what} (${limitWords(loss, guard)})` };
}

/**
 * How many records the stream has that are not new. Counts no further than twice as many as are enough, so that the following
 * pages need no count.
 */
function countKnown(reads: Reads, streamId: number, enough: number): number {
  const fresh = newRecordsOf(reads, streamId).size;
  return countUseful(reads, streamId, enough < 0 ? enough : 2 * enough + fresh) - fresh;
}

/** Marks the records as missing that a page says are gone, like those that a snapshot lacks. */
export function concludeGone(tx: Tx, streamId: number, { runId, gone }: Pick<ReadPage, 'runId' | 'gone'>): void {
  if (gone === undefined) return;
  const found = presentRecords(tx, streamId, gone.identities);
  if (found.length === 0) return;
  const { known } = dropHeld(tx, found, newRecordsAmong(tx, found));
  // A record that is gone before it was mapped makes items that are missing.
  SQL.flagMissing(tx).run(gone.flagItems ? 1 : 0, streamId);
  markMissing(tx, found, { flagItems: gone.flagItems });
  endGoneDeliveries(tx, { records: found });
  SQL.countMissing(tx).run(known.length, runId, streamId);
}

/** How many keys one run compares. A ledger reads them in about a quarter of a second. */
export const COMPARED_MAX = 100_000;

/**
 * Adds the tombstones of a page that name no record, although the stream has one whose key differs only in its spelling. A tombstone of a
 * record that was never read is normal, so only such a pair is worth a warning. No index finds another spelling, so the keys of the stream
 * are read, up to a number of records in a run.
 */
function misnamedAmong(
  reads: Reads,
  streamId: number,
  { identities, before }: { identities: readonly string[]; before: ComparedGone },
): ComparedGone {
  const left = COMPARED_MAX - before.compared;
  const unknown = left > 0 ? SQL.unknown(reads).all({ streamId, identities: JSON.stringify(identities) }) : [];
  if (unknown.length === 0) return before;
  const keys = SQL.presentKeys(reads).all({ streamId, count: left });
  const storedBy = new Map(keys.map((key) => [plainForm(repeatedKey(key) ?? key), key]));
  const pairs = unknown.flatMap((named) => {
    const stored = storedBy.get(plainForm(named));
    return stored === undefined ? [] : [{ named, stored }];
  });
  const compared = before.compared + keys.length;
  const example = before.misnamed ?? pairs[0];
  if (example === undefined) return { compared, misnamed: null };
  return { compared, misnamed: { ...example, count: pairs.length + (before.misnamed?.count ?? 0) } };
}

/** What the spellings have in common under which systems name the same record. */
function plainForm(key: string): string {
  const parts = keyParts(key).map((part) => part.toLowerCase().replaceAll(/\s+/g, ''));
  return joinKey(parts.map((part) => part.replace(/^0+(?=\d+$)/, '')));
}
