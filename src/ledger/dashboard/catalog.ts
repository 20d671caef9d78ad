// What the lists need to know of every item, in memory: kind, source, the texts that are searched, and which products have a
// passport. It takes about 60 bytes an item, nearly all of them outside the heap.
//
// Items are read once, in the order of their ids. Items with a new revision are read again, in the order of their revisions' times,
// because their names may have changed. Where items were deleted, or many were renamed, the catalog is built again beside the present
// one. Rows are read from the ledger before they are shown, so an old entry shows nothing wrong.

import { SUBJECT_KINDS, type SubjectKind } from '../../domain/item.ts';
import type { Sqlite } from '../store/database.ts';
import { createNumbers, type Numbers } from './numbers.ts';
import { createTextIndex, searchable, type TextIndex } from './text-index.ts';

export interface ItemMark {
  kind: SubjectKind;
  source: string;
  /** True for a product with a passport. */
  hasPassport: boolean;
}

export interface Catalog {
  /** Reads on for a few milliseconds; true while there is more to read. Call it while nobody waits. */
  warm(): boolean;
  /** Reads what is new. The first time may take seconds with a million items; later what takes long is left to `warm`. */
  refresh(): void;
  /** Reports that an item is not in the ledger any more. */
  gone(): void;
  mark(id: number): ItemMark | null;
  /** Ids in rising order, after an id. Call `refresh` before. */
  ids(afterId: number): Generator<number>;
  /** Ids of items whose key, natural key or name has this part, in rising order. */
  search(part: string, afterId: number): Generator<number>;
  hasText(id: number, part: string): boolean;
  /** How many items of this kind and source there are; of all where one is left out. */
  count(of: {
    kind?: SubjectKind | undefined;
    source?: string | undefined;
    withoutPassport?: boolean | undefined;
  }): number;
}

type Row = [
  id: number,
  kind: SubjectKind,
  key: string,
  naturalKey: string | null,
  source: string,
  name: string | null,
  staged: number | null,
];

const ROWS_AT_ONCE = 1000;
/** What a refresh reads at most, so that a page does not wait for it. */
const ROWS_OF_REFRESH = 3000;
/** So many names may change before all are read again. */
const RENAMED_MAX = 20_000;
const HAS_PASSPORT = 128;
const COLUMNS = `id, kind, key, natural_key, source, CASE WHEN kind IN ('product', 'material') THEN desired ->> '$.name' END, staged_at`;

/** The items that were read, by their place: the first item has the place 0. */
interface Tables {
  ids: Numbers;
  texts: TextIndex;
  /** The index of the kind, and whether the item has a passport. */
  kinds: Numbers;
  sourcesOf: Numbers;
  sources: string[];
  /** The present texts of items that have changed since they were read. */
  renamed: Map<number, string>;
  /** The revision up to which changed items were read. */
  upTo: Revision;
}

interface Revision {
  staged: number;
  id: number;
}

