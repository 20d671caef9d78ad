// How each kind of paging goes on after an answer, and what proves that it was the last one. Nothing is guessed: an answer that does
// not fit the declared kind is an error, never an end.

import { isJsonObject, type JsonObject, type JsonValue, memberOf } from '../../lib/json.ts';
import { sourceFault } from '../connector.ts';
import { formatDocumentPath, type PathStep, valueAt } from '../document-path.ts';
import { textOf } from './placeholders.ts';
import type { RestAnswer } from './rest-client.ts';
import type { RestPage } from './rest-options.ts';

export type PagedBy = Exclude<RestPage, { by: 'bulkJob' }>;

/** Where a page begins: at an address that the server gave, or with values for the request. */
export interface PlaceOfPage {
  /** A link of the last answer. */
  link?: string;
  /** The values of `{{cursor}}`, `{{after}}`, `{{offset}}` or `{{page}}`. */
  values: JsonObject;
  /** The row with which the page has to begin, because the pages of `offset` overlap by one row. */
  overlaps?: JsonValue;
}

export interface AnsweredPage {
  answer: RestAnswer;
  /** All elements of the list in the answer, before anything is left out. */
  rows: readonly JsonValue[];
  place: PlaceOfPage;
  /** How many different rows the read has given so far, with this page. */
  read: number;
  /** The number of all rows that the answer states; null if it states none. */
  total: number | null;
  /** What was requested, for errors. */
  what: string;
}

export function firstPlace(page: PagedBy): PlaceOfPage {
  if (page.by === 'page') return { values: { page: page.first } };
  return { values: page.by === 'offset' ? { offset: 0 } : {} };
}

/**
 * Where the next page begins; null if this answer was provably the last one.
 *
 * @throws a `sourceFault` if the answer neither leads to another page nor proves the end
 */
export function nextPlace(page: PagedBy, at: AnsweredPage): PlaceOfPage | null {
  const { answer, rows, place, what } = at;
  const { document } = answer;
  switch (page.by) {
    case 'none':
      assertWhole(page, at);
      return null;
    case 'nextLink': {
      const link = valueAt(document, page.next);
      if (link === undefined || link === null) return endOfLinks(page.size, at);
      if (typeof link === 'string' && link !== '') return { link, values: {} };
      throw unclear(what, `${formatDocumentPath(page.next)} is ${JSON.stringify(link)}, which is no address`);
    }
    case 'header': {
      const link = linkIn([answer.headers['link']].flat().join(', '));
      return link === null ? endOfLinks(page.size, at) : { link, values: {} };
    }
    case 'cursor': {
      const cursor = valueAt(document, page.cursor) ?? null;
      const goesOn = page.end === 'flag' ? flagAt(page.more ?? [], at) : cursor !== null;
      if (!goesOn) return page.end === 'flag' ? null : endOfLinks(page.size, at);
      if (typeof cursor === 'string' || typeof cursor === 'number') return { values: { cursor } };
      throw unclear(
        what,
        `another page is announced, and ${formatDocumentPath(page.cursor)} is ${JSON.stringify(cursor)}`,
      );
    }
    case 'graphql': {
      const info = valueAt(document, [...page.connection, 'pageInfo']);
      if (!flagAt([...page.connection, 'pageInfo', 'hasNextPage'], at)) return null;
      const cursor = isJsonObject(info) ? memberOf(info, 'endCursor') : undefined;
      if (typeof cursor === 'string') return { values: { cursor } };
      throw unclear(what, `\`hasNextPage\` is true, and \`endCursor\` is ${JSON.stringify(cursor ?? null)}`);
    }
    case 'keyset': {
      const last = rows.at(-1);
      if (last === undefined) return null;
      const after = valueAt(last, page.after);
      if (typeof after === 'string' || typeof after === 'number') return { values: { after } };
      throw unclear(what, `the last row has ${JSON.stringify(after ?? null)} at ${formatDocumentPath(page.after)}`);
    }
    case 'offset':
      return nextOffset(page, at);
    case 'page': {
      const number = Number(place.values['page']);
      return isLastNumbered(page, at) ? null : { values: { page: number + 1 } };
    }
  }
}

