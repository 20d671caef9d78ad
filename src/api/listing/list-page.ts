import type { Outcome } from '../../domain/delivery/outcome.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import type { AnswerHeaders } from '../../lib/retry-after.ts';
import { expressible, parseJson, valueAt } from '../answers/answer-text.ts';
import { type Classifier, foreignAnswer, meaningOf, NOTHING_EXPECTED, unreadableAnswer } from '../answers/classify.ts';
import type { NoId } from '../answers/entry.ts';
import { type Attempt, type RetryPolicy, withRetries } from '../answers/retries.ts';
import type { Exchange } from '../transport.ts';

/** How the entries of a page are found and read. */
export interface ListShape<Entry> {
  /** Dotted paths of the fields that may hold the entries. */
  itemsAt: readonly string[];
  read(entry: JsonValue): ReadEntry<Entry> | NoEntry;
}

/** An entry without an identity. */
export interface NoEntry {
  noId: NoId;
}

export interface ReadEntry<Entry> {
  /** A unique value of the entry, usually its id. */
  identity: string | number;
  entry: Entry;
}

/** One page that was read. */
export interface ListPage<Entry> {
  entries: ReadEntry<Entry>[];
  /** Why each entry without an id has none. */
  nameless: NoId[];
  words: PagingWords;
}

/**
 * Reads one page. It may be a bare array, an object with an array, or a connection of Relay (`edges` of `node`).
 *
 * @returns null if the body is not a listing
 */
function readListPage<Entry>(
  { body, headers }: { body: string; headers: AnswerHeaders },
  shape: ListShape<Entry>,
  places: PagingPlaces,
): ListPage<Entry> | null {
  const value = parseJson(body);
  const given = entriesOf(value, shape.itemsAt);
  if (value === undefined || given === null) return null;
  const entries: ReadEntry<Entry>[] = [];
  const nameless: NoId[] = [];
  for (const entry of given) {
    const read = shape.read(expressible(nodeOf(entry)));
    if ('noId' in read) nameless.push(read.noId);
    else entries.push(read);
  }
  return { entries, nameless, words: readPagingWords(value, headers, places) };
}

function entriesOf(value: JsonValue | undefined, itemsAt: readonly string[]): JsonValue[] | null {
  if (Array.isArray(value)) return value;
  if (value === undefined || !isJsonObject(value)) return null;
  for (const path of itemsAt) {
    const member = valueAt(value, path);
    if (Array.isArray(member)) return member;
    // `{"data": {"items": […]}}`
    const inner = itemsAt.map((name) => valueAt(member, name)).find((nested) => Array.isArray(nested));
    if (inner !== undefined) return inner;
  }
  return null;
}

/** An edge of Relay has the form `{"cursor", "node"}`. */
function nodeOf(entry: JsonValue): JsonValue {
  const node = isJsonObject(entry) && Object.hasOwn(entry, 'cursor') ? entry['node'] : undefined;
  return node ?? entry;
}

/** The tools for reading pages. */
export interface PageTools<Entry> extends RetryPolicy {
  /** Reads one page. Path and query are on the API's origin. */
  read(path: string): Promise<Exchange>;
  classifier: Classifier;
  shape: ListShape<Entry>;
  places: PagingPlaces;
}

/** The result of a request for a page. */
export type PageRead<Entry> =
  | { kind: 'page'; page: ListPage<Entry> }
  /** The API has no such page, or does not accept these parameters. 413 means that the answer was too long. */
  | { kind: 'refused'; status: 400 | 404 | 413 | 422; outcome: Outcome }
  | { kind: 'failed'; outcome: Outcome };

/** Reads one page. A failure that may pass is tried again. */
export async function readPage<Entry>(tools: PageTools<Entry>, path: string): Promise<PageRead<Entry>> {
  const result = await withRetries(tools, async () => pageIn(tools, await tools.read(path)));
  return result.ok ? result.value : { kind: 'failed', outcome: result.outcome };
}

/**
 * Reads one page without trying again after a failure. Only a wait that the API asks for is kept, and the page is then
 * read again.
 */
export async function readPageOnce<Entry>(tools: PageTools<Entry>, path: string): Promise<PageRead<Entry>> {
  const result = await withRetries(tools, async () => {
    const attempt = pageIn(tools, await tools.read(path));
    return attempt.ok ? attempt : { ...attempt, final: attempt.outcome.kind !== 'throttled' };
  });
  return result.ok ? result.value : { kind: 'failed', outcome: result.outcome };
}

