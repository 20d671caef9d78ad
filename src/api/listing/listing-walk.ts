import type { Outcome } from '../../domain/delivery/outcome.ts';
import type { Profile } from '../../domain/profile.ts';
import { unreadableAnswer } from '../answers/classify.ts';
import type { NoId } from '../answers/entry.ts';
import { type ListPage, type PageRead, type PageTools, type PagingWords, readPage, unreliable } from './list-page.ts';
import {
  isSamePage,
  type KnownPaging,
  type ListingPath,
  parametersFor,
  type Search,
  searchWay,
  type Way,
} from './paging-ways.ts';

/** No catalogue has so many pages. Beyond this number the API is assumed to repeat its pages. */
const PAGES_MAX = 100_000;

/** How the pages of a listing are read. */
export interface WalkTools<Entry> extends PageTools<Entry> {
  path: ListingPath;
  list: Profile['list'];
  /** True for a path that contains a secret. It may not be stored (I7). */
  holdsSecret(path: string): boolean;
}

/** The next page to read. */
export interface Place {
  path: string;
  /** The counts of what was read before: pages, their entries, and the entries of the largest page. */
  pages: number;
  entries: number;
  widest: number;
  /** True if a link or cursor has led to this page. Then the listing ends at a page without link and cursor. */
  led: boolean;
  /** The page number that the first page states. */
  firstNumber: number | null;
}

interface Step<Entry> {
  page: ListPage<Entry>;
  /** The number of entries on all pages that the page states. */
  count: number | null;
  /** Null after the last page. */
  next: Place | null;
}

/** How a walk ended: null at the proven end of the listing. */
type WalkEnd = Outcome | null;

type Onward<Entry> =
  | { to: 'end' }
  | { to: 'fail'; outcome: Outcome }
  /** Set if the page was read already, to find out whether it exists. */
  | { to: 'page'; path: string; led: boolean; page?: ListPage<Entry> };

export function firstPlace({ path, list }: Pick<WalkTools<unknown>, 'path' | 'list'>, known: KnownPaging): Place {
  const first = known.refusesSize ? path.with(path.first, { [list.sizeParameter]: null }) : path.first;
  return { path: first, pages: 0, entries: 0, widest: 0, led: false, firstNumber: null };
}

/**
 * Reads the pages of a listing until it proves its end. Proofs are a field that states the last page, a cursor or link that the
 * earlier pages had and the last one lacks, and the answer to a request for another page: 404, an empty page or a short one.
 *
 * @param known the known facts about the API's paging, to which the walk adds
 */
export async function* walk<Entry>(
  tools: WalkTools<Entry>,
  start: Place,
  known: KnownPaging,
): AsyncGenerator<Step<Entry>, WalkEnd> {
  const asked = new Set<string>();
  let place = start;
  let ahead: ListPage<Entry> | undefined;
  let before: ListPage<Entry> | undefined;

  for (;;) {
    if (asked.has(place.path)) return unproven('it leads back to a page already read');
    if (place.pages >= PAGES_MAX) return unproven(`it has more than ${PAGES_MAX} pages`);
    asked.add(place.path);
    const read: PageRead<Entry> = ahead ? { kind: 'page', page: ahead } : await readPage(tools, place.path);
    ahead = undefined;
    if (read.kind === 'refused') {
      if (place.pages === 0 && leavesOutSize(tools, place, known)) {
        place = firstPlace(tools, known);
        continue;
      }
      return read.status === 404 && place.pages > 0 && !place.led ? null : read.outcome;
    }
    if (read.kind === 'failed') return read.outcome;
    const { page } = read;
    const nameless = namelessIn(page);
    if (nameless !== null) return nameless;
    if (before && !place.led && page.words.count === null && isSamePage(page, before)) {
      return unproven(`page ${place.pages + 1} repeats the page before it${HOW_TO_SAY}`);
    }
    if (place.pages === 0) place = { ...place, firstNumber: page.words.number };
    const onward = await onwardFrom(tools, { place, page, known });
    if (onward.to === 'fail') return onward.outcome;
    const next = onward.to === 'end' ? null : placeAfter(place, page, onward);
    if (next !== null && tools.holdsSecret(next.path)) return unproven(SECRET_IN_PATH);
    yield { page, count: known.countsPages ? null : page.words.count, next };
    if (next === null) return null;
    ahead = onward.to === 'page' ? onward.page : undefined;
    before = page;
    place = next;
  }
}

