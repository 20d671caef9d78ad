// One pass over all pages of a request: what is asked, what an answer must have, and that the pages belong together.

import { isDeepStrictEqual } from 'node:util';
import { createSeenTexts, markOf } from '../../lib/collections.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { sourceFault } from '../connector.ts';
import { formatDocumentPath, valueAt } from '../document-path.ts';
import { type JoinedLists, joinedLists } from './joined-lists.ts';
import { CapReached, listMissing, type PagedBy, type PlaceOfPage, Shifted } from './page-places.ts';
import { firstPlace, nextPlace, totalIn } from './pages.ts';
import { fill, fillPath, type PlaceholderValues, placeholdersIn, textOf } from './placeholders.ts';
import { repeatedInRows } from './repeated-in-rows.ts';
import { mergeParts } from './request-parts.ts';
import type { RestAnswer, RestClient, RestRequest } from './rest-client.ts';
import type { RestStream } from './rest-options.ts';

/** A stream that is read, with the client of its source. */
export interface RestRead {
  name: string;
  stream: RestStream;
  /** The key columns; at least one. */
  key: readonly string[];
  client: RestClient;
  pagesMax: number;
  concurrent: number;
  signal: AbortSignal;
}

/** What one pass asks for: everything, the changes since a time, or the changes behind a link. */
export type Asked = { kind: 'all' } | { kind: 'since'; since: string } | { kind: 'link'; link: string };

/** The rows of one answer, as they are in it. */
export interface RawPage {
  rows: JsonValue[];
  answer: RestAnswer;
  /** The number of all rows that the answer states; null if it states none. */
  total: number | null;
  isLast: boolean;
  /** Those of the rows that are elements without the list that the path of the rows names. */
  lacking?: ReadonlySet<JsonValue>;
  /** Those of the rows in which an object has a name twice, each with this name. */
  repeated?: ReadonlyMap<JsonValue, string>;
}

/** How the reader of a pass sees its rows. */
export interface PassRows {
  /** How many different rows the pass has given so far. */
  count: () => number;
  /** What distinguishes a row from others; null if nothing does. */
  nameOf: (row: JsonValue) => string | null;
}

/** How many different pages and rows of one pass are remembered. */
const REMEMBERED_MAX = 20_000_000;
/** How many pages in a row may have only rows of earlier pages. */
const PAGES_WITHOUT_NEW_MAX = 100;
/** How many pages in a row may have no rows. Servers that filter a page after they have cut it give a few of them. */
const PAGES_WITHOUT_ROWS_MAX = 100;

/** The parts of a request, before placeholders are filled. */
interface Parts {
  query: JsonObject;
  body: JsonObject | undefined;
  headers: JsonObject;
}

/**
 * Reads all pages of a request, in order.
 *
 * @throws a `sourceFault` if a page is not what the stream declares, `Shifted` if the rows have moved, `Unavailable` if no answer comes
 */
