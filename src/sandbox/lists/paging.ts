import type { JsonObject, JsonValue } from '../../lib/json.ts';
import {
  type Answer,
  type ListView,
  type Operation,
  type OperationRequest,
  type QueryParameter,
  refusal,
} from '../api/operation.ts';
import { type Collection, type Entity, present } from '../items/collection.ts';
import type { SandboxSettings } from '../settings/settings.ts';

/**
 * Lists a collection in pages, in the way of the settings. `filters` are columns for which a query parameter with the
 * same name selects one value, if the settings allow it. Otherwise such a parameter is ignored, like an unknown one.
 */
export function createListOperation(
  collection: Collection,
  settings: SandboxSettings,
  filters: readonly string[] = [],
): Operation {
  const { answer, parameters } = PAGINGS[settings.paging];
  return {
    query: [...parameters, ...(settings.listFilters ? filters.map(filterNamed) : [])],
    naturalKey: () => undefined,
    execute(request): Answer {
      const { organizationId, query, view, now } = request;
      const column = settings.listFilters ? filters.find((name) => query.has(name)) : undefined;
      const rows =
        column === undefined
          ? allRows(collection, organizationId)
          : arrayRows(collection.all(organizationId, column, query.get(column) ?? ''));
      return answer(view === undefined ? rows : viewed(rows, view, now), request, settings);
    },
  };
}

function allRows(collection: Collection, organizationId: number): Rows {
  return {
    count: collection.count(organizationId),
    slice: (range) => collection.slice(organizationId, range),
  };
}

function filterNamed(name: string): QueryParameter {
  return { name, description: `Only entries with this \`${name}\`.`, schema: { type: 'string' } };
}

/** One way of paging through a list. */
interface Paging {
  answer: (rows: Rows, request: OperationRequest, settings: SandboxSettings) => Answer;
  /** All query parameters that this way of paging reads. */
  parameters: readonly QueryParameter[];
  /** The published schema of a page, if a page is not a bare array. */
  page: ((entries: JsonObject, settings: SandboxSettings) => JsonObject) | null;
}

const COUNT = { type: 'integer', minimum: 1 };
const TOTAL = { type: 'integer', minimum: 0 };
const FLAG = { type: 'boolean' };
const URL_OR_NULL = { type: ['string', 'null'] };

const sizeNamed = (name: string): QueryParameter => ({
  name,
  description: 'Entries per page; an invalid number is ignored.',
  schema: COUNT,
});
const SIZE = sizeNamed('page_size');
const NUMBER = { name: 'page', description: 'The number of the page, from 1.', schema: COUNT };
const cursorNamed = (name: string, from: string): QueryParameter => ({
  name,
  description: `The \`${from}\` of the page before. Without this parameter the answer is the first page.`,
  schema: { type: 'string' },
});

/**
 * The ways of paging: Django REST Framework, a cursor, `Link` headers, and six that dpp-sync knows from other
 * platforms.
 */
export const PAGINGS: Record<SandboxSettings['paging'], Paging> = {
  'page-number': {
    answer: pageNumber,
    parameters: [NUMBER, SIZE],
    page: (entries, { envelope }) =>
      closed({ count: TOTAL, next: URL_OR_NULL, previous: URL_OR_NULL, [envelope]: entries }),
  },
  'link-header': { answer: linkHeader, parameters: [NUMBER, SIZE], page: null },
  cursor: {
    answer: cursor,
    parameters: [cursorNamed('cursor', 'next_cursor'), SIZE],
    page: (entries, { envelope }) => closed({ next_cursor: URL_OR_NULL, [envelope]: entries }),
  },
  odata: {
    answer: odata,
    parameters: [cursorNamed('$skiptoken', '@odata.nextLink')],
    page: (entries) => ({
      ...closed({ '@odata.context': { type: 'string' }, '@odata.count': TOTAL, value: entries }),
      additionalProperties: { type: 'string' },
    }),
  },
  spring: {
    answer: spring,
    parameters: [{ ...NUMBER, description: 'The number of the page, from 0.', schema: TOTAL }, sizeNamed('size')],
    page: (entries) =>
      closed({
        content: entries,
        number: TOTAL,
        size: COUNT,
        totalElements: TOTAL,
        totalPages: TOTAL,
        first: FLAG,
        last: FLAG,
      }),
  },
  relay: {
    answer: relay,
    parameters: [cursorNamed('after', 'endCursor'), sizeNamed('first')],
    page: ({ items, ...entries }) => {
      const edge = closed({ cursor: { type: 'string' }, node: (items ?? {}) as JsonObject });
      const pageInfo = closed({ hasNextPage: FLAG, endCursor: URL_OR_NULL });
      return closed({ edges: { ...entries, items: edge }, pageInfo });
    },
  },
  'has-more': {
    answer: hasMore,
    parameters: [NUMBER, sizeNamed('pageSize')],
    page: (entries, { envelope }) => closed({ [envelope]: entries, hasMore: FLAG }),
  },
  'page-header': { answer: pageHeader, parameters: [NUMBER, SIZE], page: null },
  silent: {
    answer: silent,
    parameters: [NUMBER, SIZE],
    page: (entries, { envelope }) => closed({ [envelope]: entries }),
  },
  none: {
    answer: (rows) => ({ status: 200, body: rows.slice({ offset: 0, limit: rows.count }).map(present) }),
    parameters: [],
    page: null,
  },
};

