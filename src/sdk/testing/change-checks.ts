import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import type { SourceRow } from '../connector.ts';
import {
  type ChangingSource,
  type CheckMaker,
  type SourceUnderTest,
  sourceUnderTest,
  withMade,
} from './source-under-test.ts';

/** How many rows a source has whose records change: enough to change some in the middle of a read. */
const CHANGING_ROWS = 2_000;

/** Checks whether the changes give every record that changes, if the source can change. */
export const changeChecks: CheckMaker = (connector, { changing }) =>
  changing === undefined
    ? []
    : [
        {
          name: 'gives each change, also one that happens while it reads',
          run: () =>
            withMade(
              (folder) => changing(CHANGING_ROWS, folder),
              async (settings, folder) => {
                const source = sourceUnderTest({ connector, folder, settings });
                assert.ok(source.givesChanges, '`changing` makes a source whose stream gives changes.');
                const { cursor } = await assertChangesDuring(source, { cursor: null, settings }, 'a snapshot');
                const wanted = await settings.change();
                const read = await readWhileItChanges(source, { cursor, settings: null });
                assertGiven(read.rows, wanted, 'after a read');
                // Without a change before it, this read would have no rows.
                await settings.change();
                await assertChangesDuring(source, { cursor: read.cursor, settings }, 'a read of changes');
              },
            ),
        },
      ];

interface Reading {
  cursor: JsonValue | null;
  /** Changes records after the first page; null if nothing changes. */
  settings: ChangingSource | null;
}

/** Asserts that records which change during a read are given by the rest of this read, or by the next one. */
async function assertChangesDuring(
  source: SourceUnderTest,
  reading: Reading,
  what: string,
): Promise<{ cursor: JsonValue }> {
  const read = await readWhileItChanges(source, reading);
  const next = await readWhileItChanges(source, { cursor: read.cursor, settings: null });
  assertGiven([...read.later, ...next.rows], read.changed, `during ${what}`);
  return next;
}

/** Reads everything, or the changes since the cursor, and changes records after the first page. */
async function readWhileItChanges(
  source: SourceUnderTest,
  { cursor, settings }: Reading,
): Promise<{ rows: SourceRow[]; later: SourceRow[]; changed: readonly JsonObject[]; cursor: JsonValue }> {
  const [rows, later]: [SourceRow[], SourceRow[]] = [[], []];
  let changed: readonly JsonObject[] | null = null;
  let end: JsonValue | undefined;
  for await (const page of source.pages({ mode: cursor === null ? source.wholeRead : 'changes', cursor })) {
    // A snapshot follows in the same run.
    if (page.beginAgain !== undefined) return readWhileItChanges(source, { cursor: null, settings });
    rows.push(...page.rows);
    if (changed !== null) later.push(...page.rows);
    if (page.cursor !== undefined) end = page.cursor;
    if (page.rows.length > 0 && settings !== null) changed ??= await settings.change();
  }
  assert.ok(end !== undefined || cursor !== null, 'A read ends without the cursor from which changes are read.');
  assert.ok(settings === null || changed !== null, 'A read gives no row, although records have changed before it.');
  return { rows, later, changed: changed ?? [], cursor: JSON.parse(JSON.stringify(end ?? cursor)) as JsonValue };
}

function assertGiven(rows: readonly SourceRow[], wanted: readonly JsonObject[], when: string): void {
  const lost = wanted.find(
    (one) =>
      !rows.some(({ fields }) => Object.entries(one).every(([name, value]) => isDeepStrictEqual(fields[name], value))),
  );
  assert.equal(lost, undefined, `A record that changes ${when} is never given: ${JSON.stringify(lost)}`);
}