export async function* rawPages(read: RestRead, asked: Asked, { count, nameOf }: PassRows): AsyncGenerator<RawPage> {
  const { stream, client, name, pagesMax, signal } = read;
  const page = stream.page as PagedBy;
  const canResize = statesSize(stream);
  const visited = createSeenTexts(REMEMBERED_MAX);
  const ask = (place: PlaceOfPage, what: string): Promise<RestAnswer> => {
    const { method, url, body, headers } = requestOf(read, asked, place);
    const accepts = asked.kind === 'link' ? [404, 410] : place.isBehindTotal === true ? REFUSALS_OF_PAGE : [];
    const request = { method, url, body, headers, what, onError: stream.onError, accepts };
    const asksForLink = stream.changes !== undefined && 'deltaLink' in stream.changes;
    return client.request({ ...request, hint: asksForLink ? WITHOUT_LINKS : undefined }, signal);
  };
  let place: PlaceOfPage = asked.kind === 'link' ? { link: asked.link, values: {} } : firstPlace(page);
  let rowsBefore: readonly JsonValue[] = [];
  let answerBefore: RestAnswer | null = null;
  let firstTotal: number | null = null;
  let withoutNew = 0;
  let withoutRows = 0;
  for (let number = 1; ; number += 1) {
    const what = `page ${number} of ${name}`;
    if (number > pagesMax)
      throw incomplete(`${name} has more than ${pagesMax} pages.`, 'Raise `limits.pages` of the source.');
    if (visited.note(markOf(JSON.stringify([place.link ?? null, place.values]), '')) === 'same') {
      // Rows that go can move a place that is counted from the beginning back to a former one.
      if (place.start !== undefined) throw new Shifted(`${what} begins where another page has begun`);
      throw incomplete(`The answers for ${name} lead back to a page that was read already, at ${what}.`, CHECK_PAGES);
    }
    const answer = await ask(place, what);
    if (answer.status >= 400 && place.isBehindTotal === true && answerBefore !== null) {
      yield { rows: [], answer: answerBefore, total: firstTotal, isLast: true };
      return;
    }
    answerBefore = answer;
    if (answer.status >= 400) {
      yield { rows: [], answer, total: null, isLast: true };
      return;
    }
    const found = rowsIn(answer, stream, what);
    const repeated = repeatedInRows(answer, found.rows, { what, fail: incomplete });
    if (found.rows.length > 0 && isDeepStrictEqual(found.rows, rowsBefore)) {
      if ('end' in page && page.end === 'total' && totalIn(answer, page.total, what) === count()) {
        // Nothing is left, and some servers give the last page again for the page beyond the end.
        yield { rows: [], answer, total: count(), isLast: true };
        return;
      }
      const text = `The answer for ${what} is the page before it again`;
      // A row that is added before the last page moves it by one place.
      throw place.overlaps === undefined ? incomplete(`${text}.`, CHECK_PAGES) : new Shifted(text);
    }
    rowsBefore = found.rows;
    const rows = withoutOverlap(found.rows, place, nameOf, what);
    // Rows behind a delta link move whenever they change.
    if (place.confirms !== undefined && asked.kind !== 'link') {
      const { place: placeBefore, last } = place.confirms;
      const again = rowsIn(await ask(placeBefore, `the page before ${what}`), stream, what).rows.at(-1);
      if (again === undefined || !isSame(again, last, nameOf)) throw new Shifted(`the page before ${what} has changed`);
    }
    // A server need not count what is behind a delta link.
    const total = asked.kind === 'link' ? null : totalIn(answer, page.total, what);
    firstTotal ??= total;
    // A server may count from the beginning, so that each row that comes or goes moves the others.
    if (!isUndisturbed(stream) && total !== null && total !== firstTotal) {
      throw new Shifted(`the server has stated ${firstTotal} rows, and then ${total}`);
    }
    const current = { rows, answer, total };
    // The caller counts the rows of a page before the end is decided.
    const held: RawPage = { ...current, isLast: false, lacking: found.lacking, repeated };
    const counted = count();
    yield held;
    // Pages without rows are no sign of a circle: some servers filter a page after they have cut it.
    if (rows.length > 0) withoutNew = count() > counted ? 0 : withoutNew + 1;
    if (withoutNew === PAGES_WITHOUT_NEW_MAX) {
      throw incomplete(
        `The last ${withoutNew} pages of ${name} have no row that earlier pages did not have, so the pages seem to come round again.`,
        CHECK_PAGES,
      );
    }
    const { elements } = found;
    const next = nextPlace(page, {
      answer,
      rows: found.rows,
      elements,
      list: stream.rows,
      place,
      total,
      canResize,
      what,
    });
    if (stream.cap !== undefined && count() >= stream.cap) {
      const fault = incomplete(
        `${name} has given ${count()} rows, which is the most that the server gives for one request (\`cap\`), so there may be more.`,
        'Use `page: { by: keyset }`, split the stream by a filter, or ask for a higher limit and raise `cap`.',
      );
      throw new CapReached(fault);
    }
    if (next === null) {
      yield { rows: [], answer, total, isLast: true };
      return;
    }
    withoutRows = elements === 0 ? withoutRows + 1 : 0;
    if (withoutRows === PAGES_WITHOUT_ROWS_MAX) {
      throw incomplete(
        `The last ${withoutRows} pages of ${name} have no rows, and each leads to another one, so the pages seem to have no end.`,
        `${CHECK_PAGES} If the server filters the rows of each page, ask for larger pages.`,
      );
    }
    place = next;
  }
}

/** How servers refuse a page behind the last one. */
const REFUSALS_OF_PAGE = [400, 404, 416, 422];

const WITHOUT_LINKS =
  'Some servers answer so if the entity has no delta links. Then replace `changes` of the stream by a filter on the time of the last change, and do not ask for links.';

const CHECK_PAGES =
  'Compare `page` of the stream with the documentation of the API: what it sends for the next page, and how its last page looks.';

export function incomplete(message: string, suggestion: string): Error {
  return sourceFault(`${message} The read is incomplete, so no record counts as gone.`, { suggestion });
}

function rowsIn({ document }: RestAnswer, { rows: path, page }: RestStream, what: string): JoinedLists {
  const found = joinedLists(
    document,
    path.length === 0 && page.by === 'graphql' ? [...page.connection, 'nodes'] : path,
  );
  if (found !== undefined && found.cut !== null) {
    throw incomplete(
      `The answer for ${what} lacks elements of an inner list of ${formatDocumentPath(path)}, as its member ${found.cut} shows.`,
      'Ask for more elements in one answer, or read them as a stream of their own, or with `each`.',
    );
  }
  if (found !== undefined) return found;
  throw sourceFault(`The answer for ${what} ${listMissing(document, path)}`, {
    suggestion: 'Correct `rows` of the stream, or its request.',
  });
}

/** True if the request for a page states its size, so that dpp-sync can ask for another one. */
function statesSize({ query = {}, body = {}, headers = {} }: RestStream): boolean {
  return placeholdersIn({ query, body, headers }).includes('size');
}

