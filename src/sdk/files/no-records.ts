import type { Page } from '../connector.ts';

/**
 * Collects what the files of one read say about having no records. A file without records is usual among others, as in a folder
 * with messages of several kinds. So a message counts only if no file has given a row.
 */
export function createNoRecords() {
  let rows = 0;
  let count = 0;
  let first: string | null = null;
  return {
    add: (message: string): void => {
      count += 1;
      first ??= message;
    },
    /** How many messages there are so far. */
    count: (): number => count,
    async *counted(pages: AsyncIterable<Page>): AsyncGenerator<Page> {
      for await (const page of pages) {
        rows += page.rows.length;
        yield page;
      }
    },
    /** The first message; null if there is none or if a file has given a row. */
    message: (): string | null => (rows > 0 ? null : first),
  };
}
