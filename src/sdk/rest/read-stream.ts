// Reads a REST stream: everything, or the changes since the last read.
//
// A snapshot gives each record once, however often its rows move while they are read, and ends only if it is provably complete. The
// next read of changes begins at the time that the server's clock showed when this read began, so that nothing depends on our clock
// or on the times in rows. An interrupted read of changes begins again where it began.

import { createSeenTexts } from '../../lib/collections.ts';
import { sha256Url } from '../../lib/hash.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { withAnySignal } from '../../lib/with-any-signal.ts';
import type { Page } from '../connector.ts';
import { sourceFault } from '../connector.ts';
import { valueAt } from '../document-path.ts';
import { readBulkRows } from './bulk-job.ts';
import { childRequest, parentValues, readChildren } from './child-rows.ts';
import { CapReached, Shifted } from './page-places.ts';
import { textOf } from './placeholders.ts';
import {
  type Asked,
  incomplete,
  isUndisturbed,
  keyTextOf,
  type RawPage,
  type RestRead,
  rawPages,
} from './read-pass.ts';
import { type RestAnswer, Unavailable } from './rest-client.ts';
import { createRowPages, rowOf } from './rest-rows.ts';
import { formatSince } from './since.ts';
import { assertNotAllGone, goneRow, isGone } from './tombstones.ts';

/** How often a read begins again because rows have moved, or because `onError: restart` asks for it. */
const PASSES_MAX = 3;
const KEYS_MAX = 50_000_000;
const ROW_SHOWN_MAX = 200;
/** An answer may print the times of changes in a wrong time zone. */
const ZONE_SLACK_MS = 26 * 3_600_000;

/** Where the next read of changes begins. */
type RestCursor = { request: string } & ({ since: number } | { link: string });

type Seen = ReturnType<typeof createSeenTexts>;

/** The rows of a pass, with what they show about its end. */
interface PassPage {
  rows: PassRow[];
  answer: RestAnswer;
  total: number | null;
  isLast: boolean;
  /** How many different rows the pass has given so far. */
  count: number;
  /** The number of the answer, counted from 1. */
  number: number;
}

interface PassRow {
  fields: JsonValue;
  name: string | null;
  /** The pass has had the row of the list on an earlier page. */
  isRepeated: boolean;
  /** An earlier page has had another row with the same key. */
  isAmbiguous: boolean;
  /** An earlier pass has given the row of the list, or another row of the list has led to the same children. */
  isGiven: boolean;
  /** Why the parts of the row are unknown. */
  lack: string | null;
}

const LIST_LACKS =
  'This element of the answer lacks the list that the path in `rows` of the stream names, so its rows are unknown.';
const NEW_ROW = { isRepeated: false, isAmbiguous: false, isGiven: false, lack: null };

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
        for (const { fields, name: rowName, isRepeated, isAmbiguous, isGiven, lack } of page.rows) {
          counts[isGone(read, fields) ? 'gone' : 'there'] += 1;
          if (isGone(read, fields)) continue;
          if (isAmbiguous) throw new Shifted(ambiguousText(read, fields, page));
          // A row with the same content is the same row.
          if (isRepeated && !isUndisturbed(stream)) {
            moved.count += 1;
            moved.example ||= rowName ?? '';
          }
          if (isRepeated || isGiven) continue;
          yield* pages.add(rowOf(read, fields, lack), progressOf(page));
        }
      }
      assertTotal(read, totals, last);
      assertNotAllGone(read, counts);
      if (moved.count > 0) warnings.add(movedText(read, moved));
      const link = last === null ? null : deltaLinkIn(read, last.answer);
      const isLate = pass > 1 && link !== null;
      const cursor = isLate ? null : cursorAfter(read, { opened, link });
      if (stream.changes !== undefined && cursor === null) warnings.add(isLate ? lateLink(read) : withoutCursor(read));
      yield* pages.end({
        ...(cursor === null ? {} : { cursor }),
        ...(warnings.size === 0 ? {} : { warnings: [...warnings] }),
      });
      return;
    } catch (error) {
      yield* pages.flush({ done: 0, total: 0 });
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
    const pages = createRowPages(cursor as unknown as JsonValue);
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
        for (const { fields, lack } of page.rows) {
          const row = isGone(read, fields) ? goneRow(read, fields) : rowOf(read, fields, lack);
          yield* pages.add(row, progressOf(page));
        }
      }
      if (asked.kind !== 'link') assertTotal(read, totals, last);
      const next = cursorAfter(read, { opened, link: last === null ? null : deltaLinkIn(read, last.answer) });
      if (next === null) {
        yield* pages.flush({ done: 0, total: 0 });
        yield { rows: [], beginAgain: lostCursor(read) };
        return;
      }
      yield* pages.end({ cursor: next, ...(warnings.size === 0 ? {} : { warnings: [...warnings] }) });
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

