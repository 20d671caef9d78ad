// How the server of the kit gives a list in pages, for each kind of paging.

import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { valueAt } from '../document-path.ts';
import { textOf } from '../rest/placeholders.ts';
import {
  type ApiPaging,
  type ApiRequest,
  inRequest,
  type PageSize,
  type RestApi,
  stepsOf,
  withoutMember,
  withValue,
} from './rest-api.ts';
import type { ApiRow, ApiRows } from './rest-rows.ts';

/** The parameters in the links of the server: where a page begins, and since when changes are given. */
export const LINK_AT = 'kitAt';
export const LINK_SINCE = 'kitSince';

export type ListPaging = Exclude<ApiPaging, { by: 'bulkJob' }>;

/** The parts of an answer, before they become a document. A trap changes them. */
export interface PageParts {
  rows: JsonObject[];
  /** The token for the next page; null on the last page. */
  next: string | null;
  /** What a flag says; undefined if it is left out. */
  more: boolean | undefined;
  /** The number of all rows; undefined if it is left out. */
  total: JsonValue | undefined;
  /** Since when the delta link gives changes; null if there is no delta link. */
  deltaSince: number | null;
}

/** The tokens that the server has given, each with what it stands for. A trap gives them other names. */
export function createTokens(names: readonly string[] = []) {
  const left = [...names];
  const meanings = new Map<string, number>();
  return {
    /** @param isNew true for a token that must differ from those before it, as after a page without rows */
    nameOf(meaning: number, isNew: boolean): string {
      if (!isNew) for (const [name, own] of meanings) if (own === meaning) return name;
      const name = left.shift() ?? `t${meanings.size + 1}x${meaning}`;
      meanings.set(name, meaning);
      return name;
    },
    meaningOf: (name: string): number | undefined => meanings.get(name),
  };
}

export type Tokens = ReturnType<typeof createTokens>;

/** A request that the server cannot understand. */
export class BadRequest extends Error {}

export function sizeAsked(page: ListPaging, request: ApiRequest): number {
  const size: PageSize | null = page.size;
  if (size === null) return Number.MAX_SAFE_INTEGER;
  if (typeof size === 'number') return size;
  const asked = Number(inRequest(request, size));
  if (Number.isInteger(asked) && asked > 0) return asked;
  throw new BadRequest('The request does not say how many rows a page has.');
}

/** How many rows lie before the page that a request asks for. */
export function startOf(
  page: ListPaging,
  request: ApiRequest,
  {
    list,
    all,
    tokens,
    size,
  }: { list: readonly ApiRow[]; all: Pick<ApiRows, 'placeWith'>; tokens: Tokens; size: number },
): number {
  const after = (place: number): number => {
    const at = list.findIndex((row) => row.place > place);
    return at === -1 ? list.length : at;
  };
  const byToken = (token: JsonValue | undefined, of: 'rows' | 'positions' = 'rows'): number => {
    if (token === undefined || token === null) return 0;
    const meaning = tokens.meaningOf(textOf(token));
    if (meaning === undefined) throw new BadRequest(`The server has not given the token ${JSON.stringify(token)}.`);
    return of === 'positions' ? meaning : after(meaning);
  };
  switch (page.by) {
    case 'none':
      return 0;
    case 'nextLink':
    case 'header':
      return byToken(request.query[LINK_AT], page.tokens);
    case 'cursor':
    case 'graphql':
      return byToken(inRequest(request, page.at), page.tokens);
    case 'keyset': {
      const value = inRequest(request, page.at);
      if (value === undefined || value === null) return 0;
      const steps = stepsOf(page.after);
      const place = all.placeWith((fields) => textOf(valueAt(fields, steps) ?? null) === textOf(value));
      if (place === undefined) throw new BadRequest(`No row has ${JSON.stringify(value)} at ${page.after}.`);
      return after(place);
    }
    case 'offset':
      return numberIn(inRequest(request, page.at) ?? 0);
    case 'page':
      return (numberIn(inRequest(request, page.at) ?? page.first ?? 1) - (page.first ?? 1)) * size;
  }
}

function numberIn(value: JsonValue): number {
  const number = Number(value);
  if (Number.isInteger(number) && number >= 0) return number;
  throw new BadRequest(`${JSON.stringify(value)} is no position.`);
}

/** The token for the page that begins after so many rows of the list. */
export function tokenAt(
  page: ListPaging,
  start: number,
  { list, tokens, isNew }: { list: readonly ApiRow[]; tokens: Tokens; isNew: boolean },
): string {
  const isPosition = 'tokens' in page && page.tokens === 'positions';
  return tokens.nameOf(isPosition ? start : (list[start - 1]?.place ?? Number.NEGATIVE_INFINITY), isNew);
}

/** The answer that has the parts. */
export function answerOf(
  api: RestApi,
  page: ListPaging,
  parts: PageParts,
  { document: around, link }: { document: JsonValue; link: (name: string, value: string) => string },
): { document: JsonValue; headers: Record<string, string> } {
  const headers: Record<string, string> = {};
  const listAt = page.by === 'graphql' && api.rows === '$' ? `${page.connection}.nodes` : api.rows;
  let document = withValue(around, listAt, parts.rows);
  const put = (path: string, value: JsonValue | undefined): void => {
    document = value === undefined ? withoutMember(document, path) : withValue(document, path, value);
  };
  const { total } = api;
  if (typeof total === 'string') put(total, parts.total);
  else if (total !== undefined && parts.total !== undefined && parts.total !== null) {
    headers[total.header.toLowerCase()] = textOf(parts.total);
  }
  const { next, more } = parts;
  switch (page.by) {
    case 'none':
    case 'keyset':
      if (next !== null) headers['link'] = `<${link(LINK_AT, next)}>; rel="next"`;
      break;
    case 'nextLink':
      put(page.next, next === null ? undefined : link(LINK_AT, next));
      break;
    case 'header':
      if (next !== null) headers['link'] = `<${link(LINK_AT, next)}>; rel="next"`;
      break;
    case 'cursor':
      put(page.next, next);
      if (page.more !== undefined) put(page.more, more);
      break;
    case 'offset':
    case 'page':
      if (page.more !== undefined) put(page.more, more);
      break;
    case 'graphql':
      put(`${page.connection}.pageInfo.endCursor`, next);
      put(`${page.connection}.pageInfo.hasNextPage`, more);
      break;
  }
  const delta = api.changes?.deltaLink;
  if (delta !== undefined)
    put(delta, parts.deltaSince === null ? undefined : link(LINK_SINCE, String(parts.deltaSince)));
  return { document, headers };
}
