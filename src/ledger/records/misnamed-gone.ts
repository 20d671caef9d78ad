// Tombstones that name no record, although the stream has one whose key differs only in its spelling. A tombstone of a record that was never
// read is normal, so only such a pair is worth a warning.

import type { MisnamedGone } from '../../domain/ports/intake.ts';
import { joinKey, keyParts } from '../../domain/record.ts';
import { column, type Reads, statement } from '../store/tx.ts';

const SQL = {
  unknown: column<[{ streamId: number; identities: string }], string>(
    `SELECT k.value FROM json_each(@identities) k
     WHERE NOT EXISTS (SELECT 1 FROM records r WHERE r.stream_id = @streamId AND r.key = k.value)`,
  ),
  present: statement<[{ streamId: number; keys: string }], { key: string }>(
    `SELECT r.key FROM json_each(@keys) k CROSS JOIN records r ON r.stream_id = +@streamId AND r.key = k.value
     WHERE r.missing_since IS NULL`,
  ),
};

/** Other forms of a part of a key under which systems name the same record. */
const SPELLINGS: readonly ((part: string) => string)[] = [
  (part) => part.toLowerCase(),
  (part) => part.toUpperCase(),
  (part) => part.replaceAll(/\s+/g, ''),
  (part) => part.replace(/^0+(?=\d+$)/, ''),
];

/** Counts the tombstones whose records the stream has under another spelling. Each spelling is looked up by the index of keys. */
export function misnamedAmong(
  reads: Reads,
  streamId: number,
  { identities, before }: { identities: readonly string[]; before: MisnamedGone | null },
): MisnamedGone | null {
  const unknown = SQL.unknown(reads).all({ streamId, identities: JSON.stringify(identities) });
  const namedBy = new Map<string, string>();
  for (const identity of unknown) {
    for (const spell of SPELLINGS) {
      const other = joinKey(keyParts(identity).map(spell));
      if (other !== identity) namedBy.set(other, identity);
    }
  }
  if (namedBy.size === 0) return before;
  const stored = SQL.present(reads).all({ streamId, keys: JSON.stringify([...namedBy.keys()]) });
  const count = new Set(stored.map(({ key }) => namedBy.get(key))).size;
  const [first] = stored;
  if (first === undefined) return before;
  const example = before ?? { named: namedBy.get(first.key) ?? '', stored: first.key };
  return { ...example, count: count + (before?.count ?? 0) };
}
