// The data of every item that the lists need, in memory: kind, source, the texts that are searched, and which products
// have a passport. The catalog takes about 60 bytes an item, nearly all of them outside the heap.
//
// Items are read once, in the order of their ids. Items with a new revision are read again, in the order of their
// revisions' times, because their names may have changed. If items were deleted, or many were renamed, a new catalog is
// built beside the present one. Rows are read from the ledger before they are shown, so an old entry shows nothing
// wrong.

import { SUBJECT_KINDS, type SubjectKind } from '../../domain/item.ts';
import type { Sqlite } from '../store/database.ts';
import { createNumbers, type Numbers } from './numbers.ts';
import { createTextIndex, searchable, type TextIndex } from './text-index.ts';

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

export interface Catalog {
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
  mark(id: number): ItemMark | null;
  /** Ids in rising order, after an id. Call `refresh` before. */
  ids(afterId: number, of: ItemChoice): Generator<number>;
  /** Ids of items whose key, natural key or name has this part, in rising order. */
  search(part: string, afterId: number, of: ItemChoice): Generator<number>;
  hasText(id: number, part: string): boolean;
  count(of: ItemChoice): number;
}

type Row = [id: number, kind: SubjectKind, key: string, naturalKey: string | null, source: string, name: string | null];

const ROWS_AT_ONCE = 1000;
/** The most rows that a refresh reads, so that a page does not wait for it. */
const ROWS_OF_REFRESH = 3000;
/** After more changed names than this, all items are read again. */
const RENAMED_MAX = 20_000;
const HAS_PASSPORT = 128;
/** Greater than the number of kinds, each with and without a passport. */
const KINDS = 256;
const COLUMNS = `id, kind, key, natural_key, source, CASE WHEN kind IN ('product', 'material') THEN desired ->> '$.name' END`;

/** The data of the items that were read. Each item has a place in all lists; the first item has the place 0. */
interface Tables {
  ids: Numbers;
  texts: TextIndex;
  /** The index of the kind, and whether the item has a passport. */
  kinds: Numbers;
  sourcesOf: Numbers;
  sources: string[];
  /** The present texts of items that have changed since they were read. */
  renamed: Map<number, string>;
  /** The revision up to which changed items were read, by source. */
  upTo: Map<string, Revision>;
  /** How many items there are of each kind and source; products with a passport are counted separately. */
  counts: Map<number, number>;
}

interface Revision {
  staged: number;
  id: number;
}

function createTables(): Tables {
  const [ids, kinds, sourcesOf] = [createNumbers(), createNumbers(), createNumbers()];
  const lists = { ids, texts: createTextIndex(), kinds, sourcesOf, sources: [] };
  return { ...lists, renamed: new Map(), upTo: new Map(), counts: new Map() };
}

/** Changes the kind or the source of an item, and counts it there. */
function move({ kinds, sourcesOf, counts }: Tables, place: number, to: { kind: number; source: number }): void {
  const before = kinds.at(place) + KINDS * sourcesOf.at(place);
  const after = to.kind + KINDS * to.source;
  if (before === after) return;
  counts.set(before, (counts.get(before) ?? 0) - 1);
  counts.set(after, (counts.get(after) ?? 0) + 1);
  kinds.set(place, to.kind);
  sourcesOf.set(place, to.source);
}

function sourceIndex({ sources }: Tables, source: string): number {
  const known = sources.indexOf(source);
  return known < 0 ? sources.push(source) - 1 : known;
}

function placeOf({ ids }: Tables, id: number): number | null {
  const place = ids.indexAfter(id - 1);
  return place < ids.length && ids.at(place) === id ? place : null;
}

function textOf([, , key, naturalKey, , name]: Row): string {
  return [key, naturalKey === key ? null : naturalKey, name].filter((text) => text !== null).join('\u001f');
}

function lastOf({ ids }: Tables): number {
  return ids.length === 0 ? 0 : ids.at(ids.length - 1);
}

