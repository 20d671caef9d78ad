import { z } from 'zod';
import type { Listing, ListOptions, OnPage } from '../../domain/ports/target.ts';
import { createTally, type Tally } from './listing-tally.ts';
import { firstPlace, type Place, unproven, type WalkTools, walk } from './listing-walk.ts';
import type { KnownPaging } from './paging-ways.ts';

/** How a listing is read. */
export interface ListingTools<Entry> extends WalkTools<Entry> {
  onPage: OnPage<Entry>;
  /** Where to continue: a position that `onPage` has received, and the ids up to there. */
  from?: ListOptions['from'];
  /** The known facts about the paging of this list. A complete read adds to it. */
  known: KnownPaging;
}

const Count = z.int().nonnegative();
const Known = z.object({
  way: z
    .discriminatedUnion('by', [
      z.object({ by: z.literal('page'), parameter: z.string(), first: Count }),
      z.object({ by: z.literal('offset'), parameter: z.string() }),
    ])
    .nullable(),
  wholeOf: Count,
  refusesSize: z.boolean(),
  countsPages: z.boolean(),
  parameters: z.record(z.string(), z.string()),
});

/** The position at which a listing can be resumed: the next page, and what is known about the pages before it. */
const Position = z.object({
  /** Null after the last page. */
  place: z
    .object({
      path: z.string(),
      pages: Count,
      entries: Count,
      widest: Count,
      led: z.boolean(),
      firstNumber: Count.nullable(),
    })
    .nullable(),
  pages: Count,
  tally: z.object({
    firstCount: Count.nullable(),
    lastCount: Count.nullable(),
    repeats: Count,
    strays: Count,
    fell: z.boolean(),
  }),
  known: Known,
});
type Position = z.infer<typeof Position>;

/**
 * Reads a listing to its end.
 *
 * Callers conclude an absence from it, so every uncertainty makes it incomplete: a page that cannot be read, entries without ids, a
 * `next` that leads elsewhere or back, an end that is not proven (`walk`), and every sign that entries moved during the read. Such
 * signs are fewer entries than the API counted at the beginning, a count that fell, and more repeats than the count has grown. If
 * several pages state no count, a second read has to show the same entries.
 */
export async function readListing<Entry>(tools: ListingTools<Entry>): Promise<Listing> {
  const from = resumed(tools);
  const known = from?.position.known ?? structuredClone(tools.known);
  const tally = createTally(from === null ? undefined : { ids: from.ids, state: from.position.tally });
  let place: Place | null = from ? from.position.place : firstPlace(tools, known);
  let pages = from?.position.pages ?? 0;

  if (place !== null) {
    const steps = walk(tools, place, known);
    let step = await steps.next();
    for (; !step.done; step = await steps.next()) {
      const { page, count, next } = step.value;
      pages += 1;
      place = next;
      const fresh = tally.take(page.entries, count);
      const position: Position = { place, pages, tally: tally.state(), known };
      const entries = fresh.map(({ entry }) => entry);
      if (entries.length > 0) await tools.onPage(entries, JSON.stringify(position));
    }
    if (step.value !== null) {
      tools.known.refusesSize = known.refusesSize;
      return { complete: false, outcome: step.value };
    }
  }
  const flaw = tally.flaw();
  if (flaw) return { complete: false, outcome: unproven(flaw.reason), ...(flaw.moved && { moved: true }) };
  if (tally.count() === null && pages > 1) {
    const failure = await readAgain(tools, tally, known);
    if (failure) return failure;
  }
  Object.assign(tools.known, known);
  return { complete: true, count: tally.count() };
}

/** Without a count only a second read shows whether entries moved. */
async function readAgain<Entry>(tools: ListingTools<Entry>, tally: Tally, known: KnownPaging): Promise<Listing | null> {
  const steps = walk(tools, firstPlace(tools, known), known);
  let step = await steps.next();
  for (; !step.done; step = await steps.next()) tally.confirm(step.value.page.entries);
  if (step.value !== null) return { complete: false, outcome: step.value };
  if (tally.isConfirmed()) return null;
  const outcome = unproven('it does not count its entries, and two reads of it differ');
  return { complete: false, outcome, moved: true };
}

/** The position to resume from. A position that another version wrote restarts the listing. */
function resumed({
  from,
  path,
}: Pick<ListingTools<never>, 'from' | 'path'>): { position: Position; ids: Iterable<string | number> } | null {
  if (from === undefined) return null;
  try {
    const position = Position.parse(JSON.parse(from.position));
    const isOwn = position.place === null || position.place.path === path.with(position.place.path, {});
    return isOwn ? { position, ids: from.ids } : null;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError) return null;
    throw error;
  }
}
