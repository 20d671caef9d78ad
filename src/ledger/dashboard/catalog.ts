import { SUBJECT_KINDS, type SubjectKind } from '../../domain/item.ts';
import { changeCountOf, type Sqlite } from '../store/database.ts';
import { createNumbers, createTextIndex, searchable } from './text-index.ts';

// The data of every item that the lists need, in memory: kind, source, the texts that are searched, and which products
// have a passport. The catalog takes about 60 bytes an item, nearly all of them outside the heap.
//
// Items are read once, in the order of their ids. Items with a new revision are read again, in the order of their
// revisions' times, because their names may have changed. If items were deleted, or many were renamed, new entries are
// built beside the present ones. Rows are read from the ledger before they are shown, so an old entry shows nothing
// wrong.

/** For the questions to the entries call `refresh` before. */
export interface Catalog extends Pick<CatalogEntries, 'mark' | 'ids' | 'search' | 'hasText' | 'count'> {
  /** Continues to read for a few milliseconds; true while there is more to read. Call it while nobody waits. */
  warm(): boolean;
  /**
   * Reads the new items. With a million items the first call may take seconds. Later calls leave long work to `warm`.
   */
  refresh(): void;
  /** Reads the new items. True if the catalog then has exactly the items of the ledger; false before the first list. */
  hasAll(): boolean;
  /** Reports that an item is not in the ledger any more. */
  gone(): void;
}

/** The most rows that a refresh reads, so that a page does not wait for it. */
const ROWS_OF_REFRESH = 3000;
/** After more changed names than this, all items are read again. */
const RENAMED_MAX = 20_000;

export function createCatalog(db: Sqlite): Catalog {
  const reader = createCatalogReader(db);
  let present = createCatalogEntries();
  let isBuilt = false;
  /** The entries that are built beside the present ones. */
  let next: CatalogEntries | null = null;
  let isStale = false;
  let isWhole = false;

  function readWhatIsNew(): void {
    // If there is more to read, the next refresh continues to read, even if the ledger has not changed.
    if (reader.hasChanged() || !isWhole) isWhole = reader.readNew(present, ROWS_OF_REFRESH);
  }

  return {
    warm() {
      if (!isBuilt) {
        isBuilt = !reader.readOn(present);
        return !isBuilt;
      }
      if (next === null && (isStale || present.renamed > RENAMED_MAX)) next = createCatalogEntries();
      if (next === null) {
        isWhole = reader.readNew(present, ROWS_AT_ONCE);
        return !isWhole;
      }
      if (reader.readOn(next)) return true;
      present = next;
      next = null;
      isStale = false;
      isWhole = false;
      return true;
    },

    refresh() {
      while (!isBuilt) isBuilt = !reader.readOn(present);
      readWhatIsNew();
    },

    hasAll() {
      if (!isBuilt) return false;
      readWhatIsNew();
      if (isWhole && reader.count() !== present.length) isStale = true;
      return isWhole && !isStale;
    },

    gone() {
      isStale = true;
    },

    mark: (id) => present.mark(id),
    ids: (afterId, of) => present.ids(afterId, of),
    search: (part, afterId, of) => present.search(part, afterId, of),
    hasText: (id, part) => present.hasText(id, part),
    count: (of) => present.count(of),
  };
}

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
const ROWS_AT_ONCE = 1000;
const COLUMNS = `id, kind, key, natural_key, source, CASE WHEN kind IN ('product', 'material') THEN desired ->> '$.name' END`;

