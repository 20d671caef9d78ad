// Stores the lookup tables, their entries, and which records have used which entries.
//
// When an entry changes, only records that have used its key wait for another mapping. If an entry changes between the
// mapping of a record and its staging, the record is not staged and waits for another mapping.

import { fault } from '../../domain/faults.ts';
import {
  foundNothing,
  type LookupEntry,
  type LookupKey,
  type LookupTable,
  type LookupUse,
  stampOf,
} from '../../domain/lookup.ts';
import { parseJsonOrNull } from '../store/context.ts';
import type { Sqlite } from '../store/database.ts';
import { createLookupEntries, type LookedUpRecord, type StoredTable } from './lookup-entries.ts';
import type { RunAccounts } from './run-accounts.ts';

/** Call each function inside a transaction. */
export interface Lookups {
  /**
   * Stores the lookup tables of sources, and the present rows of their files. A table that a source does not have any
   * more is removed. With `isAll`, the tables of all other sources are removed as well.
   */
  define(tables: ReadonlyMap<string, readonly LookupTable[]>, isAll: boolean): void;
  find(keys: readonly LookupKey[]): (LookupEntry & LookupKey)[];
  /**
   * Changes a value that a person has given for all tables of this name, by calling `change`. Returns how many records
   * wait for the mapping because of it.
   *
   * @throws Fault `lookup.unknown` where a value is given, and no table has this name or takes a plain value
   */
  setByHand(value: { lookup: string; key: string; value?: string }, change: () => void): number;
  /** True if mappings look up records of this stream. */
  isLookedUp(streamId: number): boolean;
  /** Stores the lookup entries of new or changed records of a stream. */
  recordsChanged(streamId: number, records: readonly LookedUpRecord[], isNew: boolean): void;
  recordGone(recordId: number): void;
  /** Call it when a read of a stream was complete. */
  streamWasRead(streamId: number): void;
  /** False if one of the entries has changed since it was used. */
  areCurrent(uses: readonly LookupUse[] | undefined): boolean;
  /**
   * True if a record has looked up a key in its own stream and found nothing. A later record of the stream may have the
   * key.
   */
  waitsForOwnStream(streamId: number, uses: readonly LookupUse[] | undefined): boolean;
  /** Stores the lookup entries that the mapping of a record has used. */
  storeUses(recordId: number, uses: readonly LookupUse[] | undefined, isNew: boolean): void;
}

interface TableRow extends Omit<StoredTable, 'columns'> {
  title: string | null;
  columns: string | null;
}

