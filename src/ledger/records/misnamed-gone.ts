// Tombstones that name no record, although the stream has one whose key differs only in its spelling. A tombstone of a record that was never
// read is normal, so only such a pair is worth a warning. No index finds another spelling, so the keys of the stream are read, up to a
// number of records in a run.

import type { ComparedGone } from '../../domain/ports/intake.ts';
import { joinKey, keyParts, repeatedKey } from '../../domain/record.ts';
import { column, type Reads } from '../store/tx.ts';

const SQL = {
  unknown: column<[{ streamId: number; identities: string }], string>(
    `SELECT k.value FROM json_each(@identities) k
     WHERE NOT EXISTS (SELECT 1 FROM records r WHERE r.stream_id = @streamId AND r.key = k.value)`,
  ),
  presentKeys: column<[{ streamId: number; count: number }], string>(
    'SELECT key FROM records WHERE stream_id = @streamId AND missing_since IS NULL ORDER BY key LIMIT @count',
  ),
};

/** How many keys one run compares. A ledger reads them in about a quarter of a second. */
export const COMPARED_MAX = 100_000;

/** Adds the tombstones of a page whose records the stream has under another spelling. */
export function misnamedAmong(
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
