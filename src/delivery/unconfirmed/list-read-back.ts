import type { Operation } from '../../domain/delivery/operation.ts';
import type { Outcome } from '../../domain/delivery/outcome.ts';
import { hasTrait } from '../../domain/delivery/stored-reason.ts';
import { remoteIdText } from '../../domain/item.ts';
import type { Decision, UnconfirmedDelivery } from '../../domain/ports/deliveries.ts';
import type { UnconfirmedLedger } from '../../domain/ports/ledger/delivery-ledger.ts';
import type { ListableKind, PlatformReader, RemoteItem, Target } from '../../domain/ports/target.ts';
import type { Profile } from '../../domain/profile.ts';
import type { Clock } from '../../lib/clock.ts';
import type { BulkImports } from '../imports/bulk-imports.ts';
import { createListingMatches, type ListingMatch } from './decide-read-back.ts';
import type { ListReads } from './list-reads.ts';
import type { ListRead, UnconfirmedDecisions } from './unconfirmed-decisions.ts';

export interface ListReadBackOptions {
  ledger: Pick<UnconfirmedLedger, 'unprovenKinds' | 'hasUnbound' | 'endProof'>;
  target: Pick<Target, 'list'>;
  reader: Pick<PlatformReader, 'publications'>;
  reads: ListReads;
  decisions: UnconfirmedDecisions;
  absence: Absence;
  pause: CreatePause;
  bulk: Pick<BulkImports, 'looked' | 'lookedAtChange' | 'tookChange' | 'absent' | 'mayMakeUntil' | 'mayRepeat'>;
  profile: Profile;
  clock: Clock;
  settle: Settle;
}

/** Stores decisions in the ledger. */
type Settle = (decided: readonly Decided[]) => Promise<void>;

/** A delivery, and what was decided about it. */
export interface Decided {
  delivery: UnconfirmedDelivery;
  decision: Decision;
}

/** A transaction settles at most this many deliveries, so that other writes come between. */
const SETTLED_AT_ONCE = 1_000;