export function createLookups(db: Sqlite, accounts: Pick<RunAccounts, 'count'>): Lookups {
  const entries = createLookupEntries(db);
  const sql = {
    tables: db.prepare<[], TableRow>('SELECT id, name, owner, title, columns FROM lookups'),
    tablesOfStream: db.prepare<[number], TableRow>(
      `SELECT l.id, l.name, l.owner, l.title, l.columns FROM lookups l JOIN streams s ON s.source = l.source AND s.name = l.stream
       WHERE s.id = ?`,
    ),
    insert: db.prepare<[string, string, string | null, string | null, string | null]>(
      'INSERT INTO lookups (name, owner, source, stream, columns) VALUES (?, ?, ?, ?, ?)',
    ),
    setTitle: db.prepare<[string, number]>('UPDATE lookups SET title = ? WHERE id = ?'),
    keysByHand: db.prepare<[string], string>('SELECT key FROM lookup_values WHERE lookup = ?').pluck(),
    remove: db.prepare<[number]>('DELETE FROM lookups WHERE id = ?'),
    streamId: db.prepare<[string, string], number>('SELECT id FROM streams WHERE source = ? AND name = ?').pluck(),
    wasRead: db.prepare<[number]>('UPDATE streams SET was_read = 1 WHERE id = ? AND was_read = 0'),
    requeueKey: db.prepare<[number, string], Requeued>(requeueUsers('lookup_id = ? AND key = ?')),
    requeueAbsent: db.prepare<[number], Requeued>(
      requeueUsers(`lookup_id = ? AND NOT EXISTS (SELECT 1 FROM lookup_entries e
        WHERE e.lookup_id = lookup_uses.lookup_id AND e.key = lookup_uses.key)`),
    ),
    insertUse: db.prepare<[number, number, string]>(
      'INSERT OR IGNORE INTO lookup_uses (record_id, lookup_id, key) VALUES (?, ?, ?)',
    ),
    dropUses: db.prepare<[number]>('DELETE FROM lookup_uses WHERE record_id = ?'),
  };
  /** The ids of the tables by name, and the tables of streams by stream. Read again after each change. */
  let ids = new Map(sql.tables.all().map(({ name, id }) => [name, id]));
  const ofStream = new Map<number, readonly StoredTable[]>();

  function tablesOf(streamId: number): readonly StoredTable[] {
    if (ids.size === 0) return [];
    const known = ofStream.get(streamId);
    if (known !== undefined) return known;
    const tables = sql.tablesOfStream.all(streamId).map(storedTable);
    ofStream.set(streamId, tables);
    return tables;
  }

  function add({ id: name, stream }: LookupTable, owner: string): void {
    const { source = null, stream: of = null, key, value } = stream ?? {};
    const columns = stream === null ? null : { key: key ?? [], value: value ?? [] };
    const text = columns === null ? null : JSON.stringify(columns);
    const id = Number(sql.insert.run(name, owner, source, of, text).lastInsertRowid);
    const streamId = source === null || of === null ? undefined : sql.streamId.get(source, of);
    if (streamId !== undefined) entries.fill({ id, name, owner, columns }, streamId);
  }

  /** Takes records out of the count of quarantined rows that wait for another mapping, which counts them again. */
  function recount(requeued: readonly Requeued[]): number {
    for (const { runId, streamId } of requeued) {
      if (runId !== null) accounts.count({ runId, streamId, ...ONE_LESS_QUARANTINED });
    }
    return requeued.length;
  }

  function requeue(lookupId: number, keys: readonly string[]): number {
    return keys.reduce((count, key) => count + recount(sql.requeueKey.all(lookupId, key)), 0);
  }

  /**
   * Stores the names of tables. The values that people give belong to a name, and a changed config may give the name to
   * another table.
   */
  function nameTables(tables: readonly LookupTable[]): void {
    const named = new Map(sql.tables.all().map((row) => [row.name, row]));
    for (const { id: name, name: title } of tables) {
      const row = named.get(name);
      // A config may give two names to one definition. The first name counts.
      named.delete(name);
      if (row === undefined || row.title === title) continue;
      const before = row.title === null ? [] : sql.keysByHand.all(row.title);
      sql.setTitle.run(title, row.id);
      requeue(row.id, [...before, ...sql.keysByHand.all(title)]);
    }
  }

  return {
    define(tables, isAll) {
      const wanted = new Set([...tables.values()].flat().map(({ id }) => id));
      for (const { id, name, owner } of sql.tables.all()) {
        if ((isAll || tables.has(owner)) && !wanted.has(name)) sql.remove.run(id);
      }
      const present = new Map(sql.tables.all().map((row) => [row.name, row]));
      for (const [owner, own] of tables) {
        for (const table of own) if (!present.has(table.id)) add(table, owner);
      }
      nameTables([...tables.values()].flat());
      const stored = sql.tables.all().map(storedTable);
      ids = new Map(stored.map(({ name, id }) => [name, id]));
      ofStream.clear();
      const files = new Map([...tables.values()].flat().map(({ id, entries: rows }) => [id, rows]));
      for (const table of stored) {
        const rows = files.get(table.name) ?? null;
        if (rows !== null) requeue(table.id, entries.replaceFile(table, rows));
      }
    },

    find(keys) {
      return keys.map(({ table, key }) => {
        const id = ids.get(table);
        const entry = id === undefined ? { values: [], isRead: false } : entries.find(id, key);
        return { table, key, ...entry };
      });
    },

    setByHand({ lookup, key, value }, change) {
      const all = sql.tables.all();
      const named = all.filter(({ title }) => title === lookup);
      if (value !== undefined) assertTakesValue(lookup, { named, all });
      const before = named.map(({ id }) => stampOf(entries.find(id, key)));
      change();
      return named
        .filter(({ id }, at) => stampOf(entries.find(id, key)) !== before[at])
        .reduce((count, { id }) => count + requeue(id, [key]), 0);
    },

    isLookedUp: (streamId) => tablesOf(streamId).length > 0,

    recordsChanged(streamId, records, isNew) {
      for (const table of tablesOf(streamId)) {
        for (const record of records) requeue(table.id, entries.put(table, record, isNew));
      }
    },

    recordGone(recordId) {
      if (ids.size === 0) return;
      for (const { lookupId, key } of entries.remove(recordId)) requeue(lookupId, [key]);
    },

    streamWasRead(streamId) {
      if (sql.wasRead.run(streamId).changes === 0) return;
      for (const { id } of tablesOf(streamId)) recount(sql.requeueAbsent.all(id));
    },

    areCurrent(uses = []) {
      return uses.every(({ table, key, stamp }) => {
        const id = ids.get(table);
        return id === undefined || stampOf(entries.find(id, key)) === stamp;
      });
    },

    waitsForOwnStream(streamId, uses = []) {
      const open = uses.filter(foundNothing);
      if (open.length === 0) return false;
      const own = new Set(tablesOf(streamId).map(({ name }) => name));
      return open.some(({ table }) => own.has(table));
    },

    storeUses(recordId, uses = [], isNew) {
      if (!isNew && ids.size > 0) sql.dropUses.run(recordId);
      for (const { table, key } of uses) {
        const id = ids.get(table);
        if (id !== undefined) sql.insertUse.run(recordId, id, key);
      }
    },
  };
}

