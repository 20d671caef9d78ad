// The data of every item that the lists need, in memory: kind, source, the texts that are searched, and which products
// have a passport. The catalog takes about 60 bytes an item, nearly all of them outside the heap.
//
// Items are read once, in the order of their ids. Items with a new revision are read again, in the order of their
// revisions' times, because their names may have changed. If items were deleted, or many were renamed, new entries are
// built beside the present ones. Rows are read from the ledger before they are shown, so an old entry shows nothing
// wrong.

import { SUBJECT_KINDS, type SubjectKind } from '../../domain/item.ts';
import { changeCountOf } from '../store/database.ts';
import { column, perDatabase, statement } from '../store/tx.ts';
import { type ItemTotals, itemTotals } from '../views/counts.ts';
import { type Db, inOneMoment, type ViewReads } from '../views/view-reads.ts';
import { createNumbers, createTextIndex, searchable } from './text-index.ts';

/** What the views of the dashboard read with. */
export interface DashboardReads extends ViewReads {
  catalog: Catalog;
  /** Milliseconds of a clock that is never set back. */
  now(): number;
}

/** The most rows that a refresh reads, so that a page does not wait for it. */
const ROWS_OF_REFRESH = 3000;
/** After more changed names than this, all items are read again. */
const RENAMED_MAX = 20_000;

type Catalog = ReturnType<typeof createCatalog>;

/** For the questions to the entries call `refresh` before. */
export function createCatalog(reads: Db) {
  let present = createCatalogEntries();
  let isBuilt = false;
  /** The entries that are built beside the present ones. */
  let next: CatalogEntries | null = null;
  let isStale = false;
  let isWhole = false;
  let version: unknown = null;

  function readWhatIsNew(): void {
    const now = changeCountOf(reads.db);
    const hasChanged = now !== version;
    version = now;
    // If there is more to read, the next refresh continues to read, even if the ledger has not changed.
    if (hasChanged || !isWhole) isWhole = readNew(reads, present, ROWS_OF_REFRESH);
  }

  return {
    /** False until all items were read once. */
    isBuilt: () => isBuilt,

    /** Continues to read for a few milliseconds; true while there is more to read. Call it while nobody waits. */
    warm(): boolean {
      if (!isBuilt) {
        isBuilt = !readOn(reads, present);
        return !isBuilt;
      }
      if (next === null && (isStale || present.renamed > RENAMED_MAX)) next = createCatalogEntries();
      if (next === null) {
        isWhole = readNew(reads, present, ROWS_AT_ONCE);
        return !isWhole;
      }
      if (readOn(reads, next)) return true;
      present = next;
      next = null;
      isStale = false;
      isWhole = false;
      return true;
    },

    /**
     * Reads the new items. With a million items the first call may take seconds. Later calls leave long work to `warm`.
     */
    refresh(): void {
      while (!isBuilt) isBuilt = !readOn(reads, present);
      readWhatIsNew();
    },

    /** Reads the new items. True if the catalog then has exactly the items of the ledger; false before the first list. */
    hasAll(): boolean {
      if (!isBuilt) return false;
      readWhatIsNew();
      if (isWhole && SQL.count(reads).get() !== present.length) isStale = true;
      return isWhole && !isStale;
    },

    /** Reports that an item is not in the ledger any more. */
    gone(): void {
      isStale = true;
    },

    mark: (id: number) => present.mark(id),
    /** Ids in rising order, after an id. */
    ids: (afterId: number, of: ItemChoice) => present.ids(afterId, of),
    /** Ids of items whose text has this part, in rising order, after an id. */
    search: (part: string, afterId: number, of: ItemChoice) => present.search(part, afterId, of),
    hasText: (id: number, part: string) => present.hasText(id, part),
    count: (of: ItemChoice) => present.count(of),
  };
}

const keptTotals = perDatabase(() => ({ version: null as unknown, totals: {} as ItemTotals }));

/**
 * The totals of all sources, from the catalog if it has read all items. They are kept while the ledger does not change.
 */
export function allTotals(reads: DashboardReads): ItemTotals {
  const kept = keptTotals(reads);
  const version = changeCountOf(reads.db);
  if (kept.version === version) return kept.totals;
  const ofKind = (kind: SubjectKind) => [kind, reads.catalog.count({ kind })];
  const totals = reads.catalog.hasAll() ? Object.fromEntries(SUBJECT_KINDS.map(ofKind)) : itemTotals(reads);
  Object.assign(kept, { version, totals });
  return totals;
}