/**
 * Reads all pages once, and recognises rows that come again on a later page because they have moved. A row that comes again with other
 * content has changed, or it is another record with the same key. Nothing in the answers distinguishes these two.
 *
 * @param given the rows of all passes, of which none is given twice; null for changes, which are given as often as they come
 */
async function* passOf(
  read: RestRead,
  asked: Asked,
  { seen, given }: { seen: Seen; given: Seen | null },
): AsyncGenerator<PassPage> {
  const { stream } = read;
  const leadsToRows = stream.each !== undefined && stream.each.into === undefined;
  let count = 0;
  let number = 0;
  const raw: AsyncIterable<RawPage> =
    stream.page.by === 'bulkJob'
      ? readBulkRows(read, asked)
      : rawPages(read, asked, { count: () => count, nameOf: (row) => (leadsToRows ? null : nameOf(read, row)) });
  for await (const { rows, answer, total, isLast, lacking } of raw) {
    number += 1;
    const own = new Set<string>();
    const listed = rows.map((row): PassRow => {
      const content = JSON.stringify(row);
      const named = nameOf(read, row);
      const isSecond = named !== null && own.has(named);
      // Two rows of one answer with the same key are no row that has moved, so both are given.
      const name = isSecond && !leadsToRows ? content : named;
      const lack = lacking?.has(row) === true ? LIST_LACKS : null;
      if (name === null) return { fields: row, name, ...NEW_ROW, lack };
      own.add(name);
      const before = seen.look(name, content);
      const isKnown = given?.look(name, '') === 'same';
      const isOther = before === 'other';
      return {
        fields: row,
        name,
        isRepeated: before === 'same' || (isOther && !leadsToRows),
        isAmbiguous: isOther && !leadsToRows,
        isGiven: isKnown || (leadsToRows && (isOther || isSecond)),
        lack,
      };
    });
    count += listed.filter(({ isRepeated }) => !isRepeated).length;
    const isAsked = ({ isRepeated, isGiven }: PassRow) => given === null || !(isRepeated || isGiven);
    for await (const part of withChildren(read, listed, isAsked)) {
      yield { rows: part.rows, answer, total, isLast, count, number };
      // Not before the rows were given: otherwise another pass would leave them out.
      for (const { name, fields } of part.of) {
        if (name === null) continue;
        seen.add(name, JSON.stringify(fields));
        given?.add(name, '');
      }
    }
  }
}

/** What distinguishes a row of the list: its key, or what its children depend on if they are the rows of the stream. */
function nameOf(read: RestRead, row: JsonValue): string | null {
  const { each } = read.stream;
  if (!isJsonObject(row)) return null;
  // A row without its key is recognised by its content.
  if (each === undefined || each.into !== undefined) return keyTextOf(row, read.key) ?? JSON.stringify(row);
  const { url, body } = childRequest(read, each, row);
  return JSON.stringify([url.href, body ?? null, parentValues(each, row)]);
}

/** Gives the rows of an answer with what `each` requests for them, as many at a time as there are requests at once. */
async function* withChildren(
  read: RestRead,
  listed: readonly PassRow[],
  isAsked: (row: PassRow) => boolean,
): AsyncGenerator<{ rows: PassRow[]; of: readonly PassRow[] }> {
  const { each } = read.stream;
  if (each === undefined) {
    yield { rows: [...listed], of: listed };
    return;
  }
  for (let at = 0; at === 0 || at < listed.length; at += read.concurrent) {
    const of = listed.slice(at, at + read.concurrent);
    const rows = await allOrNone(read.signal, of, async (row, signal): Promise<PassRow[]> => {
      const { fields } = row;
      if (!isJsonObject(fields) || isGone(read, fields) || !isAsked(row)) return [row];
      const { rows: children, lack } = await readChildren({ ...read, signal }, each, fields);
      return children.map((child) => ({ ...row, fields: child, lack }));
    });
    yield { rows: rows.flat(), of };
  }
}

/** Does work for each element at once. If it fails for one of them, the work for the others is stopped before the error is thrown. */
async function allOrNone<Element, Result>(
  signal: AbortSignal,
  elements: readonly Element[],
  work: (element: Element, signal: AbortSignal) => Promise<Result>,
): Promise<Result[]> {
  const stop = new AbortController();
  return await withAnySignal([signal, stop.signal], async (any) => {
    const begun = elements.map((element) => work(element, any));
    try {
      return await Promise.all(begun);
    } catch (error) {
      stop.abort(error);
      await Promise.allSettled(begun);
      throw error;
    }
  });
}

/**
 * @param totals the numbers of rows that the answers have stated
 * @throws Shifted if the pass has given another number of different rows than the server states
 */
