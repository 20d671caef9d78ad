// The data of every item that the lists need, in memory: kind, source, the texts that are searched, and which products
// have a passport. The catalog takes about 60 bytes an item, nearly all of them outside the heap.
//
// Items are read once, in the order of their ids. Items with a new revision are read again, in the order of their
// revisions' times, because their names may have changed. If items were deleted, or many were renamed, new entries are
// built beside the present ones. Rows are read from the ledger before they are shown, so an old entry shows nothing
// wrong.

import type { Sqlite } from '../../store/database.ts';
import { type CatalogEntries, createCatalogEntries } from './catalog-entries.ts';
import { createCatalogReader, ROWS_AT_ONCE } from './catalog-reader.ts';

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