export function closed(properties: JsonObject): JsonObject {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}

/**
 * Like Django REST Framework's PageNumberPagination: `page` counts from 1, a page beyond the last is 404, an invalid
 * `page_size` is ignored, and `next` and `previous` are absolute URLs or null.
 */
function pageNumber(rows: Rows, request: OperationRequest, settings: SandboxSettings): Answer {
  const page = numberedPage(rows, request, settings);
  if (!page) return refusal(404, 'Invalid page.');
  const { results, next, previous } = page;
  return { status: 200, body: { count: rows.count, next, previous, [settings.envelope]: results.map(present) } };
}

/** A bare array, with the next page in a `Link` header (RFC 8288). */
function linkHeader(rows: Rows, request: OperationRequest, settings: SandboxSettings): Answer {
  const page = numberedPage(rows, request, settings);
  if (!page) return refusal(404, 'Invalid page.');
  const links = [
    ...(page.next === null ? [] : [`<${page.next}>; rel="next"`]),
    ...(page.previous === null ? [] : [`<${page.previous}>; rel="prev"`]),
  ];
  const headers = { 'x-total-count': String(rows.count), ...(links.length > 0 && { link: links.join(', ') }) };
  return { status: 200, body: page.results.map(present), headers };
}

interface NumberedPage {
  results: Entity[];
  next: string | null;
  previous: string | null;
}

function numberedPage(
  rows: Rows,
  { query, url }: OperationRequest,
  settings: SandboxSettings,
): NumberedPage | undefined {
  const size = pageSizeOf(query, settings);
  const page = positive(query.get('page') ?? '1');
  const pages = Math.max(1, Math.ceil(rows.count / size));
  if (page === undefined || page > pages) return undefined;
  const link = (target: number): string => {
    const parameters = new URLSearchParams(query);
    parameters.set('page', String(target));
    return `${url()}?${parameters.toString()}`;
  };
  return {
    results: rows.slice({ offset: (page - 1) * size, limit: size }),
    next: page < pages ? link(page + 1) : null,
    previous: page > 1 ? link(page - 1) : null,
  };
}

/** `next_cursor` is to be sent back as `cursor`; it is null on the last page. Only the server knows its meaning. */
function cursor(rows: Rows, { query }: OperationRequest, settings: SandboxSettings): Answer {
  const part = marked(rows, query.get('cursor'), pageSizeOf(query, settings));
  if (part === undefined) return refusal(404, 'Invalid cursor.');
  return { status: 200, body: { next_cursor: part.more ? part.mark : null, [settings.envelope]: part.results } };
}

function offsetOf(cursorText: string): number | undefined {
  const match = /^after:(\d{1,15})$/.exec(Buffer.from(cursorText, 'base64url').toString('latin1'));
  return match ? Number(match[1]) : undefined;
}

function pageSizeOf(query: URLSearchParams, { pageSize, pageSizeMax }: SandboxSettings, name = 'page_size'): number {
  return Math.min(positive(query.get(name)) ?? pageSize, pageSizeMax);
}

function positive(text: string | null): number | undefined {
  return text !== null && /^\d{1,9}$/.test(text) && Number(text) > 0 ? Number(text) : undefined;
}

/**
 * A slice of the rows after an opaque mark, which is the number of rows before the slice; undefined for an invalid
 * mark.
 */
function marked(rows: Rows, given: string | null, size: number) {
  const offset = given === null ? 0 : offsetOf(given);
  if (offset === undefined) return undefined;
  const end = offset + size;
  return { results: rows.slice({ offset, limit: size }).map(present), mark: markOf(end), more: end < rows.count };
}

function markOf(offset: number): string {
  return Buffer.from(`after:${offset}`).toString('base64url');
}