interface Row extends ItemMark {
  id: number;
  key: string;
  naturalKey: string | null;
  name: string | null;
  /** Of a passport the id of its product. */
  product: number | null;
}

/** A place in the order in which revisions began. */
interface Revision {
  staged: number;
  id: number;
}

/** How many rows are read at once. */
const ROWS_AT_ONCE = 1000;
const COLUMNS = `i.id, i.kind, i.key, i.natural_key AS naturalKey, i.source,
  CASE WHEN i.kind IN ('product', 'material') THEN i.desired ->> '$.name'
    WHEN i.kind = 'passport' THEN (SELECT p.desired ->> '$.name' FROM items p WHERE p.kind = 'product' AND p.key = i.key) END AS name,
  CASE i.kind WHEN 'passport' THEN (SELECT p.id FROM items p WHERE p.kind = 'product' AND p.key = i.key) END AS product`;
const SQL = {
  rows: statement<[number, number], Row>(`SELECT ${COLUMNS} FROM items i WHERE i.id > ? ORDER BY i.id LIMIT ?`),
  // With the passports of the products among them, whose names are the names of their products.
  some: statement<[{ ids: string }], Row>(
    `SELECT ${COLUMNS} FROM (SELECT e.value AS id FROM json_each(@ids) e
       UNION SELECT q.id FROM json_each(@ids) e CROSS JOIN items p ON p.id = e.value AND p.kind = 'product'
         JOIN items q ON q.kind = 'passport' AND q.key = p.key) l CROSS JOIN items i ON i.id = l.id ORDER BY i.id`,
  ),
  // The index has all columns that this statement reads. Most of these items are new, and their rows were read already.
  changed: statement<[string, number, number, number], Revision>(
    `SELECT id, staged_at AS staged FROM items INDEXED BY items_by_time WHERE source = ? AND (staged_at, id) > (?, ?)
     ORDER BY staged_at, id LIMIT ?`,
  ),
  latest: statement<[], { source: string; staged: number | null }>(
    `SELECT s.source, (SELECT max(i.staged_at) FROM items i INDEXED BY items_by_time WHERE i.source = s.source) AS staged
     FROM (SELECT DISTINCT source FROM streams) s ORDER BY s.source`,
  ),
  // SQLite counts a whole table without reading its rows.
  count: column<[], number>('SELECT count(*) FROM items'),
  sources: column<[], string>('SELECT DISTINCT source FROM streams ORDER BY source'),
};

/** Reads the next items; false if there are no more. */
function readOn(reads: Db, entries: CatalogEntries): boolean {
  if (entries.length === 0) {
    for (const { source, staged } of SQL.latest(reads).all()) entries.upTo.set(source, { staged: staged ?? 0, id: 0 });
  }
  const rows = SQL.rows(reads).all(entries.lastId, ROWS_AT_ONCE);
  for (const row of rows) {
    entries.add(row, textOf(row));
    if (row.product !== null) entries.addPassport(row.product);
  }
  return rows.length === ROWS_AT_ONCE;
}

/**
 * Reads the items that are new or have a new revision since the last read. The whole read is one transaction.
 *
 * @param rowsMax how many new items, and how many changed ones of each source, are read at most
 * @returns false if more items are left to read
 */
function readNew(reads: Db, entries: CatalogEntries, rowsMax: number): boolean {
  // The rows of new items are read once, although their revisions are new as well.
  const { lastId } = entries;
  const readsAll = (readSome: () => boolean): boolean => {
    for (let rows = 0; rows < rowsMax; rows += ROWS_AT_ONCE) if (!readSome()) return true;
    return false;
  };
  return inOneMoment(reads, () => {
    const hasItems = readsAll(() => readOn(reads, entries));
    const sources = SQL.sources(reads).all();
    const hasChanges = sources.map((source) => readsAll(() => readChangedOf(reads, entries, source, lastId)));
    return hasItems && hasChanges.every(Boolean);
  });
}

