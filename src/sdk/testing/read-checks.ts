import assert from 'node:assert/strict';
import type { Page, SourceRow } from '../connector.ts';
import { PAGE_BYTES_MAX, PAGE_ROWS_MAX } from '../page-buffer.ts';
import type { CheckMaker, ConnectorCheck } from './check.ts';
import type { Sample } from './fixtures.ts';
import { assertSameRows, rowsOf, type SourceUnderTest, sourceUnderTest, withLarge } from './source-under-test.ts';

const LARGE_ROWS = 2_000;

/** Checks the results of reads: rows, places, issues and pages. */
export const readChecks: CheckMaker = (connector, fixtures) => {
  const { folder, samples, large } = fixtures;
  const onSamples = (name: string, run: (source: SourceUnderTest, sample: Sample) => Promise<void>): ConnectorCheck[] =>
    samples.map((sample) => ({
      name: `${name}: ${sample.about}`,
      run: () => run(sourceUnderTest({ connector, folder, settings: sample }), sample),
    }));
  return [
    ...onSamples('reads every row', async (source, { rows: count, withIssues = 0 }) => {
      const rows = await source.rows();
      assert.equal(rows.length, count, 'The fixtures name another number of rows.');
      assert.equal(rows.filter(hasIssues).length, withIssues, 'The fixtures name another number of rows with issues.');
      for (const issue of rows.flatMap((row) => row.issues ?? [])) {
        assert.match(issue.code, /^[a-z]+\.[a-z_]+$/, 'The code of an issue is like `row.columns`.');
        assert.match(issue.message, /^[\p{Lu}\p{N}"'`].*\.$/su, `An issue is a full sentence: ${issue.message}`);
      }
    }),
    ...onSamples('gives the place of each row', async (source) => assertPlaces(await source.rows())),
    ...onSamples('gives fields that survive JSON', async (source) => {
      for (const { fields } of await source.rows()) {
        assert.deepEqual(JSON.parse(JSON.stringify(fields)), fields, 'A field has a value that JSON cannot hold.');
      }
    }),
    ...onSamples('reads the same rows again', async (source) => {
      assertSameRows(await source.rows(), await source.rows(), 'Two whole reads differ.');
    }),
    ...onSamples('gives pages within bounds, and progress that reaches its total', (source) =>
      assertPages(source.pages()),
    ),
    {
      name: 'reads every row of a large source, in pages within bounds',
      run: () =>
        withLarge(
          (at) => large(LARGE_ROWS, at),
          async (settings, at) => {
            const source = sourceUnderTest({ connector, folder: at, settings });
            await assertPages(source.pages());
            const rows = await rowsOf(source.pages());
            assert.equal(rows.length, LARGE_ROWS, '`large` made another number of rows than it was asked for.');
            assert.deepEqual(rows.find(hasIssues)?.issues ?? [], [], 'The rows of `large` have no issues.');
            assertPlaces(rows);
          },
        ),
    },
  ];
};

function hasIssues(row: SourceRow): boolean {
  return (row.issues ?? []).length > 0;
}

/** A person has to find a row by its place, so no two rows may have the same place. */
function assertPlaces(rows: readonly SourceRow[]): void {
  const seen = new Set<string>();
  for (const { place } of rows) {
    const { file = '', line = 0, path = '' } = place;
    assert.ok(file !== '' || path !== '', 'The place of a row names a file, table or path.');
    assert.ok(line > 0 || path !== '', 'The place of a row has a line, or a path within the file or table.');
    const text = JSON.stringify([file, line, path]);
    assert.ok(!seen.has(text), `Two rows have the same place: ${text}`);
    seen.add(text);
  }
}

async function assertPages(pages: AsyncIterable<Page>): Promise<void> {
  let last: Page['progress'];
  for await (const page of pages) {
    const { rows, progress } = page;
    assert.ok(
      rows.length <= PAGE_ROWS_MAX,
      `A page has ${rows.length} rows, and at most ${PAGE_ROWS_MAX} are allowed.`,
    );
    assert.ok(
      rows.length > 0 || page.cursor !== undefined || page.nothingNew === true || page.warnings,
      'A page has no rows.',
    );
    const withoutLast = JSON.stringify(rows.slice(0, -1).map((row) => row.fields)).length;
    assert.ok(
      withoutLast <= 2 * PAGE_BYTES_MAX,
      `A page has ${withoutLast} bytes, and it is full at ${PAGE_BYTES_MAX}.`,
    );
    if (progress !== undefined && last !== undefined) {
      assert.ok(progress.done >= last.done, 'The progress goes back.');
    }
    last = progress;
  }
  if (last !== undefined) assert.equal(last.done, last.total, 'The progress ends before its total.');
}
