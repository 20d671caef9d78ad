// Reads a REST stream: everything, or the changes since the last read.
//
// A snapshot gives each record once, however often its rows move while they are read, and ends only if it is provably complete. The
// next read of changes begins at the time that the server's clock showed when this read began, so that nothing depends on our clock
// or on the times in rows. An interrupted read of changes begins again where it began.

import { createSeenTexts } from '../../lib/collections.ts';
import { isJsonObject, type JsonValue } from '../../lib/json.ts';
import type { Page } from '../connector.ts';
import { valueAt } from '../document-path.ts';
import { CapReached, Shifted } from './page-places.ts';
import { textOf } from './placeholders.ts';
import { type Asked, incomplete, isUndisturbed, type RestRead } from './read-pass.ts';
import { Unavailable } from './rest-client.ts';
import {
  clockWentBack,
  cursorAfter,
  cursorOf,
  deltaLinkIn,
  lateLink,
  lostCursor,
  openedAt,
  withoutCursor,
} from './rest-cursor.ts';
import { createRowPages, type Progress, rowOf } from './rest-rows.ts';
import { assertTotal, type PassPage, passOf } from './row-passes.ts';
import { formatSince } from './since.ts';
import { assertNotAllGone, goneRow, isTombstone } from './tombstones.ts';

/** How often a read begins again because rows have moved, or because `onError: restart` asks for it. */
const PASSES_MAX = 3;
const KEYS_MAX = 50_000_000;
const ROW_SHOWN_MAX = 200;
/** An answer may print the times of changes in a wrong time zone. */
const ZONE_SLACK_MS = 26 * 3_600_000;

/** Reads all records. The last page has the cursor from which changes are read. */
export async function* readAll(read: RestRead): AsyncGenerator<Page> {
  const { name, stream } = read;
  const given = createSeenTexts(KEYS_MAX);
  const moved = { count: 0, example: '' };
  const warnings = new Set<string>();
  // Changes during a pass that was given up are in none of the later ones, so the next read of changes has to show them.
  let opened: number | null = null;
  for (let pass = 1; ; pass += 1) {
    const pages = createRowPages();
    const totals: number[] = [];
    const counts = { gone: 0, there: 0 };
    try {
      let last: PassPage | null = null;
      // A second pass gives only rows that the first one has not given.
      const seen = createSeenTexts(KEYS_MAX);
      for await (const page of passOf(read, { kind: 'all' }, { seen, given })) {
        opened ??= openedAt(page.answer);
        if (page.total !== null) totals.push(page.total);
        last = page;
        for (const row of page.rows) {
          const { fields, name: rowName, isRepeated, isAmbiguous, isGiven, length } = row;
          const isLeftOut = isTombstone(read, row);
          counts[isLeftOut ? 'gone' : 'there'] += 1;
          if (isLeftOut) continue;
          if (isAmbiguous) throw new Shifted(ambiguousText(read, fields, page));
          // A row with the same content is the same row.
          if (isRepeated && !isUndisturbed(stream)) {
            moved.count += 1;
            moved.example ||= rowName ?? '';
          }
          if (isRepeated || isGiven) continue;
          yield* pages.add(rowOf(read, row), length, progressOf(page));
        }
      }
      assertTotal(read, totals, last);
      assertNotAllGone(read, counts);
      if (moved.count > 0) warnings.add(movedText(read, moved));
      const link = last === null ? null : deltaLinkIn(read, last.answer);
      const next =
        pass > 1 && link !== null
          ? lateLink(read)
          : (cursorAfter(read, { opened, link }) ?? (stream.changes === undefined ? null : withoutCursor(read)));
      if (typeof next === 'string') warnings.add(next);
      const cursor = typeof next === 'string' ? null : next;
      yield* pages.end({
        ...(last === null ? {} : progressOf(last)),
        ...(cursor === null ? {} : { cursor }),
        ...(warnings.size === 0 ? {} : { warnings: [...warnings] }),
      });
      return;
    } catch (error) {
      yield* pages.flush();
      const reason = reasonToBeginAgain(error, read, pass);
      if (reason === null) throw faultOf(error, read);
      warnings.add(`${name} was read again from its first page, because ${reason}.`);
    }
  }
}

/** The same stream with the kind of pages that its changes have. */
export function withPagesOfChanges(read: RestRead): RestRead {
  const { stream } = read;
  const page = stream.changes !== undefined && 'by' in stream.changes ? stream.changes.page : undefined;
  return page === undefined ? read : { ...read, stream: { ...stream, page } };
}

