import type { Profile } from '../../domain/profile.ts';
import type { BaseUrl } from '../transport.ts';
import type { ListPage, PageRead } from './list-page.ts';

/** How pages are requested if no answer names the next page. */
export type Way =
  /** By number. `first` is the number of the page that a request without a number returns. */
  | { by: 'page'; parameter: string; first: number }
  /** By the number of entries to skip. */
  | { by: 'offset'; parameter: string };

/** The facts that a complete read has shown about an endpoint's list. It is kept as long as the process runs. */
export interface KnownPaging {
  way: Way | null;
  /** The number of entries in an answer that neither page, offset nor a larger size changes: all entries. */
  wholeOf: number;
  /** True if the API refuses the parameter for the page size. */
  refusesSize: boolean;
  /** True if the stated count is the number of entries on the page. */
  countsPages: boolean;
  /** The parameter that takes a cursor or page number, by its usual name. */
  parameters: Record<string, string>;
}

export const NOTHING_KNOWN: KnownPaging = {
  way: null,
  wholeOf: 0,
  refusesSize: false,
  countsPages: false,
  parameters: {},
};

/** The result of trying the common ways to ask for the next page. */
export type Search<Entry> =
  | { found: 'next'; way: Way; path: string; page: ListPage<Entry> }
  /** The paging is known, and there is no page after the first. */
  | { found: 'end'; way: Way }
  /** No trial changed the entries: one answer holds all of them. */
  | { found: 'whole' }
  /** A larger page shows more entries. */
  | { found: 'larger' }
  /** Some trials were refused, so nothing is proven. */
  | { found: 'nothing' }
  | Extract<PageRead<Entry>, { kind: 'failed' }>;

type Trial<Entry> =
  | { kind: 'page'; path: string; page: ListPage<Entry> }
  | { kind: 'end' }
  | { kind: 'same' }
  | { kind: 'refused' }
  | Extract<PageRead<Entry>, { kind: 'failed' }>;

// The name from the profile comes first, then the common names.
const PAGE_NAMES = ['page', 'pageNumber'];
const OFFSET_NAMES = ['offset', 'skip'];
const CURSOR_NAMES = ['cursor', 'after', 'page_token', 'pageToken', 'next_cursor', 'nextCursor'];
const SIZE_NAMES = ['page_size', 'pageSize', 'per_page', 'limit', 'size'];
const LARGE = 1_000;

/** The parameters that may take a cursor or the number of a page, the likeliest first. */
export function parametersFor(kind: 'cursor' | 'page', usual: string, list: Profile['list']): string[] {
  if (list.cursorParameter !== null) return [list.cursorParameter];
  const names = kind === 'page' ? [list.pageParameter, ...PAGE_NAMES] : [];
  return [...new Set([...names, usual, ...CURSOR_NAMES])];
}

/** Whether two answers show the same page. A few rows may have been added or removed between them. */
export function isSamePage<Entry>(page: ListPage<Entry>, other: ListPage<Entry>): boolean {
  const ids = new Set(other.entries.map(({ identity }) => identity));
  const shared = page.entries.filter(({ identity }) => ids.has(identity)).length;
  return 2 * shared > Math.min(page.entries.length, ids.size);
}