/** Reads a page again without the parameter for its size, if the platform refuses it or sends more than can be read. */
function leavesOutSize({ path, list }: WalkTools<unknown>, place: Place, known: KnownPaging): boolean {
  if (known.refusesSize || list.pageSize === null) return false;
  known.refusesSize = true;
  return path.with(place.path, { [list.sizeParameter]: null }) !== place.path;
}

function placeAfter<Entry>(place: Place, page: ListPage<Entry>, { path, led }: { path: string; led: boolean }): Place {
  const entries = place.entries + page.entries.length;
  const widest = Math.max(place.widest, page.entries.length);
  return { ...place, path, led, pages: place.pages + 1, entries, widest };
}

/** The state of the walk after a page was read. */
interface At<Entry> {
  place: Place;
  page: ListPage<Entry>;
  known: KnownPaging;
}

async function onwardFrom<Entry>(tools: WalkTools<Entry>, at: At<Entry>): Promise<Onward<Entry>> {
  const { place, page, known } = at;
  const { paging } = tools.list;
  const more = saysMore(page.words, place);
  const follows = paging === 'auto' || paging === 'cursor' || paging === 'link';
  if (follows && page.words.next !== null) return follow(tools, at, page.words.next);
  if (more === false) return END;
  if (paging === 'none')
    return more === null
      ? END
      : fail('it says that there are more pages, but the profile has `list.paging: none`; correct this setting');
  if (paging === 'cursor' || paging === 'link' || (place.led && more === null)) {
    return more === null ? END : fail(`it says that there are more pages, but not where${HOW_TO_SAY}`);
  }
  if (page.entries.length === 0) {
    return more === null ? END : fail('it says that there are more pages, but the page is empty');
  }
  if (more === null && place.pages > 0 && page.entries.length < place.widest) return END;
  const way = wayOf(tools.list) ?? known.way;
  if (way !== null) return { to: 'page', path: inWay(tools, way, at), led: false };
  if (more === null && page.entries.length <= known.wholeOf) return END;
  return learn(
    at,
    more,
    await searchWay({ path: place.path, page }, { ...tools, read: (path) => readPage(tools, path) }),
  );
}

/** Whether a page states that it is not the last one; null if it states nothing. */
function saysMore({ more, number, pages }: PagingWords, place: Place): boolean | null {
  if (more !== null || pages === null) return more;
  const first = place.firstNumber === 0 ? 0 : 1;
  return (number === null ? place.pages + 1 : number - first + 1) < pages;
}

/** The paging that the profile sets; null if it sets none. */
function wayOf({ paging, pageParameter, offsetParameter, firstPage }: Profile['list']): Way | null {
  if (paging === 'page') return { by: 'page', parameter: pageParameter, first: firstPage ?? 1 };
  return paging === 'offset' ? { by: 'offset', parameter: offsetParameter } : null;
}

function inWay<Entry>({ path }: WalkTools<Entry>, way: Way, { place, page }: At<Entry>): string {
  const value = way.by === 'page' ? way.first + place.pages + 1 : place.entries + page.entries.length;
  return path.with(place.path, { [way.parameter]: String(value) });
}

