import { z } from 'zod';
import { isJsonObject, type JsonValue } from '../lib/json.ts';
import { parseJson, valueAt } from './json-text.ts';
import type { AnswerHeaders } from './transport.ts';

/** How the entries of a listing are found and read. */
export interface ListShape<Entry> {
  /** Members that may hold the entries, as dotted paths. */
  itemsAt: readonly string[];
  /** Null for an entry that cannot be told from others. */
  read(entry: JsonValue): ReadEntry<Entry> | null;
}

export interface ReadEntry<Entry> {
  /** What no other entry has: an id, as a rule. */
  identity: string | number;
  entry: Entry;
}

/** One page, read. */
export interface ListPage<Entry> {
  entries: ReadEntry<Entry>[];
  /** Entries that could not be told from others, because they carry no id. */
  nameless: number;
  /** How many entries there are on all pages, where the API says so. */
  count: number | null;
  next: NextPage;
}

/** What leads on from a page. */
export type NextPage =
  | { kind: 'end' }
  /** A URL, path or query to follow. */
  | { kind: 'link'; link: string }
  /** A token for the query parameter of that name. */
  | { kind: 'cursor'; parameter: string; token: string }
  /** The envelope counts but does not link: the page after this one is asked for by its number. */
  | { kind: 'numbered' }
  /** There is more, and nothing says where. */
  | { kind: 'unknown' };

const whole = z.int().nonnegative().optional().catch(undefined);
const link = z
  .union([z.string(), z.looseObject({ href: z.string() }), z.null()])
  .optional()
  .catch(undefined);
const token = z.union([z.string(), z.int(), z.null()]).optional().catch(undefined);
const flag = z.boolean().optional().catch(undefined);

const Paging = z.looseObject({
  count: whole,
  total: whole,
  total_count: whole,
  total_pages: whole,
  num_pages: whole,
  last_page: whole,
  page: whole,
  current_page: whole,
  next: link,
  next_url: link,
  next_cursor: token,
  next_page_token: token,
  has_more: flag,
  has_next: flag,
});
type Paging = z.infer<typeof Paging>;

/** Members that may hold what is said of paging. */
const PAGING_MEMBERS = ['links', '_links', 'meta', 'pagination', 'paging'] as const;

/**
 * Reads one page in any of the forms that the profile allows for: DRF's `{count, next, previous, results}`, a bare array,
 * `data` or `items` envelopes, a cursor, a `Link` header (RFC 8288), page numbers.
 *
 * @returns null when the body is no listing
 */
export function readListPage<Entry>(
  body: string,
  headers: AnswerHeaders,
  shape: ListShape<Entry>,
): ListPage<Entry> | null {
  const value = parseJson(body);
  const given = entriesOf(value, shape.itemsAt);
  if (given === null) return null;
  const entries = given.flatMap((entry) => shape.read(entry) ?? []);
  const paging = isJsonObject(value) ? pagingOf(value) : {};
  return {
    entries,
    nameless: given.length - entries.length,
    count: paging.count ?? paging.total ?? paging.total_count ?? null,
    next: nextOf(paging, linkHeader(headers)),
  };
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

/** What is said of paging, beside the items or in a member of its own; the outer word wins. */
function pagingOf(value: Record<string, JsonValue>): Partial<Paging> {
  let paging: Partial<Paging> = {};
  const inner = valueAt(value, 'data');
  const holders = [...PAGING_MEMBERS.map((name) => valueAt(value, name)), inner, value];
  for (const holder of holders) {
    if (holder === undefined || !isJsonObject(holder)) continue;
    const said = Object.entries(Paging.parse(holder)).filter(
      ([name, member]) => member !== undefined && Object.hasOwn(Paging.shape, name),
    );
    paging = { ...paging, ...Object.fromEntries(said) };
  }
  return paging;
}

function nextOf(paging: Partial<Paging>, header: string | null): NextPage {
  const links = [paging.next, paging.next_url].filter((member) => member !== undefined);
  for (const member of links) {
    const target = typeof member === 'object' ? (member?.href ?? '') : member;
    if (target === '') continue;
    // A `next` without any of a URL's signs is a cursor.
    return /[/?&=]/.test(target)
      ? { kind: 'link', link: target }
      : { kind: 'cursor', parameter: 'cursor', token: target };
  }
  const cursor = cursorOf(paging);
  if (cursor !== null) return cursor;
  if (header !== null) return { kind: 'link', link: header };
  const page = paging.page ?? paging.current_page ?? null;
  const pages = paging.total_pages ?? paging.num_pages ?? paging.last_page ?? null;
  if (page !== null && pages !== null) return page < pages ? { kind: 'numbered' } : { kind: 'end' };
  if (paging.has_more === true || paging.has_next === true)
    return page === null ? { kind: 'unknown' } : { kind: 'numbered' };
  if (links.length > 0 || paging.next_cursor === null || paging.next_page_token === null) return { kind: 'end' };
  if (paging.has_more === false || paging.has_next === false) return { kind: 'end' };
  const counts = paging.count ?? paging.total ?? paging.total_count;
  return counts === undefined ? { kind: 'end' } : { kind: 'numbered' };
}

function cursorOf(paging: Partial<Paging>): NextPage | null {
  for (const [name, parameter] of CURSOR_PARAMETERS) {
    const value = paging[name];
    if (value !== undefined && value !== null && value !== '') {
      return { kind: 'cursor', parameter, token: String(value) };
    }
  }
  return null;
}

const CURSOR_PARAMETERS = [
  ['next_cursor', 'cursor'],
  ['next_page_token', 'page_token'],
] as const;

/** The target of `rel="next"` in a `Link` header. */
function linkHeader(headers: AnswerHeaders): string | null {
  const given = headers['link'];
  const text = (Array.isArray(given) ? given.join(',') : (given ?? '')).slice(0, 8_192);
  for (const [, target = '', parameters = ''] of text.matchAll(/<([^<>]*)>((?:\s*;\s*[^,;<"]+(?:"[^"]*")?)*)/g)) {
    const rel = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i.exec(parameters);
    const relations = (rel?.[1] ?? rel?.[2] ?? '').toLowerCase().split(/\s+/);
    if (relations.includes('next')) return target;
  }
  return null;
}