/** The page that an answer contains. */
export function pageIn<Entry>(
  tools: Pick<PageTools<Entry>, 'classifier' | 'shape' | 'places'>,
  exchange: Exchange,
): Attempt<PageRead<Entry>> {
  const outcome = (): Outcome => tools.classifier.outcomeOf(exchange, NOTHING_EXPECTED);
  if (exchange.kind === 'silence') return { ok: false, outcome: outcome() };
  const { status, cut, body } = exchange;
  if (cut?.by === 'size') return { ok: true, value: { kind: 'refused', status: 413, outcome: outcome() } };
  if (cut === null && (status === 400 || status === 404 || status === 422)) {
    return { ok: true, value: { kind: 'refused', status, outcome: outcome() } };
  }
  if (cut !== null || meaningOf(status) !== 'done') return { ok: false, outcome: outcome() };
  const page = readListPage(exchange, tools.shape, tools.places);
  if (page !== null) return { ok: true, value: { kind: 'page', page } };
  // A page of HTML comes from a server in front of the API. An answer without a body may be the API's own.
  const isForeign = status !== 204 && parseJson(body) === undefined;
  const reason = unreliable(isForeign ? 'it is not a list' : NO_LIST);
  return {
    ok: false,
    outcome: isForeign ? foreignAnswer(status, reason) : unreadableAnswer(null, reason),
    final: true,
  };
}

const NO_LIST =
  'it is not a list; if a member of the answer has the entries, name that member in the profile (`list.itemsAt`)';

/** The message for a listing that proves nothing. */
export function unreliable(reason: string): string {
  return `The listing cannot be relied on: ${reason}.`;
}

// Reads the paging fields of a page, which show where the other pages are. The API document does not describe paging,
// so this file recognises the fields of common frameworks and protocols: Django REST Framework, Spring, Relay, OData,
// HAL and `Link` headers (RFC 8288), in camelCase or not.

/** The statements of a page about the pages after it; null if it states nothing. */
export interface PagingWords {
  /** The number of entries on all pages. */
  count: number | null;
  /** False if the page has a known end marker. */
  more: boolean | null;
  next: NextPage | null;
  /** The number of the page. */
  number: number | null;
  /** The number of pages. */
  pages: number | null;
}

/** The way to the next page. */
type NextPage =
  /** A URL, path or query. */
  | { kind: 'link'; link: string }
  /** The value of a query parameter; `parameter` is the usual name of its parameter. */
  | { kind: 'cursor' | 'page'; token: string; parameter: string };

/** The places of the paging fields in the profile: dotted paths into the body, or names of headers. */
export interface PagingPlaces {
  nextAt: readonly string[];
  moreAt: readonly string[];
  countAt: readonly string[];
}

/** Fields of the body that may hold paging fields. The body itself may hold them too. */
const HOLDERS = ['data', 'links', '_links', 'meta', 'pagination', 'paging', 'page', 'pageInfo', 'page_info', 'cursors'];

// Names are compared without case and punctuation: `hasMore`, `has_more` and `X-Has-More` are one word.
const LINKS = new Set(['next', 'nextlink', 'nexturl', 'nextpageurl', 'nextpagelink', 'nexthref', 'odatanextlink']);
const NEXT_PAGES = new Set(['nextpage', 'nextpagenumber']);
const COUNTS = new Set([
  'count',
  'total',
  'totalcount',
  'totalitems',
  'totalelements',
  'totalresults',
  'totalrecords',
  'totalhits',
  'odatacount',
]);
const PAGES = new Set(['totalpages', 'numpages', 'pagecount', 'pages', 'lastpage']);
const NUMBERS = new Set(['page', 'currentpage', 'number', 'pagenumber', 'pageindex']);
const MORE = new Set(['hasmore', 'hasnext', 'hasnextpage', 'hasmorepages', 'hasmoreitems', 'more', 'morepages']);
const LAST = new Set(['last', 'islast', 'islastpage', 'lastpage']);
/** The query parameter for a cursor, by the name of the cursor, in snake and in camel case. */
const CURSORS: Readonly<Record<string, readonly [string, string]>> = {
  nextcursor: ['cursor', 'cursor'],
  endcursor: ['after', 'after'],
  nextpagetoken: ['page_token', 'pageToken'],
  nexttoken: ['next_token', 'nextToken'],
  continuationtoken: ['continuation_token', 'continuationToken'],
};

interface Words extends PagingWords {
  /** A cursor alone means that there are more pages. */
  cursor: NextPage | null;
  /** Whether the page has a field for the next page that is empty. */
  ends: boolean;
}

/** Reads the paging fields of body and headers. The body takes precedence over headers, and an outer field over an inner one. */
function readPagingWords(body: JsonValue, headers: AnswerHeaders, places: PagingPlaces): PagingWords {
  const words: Words = { count: null, more: null, next: null, number: null, pages: null, cursor: null, ends: false };
  if (isJsonObject(body)) {
    take(words, body);
    for (const name of HOLDERS) {
      const holder = valueAt(body, name);
      if (holder !== undefined && isJsonObject(holder)) take(words, holder);
    }
    const inner = valueAt(body, 'data.pageInfo') ?? valueAt(body, 'meta.pagination') ?? valueAt(body, 'paging.cursors');
    if (inner !== undefined && isJsonObject(inner)) take(words, inner);
    // OData 4: every incomplete answer has a nextLink.
    if (Object.hasOwn(body, '@odata.context')) words.ends = true;
  }
  takeHeaders(words, headers);
  takePlaces(words, { body, headers, places });
  const { count, more, number, pages, ends } = words;
  // A flag for the last page takes precedence over a cursor, because some platforms send a cursor for later use.
  const next = words.next ?? (more === false ? null : words.cursor);
  return { count, more: next === null ? (more ?? (ends ? false : null)) : true, next, number, pages };
}

