import assert from 'node:assert/strict';
import type { JsonValue } from '../../lib/json.ts';
import type { Page } from '../connector.ts';
import type { CheckMaker } from './check.ts';
import {
  assertSameRows,
  assertSourceFault,
  rowsOf,
  type SourceUnderTest,
  sourceUnderTest,
  withLarge,
} from './source-under-test.ts';

/** How many rows are read: enough for several pages, and few enough to begin a read at each page. */
const ROWS = 3_000;
const ABSURD: readonly JsonValue[] = [{ absurd: true }, 'nonsense', -1, [[null]], ''];

/** Checks where a read continues after it was stopped. */
export const cursorChecks: CheckMaker = (connector, { large }) => {
  const onLarge = (name: string, run: (source: SourceUnderTest) => Promise<void>) => ({
    name,
    run: () =>
      withLarge(
        (folder) => large(ROWS, folder),
        (settings, folder) => run(sourceUnderTest({ connector, folder, settings })),
      ),
  });
  return [
    onLarge('reads everything after a read that was stopped', async (source) => {
      for await (const page of source.pages()) {
        if (page.rows.length > 0) break;
      }
      assert.equal((await source.rows()).length, ROWS, 'After a read that was stopped, a whole read lacks rows.');
    }),
    onLarge('goes on from each cursor without loss and without repetition', async (source) => {
      if (!source.givesChanges) return;
      const pages = await pagesOf(source.pages({ mode: 'changes' }));
      const rows = pages.flatMap((page) => page.rows);
      let read = 0;
      for (const { rows: own, cursor } of pages) {
        assert.ok(cursor !== undefined, 'Every page of changes has a cursor.');
        read += own.length;
        if (read === rows.length) break;
        const stored = JSON.parse(JSON.stringify(cursor)) as JsonValue;
        const rest = await rowsOf(source.pages({ mode: 'changes', cursor: stored }));
        assertSameRows(rest, rows.slice(read), `A read from the cursor after row ${read} gives the wrong rows.`);
      }
    }),
    onLarge('finds nothing new at the end', async (source) => {
      if (!source.givesChanges) return;
      const pages = await pagesOf(source.pages());
      const cursor = pages.at(-1)?.cursor;
      assert.ok(cursor !== undefined, 'The last page has the cursor from which changes are read.');
      const known = new Set(pages.flatMap((page) => page.rows).map((row) => JSON.stringify(row.fields)));
      const stored = JSON.parse(JSON.stringify(cursor)) as JsonValue;
      const later = await rowsOf(source.pages({ mode: 'changes', cursor: stored }));
      const unknown = later.filter((row) => !known.has(JSON.stringify(row.fields)));
      assertSameRows(unknown, [], 'The read before has lost rows.');
      assert.ok(later.length < ROWS, 'The cursor at the end begins everything again.');
    }),
    onLarge('refuses a cursor that it never gave, or begins again', async (source) => {
      if (!source.givesChanges) return;
      for (const cursor of ABSURD) {
        const what = `With the cursor ${JSON.stringify(cursor)} pull`;
        const result = await rowsOf(source.pages({ mode: 'changes', cursor })).catch((error: unknown) => ({ error }));
        if ('error' in result) assertSourceFault(result.error, what);
        else assert.equal(result.length, ROWS, `${what} gives neither an error nor all rows.`);
      }
    }),
  ];
};

async function pagesOf(source: AsyncIterable<Page>): Promise<Page[]> {
  const pages: Page[] = [];
  for await (const page of source) pages.push(page);
  return pages;
}
