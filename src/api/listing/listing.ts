import { z } from 'zod';
import type { Count, Listing, ListOptions, OnPage } from '../../domain/ports/target.ts';
import { type PageTools, readPage, readPageOnce } from './list-page.ts';
import { firstPlace, namelessIn, type Place, unproven, type WalkTools, walk } from './listing-walk.ts';
import type { KnownPaging } from './paging-ways.ts';

/** How a listing is read. */
interface ListingTools<Entry> extends WalkTools<Entry> {
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
  const tally = createTally(from);
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

interface Resumed {
  position: Position;
  ids: Iterable<Id>;
}

/** The position to resume from. A position that another version wrote restarts the listing. */
function resumed({ from, path }: Pick<ListingTools<never>, 'from' | 'path'>): Resumed | null {
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

/** Reads the number of entries that the first page of a listing states. */
export async function readCount<Entry>({ path, ...tools }: PageTools<Entry> & { path: string }): Promise<Count> {
  const read = await readPage(tools, path);
  return read.kind === 'page' ? { ok: true, count: read.page.words.count } : { ok: false, outcome: read.outcome };
}

/** Reads the first page of a listing. Returns why the listing cannot be read; null if it can. */
export async function whyUnreadable<Entry>({
  path,
  ...tools
}: PageTools<Entry> & { path: string }): Promise<string | null> {
  const read = await readPageOnce(tools, path);
  const outcome = read.kind === 'page' ? namelessIn(read.page) : read.outcome;
  if (outcome === null) return null;
  if (!('detail' in outcome)) return 'there was no answer.';
  const { status, message } = outcome.detail;
  return status === null || message.includes(String(status)) ? message : `The API answered with ${status}: ${message}`;
}

type Id = string | number;

/** Counts the entries of a listing and decides whether it is complete. Each id needs about 100 bytes of memory during the read. */
interface Tally {
  /** Adds a page of the first read. @returns the entries that were not seen before */
  take<Entry extends { identity: Id }>(entries: readonly Entry[], count: number | null): Entry[];
  has(id: Id): boolean;
  /** The number of different entries. */
  size(): number;
  /** The number of entries that the API stated last; null if it states none. */
  count(): number | null;
  /** Drops the counts, because each was the count of one page. */
  dropCount(): void;
  /** Why entries may be missing although the read has ended; null if none can be missing. */
  flaw(): Flaw | null;
  /** Adds a page of a second read. */
  confirm(entries: readonly { identity: Id }[]): void;
  /** Whether the second read showed the same entries as the first. */
  isConfirmed(): boolean;
  state(): TallyState;
}

interface Flaw {
  reason: string;
  /** Entries moved, or were added or removed. Another read may succeed. */
  moved: boolean;
}

/** The part of a tally that is stored besides the ids. */
interface TallyState {
  firstCount: number | null;
  lastCount: number | null;
  repeats: number;
  /** The number of repeated entries that a shift of the pages does not explain. */
  strays: number;
  fell: boolean;
}

const NOTHING_YET: TallyState = { firstCount: null, lastCount: null, repeats: 0, strays: 0, fell: false };

function createTally(from: Resumed | null): Tally {
  /** By id: whether the second read has shown the entry. */
  const seen = new Map<Id, boolean>();
  for (const id of from?.ids ?? []) seen.set(id, false);
  let { firstCount, lastCount, repeats, strays, fell } = from?.position.tally ?? NOTHING_YET;
  let confirmed = 0;
  let others = 0;

  return {
    take(entries, count) {
      if (count !== null) {
        fell ||= lastCount !== null && count < lastCount;
        firstCount ??= count;
        lastCount = count;
      }
      const fresh = [];
      for (const entry of entries) {
        if (seen.has(entry.identity)) {
          repeats += 1;
          // New entries on earlier pages move the last entries of a page to the beginning of the next page.
          if (fresh.length > 0) strays += 1;
        } else {
          seen.set(entry.identity, false);
          fresh.push(entry);
        }
      }
      return fresh;
    },
    has: (id) => seen.has(id),
    size: () => seen.size,
    count: () => lastCount,
    dropCount() {
      firstCount = null;
      lastCount = null;
      fell = false;
    },
    flaw() {
      if (firstCount === null || lastCount === null) return null;
      if (fell) return { reason: 'entries were deleted while it was being read', moved: true };
      if (seen.size < firstCount) {
        const reason = `it counted ${firstCount} entries, and gave ${seen.size} different ones`;
        // A repeated id has taken the place of another entry.
        return { reason, moved: repeats > 0 };
      }
      const grown = lastCount - firstCount;
      if (repeats <= grown && strays === 0) return null;
      const reason = `entries moved while it was read: ${repeats} came twice and ${grown} were added, so other entries may be missing`;
      return { reason, moved: true };
    },
    confirm(entries) {
      for (const { identity } of entries) {
        const known = seen.get(identity);
        if (known === undefined) others += 1;
        if (known !== false) continue;
        seen.set(identity, true);
        confirmed += 1;
      }
    },
    isConfirmed: () => others === 0 && confirmed === seen.size,
    state: () => ({ firstCount, lastCount, repeats, strays, fell }),
  };
}