function take(words: Words, holder: JsonObject): void {
  for (const [name, value] of Object.entries(holder)) takeWord(words, name, value);
}

function takeWord(words: Words, given: string, value: JsonValue): void {
  const name = given.toLowerCase().replaceAll(/[^a-z]/g, '');
  const cursor = Object.hasOwn(CURSORS, name) ? CURSORS[name] : undefined;
  if (LINKS.has(name)) takeNext(words, isJsonObject(value) ? (value['href'] ?? null) : value);
  else if (NEXT_PAGES.has(name)) takeNext(words, value);
  else if (cursor !== undefined) {
    takeCursor(words, value, cursor[/[a-z][A-Z]/.test(given) ? 1 : 0] ?? 'cursor');
  } else if (typeof value === 'boolean') {
    if (MORE.has(name)) words.more ??= value;
    if (LAST.has(name)) words.more ??= !value;
  } else if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) {
    if (COUNTS.has(name)) words.count ??= value;
    else if (PAGES.has(name)) words.pages ??= value;
    else if (NUMBERS.has(name)) words.number ??= value;
  }
}

/** Reads a `next` field: a URL, a path, a query, the number of a page, or else a cursor. */
function takeNext(words: Words, value: JsonValue): void {
  const text = typeof value === 'number' ? String(value) : value;
  if (text === null || text === '' || value === 0 || text === false) words.ends = true;
  else if (typeof text !== 'string') return;
  else if (/^\d{1,9}$/.test(text)) words.next ??= { kind: 'page', token: text, parameter: 'page' };
  else if (/[/?&=]/.test(text) && !/^[\w+/-]+=*$/.test(text)) words.next ??= { kind: 'link', link: text };
  else if (/^[/?]/.test(text)) words.next ??= { kind: 'link', link: text };
  else words.next ??= { kind: 'cursor', token: text, parameter: 'cursor' };
}

function takeCursor(words: Words, value: JsonValue, parameter: string): void {
  if (value === null || value === '') words.ends = true;
  else if (typeof value === 'string' || typeof value === 'number') {
    words.cursor ??= { kind: 'cursor', token: String(value), parameter };
  }
}

function takeHeaders(words: Words, headers: AnswerHeaders): void {
  for (const [name, given] of Object.entries(headers)) {
    if (given === undefined) continue;
    if (name === 'link') takeLinkHeader(words, given);
    else if (name.startsWith('x-') || name === 'total-count') {
      takeWord(words, name.replace(/^x-/, ''), headerValue(Array.isArray(given) ? (given[0] ?? '') : given));
    }
  }
}

function headerValue(text: string): JsonValue {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  if (/^(?:true|false)$/i.test(text)) return text.toLowerCase() === 'true';
  return text;
}

/** RFC 8288. A header that names other pages but no next page belongs to the last page. */
function takeLinkHeader(words: Words, given: string | string[]): void {
  const text = (Array.isArray(given) ? given.join(',') : given).slice(0, 8_192);
  for (const [, target = '', parameters = ''] of text.matchAll(/<([^<>]*)>((?:\s*;\s*[^,;<"]+(?:"[^"]*")?)*)/g)) {
    const rel = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i.exec(parameters);
    const relations = (rel?.[1] ?? rel?.[2] ?? '').toLowerCase().split(/\s+/);
    if (relations.includes('next')) words.next ??= { kind: 'link', link: target };
    if (relations.some((relation) => ['first', 'prev', 'previous', 'last'].includes(relation))) words.ends = true;
  }
}

/** Reads only the places that the profile names. A field that is missing there counts as absent. */
function takePlaces(
  words: Words,
  { body, headers, places }: { body: JsonValue; headers: AnswerHeaders; places: PagingPlaces },
): void {
  const at = (paths: readonly string[]): JsonValue | undefined => {
    for (const path of paths) {
      const header = headers[path.toLowerCase()];
      const value = valueAt(body, path) ?? (isJsonObject(body) ? body[path] : undefined);
      if (value !== undefined) return value;
      if (header !== undefined) return headerValue(Array.isArray(header) ? (header[0] ?? '') : header);
    }
    return undefined;
  };
  if (places.countAt.length > 0) {
    const count = at(places.countAt);
    words.count = typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : null;
  }
  if (places.moreAt.length > 0) {
    const more = at(places.moreAt);
    words.more = typeof more === 'boolean' ? more : null;
  }
  if (places.nextAt.length > 0) {
    words.next = null;
    words.cursor = null;
    takeNext(words, at(places.nextAt) ?? null);
  }
}
