// Stores the lookup tables, and which records have used which of their entries.
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
import { column, parseJsonOrNull, perDatabase, type Reads, statement, type Tx } from '../store/tx.ts';
import {
  type Changed,
  fillEntries,
  findEntries,
  type LookedUpRecord,
  NO_ENTRY,
  putEntries,
  replaceFileEntries,
  type StoredTable,
} from './lookup-entries.ts';
import { type CountedRow, uncountQuarantined } from './streams.ts';

interface TableRow extends Omit<StoredTable, 'columns'> {
  title: string | null;
  columns: string | null;
}

const SQL = {
  tables: statement<[], TableRow>('SELECT id, name, owner, title, columns FROM lookups'),
  tablesOfStream: statement<[number], TableRow>(
    `SELECT l.id, l.name, l.owner, l.title, l.columns FROM lookups l JOIN streams s ON s.source = l.source AND s.name = l.stream
     WHERE s.id = ?`,
  ),
  insertTables: column<[string], number>(
    `INSERT INTO lookups (name, owner, source, stream, columns)
     SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?) WHERE TRUE
     ON CONFLICT (name) DO NOTHING RETURNING id`,
  ),
  setTitles: statement<[string]>(
    'UPDATE lookups SET title = t.value ->> 1 FROM json_each(?) t WHERE lookups.id = CAST(t.value ->> 0 AS INTEGER)',
  ),
  keysByHand: statement<[string], { title: string; key: string }>(
    'SELECT lookup AS title, key FROM lookup_values WHERE lookup IN (SELECT value FROM json_each(?))',
  ),
  remove: statement<[string]>('DELETE FROM lookups WHERE id IN (SELECT value FROM json_each(?))'),
  ofStreams: statement<[string], TableRow & { streamId: number }>(
    `SELECT l.id, l.name, l.owner, l.title, l.columns, s.id AS streamId FROM json_each(?) k CROSS JOIN lookups l ON l.id = k.value
     JOIN streams s ON s.source = l.source AND s.name = l.stream ORDER BY l.id`,
  ),
  wasRead: statement<[number]>('UPDATE streams SET was_read = 1 WHERE id = ? AND was_read = 0'),
  requeueKeys: statement<[string], CountedRow>(
    requeueUsers('(lookup_id, key) IN (SELECT CAST(value ->> 0 AS INTEGER), value ->> 1 FROM json_each(?))'),
  ),
  requeueAbsent: statement<[string], CountedRow>(
    requeueUsers(`lookup_id IN (SELECT value FROM json_each(?)) AND NOT EXISTS (SELECT 1 FROM lookup_entries e
      WHERE e.lookup_id = lookup_uses.lookup_id AND e.key = lookup_uses.key)`),
  ),
  insertUses: statement<[string]>(
    `INSERT INTO lookup_uses (record_id, lookup_id, key)
     SELECT CAST(value ->> 0 AS INTEGER), CAST(value ->> 1 AS INTEGER), value ->> 2 FROM json_each(?) WHERE TRUE ON CONFLICT DO NOTHING`,
  ),
  dropUses: statement<[string]>('DELETE FROM lookup_uses WHERE record_id IN (SELECT value FROM json_each(?))'),
  users: column<[string], number>(
    'SELECT DISTINCT record_id FROM lookup_uses WHERE record_id IN (SELECT value FROM json_each(?))',
  ),
  removeOfRecords: statement<[string], Changed>(
    `DELETE FROM lookup_entries WHERE record_id IN (SELECT value FROM json_each(?)) AND record_id > 0
     RETURNING lookup_id AS lookupId, key`,
  ),
};

/** The ids of the tables by name, and the tables of streams by stream. Each record asks. Read again after each change. */
const known = perDatabase((of) => ({
  ids: idsByName(SQL.tables(of).all()),
  ofStream: new Map<number, readonly StoredTable[]>(),
}));

function idsByName(tables: readonly TableRow[]): Map<string, number> {
  return new Map(tables.map(({ name, id }) => [name, id]));
}

/**
 * Stores the lookup tables of sources, and the present rows of their files. A table that a source does not have any
 * more is removed. With `isAll`, the tables of all other sources are removed as well. With `keepsRows`, tables that are stored
 * already keep their rows.
 */