/** A record that waits for another mapping. `runId` is the run that counts its result; null if the result is not counted. */
interface Requeued {
  streamId: number;
  runId: number | null;
}

const ONE_LESS_QUARANTINED = { read: 0, unchanged: 0, mapped: 0, excluded: 0, quarantined: -1 };

/**
 * Makes the records that have used some entries wait for another mapping. A waiting record will be mapped with the
 * present entries anyway, and a missing record is mapped when it is back.
 *
 * A row that is in quarantine only because a table was not read yet has waited for this mapping. So the run in which it
 * was quarantined counts it by the new result.
 */
function requeueUsers(uses: string): string {
  return `UPDATE records SET state = 'pending', version = version + 1,
      run_id = iif(state = 'quarantined' AND NOT EXISTS
          (SELECT 1 FROM json_each(issues) e WHERE e.value ->> 'code' <> 'lookup.unread'),
        (SELECT max(a.run_id) FROM run_streams a JOIN runs u ON u.id = a.run_id
          WHERE a.stream_id = records.stream_id AND a.quarantined > 0 AND u.started_at <= quarantined_at), NULL)
    WHERE id IN (SELECT record_id FROM lookup_uses WHERE ${uses})
      AND state IN ('mapped', 'excluded', 'quarantined') AND missing_since IS NULL
    RETURNING stream_id AS streamId, run_id AS runId`;
}

function assertTakesValue(
  lookup: string,
  { named, all }: { named: readonly TableRow[]; all: readonly TableRow[] },
): void {
  if (named.length === 0) {
    const titles = [...new Set(all.flatMap(({ title }) => title ?? []))];
    const known =
      titles.length === 0 ? 'No mapping uses a lookup table.' : `Name one of these tables: ${titles.join(', ')}.`;
    throw fault('lookup.unknown', `No mapping uses a lookup table "${lookup}".`, { suggestion: known });
  }
  if (named.some(({ columns }) => Array.isArray(storedColumns(columns)?.value))) {
    throw fault(
      'lookup.unknown',
      `The lookup table "${lookup}" gives several columns, but a value by hand is only one text.`,
      {
        suggestion: 'Correct the row in the system that the table comes from.',
      },
    );
  }
}

function storedColumns(text: string | null): StoredTable['columns'] {
  return parseJsonOrNull<NonNullable<StoredTable['columns']>>(text);
}

function storedTable({ id, name, owner, columns }: TableRow): StoredTable {
  return { id, name, owner, columns: storedColumns(columns) };
}
