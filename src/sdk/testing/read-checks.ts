import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import type { Page, SourceRow } from '../connector.ts';
import { PAGE_BYTES_MAX, PAGE_ROWS_MAX } from '../page-buffer.ts';
import {
  assertSameRows,
  assertSourceFault,
  type CheckMaker,
  type ConnectorCheck,
  type Damage,
  rowsOf,
  type Sample,
  type SourceUnderTest,
  sourceUnderTest,
  withMade,
} from './source-under-test.ts';

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
    ...onSamples('reads every row', async (source, { rows: count, withIssues = 0, first }) => {
      const rows = await source.rows();
      const found = [rows.length, rows.filter(hasIssues).length];
      assert.deepEqual(
        found,
        [count, withIssues],
        `The read gives ${found[0]} rows, ${found[1]} of them with issues, and the sample says ${count} and ${withIssues}. Either the connector leaves rows out or gives some twice, or the sample is wrong.`,
      );
      if (first !== undefined) assert.deepEqual(rows[0]?.fields, first, 'The first row has other fields than `first`.');
      for (const issue of rows.flatMap((row) => row.issues ?? [])) {
        assert.match(issue.code, /^[a-z]+\.[a-z_]+$/, 'The code of an issue is like `row.columns`.');
        assert.match(issue.message, /^[\p{Lu}\p{N}"'`].*\.$/su, `An issue is a full sentence: ${issue.message}`);
      }
    }),
    ...onSamples('gives the place of each row', async (source) => assertPlaces(await source.rows())),
    ...onSamples('gives fields that survive JSON', async (source) => {
      for (const { fields } of await source.rows()) {
        assert.deepEqual(JSON.parse(JSON.stringify(fields)), fields, 'A field has a value that JSON cannot hold.');
        assert.equal(
          roundedIn(fields),
          null,
          'A field has a number above 2^53, which may have been rounded: give it as text.',
        );
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
        withMade(
          (at) => large(LARGE_ROWS, at),
          async (settings, at) => {
            const source = sourceUnderTest({ connector, folder: at, settings });
            await assertPages(source.pages());
            const rows = await rowsOf(source.pages());
            const objects = new Set(rows.map(({ fields }) => fields));
            assert.equal(
              objects.size,
              rows.length,
              'Two rows share the object `fields`, so both have the later values.',
            );
            assert.equal(
              rows.length,
              LARGE_ROWS,
              `The read gives ${rows.length} of ${LARGE_ROWS} rows. Either it ends too early, or \`large\` has made another number of rows than it was asked for.`,
            );
            assert.deepEqual(rows.find(hasIssues)?.issues ?? [], [], 'The rows of `large` have no issues.');
            const cut = rows.find(({ fields }) => JSON.stringify(fields).includes('\uFFFD'));
            assert.equal(
              cut,
              undefined,
              `A character was cut in two, or read in another encoding: ${JSON.stringify(cut)}`,
            );
            assertPlaces(rows);
          },
        ),
    },
  ];
};

/** An integer that a number cannot hold exactly; null if a value has none. */
function roundedIn(value: JsonValue): number | null {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value) ? value : null;
  if (typeof value !== 'object' || value === null) return null;
  for (const inner of Object.values(value)) {
    const rounded = roundedIn(inner);
    if (rounded !== null) return rounded;
  }
  return null;
}

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

/** How many rows are read: enough for several pages, and few enough to begin a read at each page. */
const CURSOR_ROWS = 3_000;
const ABSURD: readonly JsonValue[] = [{ absurd: true }, 'nonsense', -1, [[null]], ''];

/** Checks where a read continues after it was stopped. */
export const cursorChecks: CheckMaker = (connector, { large, repeats = false }) => {
  const onLarge = (name: string, run: (source: SourceUnderTest) => Promise<void>) => ({
    name,
    run: () =>
      withMade(
        (folder) => large(CURSOR_ROWS, folder),
        (settings, folder) => run(sourceUnderTest({ connector, folder, settings })),
      ),
  });
  return [
    onLarge('reads everything after a read that was stopped', async (source) => {
      for await (const page of source.pages()) {
        if (page.rows.length > 0) break;
      }
      assert.equal(
        (await source.rows()).length,
        CURSOR_ROWS,
        'After a read that was stopped, a whole read lacks rows.',
      );
    }),
    onLarge(`goes on from each cursor without loss${repeats ? '' : ' and without repetition'}`, async (source) => {
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
        const what = `A read from the cursor after row ${read} gives the wrong rows.`;
        assertSameRows(repeats ? withoutEarlier(rest, rows.slice(0, read)) : rest, rows.slice(read), what);
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
      assert.ok(later.length < CURSOR_ROWS, 'The cursor at the end begins everything again.');
    }),
    onLarge('refuses a cursor that it never gave, or begins again', async (source) => {
      if (!source.givesChanges) return;
      for (const cursor of ABSURD) {
        const what = `With the cursor ${JSON.stringify(cursor)} pull`;
        const result = await rowsOf(source.pages({ mode: 'changes', cursor })).catch((error: unknown) => ({ error }));
        if ('error' in result) assertSourceFault(result.error, what);
        else assert.equal(result.length, CURSOR_ROWS, `${what} gives neither an error nor all rows.`);
      }
    }),
  ];
};

/** The rows without those that a read of changes may repeat: a part of the rows before its cursor, in their order. */
function withoutEarlier(rows: readonly SourceRow[], earlier: readonly SourceRow[]): SourceRow[] {
  const first = rows[0] === undefined ? -1 : earlier.findIndex((row) => isDeepStrictEqual(row, rows[0]));
  if (first < 0) return [...rows];
  const repeated = earlier.slice(first);
  assertSameRows(
    rows.slice(0, repeated.length),
    repeated,
    'A read from a cursor repeats other rows than those before it.',
  );
  return rows.slice(repeated.length);
}

export async function pagesOf(source: AsyncIterable<Page>): Promise<Page[]> {
  const pages: Page[] = [];
  for await (const page of source) pages.push(page);
  return pages;
}

/** How many rows the file has: too many to be read ahead to its end. */
const LONG_ROWS = 20_000;

/** Checks with a source that fails or changes while it is read. */
export const damageChecks: CheckMaker = (connector, { large }) => [
  {
    name: 'reports a source that fails or changes while it is read, or gives the rows as they were',
    async run() {
      let damages = 1;
      for (let at = 0; at < damages; at++) {
        await withMade(
          (folder) => large(LONG_ROWS, folder),
          async (settings, folder) => {
            damages = settings.damages.length;
            const damage = settings.damages[at];
            assert.ok(damage !== undefined, '`large` names at least one damage.');
            const source = sourceUnderTest({ connector, folder, settings });
            await assertNoticed(source, await source.rows(), damage);
          },
        );
      }
    },
  },
];

/** Asserts that a read reports the damage. If rows were missing without an error, their records would count as gone. */
async function assertNoticed(source: SourceUnderTest, before: readonly SourceRow[], damage: Damage): Promise<void> {
  const rows: SourceRow[] = [];
  let isDamaged = false;
  try {
    for await (const page of source.pages()) {
      rows.push(...page.rows);
      if (!isDamaged) await damage.now();
      isDamaged = true;
    }
    assertSameRows(rows, before, `When ${damage.about}, other rows are read, and no error says so.`);
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
    assertSourceFault(error, `When ${damage.about}, pull`);
    assert.ok(rows.length <= before.length, `When ${damage.about}, more rows are read than there were.`);
  }
  const error: unknown = await source.rows().then(
    () => null,
    (cause: unknown) => cause,
  );
  if (error !== null) assertSourceFault(error, `After the damage (${damage.about}), a new pull`);
}

/** Checks the tombstones of a source, if it has some. */
export const tombstoneChecks: CheckMaker = (connector, { shrinking }) =>
  shrinking === undefined
    ? []
    : [
        {
          name: 'names each record that is gone by its key columns',
          run: () =>
            withMade(shrinking, async (settings, folder) => {
              const { key } = settings;
              const source = sourceUnderTest({ connector, folder, settings });
              const cursor = await lastCursor(source.pages(), 'The snapshot');
              const removed = keysOf(await settings.remove(), key);
              assert.ok(removed.size > 0, '`remove` removes at least one record.');
              const rows = await rowsOf(source.pages({ mode: 'changes', cursor }));
              const gone = rows.filter(({ isGone }) => isGone === true);
              assert.deepEqual(gone.filter(hasIssues), [], 'A tombstone has issues, so it takes no record away.');
              const named = keysOf(
                gone.map(({ fields }) => fields),
                key,
              );
              assert.deepEqual(
                [...named].sort(),
                [...removed].sort(),
                'The tombstones name other records than those that are gone.',
              );
              const left = keysOf(
                (await source.rows()).map(({ fields }) => fields),
                key,
              );
              assert.ok(left.size > 0, '`remove` leaves at least one record.');
              assert.deepEqual(
                [...left].filter((one) => removed.has(one)),
                [],
                'A snapshot has a record that is gone.',
              );
            }),
        },
      ];

/** The values of the key columns of rows, as texts. */
function keysOf(rows: readonly JsonObject[], key: readonly string[]): Set<string> {
  return new Set(
    rows.map((fields) => {
      const values = key.map((column) => fields[column] ?? '');
      assert.ok(!values.includes(''), `A row lacks a key column (${key.join(', ')}): ${JSON.stringify(fields)}`);
      return JSON.stringify(values);
    }),
  );
}

async function lastCursor(pages: AsyncIterable<Page>, what: string): Promise<JsonValue> {
  const cursor = (await pagesOf(pages)).at(-1)?.cursor;
  assert.ok(cursor !== undefined, `${what} ends without the cursor from which changes are read.`);
  return JSON.parse(JSON.stringify(cursor)) as JsonValue;
}