/** OData 4: a page that is not the last one has a nextLink. */
function odata(rows: Rows, { query, url }: OperationRequest, settings: SandboxSettings): Answer {
  const part = marked(rows, query.get('$skiptoken'), settings.pageSize);
  if (part === undefined) return refusal(404, 'Invalid skiptoken.');
  const body: JsonObject = {
    '@odata.context': `${url()}$metadata`,
    '@odata.count': rows.count,
    value: part.results,
    ...(part.more && { '@odata.nextLink': `${url()}?%24skiptoken=${part.mark}` }),
  };
  return { status: 200, body };
}

/** Spring Data's Page, which counts from 0. */
function spring(rows: Rows, { query }: OperationRequest, settings: SandboxSettings): Answer {
  const size = pageSizeOf(query, settings, 'size');
  const number = Number(/^\d{1,9}$/.exec(query.get('page') ?? '0')?.[0] ?? '0');
  const totalPages = Math.ceil(rows.count / size);
  const content = rows.slice({ offset: number * size, limit: size }).map(present);
  const place = { first: number === 0, last: number >= totalPages - 1 };
  return { status: 200, body: { content, number, size, totalElements: rows.count, totalPages, ...place } };
}

/** Relay's connections: edges, and a `pageInfo` about the next page. */
function relay(rows: Rows, { query }: OperationRequest, settings: SandboxSettings): Answer {
  const part = marked(rows, query.get('after'), pageSizeOf(query, settings, 'first'));
  if (part === undefined) return refusal(404, 'Invalid cursor.');
  const edges: JsonValue[] = part.results.map((node) => ({ cursor: JSON.stringify(node['id'] ?? null), node }));
  const endCursor = part.results.length === 0 ? null : part.mark;
  return { status: 200, body: { edges, pageInfo: { hasNextPage: part.more, endCursor } } };
}

/** Numbered pages with a flag for whether there is another page, but without its address and the number of pages. */
function hasMore(rows: Rows, { query }: OperationRequest, settings: SandboxSettings): Answer {
  const { results, more } = anyPage(rows, query, pageSizeOf(query, settings, 'pageSize'));
  return { status: 200, body: { [settings.envelope]: results, hasMore: more } };
}

/** A bare array, with the number of the next page in a header that is empty on the last page. */
function pageHeader(rows: Rows, { query }: OperationRequest, settings: SandboxSettings): Answer {
  const { results, more, page } = anyPage(rows, query, pageSizeOf(query, settings));
  return {
    status: 200,
    body: results,
    headers: { 'x-page': String(page), 'x-next-page': more ? String(page + 1) : '' },
  };
}

/** Numbered pages without any information about other pages. */
function silent(rows: Rows, { query }: OperationRequest, settings: SandboxSettings): Answer {
  const { results } = anyPage(rows, query, pageSizeOf(query, settings));
  return { status: 200, body: { [settings.envelope]: results } };
}

/** A numbered page, which is empty after the end of the list. */
function anyPage(rows: Rows, query: URLSearchParams, size: number) {
  const page = positive(query.get('page')) ?? 1;
  const results = rows.slice({ offset: (page - 1) * size, limit: size }).map(present);
  return { results, page, more: page * size < rows.count };
}

/** All rows of a collection, or the rows that pass a filter, in their order. */
interface Rows {
  count: number;
  slice(range: { offset: number; limit: number }): Entity[];
}

function arrayRows(entities: Entity[]): Rows {
  return { count: entities.length, slice: ({ offset, limit }) => entities.slice(offset, offset + limit) };
}

/** The rows of a distorted list: one that lags behind, has moved or has no order. */
function viewed(rows: Rows, { moved, lagMs, random }: ListView, now: number): Rows {
  const all = rows.slice({ offset: 0, limit: rows.count });
  const shown = lagMs === 0 ? all : all.filter(({ createdAt }) => Date.parse(createdAt) <= now - lagMs);
  const from = shown.length === 0 ? 0 : moved % shown.length;
  const turned = [...shown.slice(from), ...shown.slice(0, from)];
  return arrayRows(random === null ? turned : shuffled(turned, random));
}

/** Shuffles rows with the algorithm of Fisher and Yates. */
function shuffled(rows: Entity[], random: () => number): Entity[] {
  for (let at = rows.length - 1; at > 0; at -= 1) {
    const other = Math.floor(random() * (at + 1));
    const moving = rows[at];
    const replaced = rows[other];
    if (moving === undefined || replaced === undefined) continue;
    rows[at] = replaced;
    rows[other] = moving;
  }
  return rows;
}
