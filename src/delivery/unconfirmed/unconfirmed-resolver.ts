import type { Decision } from '../../domain/ports/decision.ts';
import type { Ledger } from '../../domain/ports/ledger.ts';
import type { PlatformReader } from '../../domain/ports/platform.ts';
import type { Emit } from '../../domain/ports/progress.ts';
import type { ListableKind, Target } from '../../domain/ports/target.ts';
import type { UnconfirmedDelivery } from '../../domain/ports/unconfirmed.ts';
import type { Profile } from '../../domain/profile.ts';
import { hasTrait } from '../../domain/reason.ts';
import { type Clock, ticksAt } from '../../lib/clock.ts';
import type { ApiHealth } from '../admission/api-health.ts';
import type { CreatePause } from '../admission/create-pause.ts';
import type { RetryBudget } from '../admission/retry-budget.ts';
import { suspendedBy } from '../admission/suspended-work.ts';
import { DECISION_STATES } from '../outcome/decide.ts';
import { createAbsence } from './absence.ts';
import { createListReads, type ListReads } from './list-reads.ts';
import { createListingMatches, type ListingMatch } from './listing-match.ts';
import { hasTakenEffect, readPublications, showsInPublications } from './publications.ts';
import type { ListName } from './read-budget.ts';
import { createUnconfirmedDecisions } from './unconfirmed-decisions.ts';
import { showsInListing, unconfirmedPolicy } from './unconfirmed-policy.ts';
import { unreadableReason } from './unconfirmed-reasons.ts';

export interface UnconfirmedResolverOptions {
  ledger: Pick<
    Ledger,
    'unconfirmedDeliveries' | 'unprovenKinds' | 'hasUnbound' | 'endProof' | 'settle' | 'acknowledgedCreates'
  >;
  target: Pick<Target, 'list'>;
  reader: Pick<PlatformReader, 'publications'>;
  health: Pick<ApiHealth, 'answers' | 'observe' | 'allows' | 'refused' | 'wasOut' | 'takesOnlyReads'>;
  retries: RetryBudget;
  pause: CreatePause;
  profile: Profile;
  clock: Clock;
  random: () => number;
  emit: Emit;
}

/** Settles doubts: by sending again where that is safe, by reading back where the API can be read. */
export interface UnconfirmedResolver {
  /** Takes on what may be looked at by now, unless the API is away. Gives the number of doubts that were looked at. */
  resolve(abort: AbortSignal): Promise<number>;
  /** The list that has been out of reach for longest; null where all could be read the last time. */
  unreadable: ListReads['unreadable'];
}

/** How many doubts one listing serves. */
const BATCH = 10_000;
const NOT_SOUGHT: ListingMatch = { found: [], unclear: null };
/** While only writes fail, one delivery at a time comes back to be tried: all of them would only wait for their turn. */
const TRY_AGAIN_MS = 30_000;

/** True of a create that was refused: nothing waits to be sent again, so that others may join it before the list is read. */
function isRefused({ reason }: UnconfirmedDelivery): boolean {
  return hasTrait(reason, 'found_before');
}

