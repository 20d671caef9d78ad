import { SUBJECT_KINDS, type SubjectKind } from '../../../domain/item.ts';
import { createNumbers } from './numbers.ts';
import { createTextIndex, searchable } from './text-index.ts';

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
export function createCatalogEntries(): CatalogEntries {
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
