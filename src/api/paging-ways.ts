import type { Profile } from '../domain/profile.ts';
import type { ListPage } from './list-page.ts';
import type { ListingPath } from './listing-path.ts';
import type { PageRead } from './page-reading.ts';

/** How pages are asked for where no answer carries the way to the next one. */
export type Way =
  /** By number; `first` is that of the page that comes without one. */
  | { by: 'page'; parameter: string; first: number }
  /** By the number of entries to leave out. */
  | { by: 'offset'; parameter: string };

/** What is known of an endpoint's list, once it was read to its end. Kept for the process. */
export interface KnownPaging {
  way: Way | null;
  /** How many entries one answer holds that page, offset and a larger size do not change: it holds all entries. */
  wholeOf: number;
  /** The parameter for the page size is refused. */
  refusesSize: boolean;
  /** What it counts are the entries of the page. */
  countsPages: boolean;
  /** The parameter that a cursor or page number goes into, by the name that is usual for it. */
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
  /** The way is known, and there is no page after the first. */
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

// The profile's name first, then those that are common.
const PAGE_NAMES = ['page', 'pageNumber'];
const OFFSET_NAMES = ['offset', 'skip'];
const CURSOR_NAMES = ['cursor', 'after', 'page_token', 'pageToken', 'next_cursor', 'nextCursor'];
const SIZE_NAMES = ['page_size', 'pageSize', 'per_page', 'limit', 'size'];
const LARGE = 1_000;

/** The parameters that a cursor or the number of a page may go into, the likeliest first. */
export function parametersFor(kind: 'cursor' | 'page', usual: string, list: Profile['list']): string[] {
  if (list.cursorParameter !== null) return [list.cursorParameter];
  const names = kind === 'page' ? [list.pageParameter, ...PAGE_NAMES] : [];
  return [...new Set([...names, usual, ...CURSOR_NAMES])];
}

/** Whether two pages are the same page. A few rows may have been added or removed in between. */
export function isSamePage<Entry>(page: ListPage<Entry>, other: ListPage<Entry>): boolean {
  const ids = new Set(other.entries.map(({ identity }) => identity));
  const shared = page.entries.filter(({ identity }) => ids.has(identity)).length;
  return 2 * shared > Math.min(page.entries.length, ids.size);
}

/** Finds out how the page after the first one is asked for. */
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
      // Numbers may begin with 0: page 1 is the second one then, which would be left out.
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
