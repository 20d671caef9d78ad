// What an answer shows about rows that it does not contain, although nothing in the options says where to look.

import { isJsonObject, type JsonObject, type JsonValue, memberOf } from '../../lib/json.ts';
import { formatDocumentPath, type PathStep, valueAt } from '../document-path.ts';
import { textOf } from './placeholders.ts';
import type { RestAnswer } from './rest-client.ts';

/** Signs of further pages by their kinds. Members are compared without case and punctuation, and headers are in lower case. */
export const SIGNS_OF_MORE = {
  /** Members with the address, the token or the number of the next page. */
  next: words(
    `next nextLink odataNextLink nextPage nextUrl nextPageUrl nextPageLink nextPageToken nextToken nextCursor nextMarker
     nextContinuationToken nextRecordsUrl`,
  ),
  /** Members that are true if there are more rows. */
  more: words('hasMore hasNext hasNextPage hasMorePages hasMoreItems moreRecords moreResults'),
  /** The same, under names that a row may have with another meaning. */
  moreBesideRows: words('more truncated isTruncated incompleteResults'),
  /** Members that are false if there are more rows. */
  last: words('last isLast isLastPage lastPage'),
  /** Members with the number of all rows, and of all pages. */
  total: words(
    'total totalCount totalResults totalItems totalElements totalRows totalRecords recordsTotal odataCount totalSize',
  ),
  pages: words('pages totalPages pageCount numPages lastPage'),
  /** Headers with the number of the next page, of all rows, and of all pages. */
  nextHeader: ['x-next-page'],
  totalHeader: ['x-total-count', 'x-total', 'x-wp-total', 'x-total-results'],
  pagesHeader: ['x-total-pages', 'x-wp-totalpages', 'x-page-count'],
} as const satisfies Record<string, readonly string[]>;

/** Members beside a list that describe its pages. */
const ABOUT_PAGES = new Set(
  words('meta metadata pagination paging page pageInfo info cursor links resultInfo responseMetadata'),
);

/** Whether numbers of rows and pages are looked at, which can have other meanings, such as the total of an invoice. */
interface Counting {
  count: number;
  counts: boolean;
}

/**
 * Where an answer says that its list is not whole; null if it does not say so.
 *
 * @param rows the path of the list in the answer
 */
export function signOfMore(
  answer: Pick<RestAnswer, 'document' | 'headers' | 'status'>,
  rows: readonly PathStep[],
  counting: Counting,
): string | null {
  return (
    signAround(answer.document, rows, (object) => signIn(object, counting)) ??
    (counting.counts ? signInHeaders(answer, counting.count) : null)
  );
}

/** Where a row says that a list within it is not whole; null if it does not say so. Other members of a row are its own. */
export function signInRow(row: JsonValue, list: readonly PathStep[]): string | null {
  return signAround(row, list, (object) => nameIn(object, (word, value) => value === true && isSign('more', word)));
}

/** Where an answer that should be whole has the address of another page; null if it has none. */
export function successorIn({ document, headers }: Pick<RestAnswer, 'document' | 'headers'>): string | null {
  for (const path of [[], ['d'], ['links'], ['_links']]) {
    const around = valueAt(document, path);
    const name = isJsonObject(around) ? nameIn(around, isSuccessor) : null;
    if (name !== null) return `\`${name}\``;
  }
  const header = SIGNS_OF_MORE.nextHeader.find((name) => isSomething(valueOf(headers, name)));
  if (header !== undefined) return `the header ${header}`;
  return linkIn(headers) === null ? null : 'the header Link';
}

