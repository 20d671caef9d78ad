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
import type { Sqlite } from '../store/database.ts';
import { createKnownRecords } from './known-records.ts';
import type { Streams } from './streams.ts';

/** Stores what identifies the rows of streams, and changes the keys of stored records. Run each function as one transaction. */
export interface Identities {
  store(request: { source: string; stream: string; identity: StreamIdentity }): void;
  identify(request: RecordsToIdentify): IdentifiedRecords;
  /** Reads the records that make items. Writes nothing. */
  itemRecords(request: ItemRecordsRequest): ItemRecords;
}

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

export function createIdentities(db: Sqlite, streams: Streams): Identities {
  const knownRecords = createKnownRecords(db);
  // The records of a round that are done in an earlier round are left out by the caller's set.
  const rowsOf = (condition: string) =>
    db.prepare<[{ streamId: number; afterId: number }], StoredRow>(
      `SELECT r.id, r.key, r.hash, r.raw FROM records r
       WHERE r.id > +@afterId AND +r.stream_id = @streamId AND ${condition} ORDER BY r.id LIMIT ${RECORDS_AT_ONCE}`,
    );
  const sql = {
    setIdentity: db.prepare<[string, number]>('UPDATE streams SET identity = ? WHERE id = ?'),
    setKey: db.prepare<[string, number]>('UPDATE records SET key = ? WHERE id = ?'),
    rows: {
      'with-items': rowsOf('r.missing_since IS NULL AND EXISTS (SELECT 1 FROM items i WHERE i.record_id = r.id)'),
      present: rowsOf('r.missing_since IS NULL'),
      missing: rowsOf('1'),
    } satisfies Record<RecordsPlace['round'], unknown>,
    // A record that waits for the mapping has a run only if its row is new or has changed. Each state has an index.
    waits: db
      .prepare<[{ streamId: number }], number>(
        ['stale', 'pending']
          .map(
            (state) => `SELECT 1 FROM records WHERE stream_id = @streamId AND state = '${state}'
              AND run_id IS NOT NULL AND missing_since IS NULL`,
          )
          .join(' UNION ALL ') + ' LIMIT 1',
      )
      .pluck(),
    withItems: db.prepare<
      [{ streamId: number; afterId: number; lastId: number; onlyByContent: 0 | 1 }],
      { id: number; raw: string }
    >(
      `SELECT r.id, r.raw FROM records r
       WHERE r.id > @afterId AND r.id <= @lastId AND +r.stream_id = @streamId AND r.missing_since IS NULL
         AND (@onlyByContent = 0 OR substr(r.key, 1, length(r.hash)) = r.hash)
         AND EXISTS (SELECT 1 FROM items i WHERE i.record_id = r.id)
       ORDER BY r.id LIMIT ${RECORDS_AT_ONCE}`,
    ),
    lastId: db.prepare<[], number | null>('SELECT max(id) FROM records').pluck(),
  };

  function store(streamId: number, identity: StreamIdentity): void {
    sql.setIdentity.run(JSON.stringify(identity), streamId);
  }

  return {
    store: ({ source, stream, identity }) => store(streams.get(source, stream).id, identity),

    itemRecords({ source, stream, afterId, onlyByContent }) {
      const { id: streamId } = streams.get(source, stream);
      if (afterId === 0 && sql.waits.get({ streamId }) !== undefined) return { records: [], next: null };
      const lastId = afterId + IDS_AT_ONCE;
      const rows = sql.withItems.all({ streamId, afterId, lastId, onlyByContent: onlyByContent ? 1 : 0 });
      const reached = rows.length === RECORDS_AT_ONCE ? (rows.at(-1)?.id ?? lastId) : lastId;
      return {
        records: rows.map(({ id, raw }) => ({ id, fields: parseJson<JsonObject>(raw) })),
        next: reached < (sql.lastId.get() ?? 0) ? reached : null,
      };
    },

    identify({ source, stream, from, identity, keyOf, done }) {
      const { id: streamId } = streams.get(source, stream);
      if (from.round === 'with-items' && from.afterId === 0) store(streamId, { by: 'unknown' });
      const ids = new Set<number>();
      const seen = { has: (id: number) => ids.has(id) || done.has(id) };
      const rows = sql.rows[from.round].all({ streamId, afterId: from.afterId });
      for (const { id, key: former, hash, raw } of rows) {
        if (seen.has(id)) continue;
        const wanted = keyOf(parseJson<JsonObject>(raw)) ?? hash;
        const { key, known } = knownRecords.identify({ identity: wanted }, streamId, seen);
        // The record that has this key gets its own key later.
        if (known !== undefined && known.id !== id) sql.setKey.run(vacantKey(known.id), known.id);
        if (key !== former) sql.setKey.run(key, id);
        ids.add(id);
      }
      const next = placeAfter(from, rows);
      if (next === null) store(streamId, identity);
      return { ids: [...ids], next };
    },
  };
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