/**
 * True if rows that come or go during the read cannot make it skip others: a page begins after a certain row, has the last row of
 * the page before, or is followed by another look at the page before.
 */
export function isUndisturbed(stream: RestStream): boolean {
  const { by } = stream.page;
  const isConfirmed = 'countsRows' in stream.page && stream.page.countsRows;
  return by === 'keyset' || by === 'offset' || (by === 'page' && statesSize(stream)) || isConfirmed;
}

/**
 * The rows after the last row of the page before. If that row is not where it was, rows have come or gone, and all rows are given.
 *
 * @throws Shifted if the page does not have the last row of the page before it, because others may have moved before the page
 */
function withoutOverlap(
  rows: JsonValue[],
  { overlaps }: PlaceOfPage,
  nameOf: PassRows['nameOf'],
  what: string,
): JsonValue[] {
  if (overlaps === undefined) return rows;
  const at = rows.findIndex((row) => isSame(row, overlaps.row, nameOf));
  if (at < 0) throw new Shifted(`${what} does not have the last row of the page before it`);
  return at === overlaps.at ? rows.slice(at + 1) : rows;
}

function isSame(one: JsonValue, other: JsonValue, nameOf: PassRows['nameOf']): boolean {
  return (nameOf(one) ?? JSON.stringify(one)) === (nameOf(other) ?? JSON.stringify(other));
}

/** The request for a page. */
function requestOf(
  { stream, client }: RestRead,
  asked: Asked,
  place: PlaceOfPage,
): Pick<RestRequest, 'method' | 'url' | 'body' | 'headers'> {
  const { page, changes } = stream;
  const parts: Parts = {
    query: { ...stream.query },
    body: stream.body && { ...stream.body },
    headers: { ...stream.headers },
  };
  const add = (more: {
    query?: JsonObject | undefined;
    body?: JsonObject | undefined;
    headers?: JsonObject | undefined;
  }) => {
    parts.query = (mergeParts(parts.query, more.query) ?? {}) as JsonObject;
    parts.body = mergeParts(parts.body, more.body) as JsonObject | undefined;
    parts.headers = (mergeParts(parts.headers, more.headers) ?? {}) as JsonObject;
  };
  if (asked.kind === 'since' && changes !== undefined && 'by' in changes) add(changes);
  const isFirst = Object.keys(place.values).length === 0;
  if (!isFirst && (page.by === 'cursor' || page.by === 'keyset')) add(page);
  if (!isFirst && page.by === 'graphql') add({ body: { variables: { [page.variable]: '{{cursor}}' } } });
  const size = 'size' in page && page.size !== undefined ? { size: page.size } : {};
  const since = asked.kind === 'since' ? { since: asked.since } : {};
  const values = { ...size, ...since, ...place.values };
  const request = filled({ ...stream, ...parts }, values, client);
  if (place.link === undefined) return request;
  const url = client.resolve(place.link, request.url);
  const keep = page.by === 'nextLink' ? page.keep : [];
  for (const name of keep) {
    const value = request.url.searchParams.get(name);
    if (value !== null && !url.searchParams.has(name)) url.searchParams.set(name, value);
  }
  return { ...request, url };
}

/** A request with values in place of its placeholders. */
export function filled(
  {
    get,
    method,
    query,
    body,
    headers,
  }: Pick<RestStream, 'get' | 'method'> & { [P in keyof Parts]?: Parts[P] | undefined },
  values: PlaceholderValues,
  client: Pick<RestClient, 'base'>,
): Pick<RestRequest, 'method' | 'url' | 'body' | 'headers'> {
  const path = fillPath(get, values).replace(/^\/+/, '');
  // Without the point, `items:search` would be an address of its own.
  const url = new URL(`./${path}`, client.base);
  const pairs = Object.entries(query ?? {}).map(
    ([name, value]) => `${encoded(name)}=${encoded(textOf(fill(value, values)))}`,
  );
  if (pairs.length > 0) url.search = pairs.join('&');
  const filledBody = body === undefined ? undefined : fill(body, values);
  const filledHeaders = Object.entries(headers ?? {}).map(
    ([name, value]) => [name, textOf(fill(value, values))] as const,
  );
  return {
    method: method ?? (filledBody === undefined ? 'GET' : 'POST'),
    url,
    body: filledBody,
    headers: Object.fromEntries(filledHeaders),
  };
}

/** Names of OData begin with `$`, which some servers expect as it is. */
export function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll('%24', '$');
}

/** The text of the key of a row; null if a column is absent, so that the row cannot be recognised. */
export function keyTextOf(fields: JsonObject, key: readonly string[]): string | null {
  const parts = key.map((column) => valueAt(fields, [column]));
  if (parts.some((part) => part === undefined || part === null || part === '')) return null;
  return JSON.stringify(parts.map((part) => textOf(part ?? null)));
}