export function defineLookups(
  tx: Tx,
  tables: ReadonlyMap<string, readonly LookupTable[]>,
  { isAll, keepsRows = false }: { isAll: boolean; keepsRows?: boolean },
): void {
  const all = [...tables].flatMap(([owner, own]) => own.map((table) => ({ owner, table })));
  const wanted = new Set(all.map(({ table }) => table.id));
  const before = SQL.tables(tx).all();
  removeTables(
    tx,
    before.filter(({ name, owner }) => (isAll || tables.has(owner)) && !wanted.has(name)),
  );
  const present = idsByName(before);
  addTables(
    tx,
    all.filter(({ table }) => !present.has(table.id)),
  );
  nameTables(
    tx,
    all.map(({ table }) => table),
  );
  const stored = SQL.tables(tx).all();
  known(tx).ids = idsByName(stored);
  known(tx).ofStream.clear();
  const files = new Map(all.map(({ table: { id, entries } }) => [id, entries]));
  const ofFiles = stored.flatMap(({ id, name }) => {
    const entries = files.get(name) ?? null;
    return entries === null || (keepsRows && present.has(name)) ? [] : [{ id, entries }];
  });
  requeue(tx, replaceFileEntries(tx, ofFiles));
}

export function findLookups(reads: Pick<Reads, 'db'>, keys: readonly LookupKey[]): (LookupEntry & LookupKey)[] {
  const { ids } = known(reads);
  const entries = findEntries(reads, storedKeys(ids, keys));
  return keys.map(({ table, key }) => {
    const id = ids.get(table);
    return { table, key, ...(id === undefined ? NO_ENTRY : entries.of(id, key)) };
  });
}

/**
 * Changes a value that a person has given for all tables of this name, by calling `change`. Returns how many records
 * wait for the mapping because of it.
 *
 * @throws Fault `lookup.unknown` where a value is given, and no table has this name or takes a plain value
 */
export function changeByHand(
  tx: Tx,
  { lookup, key, value }: { lookup: string; key: string; value?: string },
  change: () => void,
): number {
  const all = SQL.tables(tx).all();
  const named = all.filter(({ title }) => title === lookup);
  if (value !== undefined) assertTakesValue(lookup, { named, all });
  const stamps = () => {
    const entries = findEntries(
      tx,
      named.map(({ id }) => ({ id, key })),
    );
    return named.map(({ id }) => stampOf(entries.of(id, key)));
  };
  const before = stamps();
  change();
  const after = stamps();
  return requeue(
    tx,
    named.filter((_, at) => after[at] !== before[at]).map(({ id }) => ({ lookupId: id, key })),
  );
}

/** True if mappings look up records of this stream. */
export function isLookedUp(reads: Reads, streamId: number): boolean {
  return tablesOf(reads, streamId).length > 0;
}

/** Stores the lookup entries of new or changed records of a stream. */
export function storeLookupEntries(tx: Tx, streamId: number, records: readonly LookedUpRecord[]): void {
  if (records.length === 0) return;
  const tables = tablesOf(tx, streamId);
  if (tables.length > 0) requeue(tx, putEntries(tx, tables, records));
}

/** Removes the lookup entries of records that are gone. */
export function dropLookupEntries(tx: Tx, recordIds: readonly number[]): void {
  if (known(tx).ids.size === 0 || recordIds.length === 0) return;
  requeue(tx, SQL.removeOfRecords(tx).all(JSON.stringify(recordIds)));
}

/** Call it when a read of a stream was complete. */
export function noteStreamRead(tx: Tx, streamId: number): void {
  if (SQL.wasRead(tx).run(streamId).changes === 0) return;
  const ids = tablesOf(tx, streamId).map(({ id }) => id);
  if (ids.length > 0) uncountQuarantined(tx, SQL.requeueAbsent(tx).all(JSON.stringify(ids)));
}

/**
 * Reads the entries that the mappings of records have used. Returns a function that is false if one of the given uses is not
 * current, because its entry has changed since.
 */
export function currentUses(
  reads: Reads,
  all: readonly (readonly LookupUse[] | undefined)[],
): (uses?: readonly LookupUse[]) => boolean {
  const { ids } = known(reads);
  const entries = findEntries(
    reads,
    all.flatMap((uses = []) => storedKeys(ids, uses)),
  );
  return (uses = []) =>
    uses.every(({ table, key, stamp }) => {
      const id = ids.get(table);
      return id === undefined || stampOf(entries.of(id, key)) === stamp;
    });
}

/** Those of these records that have looked up something. */
export function usersAmong(reads: Reads, recordIds: readonly number[]): ReadonlySet<number> {
  return new Set(recordIds.length === 0 ? [] : SQL.users(reads).all(JSON.stringify(recordIds)));
}