function createCatalogReader(db: Sqlite): CatalogReader {
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
      const now = changeCountOf(db);
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

export interface ItemMark {
  kind: SubjectKind;
  source: string;
}

/** A filter of items. A field that is left out filters nothing. */
export interface ItemChoice {
  kind?: SubjectKind | undefined;
  source?: string | undefined;
  /** Products without a passport. */
  withoutPassport?: true | undefined;
}

/** What the catalog has of an item. */
export interface CatalogEntry extends ItemMark {
  id: number;
  /** The texts that are searched. */
  text: string;
}

/** A place in the order in which revisions began. */
export interface Revision {
  staged: number;
  id: number;
}

/** The entries of a catalog, in the order of their ids. */
export interface CatalogEntries {
  readonly length: number;
  /** The id of the last entry; 0 if there is none. */
  readonly lastId: number;
  /** The number of items whose text has changed since they were added. */
  readonly renamed: number;
  /** The revision up to which changed items were read, by source. */
  readonly upTo: Map<string, Revision>;
  has(id: number): boolean;
  /** Adds an item, whose id is greater than all before. */
  add(entry: CatalogEntry): void;
  /** Changes the source and the text of an entry. */
  update(entry: Omit<CatalogEntry, 'kind'>): void;
  /** Notes that a product has a passport. */
  addPassport(productId: number): void;
  mark(id: number): ItemMark | null;
  /** Ids in rising order, after an id. */
  ids(afterId: number, of: ItemChoice): Generator<number>;
  /** Ids of items whose text has this part, in rising order, after an id. */
  search(part: string, afterId: number, of: ItemChoice): Generator<number>;
  hasText(id: number, part: string): boolean;
  count(of: ItemChoice): number;
}

const HAS_PASSPORT = 128;
/** Greater than the number of kinds, each with and without a passport. */
const KINDS = 256;

/** Each entry has a place in all lists. The first entry has the place 0. */
function createCatalogEntries(): CatalogEntries {
  const ids = createNumbers();
  const texts = createTextIndex();
  /** The index of the kind, and whether the item has a passport. */
  const kinds = createNumbers();
  const sourcesOf = createNumbers();
  const sources: string[] = [];
  /** The present texts of items that have changed since they were added, by place. */
  const renamed = new Map<number, string>();
  /** How many items there are of each kind and source; products with a passport are counted separately. */
  const counts = new Map<number, number>();

  function placeOf(id: number): number | null {
    const place = ids.indexAfter(id - 1);
    return place < ids.length && ids.at(place) === id ? place : null;
  }

  function sourceIndex(source: string): number {
    const known = sources.indexOf(source);
    return known < 0 ? sources.push(source) - 1 : known;
  }

  const countOne = (of: number, by: 1 | -1): void => void counts.set(of, (counts.get(of) ?? 0) + by);

  /** Changes the kind or the source of an item, and counts it there. */
  function move(place: number, to: { kind?: number; source?: number }): void {
    const [kind, source] = [to.kind ?? kinds.at(place), to.source ?? sourcesOf.at(place)];
    countOne(kinds.at(place) + KINDS * sourcesOf.at(place), -1);
    countOne(kind + KINDS * source, 1);
    kinds.set(place, kind);
    sourcesOf.set(place, source);
  }

  /** Whether an item fits the choice, by its kind (with the mark of a passport) and source; null if all items fit. */
  function fitsOf({ kind, source, withoutPassport }: ItemChoice): ((kind: number, source: number) => boolean) | null {
    if (kind === undefined && source === undefined && withoutPassport === undefined) return null;
    const kindAt = kind === undefined ? null : SUBJECT_KINDS.indexOf(kind);
    // No item has the index -1 of an unknown source.
    const sourceAt = source === undefined ? null : sources.indexOf(source);
    return (ofKind, ofSource) => {
      if (kindAt !== null && (ofKind & (HAS_PASSPORT - 1)) !== kindAt) return false;
      if (withoutPassport === true && (ofKind & HAS_PASSPORT) !== 0) return false;
      return sourceAt === null || ofSource === sourceAt;
    };
  }

  function hasTextAt(place: number, part: string): boolean {
    const now = renamed.get(place);
    return now === undefined ? texts.has(place, part) : now.includes(searchable(part));
  }

  /** The places of items with this part in their text, in rising order. */
  function* placesWith(part: string, from: number): Generator<number> {
    const others = [...renamed]
      .filter(([place, text]) => place >= from && text.includes(searchable(part)))
      .map(([place]) => place)
      .sort((a, b) => a - b);
    for (const place of texts.find(part, from)) {
      while (others.length > 0 && (others[0] ?? 0) < place) yield others.shift() ?? 0;
      if (!renamed.has(place)) yield place;
    }
    yield* others;
  }

  return {
    get length() {
      return ids.length;
    },
    get lastId() {
      return ids.length === 0 ? 0 : ids.at(ids.length - 1);
    },
    get renamed() {
      return renamed.size;
    },
    upTo: new Map(),
    has: (id) => placeOf(id) !== null,
    add({ id, kind, source, text }) {
      const [kindAt, sourceAt] = [SUBJECT_KINDS.indexOf(kind), sourceIndex(source)];
      ids.push(id);
      kinds.push(kindAt);
      sourcesOf.push(sourceAt);
      countOne(kindAt + KINDS * sourceAt, 1);
      texts.push(text);
    },
    update({ id, source, text }) {
      const place = placeOf(id);
      if (place === null) return;
      const present = searchable(text);
      if (renamed.has(place) || !texts.has(place, present)) renamed.set(place, present);
      move(place, { source: sourceIndex(source) });
    },
    addPassport(productId) {
      const place = placeOf(productId);
      if (place !== null) move(place, { kind: kinds.at(place) | HAS_PASSPORT });
    },
    mark(id) {
      const place = placeOf(id);
      if (place === null) return null;
      const kind = SUBJECT_KINDS[kinds.at(place) & (HAS_PASSPORT - 1)] ?? 'product';
      return { kind, source: sources[sourcesOf.at(place)] ?? '' };
    },
    *ids(afterId, of) {
      const fits = fitsOf(of);
      for (let place = ids.indexAfter(afterId); place < ids.length; place += 1) {
        if (fits === null || fits(kinds.at(place), sourcesOf.at(place))) yield ids.at(place);
      }
    },
    *search(part, afterId, of) {
      const fits = fitsOf(of);
      for (const place of placesWith(part, ids.indexAfter(afterId))) {
        if (fits === null || fits(kinds.at(place), sourcesOf.at(place))) yield ids.at(place);
      }
    },
    hasText(id, part) {
      const place = placeOf(id);
      return place !== null && hasTextAt(place, part);
    },
    count(of) {
      const fits = fitsOf(of);
      let count = 0;
      for (const [both, n] of counts) {
        if (fits === null || fits(both % KINDS, Math.floor(both / KINDS))) count += n;
      }
      return count;
    },
  };
}
