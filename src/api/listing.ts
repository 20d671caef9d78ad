import { z } from 'zod';
import type { Outcome } from '../domain/outcome.ts';
import type { Listing, ListOptions, OnPage } from '../domain/ports/target.ts';
import type { BaseUrl } from './base-url.ts';
import { foreignAnswer, type Judge, meaningOf, NOTHING_EXPECTED, unreadableAnswer } from './classify.ts';
import { parseJson } from './json-text.ts';
import { type ListPage, type ListShape, type NextPage, readListPage } from './list-page.ts';
import { type Attempt, type Patience, patiently } from './patience.ts';
import type { Exchange } from './transport.ts';

/** No catalogue has as many pages: past it the API is taken to go round in circles. */
const PAGES_MAX = 100_000;

/** What a listing is read with. */
export interface ListingTools<Entry> extends Patience {
  /** Reads one page. Path and query are on the API's origin. */
  read(path: string): Promise<Exchange>;
  judge: Judge;
  shape: ListShape<Entry>;
  baseUrl: BaseUrl;
  /** Path of the endpoint below the base URL. */
  endpointPath: string;
  /** Query of the first page, without a question mark; may be empty. */
  query: string;
  /** The query parameter that asks for a page by its number. */
  pageParameter: string;
  onPage: OnPage<Entry>;
  /** Where to go on, as a position that `onPage` was given, and the ids that were given up to there. */
  from?: ListOptions['from'];
}

/** Where a listing can be resumed. */
const Position = z.object({
  /** What is asked for next; null behind the last page. */
  path: z.string().nullable(),
  number: z.int(),
  firstCount: z.int().nullable(),
  lastCount: z.int().nullable(),
});
type Position = z.infer<typeof Position>;

/**
 * Reads a listing to its end.
 *
 * An absence is concluded from it, so every doubt makes it incomplete: a page that cannot be read, entries without ids,
 * a `next` that leads elsewhere or back, fewer items than the API counted when the listing began, or a count that fell
 * on the way, since a deletion moves items from a page to come to one already read. Items that are created meanwhile do
 * no harm: they repeat some ids at most. The ids of one listing are held while it lasts, about 100 bytes each.
 */
export async function readListing<Entry>(tools: ListingTools<Entry>): Promise<Listing> {
  const { baseUrl, endpointPath, query } = tools;
  const asked = new Set<string>();
  const ids = new Set<string | number>(tools.from?.ids);
  const from = tools.from === undefined ? null : Position.parse(JSON.parse(tools.from.position));
  let path: string | null =
    from === null ? baseUrl.prefix + endpointPath + (query === '' ? '' : `?${query}`) : from.path;
  let firstCount = from?.firstCount ?? null;
  let lastCount = from?.lastCount ?? null;

  for (let number = from?.number ?? 1; path !== null; number += 1) {
    if (asked.has(path)) return incomplete('it leads back to a page already read');
    if (number > PAGES_MAX) return incomplete(`it has more than ${PAGES_MAX} pages`);
    asked.add(path);
    const at: string = path;
    const result = await patiently(tools, () => readPage(tools, at));
    if (!result.ok) return { complete: false, outcome: result.outcome };
    const page: ListPage<Entry> = result.value;
    if (page.nameless > 0) return incomplete(`${page.nameless} of its entries carry no id`);
    if (lastCount !== null && page.count !== null && page.count < lastCount) {
      return incomplete('items were deleted while it was being read');
    }
    firstCount ??= page.count;
    lastCount = page.count ?? lastCount;
    const before = ids.size;
    for (const { identity } of page.entries) ids.add(identity);

    const { next } = page;
    if (next.kind === 'unknown') return incomplete('it says that there is more, but not where');
    if (next.kind === 'numbered') {
      const enough = lastCount !== null && ids.size >= lastCount;
      if (enough || page.entries.length === 0) break;
      // A server that does not know the parameter gives its first page again.
      if (number > 1 && ids.size === before) return incomplete(`page ${number} repeats those before it`);
    }
    const onward = next.kind === 'end' ? null : pathOfNext(next, { current: path, number, tools });
    const position: Position = { path: onward, number: number + 1, firstCount, lastCount };
    if (page.entries.length > 0) {
      await tools.onPage(
        page.entries.map(({ entry }) => entry),
        JSON.stringify(position),
      );
    }
    if (next.kind === 'end') break;
    path = onward;
    if (path === null) return incomplete('its next page lies outside of the listing');
  }
  if (firstCount !== null && ids.size < firstCount) {
    return incomplete(`it gave ${ids.size} different items of the ${firstCount} it counted`);
  }
  return { complete: true, count: firstCount };
}

async function readPage<Entry>(tools: ListingTools<Entry>, path: string): Promise<Attempt<ListPage<Entry>>> {
  const exchange = await tools.read(path);
  if (exchange.kind === 'answer' && exchange.cut === null && meaningOf(exchange.status) === 'done') {
    const page = readListPage(exchange.body, exchange.headers, tools.shape);
    if (page !== null) return { ok: true, value: page };
    const outcome =
      parseJson(exchange.body) === undefined
        ? foreignAnswer(exchange.status, unreliable('it is not a list'))
        : unreadable('it is not a list');
    return { ok: false, outcome, final: true };
  }
  return { ok: false, outcome: tools.judge.outcomeOf(exchange, NOTHING_EXPECTED) };
}

type Onward = Extract<NextPage, { kind: 'link' | 'cursor' | 'numbered' }>;

interface Read {
  /** The path just read. */
  current: string;
  /** Its place in the listing, from 1. */
  number: number;
  tools: Pick<ListingTools<unknown>, 'baseUrl' | 'endpointPath' | 'pageParameter'>;
}

/** Where to go on, or null when that is no page of this listing. The origin is always the configured one (I7). */
function pathOfNext(next: Onward, { current, number, tools }: Read): string | null {
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
  return unreadableAnswer(null, unreliable(reason));
}

function unreliable(reason: string): string {
  return `The listing cannot be relied on: ${reason}.`;
}
