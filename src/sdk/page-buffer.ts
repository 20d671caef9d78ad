import type { Page, SourceRow } from './connector.ts';

/** The most rows of a page. */
export const PAGE_ROWS_MAX = 500;
/** A page is closed when it reaches this size, so a page exceeds the size by one row at most. */
export const PAGE_BYTES_MAX = 4 * 1024 * 1024;

export interface PageBuffer {
  /** True if the buffer has no rows. */
  readonly empty: boolean;
  /** Adds a row with its approximate size in bytes. Returns true when the page is full: take it before adding more. */
  add(row: SourceRow, bytes: number): boolean;
  /** The rows so far as a page; the buffer is empty afterwards. */
  take(progress: { done: number; total: number }): Page;
}

/** Gathers rows into pages that are bounded in rows and in bytes. */
export function createPageBuffer(): PageBuffer {
  let rows: SourceRow[] = [];
  let size = 0;
  return {
    get empty() {
      return rows.length === 0;
    },
    add(row, bytes) {
      rows.push(row);
      size += bytes;
      return rows.length >= PAGE_ROWS_MAX || size >= PAGE_BYTES_MAX;
    },
    take(progress) {
      const page: Page = { rows, progress };
      rows = [];
      size = 0;
      return page;
    },
  };
}

/** A page with the size of its rows. If the size is not known, it is infinite. */
export interface SizedPage {
  page: Page;
  bytes: number;
}

/** Joins the last pages of small files into one page, because each page needs a separate transaction. */
export async function* sharedPages(pages: AsyncIterable<SizedPage>): AsyncGenerator<Page> {
  let held: Page | null = null;
  let heldBytes = 0;
  try {
    for await (const { page, bytes } of pages) {
      const fits: boolean =
        held !== null && held.rows.length + page.rows.length <= PAGE_ROWS_MAX && heldBytes + bytes <= PAGE_BYTES_MAX;
      if (held !== null && !fits) yield held;
      heldBytes = fits ? heldBytes + bytes : bytes;
      held = held !== null && fits ? { ...page, rows: [...held.rows, ...page.rows] } : page;
      if (held.rows.length < PAGE_ROWS_MAX) continue;
      const full = held;
      held = null;
      yield full;
    }
  } catch (error) {
    // If a file cannot be read, the rows of the files before it are passed on before the error.
    if (held !== null) yield held;
    throw error;
  }
  if (held !== null) yield held;
}
