// How each kind of paging goes on after an answer, and what proves that it was the last one. Nothing is guessed: an answer that does
// not fit the declared kind is an error, never an end.

import { isJsonObject, type JsonValue, memberOf } from '../../lib/json.ts';
import { sourceFault } from '../connector.ts';
import { formatDocumentPath, type PathStep, valueAt } from '../document-path.ts';
import { nextCounted } from './counted-pages.ts';
import {
  type AnsweredPage,
  flagAt,
  type PagedBy,
  type PlaceOfPage,
  shownJson,
  unclear,
  WITHOUT_ROWS,
} from './page-places.ts';
import { textOf } from './placeholders.ts';
import type { RestAnswer } from './rest-client.ts';
import { linkIn, signOfMore, successorIn } from './signs-of-more.ts';

export function firstPlace(page: PagedBy): PlaceOfPage {
  if (page.by === 'page') return { values: { page: page.first, size: page.size }, start: 0 };
  return page.by === 'offset' ? { values: { offset: 0 }, start: 0 } : { values: {} };
}

/**
 * Where the next page begins; null if this answer was provably the last one.
 *
 * @throws a `sourceFault` if the answer neither leads to another page nor proves the end
 */
export function nextPlace(page: PagedBy, at: AnsweredPage): PlaceOfPage | null {
  const next = placeAfter(page, at);
  const last = at.rows.at(-1);
  if (next === null || last === undefined || !('countsRows' in page) || !page.countsRows) return next;
  const { confirms: _, ...former } = at.place;
  return { ...next, confirms: { place: former, last } };
}

function placeAfter(page: PagedBy, at: AnsweredPage): PlaceOfPage | null {
  const { answer, what } = at;
  const { document } = answer;
  switch (page.by) {
    case 'none':
      assertWhole(page, at);
      return null;
    case 'nextLink': {
      const link = placeAt(page.next, page.absent, at);
      if (link === null) return endOfLinks(page.size, at);
      if (typeof link === 'string' && link !== '') return { link, values: {} };
      const shown = shownJson(link);
      throw unclear(
        what,
        `${formatDocumentPath(page.next)} is ${shown}, which is no address`,
        ABSENT.has(link)
          ? `If the API says so that there is no next page, write \`absent: [${shown}]\` into \`page\` of the stream. Otherwise correct \`page.next\`.`
          : undefined,
      );
    }
    case 'header': {
      const link = linkIn(answer.headers);
      return link === null ? endOfLinks(page.size, at) : { link, values: {} };
    }
    case 'cursor': {
      const cursor = placeAt(page.cursor, page.absent, at);
      const goesOn = page.end === 'flag' ? flagAt(page.more ?? [], at) : cursor !== null;
      if (!goesOn) return page.end === 'flag' ? null : endOfLinks(page.size, at);
      if (typeof cursor === 'string' || typeof cursor === 'number') return { values: { cursor } };
      throw unclear(what, `another page is announced, and ${formatDocumentPath(page.cursor)} is ${shownJson(cursor)}`);
    }
    case 'graphql': {
      const info = valueAt(document, [...page.connection, 'pageInfo']);
      if (!flagAt([...page.connection, 'pageInfo', 'hasNextPage'], at)) return null;
      const cursor = isJsonObject(info) ? memberOf(info, 'endCursor') : undefined;
      if (typeof cursor === 'string') return { values: { cursor } };
      throw unclear(what, `\`hasNextPage\` is true, and \`endCursor\` is ${shownJson(cursor)}`);
    }
    case 'keyset':
      return nextKey(page, at);
    case 'offset':
    case 'page':
      return nextCounted(page, at);
  }
}

/** What some APIs write in place of an address. */
const ABSENT: ReadonlySet<JsonValue> = new Set(['', false, 0]);

/** The address or token of the next page in an answer; null if there is none. */
function placeAt(path: readonly PathStep[], absent: readonly ('' | false | 0)[], { answer }: AnsweredPage): JsonValue {
  const value = valueAt(answer.document, path) ?? null;
  return absent.some((one) => one === value) ? null : value;
}