/** Follows a page to the next one. If a cursor's name does not show its query parameter, the parameters are tried once. */
async function follow<Entry>(
  tools: WalkTools<Entry>,
  { place, page, known }: At<Entry>,
  next: NonNullable<PagingWords['next']>,
): Promise<Onward<Entry>> {
  if (next.kind === 'link') {
    const path = tools.path.linked(next.link, place.path);
    return path === null ? fail(OUTSIDE) : { to: 'page', path, led: true };
  }
  const { token, parameter: usual } = next;
  const to = (parameter: string): string => tools.path.with(place.path, { [parameter]: token });
  const parameter = known.parameters[usual];
  if (parameter !== undefined) return { to: 'page', path: to(parameter), led: true };
  for (const name of parametersFor(next.kind, usual, tools.list)) {
    const read = await readPage(tools, to(name));
    if (read.kind === 'failed') return { to: 'fail', outcome: read.outcome };
    if (read.kind === 'refused' || isSamePage(read.page, page)) continue;
    known.parameters[usual] = name;
    return { to: 'page', path: to(name), led: true, page: read.page };
  }
  return fail(`it has a cursor, but no query parameter that was tried accepts the cursor${HOW_TO_SAY}`);
}

/** Stores what the search for the paging has found. */
function learn<Entry>({ page, known }: At<Entry>, more: boolean | null, search: Search<Entry>): Onward<Entry> {
  if ('kind' in search) return { to: 'fail', outcome: search.outcome };
  switch (search.found) {
    case 'next':
      known.way = search.way;
      // If there is another page, a count equal to the entries of the first page is not the count of all.
      if (more === null && page.words.count === page.entries.length) known.countsPages = true;
      return { to: 'page', path: search.path, led: false, page: search.page };
    case 'end':
      if (more === true)
        return fail(
          `it says that there are more pages, but the parameter ${search.way.parameter} leads to no further page${HOW_TO_SAY}`,
        );
      known.way = search.way;
      return END;
    case 'whole':
      if (more === true || (page.words.count ?? 0) > page.entries.length) {
        return fail(
          `it says that there are more pages, but no way of paging that was tried leads to them${HOW_TO_SAY}`,
        );
      }
      known.wholeOf = page.entries.length;
      return END;
    case 'larger':
      return fail(
        'a larger page shows more entries, but no way of paging that was tried leads to the next page; set `list.sizeParameter` and `list.pageSize` in the profile, or say how the API pages with `list.paging`',
      );
    case 'nothing':
      return fail(
        `it does not say whether it is complete, and the API refuses to give another page; if one answer holds all entries, set \`list.paging: none\` in the profile${OR_ELSE}`,
      );
  }
}

const END = { to: 'end' } as const;
const OR_ELSE = ', or else say there how the API pages (`list.paging`, `list.pageParameter`, `list.nextAt`)';
const HOW_TO_SAY = '; say in the profile how the API pages (`list.paging`, `list.pageParameter`, `list.nextAt`)';
const SECRET_IN_PATH =
  'the address of its next page contains the API key, or 16 characters of a secret, and such an address is not stored';
const OUTSIDE =
  'its link to the next page leads to another path: only the query of a link may differ from the address of the list';

function withoutIds(nameless: readonly NoId[]): string {
  const secret = nameless.filter(({ why }) => why === 'secret').length;
  if (secret > 0) {
    return `${secret} of its entries have an id that contains the API key, or 16 characters of a secret, and such an id is not stored; change the secret, or correct these ids at the platform`;
  }
  const address = nameless.find((one) => one.why === 'address');
  if (address !== undefined) {
    return `${nameless.length} of its entries carry no id, but an address; name the place of the address in the profile (\`idUrlPaths\`: ${address.at})`;
  }
  return `${nameless.length} of its entries carry no id; name the place of the id in the profile (\`idPaths\`, \`publications\`)`;
}

function fail(reason: string): { to: 'fail'; outcome: Outcome } {
  return { to: 'fail', outcome: unproven(reason) };
}

/** The outcome of a page with entries without an id; null if each entry has one. */
export function namelessIn({ nameless }: Pick<ListPage<unknown>, 'nameless'>): Outcome | null {
  return nameless.length === 0 ? null : unproven(withoutIds(nameless));
}

/** The outcome of a listing that proves nothing. */
export function unproven(reason: string): Outcome {
  return unreadableAnswer(null, unreliable(reason));
}
