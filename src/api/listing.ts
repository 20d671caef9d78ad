import type { Outcome } from '../domain/outcome.ts';
import type { Listing, RemoteItem } from '../domain/ports/target.ts';
import { fullJitterMs } from '../lib/backoff.ts';
import type { Clock } from '../lib/clock.ts';
import type { BaseUrl } from './base-url.ts';
import { type Expectation, type Judge, meaningOf } from './classify.ts';
import type { CleanText } from './clean-text.ts';
import { type ListPage, type ListShape, type NextPage, readListPage } from './list-page.ts';
import type { Exchange } from './transport.ts';

/** No catalogue has as many pages: past it the API is taken to go round in circles. */
const PAGES_MAX = 100_000;
/** Reading has no effect, so a page is asked for again within these limits. */
const TRIES_MAX = 5;
const BACKOFF = { baseMs: 1_000, capMs: 30_000 };
const WAIT_MAX_MS = 300_000;

/** A page's answer carries no id of its own. */
const ANY_ANSWER: Expectation = { needsId: false, idPaths: [], uniqueFields: [] };

/** What a listing is read with. */
export interface ListingTools {
  /** Reads one page. Path and query are on the API's origin. */
  read(path: string): Promise<Exchange>;
  judge: Judge;
  clean: CleanText;
  clock: Clock;
  random: () => number;
  shape: ListShape;
  baseUrl: BaseUrl;
  /** Path of the endpoint below the base URL. */
  endpointPath: string;
  /** Query of the first page, without a question mark; may be empty. */
  query: string;
  /** The query parameter that asks for a page by its number. */
  pageParameter: string;
  onPage(items: RemoteItem[]): void;
  signal?: AbortSignal | undefined;
}

type Page = { ok: true; page: ListPage } | { ok: false; outcome: Outcome };

/**
 * Reads a listing to its end.
 *
 * An absence is concluded from it, so every doubt makes it incomplete: a page that cannot be read, entries without ids,
 * a `next` that leads elsewhere or back, fewer items than the API counted when the listing began, or a count that fell
 * on the way, since a deletion moves items from a page to come to one already read. Items that are created meanwhile do
 * no harm: they repeat some ids at most. The ids of one listing are held while it lasts, about 100 bytes each.
 */
export async function readListing(tools: ListingTools): Promise<Listing> {
  const { baseUrl, endpointPath, query, shape } = tools;
  const asked = new Set<string>();
  const ids = new Set<unknown>();
  let path: string | null = baseUrl.prefix + endpointPath + (query === '' ? '' : `?${query}`);
  let firstCount: number | null = null;
  let lastCount: number | null = null;

  for (let number = 1; path !== null; number += 1) {
    if (asked.has(path)) return incomplete('it leads back to a page already read');
    if (number > PAGES_MAX) return incomplete(`it has more than ${PAGES_MAX} pages`);
    asked.add(path);
    const result = await readPage(tools, path, shape);
    if (!result.ok) return { complete: false, outcome: result.outcome };
    const { page } = result;
    if (page.nameless > 0) return incomplete(`${page.nameless} of its entries carry no id`);
    if (lastCount !== null && page.count !== null && page.count < lastCount) {
      return incomplete('items were deleted while it was being read');
    }
    firstCount ??= page.count;
    lastCount = page.count ?? lastCount;
    const before = ids.size;
    for (const { remoteId } of page.items) ids.add(remoteId);
    if (page.items.length > 0) tools.onPage(page.items);

    const { next } = page;
    if (next.kind === 'unknown') return incomplete('it says that there is more, but not where');
    if (next.kind === 'numbered') {
      const enough = lastCount !== null && ids.size >= lastCount;
      if (enough || page.items.length === 0) break;
      // A server that does not know the parameter gives its first page again.
      if (number > 1 && ids.size === before) return incomplete(`page ${number} repeats those before it`);
    }
    if (next.kind === 'end') break;
    path = pathOfNext(next, { current: path, number, tools });
    if (path === null) return incomplete('its next page lies outside of the listing');
  }
  if (firstCount !== null && ids.size < firstCount) {
    return incomplete(`it gave ${ids.size} different items of the ${firstCount} it counted`);
  }
  return { complete: true };
}

async function readPage(tools: ListingTools, path: string, shape: ListShape): Promise<Page> {
  const { judge, clean, clock, random, signal } = tools;
  for (let attempt = 1; ; attempt += 1) {
    const exchange = await tools.read(path);
    if (exchange.kind === 'answer' && exchange.cut === null && meaningOf(exchange.status) === 'done') {
      const page = readListPage(exchange.body, exchange.headers, shape, clean);
      return page === null ? { ok: false, outcome: unreadable('it is not a list') } : { ok: true, page };
    }
    const outcome = judge.outcomeOf(exchange, ANY_ANSWER);
    const waitMs = waitOf(outcome) ?? fullJitterMs(attempt, BACKOFF, random());
    const passing = outcome.kind === 'throttled' || outcome.kind === 'unavailable' || outcome.kind === 'ambiguous';
    if (!passing || attempt === TRIES_MAX || waitMs > WAIT_MAX_MS || signal?.aborted) return { ok: false, outcome };
    await clock.sleep(waitMs, signal);
    if (signal?.aborted) return { ok: false, outcome };
  }
}

function waitOf(outcome: Outcome): number | null {
  return outcome.kind === 'throttled' || outcome.kind === 'unavailable' ? outcome.retryAfterMs : null;
}

type Onward = Extract<NextPage, { kind: 'link' | 'cursor' | 'numbered' }>;

interface Position {
  /** The path just read. */
  current: string;
  /** Its place in the listing, from 1. */
  number: number;
  tools: ListingTools;
}

/** Where to go on, or null when that is no page of this listing. The origin is always the configured one (I7). */
function pathOfNext(next: Onward, { current, number, tools }: Position): string | null {
  const { origin, prefix } = tools.baseUrl;
  if (next.kind !== 'link') {
    const url = new URL(origin + current);
    if (next.kind === 'cursor') url.searchParams.set(next.parameter, next.token);
    else url.searchParams.set(tools.pageParameter, String(number + 1));
    return url.pathname + url.search;
  }
  const link = /[/?]/.test(next.link) ? next.link : `?${next.link}`;
  const url = URL.parse(link, origin + current);
  if (url === null) return null;
  // A server behind a gateway does not know the prefix under which it is reached.
  const path =
    prefix !== '' && url.pathname.startsWith(`${prefix}/`) ? url.pathname.slice(prefix.length) : url.pathname;
  const inside = path.startsWith(tools.endpointPath) || `${path}/` === tools.endpointPath;
  return inside ? prefix + path + url.search : null;
}

function incomplete(reason: string): Listing {
  return { complete: false, outcome: unreadable(reason) };
}

function unreadable(reason: string): Outcome {
  const message = `The listing cannot be relied on: ${reason}.`;
  return { kind: 'ambiguous', doubt: 'unreadable_answer', detail: { status: null, message } };
}