function assertTotal(read: RestRead, totals: readonly number[], last: PassPage | null): void {
  const { page } = read.stream;
  if (!('total' in page) || page.total === undefined || last === null || last.answer.status >= 400) return;
  const [first, stated] = [totals[0], totals.at(-1)];
  if (first === undefined || stated === undefined) {
    throw incomplete(
      `The answers for ${read.name} do not state the number of all rows, so nothing shows that the read is complete.`,
      'Correct `page.total` of the stream, or the parameter with which the API states the number.',
    );
  }
  // Beside such a read rows may come and go.
  const [lowest, highest] = isUndisturbed(read.stream)
    ? [Math.min(first, stated), Math.max(first, stated)]
    : [stated, stated];
  if (last.count >= lowest && last.count <= highest) return;
  throw new Shifted(`${last.count} different rows came, and the server states ${stated}`);
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

function progressOf({ count, total }: PassPage): { done: number; total: number } {
  return { done: count, total: Math.max(total ?? 0, 0) };
}

// Where the next read of changes begins.

/** An HTTP date. `Date.parse` alone would also take `1` for a date. */
const DATE = /^[A-Za-z]{3,9},? .*\d\d:\d\d/;

/** The time of an answer by the clock of its server; null if it has none. A cached answer was made earlier. */
function openedAt({ headers }: RestAnswer): number | null {
  const text = [headers['date']].flat()[0] ?? '';
  const at = DATE.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) return null;
  const [age = ''] = /^\d{1,9}$/.exec([headers['age']].flat()[0]?.trim() ?? '') ?? [];
  return at - Number(age) * 1_000;
}

function deltaLinkIn({ stream, client, name }: RestRead, answer: RestAnswer): string | null {
  const { changes } = stream;
  if (changes === undefined || !('deltaLink' in changes)) return null;
  const link = valueAt(answer.document, changes.deltaLink);
  if (link === undefined || link === null || link === '') return null;
  if (typeof link === 'string') return client.resolve(link, answer.url).href;
  throw sourceFault(`The delta link of ${name} is ${JSON.stringify(link)}, which is no address.`, {
    suggestion: 'Correct `changes.deltaLink` of the stream.',
  });
}

function cursorAfter(
  read: RestRead,
  { opened, link }: { opened: number | null; link: string | null },
): JsonObject | null {
  const { changes } = read.stream;
  if (changes === undefined) return null;
  const request = requestId(read);
  if ('deltaLink' in changes) return link === null ? null : { request, link };
  if (opened !== null) return { request, since: opened };
  throw incomplete(
    `The answers for ${read.name} have no header Date, so the time of the server is unknown, and changes cannot be read from it.`,
    'Remove `changes` and `reconcile` from the stream, so that each read is complete, or have a proxy pass on the header.',
  );
}

/** What the rows of a read depend on. A cursor of another request would skip rows. */
function requestId({ stream, client }: RestRead): string {
  const { get, method, query, body, headers, rows, changes, each } = stream;
  return sha256Url(
    JSON.stringify([client.base.href, client.account, get, method, query, body, headers, rows, changes, each]),
  ).slice(0, 16);
}

/** A stored cursor, or why a read cannot go on from it. */
function cursorOf(read: RestRead, stored: JsonValue | null): RestCursor | string {
  const { name, stream } = read;
  if (stored === null) return `${name} was not read completely yet.`;
  const { request, since, link } = isJsonObject(stored) ? stored : {};
  const isLink = stream.changes !== undefined && 'deltaLink' in stream.changes;
  const isWhole = isLink ? typeof link === 'string' : typeof since === 'number' && Number.isFinite(since);
  if (typeof request !== 'string' || !isWhole) {
    throw sourceFault(`The stored position of the stream ${name} was not written by this connector.`, {
      suggestion: 'Give the stream another name, so that it is read from the beginning.',
    });
  }
  if (request !== requestId(read)) return `The request of ${name} has changed since its last read.`;
  return typeof link === 'string' ? { request, link } : { request, since: Number(since) };
}

/** A clock that was ahead once has left out the changes that came while the right time was before it. */
function clockWentBack({ name }: RestRead, { since, opened }: { since: number; opened: number }): string {
  const [now, before] = [opened, since].map((at) => new Date(at).toISOString());
  return `The clock of the server shows ${now}, and at the last read of ${name} it showed ${before}, so changes may be missing.`;
}

function withoutCursor({ name }: RestRead): string {
  return `The last answer for ${name} has no delta link, so the next read is complete again. Check that the API gives delta links for this request.`;
}

/** A link of a later pass does not lead to what has changed since the first one, whose rows were used. */
function lateLink({ name }: RestRead): string {
  return `Rows of ${name} came or went during the read, so the delta link at its end may miss changes. The next read is complete again.`;
}

function lostCursor({ name }: RestRead): string {
  return `The last answer of the changes of ${name} has no delta link, so it is unknown where the next read would begin. If this happens each time, replace \`changes\` of the stream by a filter on the time of the last change.`;
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
