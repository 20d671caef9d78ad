import type { SubjectKind } from '../../../domain/item.ts';
import type { Sqlite } from '../../store/database.ts';
import type { CatalogEntries, Revision } from './catalog-entries.ts';

/** Reads the entries of a catalog from the ledger. */
export interface CatalogReader {
  /** Reads the next items; false if there are no more. */
  readOn(entries: CatalogEntries): boolean;
  /**
   * Reads the items that are new or have a new revision since the last read. The whole read is one transaction.
   *
   * @param rowsMax how many new items, and how many changed ones of each source, are read at most
   * @returns false if more items are left to read
   */
  readNew(entries: CatalogEntries, rowsMax: number): boolean;
  /** True if the ledger was changed since the last call. */
  hasChanged(): boolean;
  /** How many items the ledger has. */
  count(): number;
}

type Row = [id: number, kind: SubjectKind, key: string, naturalKey: string | null, source: string, name: string | null];

/** How many rows are read at once. */
export const ROWS_AT_ONCE = 1000;
const COLUMNS = `id, kind, key, natural_key, source, CASE WHEN kind IN ('product', 'material') THEN desired ->> '$.name' END`;

export function createCatalogReader(db: Sqlite): CatalogReader {
  const sql = {
    rows: db.prepare<[number, number], Row>(`SELECT ${COLUMNS} FROM items WHERE id > ? ORDER BY id LIMIT ?`).raw(),
    // The index has all columns that this statement reads. Most of these items are new, and their rows were read
    // already.
    changed: db.prepare<[string, number, number, number], Revision>(
      `SELECT id, staged_at AS staged FROM items INDEXED BY items_by_time WHERE source = ? AND (staged_at, id) > (?, ?)
       ORDER BY staged_at, id LIMIT ?`,
    ),
    row: db.prepare<[number], Row>(`SELECT ${COLUMNS} FROM items WHERE id = ?`).raw(),
    latest: db
      .prepare<[string], number>(
        'SELECT coalesce(max(staged_at), 0) FROM items INDEXED BY items_by_time WHERE source = ?',
      )
      .pluck(),
    // SQLite counts a whole table without reading its rows.
    all: db.prepare<[], number>('SELECT count(*) FROM items').pluck(),
    sources: db.prepare<[], string>('SELECT DISTINCT source FROM streams').pluck(),
    product: db.prepare<[string], number>("SELECT id FROM items WHERE kind = 'product' AND key = ?").pluck(),
  };
  let version = -1;

  function add(entries: CatalogEntries, row: Row): void {
    const [id, kind, key, , source] = row;
    entries.add({ id, kind, source, text: textOf(row) });
    if (kind !== 'passport') return;
    const product = sql.product.get(key);
    if (product !== undefined) entries.addPassport(product);
  }

  function readOn(entries: CatalogEntries): boolean {
    if (entries.length === 0) {
      for (const of of sql.sources.all()) entries.upTo.set(of, { staged: sql.latest.get(of) ?? 0, id: 0 });
    }
    const rows = sql.rows.all(entries.lastId, ROWS_AT_ONCE);
    for (const row of rows) add(entries, row);
    return rows.length === ROWS_AT_ONCE;
  }

  /** Reads an item again because it has a new revision. */
  function readAgain(entries: CatalogEntries, id: number, source: string): void {
    const row = entries.has(id) ? sql.row.get(id) : undefined;
    if (row !== undefined) entries.update({ id, source, text: textOf(row) });
  }

  /** Reads the items of a source with a new revision again, up to an id; false if there are no more. */
  function readChangedOf(entries: CatalogEntries, source: string, lastId: number): boolean {
    const upTo = entries.upTo.get(source) ?? { staged: 0, id: 0 };
    const found = sql.changed.all(source, upTo.staged, upTo.id, ROWS_AT_ONCE);
    for (const { id } of found) if (id <= lastId) readAgain(entries, id, source);
    const last = found.at(-1) ?? upTo;
    const isMore = found.length === ROWS_AT_ONCE;
    // More revisions may begin in the same millisecond.
    entries.upTo.set(source, { staged: last.staged, id: isMore ? last.id : 0 });
    return isMore;
  }

  return {
    readOn,
    // The rows of new items are read once, although their revisions are new as well.
    readNew: db.transaction((entries: CatalogEntries, rowsMax: number): boolean => {
      const { lastId } = entries;
      const readsAll = (readSome: () => boolean): boolean => {
        for (let rows = 0; rows < rowsMax; rows += ROWS_AT_ONCE) if (!readSome()) return true;
        return false;
      };
      const hasItems = readsAll(() => readOn(entries));
      const hasChanges = sql.sources.all().map((source) => readsAll(() => readChangedOf(entries, source, lastId)));
      return hasItems && hasChanges.every(Boolean);
    }),
    hasChanged() {
      const now = Number(db.pragma('data_version', { simple: true }));
      const changed = now !== version;
      version = now;
      return changed;
    },
    count: () => sql.all.get() ?? 0,
  };
}

function textOf([, , key, naturalKey, , name]: Row): string {
  return [key, naturalKey === key ? null : naturalKey, name].filter((text) => text !== null).join('\u001f');
}
