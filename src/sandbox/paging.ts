import { type Answer, refusal } from './answer.ts';
import { type Collection, type Entity, present } from './collection.ts';
import type { Operation, OperationRequest, QueryParameter } from './operation.ts';
import type { SandboxSettings } from './settings.ts';

type ListSettings = Pick<SandboxSettings, 'pageSize' | 'pageSizeMax' | 'paging' | 'envelope' | 'listFilters'>;

/** Rows in their order, all of a collection's or those that a filter leaves. */
interface Rows {
  count: number;
  slice(range: { offset: number; limit: number }): Entity[];
}

/**
 * Lists a collection in pages, in the way that the settings ask for. `filters` are columns that a query parameter of
 * the same name may pin to one value, where the settings allow it; otherwise such a parameter is ignored, as unknown
 * ones are.
 */
export function createListOperation(
  collection: Collection,
  settings: ListSettings,
  filters: readonly string[] = [],
): Operation {
  const answer = PAGINATIONS[settings.paging];
  return {
    query: [...PARAMETERS[settings.paging], ...(settings.listFilters ? filters.map(filterNamed) : [])],
    naturalKey: () => undefined,
    execute(request) {
      const { organizationId, query } = request;
      const column = settings.listFilters ? filters.find((name) => query.has(name)) : undefined;
      return answer(
        column === undefined
          ? allRows(collection, organizationId)
          : arrayRows(collection.all(organizationId, column, query.get(column) ?? '')),
        request,
        settings,
      );
    },
  };
}

function allRows(collection: Collection, organizationId: number): Rows {
  return {
    count: collection.count(organizationId),
    slice: (range) => collection.slice(organizationId, range),
  };
}

function arrayRows(entities: Entity[]): Rows {
  return { count: entities.length, slice: ({ offset, limit }) => entities.slice(offset, offset + limit) };
}

type Pagination = (rows: Rows, request: OperationRequest, settings: ListSettings) => Answer;

const PAGINATIONS: Record<SandboxSettings['paging'], Pagination> = {
  'page-number': pageNumber,
  'link-header': linkHeader,
  cursor,
  none: (rows) => ({ status: 200, body: rows.slice({ offset: 0, limit: rows.count }).map(present) }),
};

const COUNT = { type: 'integer', minimum: 1 };
const SIZE = { name: 'page_size', description: 'Entries per page; one that makes no sense is ignored.', schema: COUNT };
const NUMBER = { name: 'page', description: 'The number of the page, from 1.', schema: COUNT };
const CURSOR = {
  name: 'cursor',
  description: 'The `next_cursor` of the page before; without it, the first page.',
  schema: { type: 'string' },
};

const PARAMETERS: Record<SandboxSettings['paging'], readonly QueryParameter[]> = {
  'page-number': [NUMBER, SIZE],
  'link-header': [NUMBER, SIZE],
  cursor: [CURSOR, SIZE],
  none: [],
};

function filterNamed(name: string): QueryParameter {
  return { name, description: `Only entries with this \`${name}\`.`, schema: { type: 'string' } };
}

/**
 * As Django REST Framework's PageNumberPagination: `page` counts from 1, a page beyond the last is 404, a `page_size`
 * that makes no sense is ignored, and `next` and `previous` are absolute URLs or null.
 */
function pageNumber(rows: Rows, request: OperationRequest, settings: ListSettings): Answer {
  const page = numberedPage(rows, request, settings);
  if (!page) return refusal(404, 'Invalid page.');
  const { results, next, previous } = page;
  return { status: 200, body: { count: rows.count, next, previous, [settings.envelope]: results.map(present) } };
}

/** A bare array, with the way on in a `Link` header (RFC 8288). */
function linkHeader(rows: Rows, request: OperationRequest, settings: ListSettings): Answer {
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

function numberedPage(rows: Rows, { query, url }: OperationRequest, settings: ListSettings): NumberedPage | undefined {
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

/** `next_cursor` is to be sent back as `cursor`; it is null on the last page. What it means is the server's business. */
function cursor(rows: Rows, { query }: OperationRequest, settings: ListSettings): Answer {
  const size = pageSizeOf(query, settings);
  const given = query.get('cursor');
  const offset = given === null ? 0 : offsetOf(given);
  if (offset === undefined) return refusal(404, 'Invalid cursor.');
  const end = offset + size;
  const nextCursor = end < rows.count ? Buffer.from(`after:${end}`).toString('base64url') : null;
  const results = rows.slice({ offset, limit: size }).map(present);
  return { status: 200, body: { next_cursor: nextCursor, [settings.envelope]: results } };
}

function offsetOf(cursorText: string): number | undefined {
  const match = /^after:(\d{1,15})$/.exec(Buffer.from(cursorText, 'base64url').toString('latin1'));
  return match ? Number(match[1]) : undefined;
}

function pageSizeOf(query: URLSearchParams, { pageSize, pageSizeMax }: ListSettings): number {
  return Math.min(positive(query.get('page_size')) ?? pageSize, pageSizeMax);
}

function positive(text: string | null): number | undefined {
  return text !== null && /^\d{1,9}$/.test(text) && Number(text) > 0 ? Number(text) : undefined;
}