export function createUnconfirmedResolver(options: UnconfirmedResolverOptions): UnconfirmedResolver {
  const { ledger, target, reader, health, retries, pause, profile, clock, random, emit } = options;

  const readings = createListReads({ health, clock, emit });
  const decisions = createUnconfirmedDecisions({ readings, health, retries, profile, clock, random });
  const absence = createAbsence({ ledger, lagMs: profile.list.lagMs, clock });
  let triedAt = Number.NEGATIVE_INFINITY;

  async function settle(delivery: UnconfirmedDelivery, decision: Decision): Promise<void> {
    const { id, revision, kind, key, operation } = delivery;
    const settlements = [{ id, revision, decision, decidedAt: clock.now() }];
    const [stored] = await ledger.settle([{ claim: null, settlements, keep: false, groupMax: null }]);
    const settled = stored?.instead ?? decision;
    if (settled.kind !== 'unconfirmed') absence.forget(id);
    const reason = 'reason' in settled ? settled.reason : null;
    emit({
      type: 'settled',
      kind,
      key,
      operation,
      state: DECISION_STATES[settled.kind],
      status: null,
      latencyMs: null,
      reason,
    });
  }

  /**
   * Absence is proven only by complete listings that began after the settling delay, which is why a doubt comes here no
   * earlier. One listing serves all doubts of its kind. Where the API refuses it, they are looked at once it no longer does.
   */
  async function readBack(
    kind: ListableKind,
    doubts: readonly UnconfirmedDelivery[],
    abort: AbortSignal,
  ): Promise<void> {
    const fields = profile.naturalKeys[kind];
    const sightings = createListingMatches(kind, { fields, keys: doubts.flatMap(({ sentKey }) => sentKey ?? []) });
    const unproven = (await ledger.unprovenKinds()).includes(kind);
    let holdsOthers = !unproven;
    const watch = await absence.watch(kind, doubts);
    const showsThePast = absence.showsThePast();
    const begunAt = clock.ticks();
    pause.begin(kind);
    const listing = await target.list(
      kind,
      async (items) => {
        for (const item of items) watch.add(item);
        const others = items.flatMap((item) => (sightings.add(item) ? [] : (item.naturalKey ?? [])));
        holdsOthers ||= await holdsUnknown(kind, others);
      },
      { signal: abort },
    );
    const outcome = readings.ended(kind, listing, begunAt);
    const moved = !listing.complete && listing.moved === true;
    pause.end(kind, { complete: listing.complete, moved, restMs: readings.waitMs(kind) });
    if (outcome.kind === 'denied') return;
    if (listing.complete && showsThePast && !holdsOthers && !sightings.hidesKeys()) await ledger.endProof(kind);
    await Promise.all(
      doubts.map((delivery) => {
        const sighting = delivery.sentKey === null ? NOT_SOUGHT : sightings.of(delivery.sentKey);
        const list = { what: kind, complete: listing.complete, waitMs: () => watch.waitMs(delivery) };
        return settle(delivery, decisions.afterList(delivery, sighting, list));
      }),
    );
  }

  /** Whether a restored ledger does not know some of these items. Where it cannot be asked now, the next listing tells. */
  function holdsUnknown(kind: ListableKind, naturalKeys: readonly string[]): Promise<boolean> {
    return ledger.hasUnbound(kind, naturalKeys).catch(() => true);
  }

  /** One listing serves all passports: what is public has been published, and what is not has been withdrawn. */
  async function lookForPublications(doubts: readonly UnconfirmedDelivery[], abort: AbortSignal): Promise<void> {
    const watch = absence.watchPublications();
    const begunAt = clock.ticks();
    const read = await readPublications(reader, abort);
    if (readings.ended('publications', read, begunAt).kind === 'denied') return;
    await Promise.all(
      doubts.map((delivery) => {
        if (!read.complete) return settle(delivery, decisions.readAgain(delivery, 'publications'));
        const done = hasTakenEffect(delivery.operation, read.publicityOf(delivery));
        // A second publication is a double; a second withdrawal changes nothing.
        const isAbsent = done === false && delivery.operation === 'passport.publish';
        const waitMs = isAbsent ? watch.waitMs(delivery) : 0;
        if (waitMs > 0) return settle(delivery, decisions.readAgain(delivery, 'publications', waitMs));
        return settle(delivery, decisions.afterPublications(delivery, done));
      }),
    );
  }

  /** Where the attempts are spent, a listing may still tell whether one of them took effect. */
  function isLastResort({ operation, attempts }: UnconfirmedDelivery): boolean {
    return showsInListing(operation) && attempts >= profile.retry.attemptsMax;
  }

  /** An import that may have arrived goes out again as it is: the doubts of all its members are settled at once. */
  async function resendImport(members: readonly UnconfirmedDelivery[]): Promise<void> {
    const settlements = decisions.resendImport(members);
    const keep = settlements.every(({ decision }) => decision.kind === 'resend');
    await ledger.settle([{ claim: null, settlements, keep, groupMax: null }]);
  }

  /**
   * Sends again what is safe to send again, once the API has answered something since: that it is away is no news of a
   * delivery, and to send it into an outage would only spend its attempts.
   */
  async function resend(doubts: readonly UnconfirmedDelivery[], abort: AbortSignal): Promise<number> {
    if (doubts.length === 0) return 0;
    const since = doubts.reduce((latest, delivery) => Math.max(latest, delivery.since), 0);
    if (!(await health.answers(ticksAt(clock, since), abort))) return 0;
    const imports = new Map<number, UnconfirmedDelivery[]>();
    const settled: Promise<void>[] = [];
    for (const delivery of doubts) {
      if (delivery.importId === null) {
        settled.push(settle(delivery, decisions.resend(delivery)));
        continue;
      }
      const members = imports.get(delivery.importId) ?? [];
      members.push(delivery);
      imports.set(delivery.importId, members);
    }
    for (const members of imports.values()) settled.push(resendImport(members));
    await Promise.all(settled);
    return doubts.length;
  }

  /** Reads what `read` reads for these doubts, where the API may be read now and it is there. */
  async function look(
    what: ListName,
    doubts: readonly UnconfirmedDelivery[],
    read: () => Promise<void>,
    abort: AbortSignal,
  ): Promise<number> {
    if (doubts.length === 0 || abort.aborted || !health.allows('read')) return 0;
    if (readings.waitMs(what, doubts.every(isRefused)) > 0 || !(await health.answers(null, abort))) return 0;
    await read();
    return doubts.length;
  }

  /** Which of what would be sent again is looked at now. */
  function inTheirTurn(doubts: UnconfirmedDelivery[]): UnconfirmedDelivery[] {
    if (!health.takesOnlyReads()) return doubts;
    const first = clock.ticks() < triedAt + TRY_AGAIN_MS ? undefined : doubts.find(isSentAgain);
    const together = (delivery: UnconfirmedDelivery): boolean =>
      delivery === first || (delivery.importId !== null && delivery.importId === first?.importId);
    return doubts.filter((delivery) => !isSentAgain(delivery) || together(delivery));
  }

  /** False of what only has to be looked up, and of what nothing but a person can settle. */
  const isSentAgain = ({ reason, operation }: UnconfirmedDelivery): boolean =>
    !hasTrait(reason, 'needs_reading') && unconfirmedPolicy(operation, profile) !== 'person';

  return {
    unreadable: () => readings.unreadable(),

    async resolve(abort) {
      const all = await ledger.unconfirmedDeliveries({
        limit: BATCH,
        held: suspendedBy(health.refused().keys(), profile),
      });
      const doubts = inTheirTurn(all);
      const toList: Record<ListableKind, UnconfirmedDelivery[]> = { product: [], material: [] };
      const toLookFor: UnconfirmedDelivery[] = [];
      const toSend: UnconfirmedDelivery[] = [];
      const toShow: UnconfirmedDelivery[] = [];
      for (const delivery of doubts) {
        const { kind, operation, reason } = delivery;
        const policy =
          hasTrait(reason, 'needs_reading') || isLastResort(delivery)
            ? 'read_back'
            : unconfirmedPolicy(operation, profile);
        if (policy === 'read_back' && showsInPublications(operation)) toLookFor.push(delivery);
        else if (policy === 'read_back' && (kind === 'product' || kind === 'material')) toList[kind].push(delivery);
        else if (policy === 'resend') toSend.push(delivery);
        else toShow.push(delivery);
      }
      await Promise.all(
        toShow.map((delivery) =>
          settle(delivery, {
            kind: 'unconfirmed',
            nextLookAt: null,
            spend: false,
            reason: unreadableReason(delivery.reason),
          }),
        ),
      );
      let looked = toShow.length + (await resend(toSend, abort));
      for (const kind of ['product', 'material'] as const) {
        looked += await look(kind, toList[kind], () => readBack(kind, toList[kind], abort), abort);
      }
      looked += await look('publications', toLookFor, () => lookForPublications(toLookFor, abort), abort);
      if (looked > 0 && doubts.some(isSentAgain)) triedAt = clock.ticks();
      return looked;
    },
  };
}
