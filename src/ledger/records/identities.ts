// Stores what identifies the rows of streams, and changes the keys of stored records.

import type {
  IdentifiedRecords,
  ItemRecords,
  ItemRecordsRequest,
  RecordsPlace,
  RecordsToIdentify,
} from '../../domain/ports/intake.ts';
import { vacantKey } from '../../domain/record.ts';
import type { StreamIdentity } from '../../domain/stream-identity.ts';
import type { JsonObject } from '../../lib/json.ts';
import { parseJson } from '../store/context.ts';
import { column, statement } from '../store/statement.ts';
import type { Reads, Tx } from '../store/tx.ts';
import { identifyRow } from './known-records.ts';
import { streamNamed } from './streams.ts';

/** How many records get their keys in one transaction. An answer of the API waits for no more than this many records. */
const RECORDS_AT_ONCE = 2_000;

/** How many ids one part of `itemRecords` looks at. Most of them have nothing to return once a key identifies the rows. */
const IDS_AT_ONCE = 20_000;

interface StoredRow {
  id: number;
  key: string;
  hash: string;
  raw: string;
}

// The records of a round that are done in an earlier round are left out by the caller's set.
const rowsOf = (condition: string) =>
  statement<[{ streamId: number; afterId: number }], StoredRow>(
    `SELECT r.id, r.key, r.hash, r.raw FROM records r
     WHERE r.id > +@afterId AND +r.stream_id = @streamId AND ${condition} ORDER BY r.id LIMIT ${RECORDS_AT_ONCE}`,
  );

const SQL = {
  setIdentity: statement<[string, number]>('UPDATE streams SET identity = ? WHERE id = ?'),
  setKey: statement<[string, number]>('UPDATE records SET key = ? WHERE id = ?'),
  rows: {
    'with-items': rowsOf('r.missing_since IS NULL AND EXISTS (SELECT 1 FROM items i WHERE i.record_id = r.id)'),
    present: rowsOf('r.missing_since IS NULL'),
    missing: rowsOf('1'),
  } satisfies Record<RecordsPlace['round'], unknown>,
  // A record that waits for the mapping has a run only if its row is new or has changed. Each state has an index.
  waits: column<[{ streamId: number }], number>(
    ['stale', 'pending']
      .map(
        (state) => `SELECT 1 FROM records WHERE stream_id = @streamId AND state = '${state}'
            AND run_id IS NOT NULL AND missing_since IS NULL`,
      )
      .join(' UNION ALL ') + ' LIMIT 1',
  ),
  withItems: statement<
    [{ streamId: number; afterId: number; lastId: number; onlyByContent: 0 | 1 }],
    { id: number; raw: string }
  >(
    `SELECT r.id, r.raw FROM records r
     WHERE r.id > @afterId AND r.id <= @lastId AND +r.stream_id = @streamId AND r.missing_since IS NULL
       AND (@onlyByContent = 0 OR substr(r.key, 1, length(r.hash)) = r.hash)
       AND EXISTS (SELECT 1 FROM items i WHERE i.record_id = r.id)
     ORDER BY r.id LIMIT ${RECORDS_AT_ONCE}`,
  ),
  lastId: column<[], number | null>('SELECT max(id) FROM records'),
};

export function storeIdentity(
  tx: Tx,
  { source, stream, identity }: { source: string; stream: string; identity: StreamIdentity },
): void {
  setIdentity(tx, streamNamed(tx, source, stream).id, identity);
}

/** Reads the records that make items. Writes nothing. */
export function itemRecords(reads: Reads, { source, stream, afterId, onlyByContent }: ItemRecordsRequest): ItemRecords {
  const { id: streamId } = streamNamed(reads, source, stream);
  if (afterId === 0 && SQL.waits(reads).get({ streamId }) !== undefined) return { records: [], next: null };
  const lastId = afterId + IDS_AT_ONCE;
  const rows = SQL.withItems(reads).all({ streamId, afterId, lastId, onlyByContent: onlyByContent ? 1 : 0 });
  const reached = rows.length === RECORDS_AT_ONCE ? (rows.at(-1)?.id ?? lastId) : lastId;
  return {
    records: rows.map(({ id, raw }) => ({ id, fields: parseJson<JsonObject>(raw) })),
    next: reached < (SQL.lastId(reads).get() ?? 0) ? reached : null,
  };
}

export function identifyRecords(
  tx: Tx,
  { source, stream, from, identity, keyOf, done }: RecordsToIdentify,
): IdentifiedRecords {
  const { id: streamId } = streamNamed(tx, source, stream);
  if (from.round === 'with-items' && from.afterId === 0) setIdentity(tx, streamId, { by: 'unknown' });
  const ids = new Set<number>();
  const seen = { has: (id: number) => ids.has(id) || done.has(id) };
  const rows = SQL.rows[from.round](tx).all({ streamId, afterId: from.afterId });
  for (const { id, key: former, hash, raw } of rows) {
    if (seen.has(id)) continue;
    const wanted = keyOf(parseJson<JsonObject>(raw)) ?? hash;
    const { key, known } = identifyRow(tx, { identity: wanted }, streamId, seen);
    // The record that has this key gets its own key later.
    if (known !== undefined && known.id !== id) SQL.setKey(tx).run(vacantKey(known.id), known.id);
    if (key !== former) SQL.setKey(tx).run(key, id);
    ids.add(id);
  }
  const next = placeAfter(from, rows);
  if (next === null) setIdentity(tx, streamId, identity);
  return { ids: [...ids], next };
}

function setIdentity(tx: Tx, streamId: number, identity: StreamIdentity): void {
  SQL.setIdentity(tx).run(JSON.stringify(identity), streamId);
}

function placeAfter({ round }: RecordsPlace, rows: readonly StoredRow[]): RecordsPlace | null {
  const last = rows.at(-1);
  if (last !== undefined && rows.length === RECORDS_AT_ONCE) return { round, afterId: last.id };
  const next = NEXT_ROUND[round];
  return next === null ? null : { round: next, afterId: 0 };
}

const NEXT_ROUND = { 'with-items': 'present', present: 'missing', missing: null } as const satisfies Record<
  RecordsPlace['round'],
  RecordsPlace['round'] | null
>;