/** @throws a `sourceFault` if the rows are not in the order of their values, because the next page would skip some of them */
function nextKey(page: PagedBy & { by: 'keyset' }, { rows, elements, place, what }: AnsweredPage): PlaceOfPage | null {
  const values = rows.map((row) => valueAt(row, page.after) ?? null);
  const after = values.at(-1);
  if (after === undefined && elements > 0) throw unclear(what, WITHOUT_ROWS);
  if (after === undefined) return null;
  if (typeof after !== 'string' && typeof after !== 'number') {
    throw unclear(what, `the last row has ${shownJson(after)} at ${formatDocumentPath(page.after)}`);
  }
  // The next page begins after the last row of this one. A server that gives that row again has obeyed as well.
  const before = place.values['after'] ?? null;
  const disorder = disorderIn(before === null || before === values[0] ? values : [before, ...values]);
  if (disorder !== null) {
    throw unclear(
      what,
      `the rows are not in the order of different values, because ${shownJson(disorder[1])} follows ${shownJson(disorder[0])} at ${formatDocumentPath(page.after)}`,
    );
  }
  return { values: { after } };
}

/** The end of pages that lead to each other, if nothing in the answer contradicts it. */
function endOfLinks(size: number | undefined, { answer, elements, list, what }: AnsweredPage): null {
  const where = successorIn(answer) ?? signOfMore(answer, list, { count: elements, counts: false });
  if (where !== null) throw unclear(what, `the place of the next page is empty, and the answer has ${where}`);
  if (size === undefined || elements < size) return null;
  throw unclear(what, `a full page of ${elements} rows leads to no other page`);
}

function assertWhole(page: PagedBy & { by: 'none' }, at: AnsweredPage): void {
  const { answer, elements, list, what } = at;
  const where = successorIn(answer);
  if (where !== null) {
    throw unclear(what, `the stream has \`page: { by: none }\`, and the answer has another page in ${where}`);
  }
  const counts = page.total === undefined;
  const sign = signOfMore(answer, list, { count: elements, counts });
  if (sign !== null) {
    throw unclear(what, `the stream has \`page: { by: none }\`, and the answer has ${elements} rows and ${sign}`);
  }
  if (page.size !== undefined && elements >= page.size) {
    throw unclear(
      what,
      `the stream has \`page: { by: none }\`, and the answer has ${elements} rows, which is a full page`,
    );
  }
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
  option = '`page.total`',
): number | null {
  if (total === undefined) return null;
  const isHeader = !Array.isArray(total);
  const value = isHeader ? [headers[total.header.toLowerCase()]].flat()[0] : valueAt(document, total);
  if (value === undefined || value === null) return null;
  const text = textOf(value);
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const where = isHeader ? `the header ${total.header}` : formatDocumentPath(total);
  throw sourceFault(`The answer for ${what} has ${shownJson(value)} as the number of all rows, in ${where}.`, {
    suggestion: `Correct ${option} of the stream.`,
  });
}

// Whether rows that are read by `{{after}}` are in the order of their values. In another order the next page would skip some of them.

/** Two neighbours that are not in the order of the values after them; null if the order is right as far as it can be known. */
function disorderIn(values: readonly JsonValue[]): [JsonValue, JsonValue] | null {
  let direction: number | null = null;
  // From the end, because the first value may be of the page before.
  for (let at = values.length - 1; at > 0; at -= 1) {
    const [first = null, second = null] = [values[at - 1], values[at]];
    const step = stepBetween(first, second);
    if (step === null) continue;
    if (step === 0 || (direction !== null && step !== direction)) return [first, second];
    direction = step;
  }
  return null;
}

/** Whether the second value is greater (1), smaller (-1) or the same (0); null if only the server knows the order of the two. */
function stepBetween(first: JsonValue, second: JsonValue): number | null {
  if (first === second) return 0;
  if (typeof first === 'number' && typeof second === 'number') return Math.sign(second - first);
  if (typeof first !== 'string' || typeof second !== 'string') return null;
  const at = first.split('').findIndex((letter, at) => letter !== second[at]);
  const [one = '', other = ''] = [first[at], second[at]];
  // Texts of the same form that differ in a digit first have the same order in each language and with each way to compare numbers.
  if (shapeOf(first) !== shapeOf(second) || !/\d/.test(one)) return null;
  return hasOwnOrder(first) ? null : Math.sign(Number(other) - Number(one));
}

function shapeOf(text: string): string {
  return text.replace(/\d/g, '0').replace(/[a-z]/g, 'a').replace(/[A-Z]/g, 'A');
}

/** True for a GUID, which some databases sort from its end, and a time that begins with the day or the month. */
function hasOwnOrder(text: string): boolean {
  return /^\{?[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}\}?$/i.test(text) || /^\d\d?\D\d\d?\D\d{4}/.test(text);
}