export function createCatalog(db: Sqlite): Catalog {
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
  let present = createTables();
  let isBuilt = false;
  /** The tables that are built beside the present ones. */
  let next: Tables | null = null;
  let isStale = false;
  let isWhole = false;
  let version = -1;

  function add(tables: Tables, row: Row): void {
    const [id, kind, key, , source] = row;
    tables.ids.push(id);
    const of = SUBJECT_KINDS.indexOf(kind) + KINDS * sourceIndex(tables, source);
    tables.kinds.push(of % KINDS);
    tables.sourcesOf.push(Math.floor(of / KINDS));
    tables.counts.set(of, (tables.counts.get(of) ?? 0) + 1);
    tables.texts.push(textOf(row));
    if (kind !== 'passport') return;
    const product = sql.product.get(key);
    const place = product === undefined ? null : placeOf(tables, product);
    if (place === null) return;
    move(tables, place, { kind: tables.kinds.at(place) | HAS_PASSPORT, source: tables.sourcesOf.at(place) });
  }

  /** Reads the next items; false if there are no more. */
  function readOn(tables: Tables): boolean {
    if (tables.ids.length === 0) {
      for (const of of sql.sources.all()) tables.upTo.set(of, { staged: sql.latest.get(of) ?? 0, id: 0 });
    }
    const rows = sql.rows.all(lastOf(tables), ROWS_AT_ONCE);
    for (const row of rows) add(tables, row);
    return rows.length === ROWS_AT_ONCE;
  }

  /** Reads an item again because it has a new revision. */
  function readAgain(tables: Tables, id: number, of: string): void {
    const place = placeOf(tables, id);
    const row = place === null ? undefined : sql.row.get(id);
    if (place === null || row === undefined) return;
    const text = searchable(textOf(row));
    if (tables.renamed.has(place) || !tables.texts.has(place, text)) tables.renamed.set(place, text);
    move(tables, place, { kind: tables.kinds.at(place), source: sourceIndex(tables, of) });
  }

  /** Reads the items of a source with a new revision again, up to an id; false if there are no more. */
  function readChangedOf(tables: Tables, of: string, lastId: number): boolean {
    const upTo = tables.upTo.get(of) ?? { staged: 0, id: 0 };
    const found = sql.changed.all(of, upTo.staged, upTo.id, ROWS_AT_ONCE);
    for (const { id } of found) if (id <= lastId) readAgain(tables, id, of);
    const last = found.at(-1) ?? upTo;
    const isMore = found.length === ROWS_AT_ONCE;
    // More revisions may begin in the same millisecond.
    tables.upTo.set(of, { staged: last.staged, id: isMore ? last.id : 0 });
    return isMore;
  }

  /**
   * Reads what is new in one transaction. The rows of new items are read once, although their revisions are new as
   * well.
   *
   * @param rowsMax how many new items, and how many changed ones of each source, are read at most
   * @returns false if there is more
   */
  const readNew = db.transaction((tables: Tables, rowsMax: number): boolean => {
    const lastId = lastOf(tables);
    const readsAll = (readSome: () => boolean): boolean => {
      for (let rows = 0; rows < rowsMax; rows += ROWS_AT_ONCE) if (!readSome()) return true;
      return false;
    };
    const hasItems = readsAll(() => readOn(tables));
    const hasChanges = sql.sources.all().map((of) => readsAll(() => readChangedOf(tables, of, lastId)));
    return hasItems && hasChanges.every(Boolean);
  });

  function hasChanged(): boolean {
    const now = Number(db.pragma('data_version', { simple: true }));
    const changed = now !== version;
    version = now;
    return changed;
  }

  function readWhatIsNew(): void {
    // If there is more to read, the next refresh continues to read, even if the ledger has not changed.
    if (hasChanged() || !isWhole) isWhole = readNew(present, ROWS_OF_REFRESH);
  }

  function markAt(place: number): ItemMark {
    const kind = SUBJECT_KINDS[present.kinds.at(place) & (HAS_PASSPORT - 1)] ?? 'product';
    return { kind, source: present.sources[present.sourcesOf.at(place)] ?? '' };
  }

  /** Whether the item at a place fits the choice; null if all items fit. */
  function fits({ kind, source, withoutPassport }: ItemChoice): ((place: number) => boolean) | null {
    if (kind === undefined && source === undefined && withoutPassport === undefined) return null;
    const { kinds, sources, sourcesOf } = present;
    const kindAt = kind === undefined ? -1 : SUBJECT_KINDS.indexOf(kind);
    // An unknown source gets an index that no item has.
    const sourceAt = source === undefined ? -1 : sources.includes(source) ? sources.indexOf(source) : sources.length;
    return (place) => {
      const found = kinds.at(place);
      if (kindAt >= 0 && (found & (HAS_PASSPORT - 1)) !== kindAt) return false;
      if (withoutPassport === true && (found & HAS_PASSPORT) !== 0) return false;
      return sourceAt < 0 || sourcesOf.at(place) === sourceAt;
    };
  }

  function hasTextAt(place: number, part: string): boolean {
    const now = present.renamed.get(place);
    return now === undefined ? present.texts.has(place, part) : now.includes(searchable(part));
  }

  /** The places of items with this part in their text, in rising order. */
  function* placesWith(part: string, from: number): Generator<number> {
    const { renamed, texts } = present;
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
    warm() {
      if (!isBuilt) {
        isBuilt = !readOn(present);
        return !isBuilt;
      }
      if (next === null && (isStale || present.renamed.size > RENAMED_MAX)) next = createTables();
      if (next === null) {
        isWhole = readNew(present, ROWS_AT_ONCE);
        return !isWhole;
      }
      if (readOn(next)) return true;
      present = next;
      next = null;
      isStale = false;
      isWhole = false;
      return true;
    },

    refresh() {
      while (!isBuilt) isBuilt = !readOn(present);
      readWhatIsNew();
    },

    hasAll() {
      if (!isBuilt) return false;
      readWhatIsNew();
      if (isWhole && sql.all.get() !== present.ids.length) isStale = true;
      return isWhole && !isStale;
    },

    gone() {
      isStale = true;
    },

    mark(id) {
      const place = placeOf(present, id);
      return place === null ? null : markAt(place);
    },

    *ids(afterId, of) {
      const { ids } = present;
      const isChosen = fits(of);
      for (let place = ids.indexAfter(afterId); place < ids.length; place += 1) {
        if (isChosen === null || isChosen(place)) yield ids.at(place);
      }
    },

    *search(part, afterId, of) {
      const { ids } = present;
      const isChosen = fits(of);
      for (const place of placesWith(part, ids.indexAfter(afterId))) {
        if (isChosen === null || isChosen(place)) yield ids.at(place);
      }
    },

    hasText(id, part) {
      const place = placeOf(present, id);
      return place !== null && hasTextAt(place, part);
    },

    count({ kind, source, withoutPassport }) {
      const { counts, sources } = present;
      const kindAt = kind === undefined ? null : SUBJECT_KINDS.indexOf(kind);
      const sourceAt = source === undefined ? null : sources.indexOf(source);
      let count = 0;
      for (const [of, n] of counts) {
        const found = of % KINDS;
        if (kindAt !== null && (found & (HAS_PASSPORT - 1)) !== kindAt) continue;
        if (withoutPassport === true && (found & HAS_PASSPORT) !== 0) continue;
        if (sourceAt === null || Math.floor(of / KINDS) === sourceAt) count += n;
      }
      return count;
    },
  };
}