/**
 * True if a record has looked up a key in its own stream and found nothing. A later record of the stream may have the
 * key.
 */
export function waitsForOwnStream(tx: Tx, streamId: number, uses: readonly LookupUse[] = []): boolean {
  const open = uses.filter(foundNothing);
  if (open.length === 0) return false;
  const own = new Set(tablesOf(tx, streamId).map(({ name }) => name));
  return open.some(({ table }) => own.has(table));
}

/** Stores the lookup entries that the mappings of records have used. */
export function storeUses(
  tx: Tx,
  records: readonly { id: number; isNew: boolean; uses: readonly LookupUse[] | undefined }[],
): void {
  const { ids } = known(tx);
  if (ids.size === 0) return;
  const former = records.flatMap(({ id, isNew }) => (isNew ? [] : [id]));
  if (former.length > 0) SQL.dropUses(tx).run(JSON.stringify(former));
  const uses = records.flatMap(({ id: recordId, uses: used = [] }) =>
    storedKeys(ids, used).map(({ id, key }) => [recordId, id, key]),
  );
  if (uses.length > 0) SQL.insertUses(tx).run(JSON.stringify(uses));
}

/** The keys of tables that the ledger has. */
function storedKeys(ids: ReadonlyMap<string, number>, keys: readonly LookupKey[]): { id: number; key: string }[] {
  return keys.flatMap(({ table, key }) => {
    const id = ids.get(table);
    return id === undefined ? [] : [{ id, key }];
  });
}

function tablesOf(reads: Reads, streamId: number): readonly StoredTable[] {
  const { ids, ofStream } = known(reads);
  if (ids.size === 0) return [];
  const found = ofStream.get(streamId);
  if (found !== undefined) return found;
  const tables = SQL.tablesOfStream(reads).all(streamId).map(storedTable);
  ofStream.set(streamId, tables);
  return tables;
}

function removeTables(tx: Tx, tables: readonly TableRow[]): void {
  if (tables.length > 0) SQL.remove(tx).run(JSON.stringify(tables.map(({ id }) => id)));
}

function addTables(tx: Tx, tables: readonly { owner: string; table: LookupTable }[]): void {
  if (tables.length === 0) return;
  const rows = tables.map(({ owner, table: { id: name, stream } }) => {
    const columns = stream === null ? null : JSON.stringify({ key: stream.key, value: stream.value });
    return [name, owner, stream?.source ?? null, stream?.stream ?? null, columns];
  });
  const ids = SQL.insertTables(tx).all(JSON.stringify(rows));
  const ofStreams = SQL.ofStreams(tx).all(JSON.stringify(ids));
  for (const [streamId, own] of Map.groupBy(ofStreams, (row) => row.streamId)) {
    fillEntries(tx, own.map(storedTable), streamId);
  }
}

function requeue(tx: Tx, changed: readonly Changed[]): number {
  if (changed.length === 0) return 0;
  return uncountQuarantined(
    tx,
    SQL.requeueKeys(tx).all(JSON.stringify(changed.map(({ lookupId, key }) => [lookupId, key]))),
  );
}

/**
 * Stores the names of tables. The values that people give belong to a name, and a changed config may give the name to
 * another table.
 */
function nameTables(tx: Tx, tables: readonly LookupTable[]): void {
  const unnamed = new Map(
    SQL.tables(tx)
      .all()
      .map((row) => [row.name, row]),
  );
  const renamed = tables.flatMap(({ id: name, name: title }) => {
    const row = unnamed.get(name);
    // A config may give two names to one definition. The first name counts.
    unnamed.delete(name);
    return row === undefined || row.title === title ? [] : [{ id: row.id, before: row.title, title }];
  });
  if (renamed.length === 0) return;
  SQL.setTitles(tx).run(JSON.stringify(renamed.map(({ id, title }) => [id, title])));
  const titlesOf = ({ before, title }: { before: string | null; title: string }) => [before ?? [], title].flat();
  const byHand = SQL.keysByHand(tx).all(JSON.stringify(renamed.flatMap(titlesOf)));
  const keysOf = Map.groupBy(byHand, (row) => row.title);
  requeue(
    tx,
    renamed.flatMap((table) =>
      titlesOf(table).flatMap((title) => (keysOf.get(title) ?? []).map(({ key }) => ({ lookupId: table.id, key }))),
    ),
  );
}

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