/** Reads the items of a source with a new revision again, up to an id; false if there are no more. */
function readChangedOf(reads: Db, entries: CatalogEntries, source: string, lastId: number): boolean {
  const upTo = entries.upTo.get(source) ?? { staged: 0, id: 0 };
  const found = SQL.changed(reads).all(source, upTo.staged, upTo.id, ROWS_AT_ONCE);
  const again = found.filter(({ id }) => id <= lastId && entries.has(id)).map(({ id }) => id);
  const rows = again.length === 0 ? [] : SQL.some(reads).all({ ids: JSON.stringify(again) });
  for (const row of rows) entries.update(row, textOf(row));
  const last = found.at(-1) ?? upTo;
  const isMore = found.length === ROWS_AT_ONCE;
  // More revisions may begin in the same millisecond.
  entries.upTo.set(source, { staged: last.staged, id: isMore ? last.id : 0 });
  return isMore;
}

function textOf({ key, naturalKey, name }: Row): string {
  return [key, naturalKey === key ? null : naturalKey, name].filter((text) => text !== null).join('\u001f');
}

interface ItemMark {
  kind: SubjectKind;
  source: string;
}

/** A filter of items. A field that is left out filters nothing. */
interface ItemChoice {
  kind?: SubjectKind | undefined;
  source?: string | undefined;
  /** Products without a passport. */
  withoutPassport?: true | undefined;
}

type CatalogEntries = ReturnType<typeof createCatalogEntries>;

const HAS_PASSPORT = 128;
/** Greater than the number of kinds, each with and without a passport. */
const KINDS = 256;

/** The entries of a catalog, in the order of their ids. Each has a place in all lists. The first entry has the place 0. */
function createCatalogEntries() {
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
    /** The id of the last entry; 0 if there is none. */
    get lastId() {
      return ids.length === 0 ? 0 : ids.at(ids.length - 1);
    },
    /** The number of items whose text has changed since they were added. */
    get renamed() {
      return renamed.size;
    },
    /** The revision up to which changed items were read, by source. */
    upTo: new Map<string, Revision>(),
    has: (id: number) => placeOf(id) !== null,
    /** Adds an item, whose id is greater than all before, with the text that is searched. */
    add({ id, kind, source }: Row, text: string): void {
      const [kindAt, sourceAt] = [SUBJECT_KINDS.indexOf(kind), sourceIndex(source)];
      ids.push(id);
      kinds.push(kindAt);
      sourcesOf.push(sourceAt);
      countOne(kindAt + KINDS * sourceAt, 1);
      texts.push(text);
    },
    /** Changes the source and the text of an entry. */
    update({ id, source }: Row, text: string): void {
      const place = placeOf(id);
      if (place === null) return;
      const present = searchable(text);
      if (renamed.has(place) || !texts.has(place, present)) renamed.set(place, present);
      move(place, { source: sourceIndex(source) });
    },
    /** Notes that a product has a passport. */
    addPassport(productId: number): void {
      const place = placeOf(productId);
      if (place !== null) move(place, { kind: kinds.at(place) | HAS_PASSPORT });
    },
    mark(id: number): ItemMark | null {
      const place = placeOf(id);
      if (place === null) return null;
      const kind = SUBJECT_KINDS[kinds.at(place) & (HAS_PASSPORT - 1)] ?? 'product';
      return { kind, source: sources[sourcesOf.at(place)] ?? '' };
    },
    *ids(afterId: number, of: ItemChoice): Generator<number> {
      const fits = fitsOf(of);
      for (let place = ids.indexAfter(afterId); place < ids.length; place += 1) {
        if (fits === null || fits(kinds.at(place), sourcesOf.at(place))) yield ids.at(place);
      }
    },
    *search(part: string, afterId: number, of: ItemChoice): Generator<number> {
      const fits = fitsOf(of);
      for (const place of placesWith(part, ids.indexAfter(afterId))) {
        if (fits === null || fits(kinds.at(place), sourcesOf.at(place))) yield ids.at(place);
      }
    },
    hasText(id: number, part: string): boolean {
      const place = placeOf(id);
      return place !== null && hasTextAt(place, part);
    },
    count(of: ItemChoice): number {
      const fits = fitsOf(of);
      let count = 0;
      for (const [both, n] of counts) {
        if (fits === null || fits(both % KINDS, Math.floor(both / KINDS))) count += n;
      }
      return count;
    },
  };
}