/** The address with `rel="next"` in the headers `Link` (RFC 8288); null if there is none. */
export function linkIn({ link }: RestAnswer['headers']): string | null {
  const header = [link].flat().join(', ');
  for (const [, address = '', parameters = ''] of header.matchAll(
    /<([^>]*)>((?:\s*;\s*[^;,="]+(?:=(?:"[^"]*"|[^;,"]*))?)*)/g,
  )) {
    const [, quoted, plain] = /;\s*rel\s*=\s*(?:"([^"]*)"|([^;,\s]*))/i.exec(parameters) ?? [];
    if ((quoted ?? plain ?? '').toLowerCase().split(/\s+/).includes('next')) return address;
  }
  return null;
}

/** Looks at the objects around a list, and at those beside it that describe pages. */
function signAround(
  document: JsonValue,
  rows: readonly PathStep[],
  signOf: (object: JsonObject) => string | null,
): string | null {
  for (let depth = 0; depth < Math.max(rows.length, 1); depth += 1) {
    const path = rows.slice(0, depth);
    const around = valueAt(document, path);
    if (!isJsonObject(around)) continue;
    for (const [steps, object] of [[path, around] as const, ...aboutPages(around, path)]) {
      const name = signOf(object);
      if (name !== null) return `${formatDocumentPath([...steps, name])}: ${JSON.stringify(valueAt(object, [name]))}`;
    }
    const list = String(rows[depth]);
    const links = ['__next', `${list}@odata.nextLink`, `${list}@nextLink`];
    const link = links.find((name) => typeof memberOf(around, name) === 'string');
    if (link !== undefined) return formatDocumentPath([...path, link]);
  }
  return null;
}

/** The objects in an object that describe pages, and such objects in those: `meta.pagination`. */
function aboutPages(around: JsonObject, path: readonly PathStep[], levels = 2): [PathStep[], JsonObject][] {
  return Object.entries(around).flatMap(([name, one]) => {
    if (levels === 0 || !isJsonObject(one) || !ABOUT_PAGES.has(wordOf(name))) return [];
    const steps = [...path, name];
    return [[steps, one], ...aboutPages(one, steps, levels - 1)];
  });
}

function signIn(object: JsonObject, { count, counts }: Counting): string | null {
  return nameIn(object, (word, value) => {
    if (isSuccessor(word, value)) return true;
    if (value === true) return isSign('more', word) || isSign('moreBesideRows', word);
    if (value === false) return isSign('last', word);
    const number = counts ? numberOf(textOf(value)) : 0;
    return (isSign('total', word) && number > count) || (isSign('pages', word) && number > 1);
  });
}

function signInHeaders({ headers, status }: Pick<RestAnswer, 'headers' | 'status'>, count: number): string | null {
  const found =
    SIGNS_OF_MORE.totalHeader.find((name) => numberOf(valueOf(headers, name)) > count) ??
    SIGNS_OF_MORE.pagesHeader.find((name) => numberOf(valueOf(headers, name)) > 1);
  if (found !== undefined) return `the header ${found}: ${valueOf(headers, found)}`;
  // RFC 9110, section 14.4: the number after the slash counts everything, and `*` is no number.
  const range = valueOf(headers, 'content-range');
  const [, all = ''] = /\/(\d+)\s*$/.exec(range) ?? [];
  const isPart = all === '' ? status === PARTIAL : numberOf(all) > count;
  if (!isPart) return null;
  return range === '' ? `the status ${status}` : `the header content-range: ${range}`;
}

/** A part of the content (RFC 9110, section 15.3.7). */
const PARTIAL = 206;

function nameIn(object: JsonObject, isFound: (word: string, value: JsonValue) => boolean): string | null {
  return Object.entries(object).find(([name, value]) => isFound(wordOf(name), value))?.[0] ?? null;
}

function isSuccessor(word: string, value: JsonValue): boolean {
  return isSign('next', word) && isSomething(value);
}

/** False for what stands in place of an address if there is none. */
function isSomething(value: JsonValue): boolean {
  return ![null, false, '', 0].includes(value as null);
}

function isSign(kind: keyof typeof SIGNS_OF_MORE, word: string): boolean {
  return SIGNS_OF_MORE[kind].some((name) => name === word);
}

function valueOf(headers: RestAnswer['headers'], name: string): string {
  return [headers[name]].flat()[0] ?? '';
}

function numberOf(text: string): number {
  return /^\d{1,15}$/.test(text) ? Number(text) : 0;
}

function words(text: string): string[] {
  return text.split(/\s+/).map(wordOf);
}

function wordOf(name: string): string {
  return name.toLowerCase().replace(/[^a-z]/g, '');
}