function createTables(): Tables {
  const upTo: Revision = { staged: 0, id: 0 };
  const [ids, kinds, sourcesOf] = [createNumbers(), createNumbers(), createNumbers()];
  return { ids, texts: createTextIndex(), kinds, sourcesOf, sources: [], renamed: new Map(), upTo };
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
    changed: db
      .prepare<[number, number, number], Row>(
        `SELECT ${COLUMNS} FROM items WHERE (staged_at, id) > (?, ?) ORDER BY staged_at, id LIMIT ?`,
      )
      .raw(),
    latest: db.prepare<[], number>('SELECT coalesce(max(staged_at), 0) FROM items').pluck(),
    product: db.prepare<[string], number>("SELECT id FROM items WHERE kind = 'product' AND key = ?").pluck(),
  };
  let present = createTables();
  let isBuilt = false;
  /** The tables that are built beside the present ones. */
  let next: Tables | null = null;
  let isStale = false;
  let version = -1;

  function add(tables: Tables, row: Row): void {
    const [id, kind, key, , source] = row;
    tables.ids.push(id);
    tables.kinds.push(SUBJECT_KINDS.indexOf(kind));
    tables.sourcesOf.push(sourceIndex(tables, source));
    tables.texts.push(textOf(row));
    if (kind !== 'passport') return;
    const product = sql.product.get(key);
    const place = product === undefined ? null : placeOf(tables, product);
    if (place !== null) tables.kinds.set(place, tables.kinds.at(place) | HAS_PASSPORT);
  }

  /** Reads the next items; false where there are no more. */
  function readOn(tables: Tables): boolean {
    if (tables.ids.length === 0) tables.upTo = { staged: sql.latest.get() ?? 0, id: 0 };
    const rows = sql.rows.all(lastOf(tables), ROWS_AT_ONCE);
    for (const row of rows) add(tables, row);
    return rows.length === ROWS_AT_ONCE;
  }

  /** Reads items again that have a new revision; false where there are no more. */
  function readChanged(tables: Tables): boolean {
    const rows = sql.changed.all(tables.upTo.staged, tables.upTo.id, ROWS_AT_ONCE);
    for (const row of rows) {
      const [id, , , , source, , staged] = row;
      tables.upTo = { staged: staged ?? 0, id };
      const place = placeOf(tables, id);
      if (place === null) continue;
      const text = searchable(textOf(row));
      if (tables.renamed.has(place) || !tables.texts.has(place, text)) tables.renamed.set(place, text);
      tables.sourcesOf.set(place, sourceIndex(tables, source));
    }
    if (rows.length === ROWS_AT_ONCE) return true;
    // More revisions may begin in the same millisecond.
    tables.upTo.id = 0;
    return false;
  }

  function hasChanged(): boolean {
    const now = Number(db.pragma('data_version', { simple: true }));
    const changed = now !== version;
    version = now;
    return changed;
  }

  function markAt(place: number): ItemMark {
    const kind = SUBJECT_KINDS[present.kinds.at(place) & (HAS_PASSPORT - 1)] ?? 'product';
    const source = present.sources[present.sourcesOf.at(place)] ?? '';
    return { kind, source, hasPassport: (present.kinds.at(place) & HAS_PASSPORT) !== 0 };
  }

  function hasTextAt(place: number, part: string): boolean {
    const now = present.renamed.get(place);
    return now === undefined ? present.texts.has(place, part) : now.includes(searchable(part));
  }

  return {
    warm() {
      if (!isBuilt) {
        isBuilt = !readOn(present);
        return !isBuilt;
      }
      if (next === null && (isStale || present.renamed.size > RENAMED_MAX)) next = createTables();
      if (next === null) {
        const more = readOn(present);
        return readChanged(present) || more;
      }
      if (readOn(next)) return true;
      present = next;
      next = null;
      isStale = false;
      return false;
    },

    refresh() {
      while (!isBuilt) isBuilt = !readOn(present);
      if (!hasChanged()) return;
      let rows = 0;
      while (rows < ROWS_OF_REFRESH && readOn(present)) rows += ROWS_AT_ONCE;
      rows = 0;
      while (rows < ROWS_OF_REFRESH && readChanged(present)) rows += ROWS_AT_ONCE;
      // The rest is read by the next refresh, whether the ledger changes or not.
      if (rows >= ROWS_OF_REFRESH) version = -1;
    },

    gone() {
      isStale = true;
    },

    mark(id) {
      const place = placeOf(present, id);
      return place === null ? null : markAt(place);
    },

    *ids(afterId) {
      const { ids } = present;
      for (let place = ids.indexAfter(afterId); place < ids.length; place += 1) yield ids.at(place);
    },

    *search(part, afterId) {
      const { ids, renamed, texts } = present;
      const from = ids.indexAfter(afterId);
      const others = [...renamed]
        .filter(([place, text]) => place >= from && text.includes(searchable(part)))
        .map(([place]) => place)
        .sort((a, b) => a - b);
      for (const place of texts.find(part, from)) {
        while (others.length > 0 && (others[0] ?? 0) < place) yield ids.at(others.shift() ?? 0);
        if (!renamed.has(place)) yield ids.at(place);
      }
      for (const place of others) yield ids.at(place);
    },

    hasText(id, part) {
      const place = placeOf(present, id);
      return place !== null && hasTextAt(place, part);
    },

    count({ kind, source, withoutPassport = false }) {
      const { ids, kinds, sources, sourcesOf } = present;
      if (kind === undefined && source === undefined && !withoutPassport) return ids.length;
      const sourceAt = source === undefined ? -1 : sources.indexOf(source);
      if (source !== undefined && sourceAt < 0) return 0;
      const kindAt = kind === undefined ? -1 : SUBJECT_KINDS.indexOf(kind);
      let count = 0;
      for (let place = 0; place < ids.length; place += 1) {
        const found = kinds.at(place);
        if (kindAt >= 0 && (found & (HAS_PASSPORT - 1)) !== kindAt) continue;
        if (withoutPassport && (found & HAS_PASSPORT) !== 0) continue;
        if (sourceAt < 0 || sourcesOf.at(place) === sourceAt) count += 1;
      }
      return count;
    },
  };
}
