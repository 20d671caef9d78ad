// Reads the paging fields of a page, which show where the other pages are. The API document does not describe paging,
// so this file recognises the fields of common frameworks and protocols: Django REST Framework, Spring, Relay, OData,
// HAL and `Link` headers (RFC 8288), in camelCase or not.

import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { valueAt } from '../answers/json-text.ts';
import type { AnswerHeaders } from '../transport.ts';

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
export function readPagingWords(body: JsonValue, headers: AnswerHeaders, places: PagingPlaces): PagingWords {
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