/** Finds out how the second page is requested. */
export async function searchWay<Entry>(
  first: { path: string; page: ListPage<Entry> },
  tools: { path: ListingPath; list: Profile['list']; read(path: string): Promise<PageRead<Entry>> },
): Promise<Search<Entry>> {
  const { list } = tools;
  let refusals = 0;

  async function attempt(parameters: Record<string, string>): Promise<Trial<Entry>> {
    const path = tools.path.with(first.path, parameters);
    const read = await tools.read(path);
    if (read.kind === 'failed') return read;
    if (read.kind === 'refused') {
      if (read.status === 404) return { kind: 'end' };
      refusals += 1;
      return { kind: 'refused' };
    }
    if (read.page.entries.length === 0) return { kind: 'end' };
    return isSamePage(read.page, first.page) ? { kind: 'same' } : { kind: 'page', path, page: read.page };
  }

  async function byNumber(parameter: string): Promise<Search<Entry> | null> {
    const stated = list.firstPage ?? first.page.words.number;
    const after = await attempt({ [parameter]: String((stated ?? 1) + 1) });
    if (after.kind === 'failed') return after;
    if (after.kind === 'same' || after.kind === 'refused') return null;
    const from1: Way = { by: 'page', parameter, first: stated ?? 1 };
    if (stated === null) {
      // Numbers may begin with 0. Page 1 is then the second page, so it must be tried too.
      const one = await attempt({ [parameter]: '1' });
      const from0: Way = { by: 'page', parameter, first: 0 };
      if (one.kind === 'failed') return one;
      if (one.kind === 'refused') return null;
      if (one.kind === 'page') return { found: 'next', way: from0, path: one.path, page: one.page };
      if (one.kind === 'end') return { found: 'end', way: from0 };
    }
    return after.kind === 'page'
      ? { found: 'next', way: from1, path: after.path, page: after.page }
      : { found: 'end', way: from1 };
  }

  async function byOffset(parameter: string): Promise<Search<Entry> | null> {
    const way: Way = { by: 'offset', parameter };
    const after = await attempt({ [parameter]: String(first.page.entries.length) });
    if (after.kind === 'failed') return after;
    if (after.kind === 'end') return { found: 'end', way };
    return after.kind === 'page' ? { found: 'next', way, path: after.path, page: after.page } : null;
  }

  async function bySize(): Promise<Search<Entry>> {
    const size = String(Math.max(LARGE, 2 * (list.pageSize ?? 0), 2 * first.page.entries.length));
    const names = new Set([list.sizeParameter, ...SIZE_NAMES]);
    const read = await tools.read(
      tools.path.with(first.path, Object.fromEntries([...names].map((name) => [name, size]))),
    );
    if (read.kind === 'failed') return read;
    if (read.kind === 'refused' || refusals > 0) return { found: 'nothing' };
    return { found: read.page.entries.length > first.page.entries.length ? 'larger' : 'whole' };
  }

  for (const name of new Set([list.pageParameter, ...PAGE_NAMES])) {
    const found = await byNumber(name);
    if (found !== null) return found;
  }
  for (const name of new Set([list.offsetParameter, ...OFFSET_NAMES])) {
    const found = await byOffset(name);
    if (found !== null) return found;
  }
  return bySize();
}

/**
 * The paths of one endpoint's list. The pages differ only in the query.
 *
 * @param at the address of the API, the path of the endpoint below it, and the query of the first page, which may be empty
 */
export function createListingPath({
  baseUrl: { origin, prefix },
  endpointPath,
  query,
}: {
  baseUrl: BaseUrl;
  endpointPath: string;
  query: string;
}) {
  const own = prefix + endpointPath;
  return {
    /** The first page. */
    first: own + (query === '' ? '' : `?${query}`),

    /** The path of a page with these additional parameters. A parameter that is null is removed. */
    with(path: string, parameters: Readonly<Record<string, string | null>>): string {
      const url = new URL(origin + path);
      for (const [name, value] of Object.entries(parameters)) {
        if (value === null) url.searchParams.delete(name);
        else url.searchParams.set(name, value);
      }
      return own + url.search;
    },

    // I7: only the query of a link is used, so that no answer can send a request to another address. The path is compared as it
    // is written, without decoding.
    /** The page that a link names; null if the path of the link is not that of the list. */
    linked(link: string, current: string): string | null {
      const url = URL.parse(/^[\w$.-]+=/.test(link) ? `?${link}` : link, origin + current);
      if (url === null) return null;
      // A server behind a gateway does not know the prefix of its own address.
      const isOwn = [own, endpointPath].some((path) => url.pathname === path || `${url.pathname}/` === path);
      return isOwn ? own + url.search : null;
    },
  };
}

export type ListingPath = ReturnType<typeof createListingPath>;