/** Reads the rows that have changed since the cursor. Until the last page the cursor stays as it was. */
export async function* readChanges(whole: RestRead, stored: JsonValue | null): AsyncGenerator<Page> {
  const { name, stream } = whole;
  const { changes } = stream;
  if (changes === undefined) throw new Error(`The stream ${name} has no changes.`);
  const read = withPagesOfChanges(whole);
  const cursor = cursorOf(read, stored);
  if (typeof cursor === 'string') {
    yield { rows: [], beginAgain: cursor };
    return;
  }
  const asked: Asked =
    'link' in cursor
      ? { kind: 'link', link: cursor.link }
      : { kind: 'since', since: 'by' in changes ? formatSince(cursor.since, changes) : '' };
  for (let pass = 1; ; pass += 1) {
    const pages = createRowPages(stored ?? undefined);
    const warnings = new Set<string>();
    let opened: number | null = null;
    const totals: number[] = [];
    try {
      let last: PassPage | null = null;
      for await (const page of passOf(read, asked, { seen: createSeenTexts(KEYS_MAX), given: null })) {
        if (page.answer.status >= 400) {
          yield {
            rows: [],
            beginAgain: `The server no longer knows the address of the changes of ${name} (${page.answer.status}).`,
          };
          return;
        }
        opened ??= openedAt(page.answer);
        if ('since' in cursor && opened !== null && opened < cursor.since) {
          yield { rows: [], beginAgain: clockWentBack(read, { since: cursor.since, opened }) };
          return;
        }
        if (page.total !== null) totals.push(page.total);
        last = page;
        if ('since' in cursor) noteOlderRows(read, page, { since: cursor.since, warnings });
        for (const row of page.rows) {
          const given = isTombstone(read, row) ? goneRow(read, row.fields) : rowOf(read, row);
          yield* pages.add(given, row.length, progressOf(page));
        }
      }
      if (asked.kind !== 'link') assertTotal(read, totals, last);
      const next =
        cursorAfter(read, { opened, link: last === null ? null : deltaLinkIn(read, last.answer) }) ?? lostCursor(read);
      if (typeof next === 'string') {
        yield* pages.flush();
        yield { rows: [], beginAgain: next };
        return;
      }
      yield* pages.end({
        ...(last === null ? {} : progressOf(last)),
        cursor: next,
        ...(warnings.size === 0 ? {} : { warnings: [...warnings] }),
      });
      return;
    } catch (error) {
      if (error instanceof CapReached && read !== whole) {
        yield { rows: [], beginAgain: `${name} has more changes than the server gives for one request (\`cap\`).` };
        return;
      }
      const reason = reasonToBeginAgain(error, read, pass);
      if (reason === null) throw faultOf(error, read);
    }
  }
}

/** The reason to begin again; null if this was the last pass or another pass cannot help. */
function reasonToBeginAgain(error: unknown, { stream, signal }: RestRead, pass: number): string | null {
  if (signal.aborted || pass >= PASSES_MAX) return null;
  if (error instanceof Shifted) return error.message;
  return error instanceof Unavailable && stream.onError === 'restart' ? error.message.replace(/\.$/, '') : null;
}

function faultOf(error: unknown, { name }: RestRead): unknown {
  if (error instanceof Unavailable || error instanceof CapReached) return error.fault;
  if (!(error instanceof Shifted)) return error;
  return incomplete(
    `${name} was read ${PASSES_MAX} times, and each time ${error.message}.`,
    'Check that the request sorts by a column that no two rows share, that `key` distinguishes the rows, and that `page.total` counts the rows of this request. `page: { by: keyset }` is not disturbed by rows that come and go.',
  );
}

function ambiguousText({ key }: RestRead, fields: JsonValue, { number }: PassPage): string {
  const shown = key.map((column) => `${column} ${JSON.stringify(valueAt(fields, [column]) ?? null)}`).join(', ');
  return `two different rows had the key ${shown}, the later one on page ${number}: ${JSON.stringify(fields).slice(0, ROW_SHOWN_MAX)}`;
}

function movedText({ name }: RestRead, { count, example }: { count: number; example: string }): string {
  const rows = count === 1 ? 'One row' : `${count} rows`;
  return `${rows} of ${name} came again on a later page, and ${count === 1 ? 'was' : 'were'} used once: ${example}. Rows have moved during the read.`;
}

function progressOf({ count, total }: PassPage): Progress {
  return total === null ? {} : { progress: { done: Math.min(count, total), total } };
}

/** Warns of a server that does not obey the filter: then each read of changes is a complete one, and nobody notices. */
function noteOlderRows(
  { name, stream }: RestRead,
  page: PassPage,
  { since, warnings }: { since: number; warnings: Set<string> },
): void {
  const { changes } = stream;
  if (changes === undefined || !('by' in changes) || changes.olderRows) return;
  const limit = since - changes.overlap - ZONE_SLACK_MS;
  const older = page.rows.find(({ fields }) => {
    const at = isJsonObject(fields) ? timeOf(valueAt(fields, changes.by)) : null;
    return at !== null && at < limit;
  });
  if (older === undefined) return;
  const at = isJsonObject(older.fields) ? textOf(valueAt(older.fields, changes.by) ?? '') : '';
  warnings.add(
    `The changes of ${name} have rows that are older than the time that was asked for, such as one of ${at}. The server seems not to obey the filter of \`changes\`, so each read may be a complete one.`,
  );
}

function timeOf(value: JsonValue | undefined): number | null {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') return null;
  // Seconds and milliseconds since the epoch.
  if (/^\d{9,10}$/.test(text)) return Number(text) * 1_000;
  if (/^\d{12,13}$/.test(text)) return Number(text);
  const [, dated] = /^\/Date\((-?\d+)/.exec(text) ?? [];
  if (dated === undefined && !/^\d{4}-\d\d-\d\d/.test(text)) return null;
  const at = dated === undefined ? Date.parse(text) : Number(dated);
  return Number.isNaN(at) ? null : at;
}