/** Decides about deliveries, and stores the decisions of each slice together. */
export async function settleInSlices(
  deliveries: readonly UnconfirmedDelivery[],
  settle: Settle,
  decide: (delivery: UnconfirmedDelivery) => Decision | Promise<Decision>,
): Promise<void> {
  for (let from = 0; from < deliveries.length; from += SETTLED_AT_ONCE) {
    const slice = deliveries.slice(from, from + SETTLED_AT_ONCE);
    const decided = await Promise.allSettled(
      slice.map(async (delivery) => ({ delivery, decision: await decide(delivery) })),
    );
    await settle(decided.flatMap((one) => (one.status === 'fulfilled' ? one.value : [])));
    const failed = decided.find((one) => one.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }
}

/** The match of a delivery that cannot be looked up by a natural key. */
const NO_MATCH: ListingMatch = { found: [], unclear: null };

/**
 * If the clock was set back during the request, the time of the answer lies in the future. Then the wait begins now.
 */
function sinceThePast(delivery: UnconfirmedDelivery, now: number): UnconfirmedDelivery {
  const { reason } = delivery;
  if (reason.since === undefined || reason.since <= now) return delivery;
  return { ...delivery, reason: { ...reason, since: now } };
}

/** Reads the platform's lists to find out whether unconfirmed writes have arrived. */
export function createListReadBack(options: ListReadBackOptions) {
  const { ledger, target, reader, reads, decisions, absence, pause, bulk, profile, clock, settle } = options;

  /** True if a restored ledger does not know some of these items, or cannot be asked now. The next listing asks again. */
  function hasUnknown(kind: ListableKind, naturalKeys: readonly string[]): Promise<boolean> {
    return ledger.hasUnbound(kind, naturalKeys).catch(() => true);
  }

  /** Decides about a delivery after its list was read. An imported product also shows what imports may be used for. */
  async function decided(
    delivery: UnconfirmedDelivery,
    match: ListingMatch,
    list: Omit<ListRead, 'mayMakeUntil'>,
  ): Promise<Decision> {
    const looked = sinceThePast(delivery, clock.now());
    if (!looked.isImportedCreate) {
      const decision = decisions.afterList(looked, match, { ...list, mayMakeUntil: 0 });
      if (looked.operation === 'product.import' && list.complete) await bulk.lookedAtChange(looked, decision);
      return decision;
    }
    // Only a complete list shows that there is no second product.
    if (list.complete)
      await bulk.looked(
        looked,
        match.found.map(({ remoteId }) => remoteId),
      );
    else if (looked.reason.code === 'import_proof') return decisions.readAgain(looked, list.what);
    const decision = decisions.afterList(looked, match, { ...list, mayMakeUntil: await bulk.mayMakeUntil(looked) });
    const isOver = decision.kind === 'resend' || (decision.kind === 'unconfirmed' && decision.nextLookAt === null);
    if (isOver) await bulk.absent(looked);
    return decision;
  }

  return {
    /**
     * Reads the list of a kind once for all unconfirmed deliveries of the kind, and settles them.
     *
     * Only a complete listing that began after the settling delay proves an absence. The ledger therefore does not offer a delivery
     * earlier. If the API refuses the list, nothing is settled until it grants the list again.
     */
    async items(kind: ListableKind, deliveries: readonly UnconfirmedDelivery[], abort: AbortSignal) {
      const fields = profile.naturalKeys[kind];
      const matches = createListingMatches(kind, { fields, keys: deliveries.flatMap(({ sentKey }) => sentKey ?? []) });
      // A restored ledger is proven complete by a listing without unknown items.
      let showsUnknown = !(await ledger.unprovenKinds()).includes(kind);
      const watch = await absence.watch(kind, deliveries);
      const showsThePast = absence.showsThePast();
      const begunAt = clock.ticks();
      pause.begin(kind);
      const listing = await target.list(
        kind,
        async (items) => {
          for (const item of items) watch.add(item);
          const others = items.flatMap((item) => (matches.add(item) ? [] : (item.naturalKey ?? [])));
          showsUnknown ||= await hasUnknown(kind, others);
        },
        { signal: abort },
      );
      const outcome = reads.ended(kind, listing, begunAt);
      const moved = !listing.complete && listing.moved === true;
      pause.end(kind, { complete: listing.complete, moved, restMs: reads.waitMs(kind) });
      if (outcome.kind === 'denied') return;
      if (listing.complete && showsThePast && !showsUnknown && !matches.hidesKeys()) await ledger.endProof(kind);
      const together = { dueAt: null };
      await settleInSlices(deliveries, settle, (delivery) => {
        const match = delivery.sentKey === null ? NO_MATCH : matches.of(delivery.sentKey);
        const list = { what: kind, complete: listing.complete, waitMs: () => watch.waitMs(delivery), together };
        return decided(delivery, match, list);
      });
    },

    /** Reads the publications once for all unconfirmed passports, and settles them. */
    async publications(deliveries: readonly UnconfirmedDelivery[], abort: AbortSignal) {
      const watch = absence.watchPublications();
      const begunAt = clock.ticks();
      const read = await readPublications(reader, abort);
      if (reads.ended('publications', read, begunAt).kind === 'denied') return;
      const now = clock.now();
      await settleInSlices(deliveries, settle, (delivery) => {
        if (!read.complete) return decisions.afterFailedRead(delivery, 'publications');
        const done = hasTakenEffect(delivery.operation, read.publicityOf(delivery));
        // A second publication makes a duplicate. A second withdrawal changes nothing, so its absence needs no proof.
        const isAbsent =
          done === false && delivery.operation === 'passport.publish' && !hasTrait(delivery.reason, 'was_answered');
        const waitMs = isAbsent ? watch.waitMs(delivery) : 0;
        if (waitMs > 0) return decisions.readAgain(delivery, 'publications', waitMs, now);
        return decisions.afterPublications(delivery, done, now);
      });
    },
  };
}

/** What the list of publications shows about a passport; `unclear` if the list does not show to whom its entries belong. */
type Publicity = 'public' | 'not_public' | 'unclear';

type PublicationsRead =
  | {
      complete: true;
      count: number | null;
      publicityOf(passport: Pick<UnconfirmedDelivery, 'productId' | 'naturalKey'>): Publicity;
    }
  | { complete: false; outcome: Outcome };

/** Reads all publications once, for any number of passports. */
async function readPublications(
  reader: Pick<PlatformReader, 'publications'>,
  abort: AbortSignal,
): Promise<PublicationsRead> {
  const ids = new Set<string>();
  const skus = new Set<string>();
  let hasUnnamed = false;
  const listing = await reader.publications(
    (page) => {
      for (const { isPublic, productId, sku } of page) {
        if (!isPublic) continue;
        if (productId !== null) ids.add(String(productId));
        if (sku !== null) skus.add(sku);
        if (productId === null && sku === null) hasUnnamed = true;
      }
    },
    { signal: abort },
  );
  if (!listing.complete) return listing;
  return {
    ...listing,
    publicityOf({ productId, naturalKey }) {
      const isSimpleId = typeof productId === 'string' || typeof productId === 'number';
      if (isSimpleId && ids.has(String(productId))) return 'public';
      if (naturalKey !== null && skus.has(naturalKey)) return 'public';
      return hasUnnamed ? 'unclear' : 'not_public';
    },
  };
}

/**
 * Whether a step of a passport has taken effect, given what is public now; null if the list is unclear. A passport that is
 * public was initialised.
 */
function hasTakenEffect(operation: Operation, publicity: Publicity): boolean | null {
  if (publicity === 'unclear') return null;
  return (publicity === 'public') === (operation !== 'passport.unpublish');
}

/** The next reading has to begin within this time after the list may be read again. Otherwise the creates continue. */
const LATE_MS = 30_000;

/**
 * Pauses creates after a list has changed while it was read, so that the next reading finds it unchanged.
 *
 * After one reading that failed because entries moved, creates of the kind pause until the next reading is over. If
 * that reading fails for the same reason, other writers change the list. A pause is then of no use until the list was
 * read once without a failure.
 */
export function createCreatePause(clock: Pick<Clock, 'ticks'>) {
  /** Kinds whose creates are paused, each with the end of its pause, by `ticks` of the clock. */
  const restUntil = new Map<ListableKind, number>();
  const inVain = new Set<ListableKind>();
  const rests = (kind: ListableKind): boolean => clock.ticks() < (restUntil.get(kind) ?? Number.NEGATIVE_INFINITY);

  return {
    /** The operations that are paused now. */
    operations: (): Operation[] => [...restUntil.keys()].filter(rests).map((kind) => `${kind}.create` as const),
    /** Call it when a reading of this list begins. Paused creates wait until the reading ends. */
    begin(kind: ListableKind) {
      if (rests(kind)) restUntil.set(kind, Number.POSITIVE_INFINITY);
    },
    /**
     * Call it when a reading has ended.
     *
     * @param end.restMs how long until the list may be read again
     */
    end(kind: ListableKind, { complete, moved, restMs }: { complete: boolean; moved: boolean; restMs: number }) {
      const rested = restUntil.delete(kind);
      if (complete) inVain.delete(kind);
      else if (moved && rested) inVain.add(kind);
      else if (moved && !inVain.has(kind)) restUntil.set(kind, clock.ticks() + restMs + LATE_MS);
    },
  };
}

export type CreatePause = ReturnType<typeof createCreatePause>;

interface ListWatch {
  /** Adds an entry of the list. */
  add(item: RemoteItem): void;
  /**
   * After a complete list without the item: milliseconds until another list has to confirm the absence; 0 if the
   * absence is believed now.
   */
  waitMs(delivery: UnconfirmedDelivery): number;
}

interface Remembered {
  /** When the unconfirmed request had ended, by the wall clock. */
  endedAt: number;
  /** When a complete list was first read that did not show the item, by `ticks`; null before that. */
  notShownAt: number | null;
}

/**
 * How many deliveries one list may serve, and how many are remembered at most (I9). The oldest are dropped first, and their wait
 * begins again.
 */
export const LOOKED_UP_MAX = 100_000;

/**
 * Decides when an absence from the platform is believed. A list may lag: a complete list may not show yet what the API has
 * acknowledged. An absence is believed if the list shows an item of the same kind that was sent after the unconfirmed request had
 * ended. If there is no such item, two complete lists that are `list.lagMs` apart have to agree. Only memory keeps the time of the
 * first list, so the wait begins again after a restart.
 */
export function createAbsence(options: { ledger: UnconfirmedLedger; lagMs: number; clock: Clock }) {
  const { ledger, lagMs, clock } = options;
  const startedAt = { at: clock.now(), ticks: clock.ticks() };
  const remembered = new Map<number, Remembered>();

  function remember({ id, since, reason }: UnconfirmedDelivery): Remembered {
    const known = remembered.get(id);
    if (known) return known;
    // The write of a delivery with `since_backup` was sent before this process began.
    const endedAt = hasTrait(reason, 'since_backup') ? Math.min(since, startedAt.at) : since;
    const fresh = { endedAt, notShownAt: null };
    remembered.set(id, fresh);
    for (const oldest of remembered.keys()) {
      if (remembered.size <= LOOKED_UP_MAX) break;
      remembered.delete(oldest);
    }
    return fresh;
  }

  function confirmedIn(delivery: UnconfirmedDelivery, begunAt: number): number {
    const known = remember(delivery);
    known.notShownAt ??= clock.ticks();
    return Math.max(0, known.notShownAt + lagMs - begunAt);
  }

  return {
    /** Call it before the list of a kind is read for these deliveries. */
    async watch(kind: ListableKind, deliveries: readonly UnconfirmedDelivery[]): Promise<ListWatch> {
      const begunAt = clock.ticks();
      const ended = deliveries.map((delivery) => remember(delivery).endedAt);
      const later =
        lagMs === 0 || deliveries.length === 0
          ? []
          : await ledger.acknowledgedCreates({
              kind,
              sentAfter: Math.min(...ended),
              besideId: Math.min(...deliveries.map(({ id }) => id)),
            });
      const sentAt = new Map(later.map((create) => [remoteIdText(create.remoteId), create.sentAt]));
      /** When the newest item in the list was sent. */
      let showsUntil = Number.NEGATIVE_INFINITY;
      return {
        add({ remoteId }) {
          showsUntil = Math.max(showsUntil, sentAt.get(remoteIdText(remoteId)) ?? Number.NEGATIVE_INFINITY);
        },
        waitMs(delivery) {
          if (lagMs === 0 || showsUntil > remember(delivery).endedAt) return 0;
          return confirmedIn(delivery, begunAt);
        },
      };
    },

    /**
     * Call it before the publications are read. Later publications prove nothing there, so two lists always have to agree.
     */
    watchPublications(): Pick<ListWatch, 'waitMs'> {
      const begunAt = clock.ticks();
      return { waitMs: (delivery) => (lagMs === 0 ? 0 : confirmedIn(delivery, begunAt)) };
    },

    /** Whether a list that is read now shows the writes from before this process began. */
    showsThePast: () => clock.ticks() >= startedAt.ticks + lagMs,

    /** Forgets a delivery that is not unconfirmed any more. */
    forget: (deliveryId: number) => void remembered.delete(deliveryId),
  };
}

type Absence = ReturnType<typeof createAbsence>;
