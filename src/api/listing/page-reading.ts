import type { Outcome } from '../../domain/delivery/outcome.ts';
import { type Classifier, foreignAnswer, meaningOf, NOTHING_EXPECTED, unreadableAnswer } from '../answers/classify.ts';
import { parseJson } from '../answers/json-text.ts';
import { type Attempt, type RetryPolicy, withRetries } from '../read-retries.ts';
import type { Exchange } from '../transport.ts';
import { type ListPage, type ListShape, readListPage } from './list-page.ts';
import type { PagingPlaces } from './paging-words.ts';

/** The tools for reading pages. */
export interface PageTools<Entry> extends RetryPolicy {
  /** Reads one page. Path and query are on the API's origin. */
  read(path: string): Promise<Exchange>;
  classifier: Classifier;
  shape: ListShape<Entry>;
  places: PagingPlaces;
}

/** The result of a request for a page. */
export type PageRead<Entry> =
  | { kind: 'page'; page: ListPage<Entry> }
  /** The API has no such page, or does not accept these parameters. 413 means that the answer was too long. */
  | { kind: 'refused'; status: 400 | 404 | 413 | 422; outcome: Outcome }
  | { kind: 'failed'; outcome: Outcome };

/** Reads one page. A failure that may pass is tried again. */
export async function readPage<Entry>(tools: PageTools<Entry>, path: string): Promise<PageRead<Entry>> {
  const result = await withRetries(tools, async () => pageIn(tools, await tools.read(path)));
  return result.ok ? result.value : { kind: 'failed', outcome: result.outcome };
}

/**
 * Reads one page without trying again after a failure. Only a wait that the API asks for is kept, and the page is then
 * read again.
 */
export async function readPageOnce<Entry>(tools: PageTools<Entry>, path: string): Promise<PageRead<Entry>> {
  const result = await withRetries(tools, async () => {
    const attempt = pageIn(tools, await tools.read(path));
    return attempt.ok ? attempt : { ...attempt, final: attempt.outcome.kind !== 'throttled' };
  });
  return result.ok ? result.value : { kind: 'failed', outcome: result.outcome };
}

/** The page that an answer contains. */
export function pageIn<Entry>(
  tools: Pick<PageTools<Entry>, 'classifier' | 'shape' | 'places'>,
  exchange: Exchange,
): Attempt<PageRead<Entry>> {
  const outcome = (): Outcome => tools.classifier.outcomeOf(exchange, NOTHING_EXPECTED);
  if (exchange.kind === 'silence') return { ok: false, outcome: outcome() };
  const { status, cut, body } = exchange;
  if (cut?.by === 'size') return { ok: true, value: { kind: 'refused', status: 413, outcome: outcome() } };
  if (cut === null && (status === 400 || status === 404 || status === 422)) {
    return { ok: true, value: { kind: 'refused', status, outcome: outcome() } };
  }
  if (cut !== null || meaningOf(status) !== 'done') return { ok: false, outcome: outcome() };
  const page = readListPage(exchange, tools.shape, tools.places);
  if (page !== null) return { ok: true, value: { kind: 'page', page } };
  // A page of HTML comes from a server in front of the API. An answer without a body may be the API's own.
  const isForeign = status !== 204 && parseJson(body) === undefined;
  const reason = unreliable(isForeign ? 'it is not a list' : NO_LIST);
  return {
    ok: false,
    outcome: isForeign ? foreignAnswer(status, reason) : unreadableAnswer(null, reason),
    final: true,
  };
}

const NO_LIST =
  'it is not a list; if a member of the answer has the entries, name that member in the profile (`list.itemsAt`)';

/** The message for a listing that proves nothing. */
export function unreliable(reason: string): string {
  return `The listing cannot be relied on: ${reason}.`;
}