/** Pages overlap by one row, so that a row which disappears before them is noticed. */
function nextOffset(page: PagedBy & { by: 'offset' }, at: AnsweredPage): PlaceOfPage | null {
  const { rows, place } = at;
  const last = rows.at(-1);
  const isOverlapOnly = place.overlaps !== undefined && rows.length === 1;
  if (page.end === 'shortRawPage' ? last === undefined || isOverlapOnly : isLastNumbered(page, at)) return null;
  if (last === undefined) return null;
  const offset = Number(place.values['offset']) + rows.length - 1;
  return page.size === 1 ? { values: { offset: offset + 1 } } : { values: { offset }, overlaps: last };
}

function isLastNumbered(page: PagedBy & { by: 'offset' | 'page' }, at: AnsweredPage): boolean {
  if (page.end === 'flag') return !flagAt(page.more ?? [], at);
  if (page.end === 'total') return at.rows.length === 0 || (at.total !== null && at.read >= at.total);
  return at.rows.length < page.size;
}

/** The end of pages that lead to each other, if a full page without a successor does not contradict it. */
function endOfLinks(size: number | undefined, { rows, what }: AnsweredPage): null {
  if (size === undefined || rows.length < size) return null;
  throw unclear(what, `a full page of ${rows.length} rows leads to no other page`);
}

function flagAt(path: readonly PathStep[], { answer, what }: AnsweredPage): boolean {
  const flag = valueAt(answer.document, path);
  if (typeof flag === 'boolean') return flag;
  throw unclear(what, `${formatDocumentPath(path)} is ${JSON.stringify(flag ?? null)} in place of true or false`);
}

/** Members in which answers usually have the address of another page. */
const NEXT_MEMBERS = ['next', 'nextLink', '@odata.nextLink', '__next', 'next_page', 'nextPage'];

function assertWhole(page: PagedBy & { by: 'none' }, { answer, rows, what }: AnsweredPage): void {
  const around = [answer.document, valueAt(answer.document, ['d']), valueAt(answer.document, ['links'])].concat(
    valueAt(answer.document, ['_links']),
  );
  const next = around.flatMap((one) =>
    isJsonObject(one)
      ? NEXT_MEMBERS.filter((name) => ![undefined, null, false, ''].includes(memberOf(one, name) as null))
      : [],
  );
  const link = linkIn([answer.headers['link']].flat().join(', '));
  if (next.length > 0 || link !== null) {
    const where = next[0] === undefined ? 'the header Link' : `\`${next[0]}\``;
    throw unclear(what, `the stream has \`page: { by: none }\`, and the answer has another page in ${where}`);
  }
  if (page.size !== undefined && rows.length >= page.size) {
    throw unclear(
      what,
      `the stream has \`page: { by: none }\`, and the answer has ${rows.length} rows, which is a full page`,
    );
  }
}

function unclear(what: string, reason: string): Error {
  return sourceFault(
    `The answer for ${what} does not show whether it is the last one: ${reason}. So the read is incomplete.`,
    {
      suggestion: 'Correct `page` of the stream after the documentation of the API.',
    },
  );
}

/** The address with `rel="next"` in a header `Link` (RFC 8288); null if there is none. */
function linkIn(header: string): string | null {
  for (const [, address = '', parameters = ''] of header.matchAll(
    /<([^>]*)>((?:\s*;\s*[^;,="]+(?:=(?:"[^"]*"|[^;,"]*))?)*)/g,
  )) {
    const [, quoted, plain] = /;\s*rel\s*=\s*(?:"([^"]*)"|([^;,\s]*))/i.exec(parameters) ?? [];
    if ((quoted ?? plain ?? '').toLowerCase().split(/\s+/).includes('next')) return address;
  }
  return null;
}

/**
 * The number of all rows that an answer states; null if it states none.
 *
 * @throws a `sourceFault` if the value is not a number
 */
export function totalIn(
  { document, headers }: RestAnswer,
  total: Exclude<PagedBy['total'], undefined> | undefined,
  what: string,
): number | null {
  if (total === undefined) return null;
  const isHeader = !Array.isArray(total);
  const value = isHeader ? [headers[total.header.toLowerCase()]].flat()[0] : valueAt(document, total);
  if (value === undefined || value === null) return null;
  const text = textOf(value);
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const where = isHeader ? `the header ${total.header}` : formatDocumentPath(total);
  throw sourceFault(`The answer for ${what} has ${JSON.stringify(value)} as the number of all rows, in ${where}.`, {
    suggestion: 'Correct `page.total` of the stream.',
  });
}
