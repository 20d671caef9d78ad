import { type ListName, listShowing, type Operation } from '../../domain/delivery/operation.ts';
import {
  hasTrait,
  isLookedForOnce,
  type Reason,
  wasThereBefore,
  whenAbsent,
} from '../../domain/delivery/stored-reason.ts';
import { remoteIdText } from '../../domain/item.ts';
import type { Decision, Settlement, UnconfirmedDelivery } from '../../domain/ports/deliveries.ts';
import type { RemoteItem } from '../../domain/ports/target.ts';
import type { Profile } from '../../domain/profile.ts';
import { type Clock, ticksAt } from '../../lib/clock.ts';
import type { JsonValue } from '../../lib/json.ts';
import type { ApiHealth } from '../admission/api-health.ts';
import type { RetryBudget } from '../admission/retry-budget.ts';
import type { Echoes } from '../echoes.ts';
import { heldReason, withoutList } from '../outcome/decide.ts';
import type { DecideContext, ProofContext, Readable } from '../outcome/decide-context.ts';
import { blockedByRule } from '../outcome/decide-refusal.ts';
import {
  absentReason,
  decideReadBack,
  decideResend,
  type ListingMatch,
  lateReason,
  notFoundReason,
  notShownReason,
  pendingReason,
  type ResendContext,
  severalReason,
  unclearPublicationsReason,
  unprovenReason,
  withSentence,
} from './decide-read-back.ts';
import type { ListReads } from './list-reads.ts';

/** A list that was read. */
export interface ListRead {
  what: ListName;
  complete: boolean;
  /** Milliseconds until the list has to be read again before an absence is believed; 0 to believe it. */
  waitMs: () => number;
  /**
   * Until when an import may still make its new product, by the wall clock; null if this time is unknown. 0 for all
   * deliveries that are not new products of an import.
   */
  mayMakeUntil: number | null;
  /**
   * The retry slot of the products that imports have not made. These products are sent again together in imports, so
   * the first of them sets the slot for all.
   */
  together: { dueAt: number | null };
}

interface UnconfirmedDecisionsOptions {
  reads: Pick<ListReads, 'waitMs' | 'isGivenUp'>;
  health: Pick<ApiHealth, 'wasOut'>;
  retries: RetryBudget;
  echoes: Pick<Echoes, 'has'>;
  /** Whether the list that shows the effect of an operation can be read. */
  readable: (operation: Operation) => Readable;
  profile: Profile;
  clock: Clock;
  /** Numbers in [0, 1). */
  random: () => number;
}

/** The first of the growing waits between two looks for a product that an import may make late. */
const LOOK_LEAST_MS = 1000;
/** How long lists are read for a product that no list shows, if it is unknown how long an import may take. */
const LOOK_FOR_MS = 120_000;

/** The least wait before the second and last look of a run for a publication that the platform may make late. */
const PENDING_LEAST_MS = 10_000;

/** The delivery stays unconfirmed, and only a person can resolve it. */
const leftToPerson = (reason: Reason): Decision => ({ kind: 'unconfirmed', nextLookAt: null, spend: false, reason });

/** A reason whose list was read, so that it does not wait for the other writes of the run any more. */
function restless(reason: Reason): Reason {
  const { atRest: _, ...rest } = reason;
  return rest;
}

/**
 * Decides the next states of unconfirmed deliveries. Each delivery that is sent again gets a slot in the retry budget.
 */
export function createUnconfirmedDecisions(options: UnconfirmedDecisionsOptions) {
  const { reads, health, retries, echoes, readable, profile, clock, random } = options;

  const context = ({ operation, attempts }: UnconfirmedDelivery): DecideContext => ({
    operation,
    attempts,
    profile,
    now: clock.now(),
    random: random(),
  });

  const resendContext = (delivery: UnconfirmedDelivery): ResendContext => ({
    ...context(delivery),
    dueAt: 0,
    refund: health.wasOut(ticksAt(clock, delivery.since)),
  });

  const proofOf = ({ operation }: UnconfirmedDelivery): ProofContext => ({
    echoedBefore: echoes.has(operation),
    readable: readable(operation),
  });

  /** The time at which the next retry may be sent; 0 means at once. */
  function reserveSlot(): number {
    const waitMs = retries.reserve(clock.ticks());
    return waitMs === 0 ? 0 : clock.now() + waitMs;
  }

  /** Gives a retry its slot. A write that was not sent since the ledger was restored is no retry. */
  function withSlot(decision: Decision, slot = reserveSlot): Decision {
    if (decision.kind !== 'resend' || hasTrait(decision.reason, 'since_backup')) return decision;
    return { ...decision, dueAt: slot() };
  }

  /**
   * The delivery stays unconfirmed until the list was read once more, `waitMs` after `now` at the earliest. Deliveries with the
   * same time share that read.
   */
  function readAgain({ reason }: UnconfirmedDelivery, list: ListName, waitMs = 1, now = clock.now()): Decision {
    const nextLookAt = now + Math.max(1, Math.ceil(waitMs), reads.waitMs(list));
    return { kind: 'unconfirmed', nextLookAt, spend: false, reason: restless(reason) };
  }

  /** Takes a weak answer for which there is no list, or leaves it to a person. */
  function withoutProof(delivery: UnconfirmedDelivery, context: ProofContext): Decision {
    const { operation, reason } = delivery;
    const { answeredId: remoteId = null, words } = reason;
    const evidence = words !== undefined ? 'unknown_word' : remoteId === null ? 'bare' : 'id';
    const weighed = withoutList(operation, evidence, { ...context, withoutProof: profile.answers.withoutProof });
    if (weighed.kind !== 'take') return leftToPerson(heldReason(operation, reason));
    return { kind: 'delivered', remoteId, contentKnown: true, by: 'answer', unproven: weighed.unproven };
  }

  /** True if the profile accepts answers without proof, and the list that would prove this one has failed again and again. */
  function isTakenWithout(list: ListName, { reason: { code, words } }: UnconfirmedDelivery): boolean {
    const isWeak = code === 'unechoed' || code === 'pending';
    return profile.answers.withoutProof === 'accept' && isWeak && words === undefined && reads.isGivenUp(list);
  }

  /**
   * Decides after a read that was not complete. The list is read again, unless it has failed so often that an answer is
   * taken without it.
   */
  function afterFailedRead(delivery: UnconfirmedDelivery, list: ListName): Decision {
    if (!isTakenWithout(list, delivery)) return readAgain(delivery, list);
    return withoutProof(delivery, { ...proofOf(delivery), readable: 'no' });
  }

  /**
   * Decides about a conflict of a passport that the publications do not show as done. A passport that may exist is
   * initialised once more: a second conflict means that it exists.
   */
  function conflicted(delivery: UnconfirmedDelivery): Decision {
    const { operation, reason } = delivery;
    if (operation !== 'passport.init') return blockedByRule({ ...restless(reason), code: 'gate' }, context(delivery));
    return withSlot(decideResend(resendContext(delivery), restless(reason), false));
  }

  /**
   * Decides about a publication that the publications do not show yet. The platform may have queued the request, and a list
   * may lag, so all such publications of a run are looked up together once more. Each later run looks once.
   */
  function notPublished(delivery: UnconfirmedDelivery, now: number): Decision {
    if (delivery.reason.atRest !== true) return leftToPerson(pendingReason(delivery));
    return readAgain(delivery, 'publications', Math.max(PENDING_LEAST_MS, profile.list.lagMs), now);
  }

  /**
   * How long to wait before the list is read again for the proof of a change that a lagging list may not show yet. Only
   * the first import waits: a list that shows none of its changes after that has other reasons.
   */
  function changeLateMs({ reason, attempts }: UnconfirmedDelivery): number {
    if (reason.code !== 'change_proof' || reason.since === undefined || attempts > 1) return 0;
    const waitedMs = Math.max(0, clock.now() - reason.since);
    return Math.min(Math.max(LOOK_LEAST_MS, waitedMs), profile.list.lagMs - waitedMs);
  }

  /** The product or material that a list shows for a create. */
  function foundBy(
    { reason }: UnconfirmedDelivery,
    { found }: ListingMatch,
  ): { remoteId: JsonValue; shownAs?: string } {
    const { answeredId } = reason;
    const isAnswered = ({ remoteId }: RemoteItem): boolean =>
      answeredId !== undefined && remoteIdText(remoteId) === remoteIdText(answeredId);
    const remoteId = (found.find(isAnswered) ?? found.at(-1))?.remoteId ?? null;
    if (answeredId === undefined || remoteId === null || remoteIdText(remoteId) === remoteIdText(answeredId)) {
      return { remoteId };
    }
    const ids = [answeredId, remoteId].map((id) => JSON.stringify(remoteIdText(id)));
    return { remoteId, shownAs: `The answer named the id ${ids[0]}; the list shows the id ${ids[1]}, which counts.` };
  }

  /**
   * Decides about a write that is proven to have had no effect. If the API refused the write after the lost attempt,
   * that refusal is valid.
   */
  function absent(delivery: UnconfirmedDelivery, slot = reserveSlot): Decision {
    const { reason } = delivery;
    switch (whenAbsent(reason)) {
      case 'reject_as_hidden':
        return { kind: 'rejected', reason: notShownReason(reason) };
      case 'block':
        return blockedByRule({ ...reason, code: 'gate' }, context(delivery));
      case 'reject':
        return { kind: 'rejected', reason: { ...reason, code: 'refused' }, absent: true };
      case 'ask_person':
        return leftToPerson(notFoundReason(reason));
      case 'resend':
        return withSlot(decideResend(resendContext(delivery), absentReason(reason), true), slot);
    }
  }

  /**
   * Decides about a new product that its import has not made so far. Each read that does not find the product makes the
   * next read later. If it is unknown how long an import may take, a person decides in the end, because a second import
   * could make a second product.
   */
  function notMade(
    delivery: UnconfirmedDelivery,
    { what: list, mayMakeUntil, together }: Pick<ListRead, 'what' | 'mayMakeUntil' | 'together'>,
  ): Decision {
    const now = clock.now();
    const waitedMs = Math.max(LOOK_LEAST_MS, now - (delivery.reason.since ?? delivery.sentAt));
    if (mayMakeUntil === null) {
      if (waitedMs >= LOOK_FOR_MS) return leftToPerson(lateReason(delivery.reason));
      return readAgain(delivery, list, waitedMs);
    }
    if (now < mayMakeUntil) return readAgain(delivery, list, Math.min(waitedMs, mayMakeUntil - now));
    return absent(delivery, () => (together.dueAt ??= reserveSlot()));
  }

  return {
    /**
     * Decides after the list was read.
     *
     * @param list a list that was not read to its end proves that its items are present, and proves no absence
     */
    afterList(
      delivery: UnconfirmedDelivery,
      match: ListingMatch,
      { what, complete, waitMs, mayMakeUntil, together }: ListRead,
    ): Decision {
      const { reason, sent } = delivery;
      const { found, unclear } = match;
      if (sent !== null && complete) {
        const decision = decideReadBack({ ...delivery, sent }, match, resendContext(delivery));
        const lateMs = decision.kind === 'resend' ? changeLateMs(delivery) : 0;
        if (lateMs > 0) return readAgain(delivery, what, lateMs);
        const isHidden = decision.kind === 'unconfirmed' && reason.code === 'unechoed';
        return isHidden ? withoutProof(delivery, { ...proofOf(delivery), readable: 'no' }) : withSlot(decision);
      }
      // The list cannot show the item, so it is worth no more than no list.
      if (unclear !== null && found.length === 0 && complete && reason.code === 'unechoed') {
        return withoutProof(delivery, { ...proofOf(delivery), readable: 'no' });
      }
      // I6: the item may exist although the list does not show it. Another create would make it a second time.
      if (unclear !== null && found.length === 0 && complete) {
        // A refused create is not sent again. Its reason names the other entries for the person who corrects the row.
        if (hasTrait(reason, 'may_exist')) return absent({ ...delivery, reason: withSentence(reason, unclear) });
        return leftToPerson(unprovenReason(reason, unclear));
      }
      const { remoteId, shownAs } = sent === null ? foundBy(delivery, match) : { remoteId: null };
      const contentKnown = !hasTrait(reason, 'content_unknown');
      const decision: Decision = {
        kind: 'delivered',
        remoteId,
        contentKnown,
        by: 'read_back',
        ...(shownAs !== undefined && { shownAs }),
      };
      // An item that existed before is adopted. An item that an earlier attempt may have created belongs to this
      // ledger.
      if (remoteId !== null && wasThereBefore(reason)) return { ...decision, shown: found };
      // The platform has made the item more than once, so a person has to remove all but one. Nothing uses an id before that.
      if (sent === null && found.length > 1) return leftToPerson(severalReason(delivery, found));
      if (remoteId !== null) return decision;
      if (!complete) return afterFailedRead(delivery, what);
      // A refused create is not sent again, so a list that lags causes no second item. The list is read again only if the
      // platform stated that the item exists.
      const againMs = isLookedForOnce(reason) ? 0 : waitMs();
      if (againMs > 0) return readAgain(delivery, what, againMs);
      return delivery.isImportedCreate ? notMade(delivery, { what, mayMakeUntil, together }) : absent(delivery);
    },

    /**
     * Decides after the publications were read.
     *
     * @param done whether the write has taken effect; null if the publications do not show it
     * @param now the same for all deliveries of this read, so that they share the next read as well
     */
    afterPublications(delivery: UnconfirmedDelivery, done: boolean | null, now: number): Decision {
      if (done === true) return { kind: 'delivered', remoteId: null, contentKnown: true, by: 'read_back' };
      const { code } = delivery.reason;
      if (code === 'conflict') return conflicted(delivery);
      if (code === 'pending') {
        if (done === false) return notPublished(delivery, now);
        const decision = withoutProof(delivery, { ...proofOf(delivery), readable: 'no' });
        if (decision.kind === 'delivered') return decision;
      }
      return done === null ? leftToPerson(unclearPublicationsReason(delivery.reason)) : absent(delivery);
    },

    /** Decides about a delivery whose answer proves too little, if no list can show its effect. */
    withoutList: (delivery: UnconfirmedDelivery): Decision =>
      delivery.reason.code === 'conflict' ? conflicted(delivery) : withoutProof(delivery, proofOf(delivery)),

    readAgain,

    afterFailedRead,

    /** True if an answer is taken without a read, because the list was given up and is not read for a time. */
    isTakenBetweenReads(delivery: UnconfirmedDelivery): boolean {
      const list = listShowing(delivery.operation);
      return list !== null && reads.waitMs(list) > 0 && isTakenWithout(list, delivery);
    },

    /** Decides about a delivery that is safe to send again. */
    resend: (delivery: UnconfirmedDelivery): Decision =>
      withSlot(decideResend(resendContext(delivery), delivery.reason, false)),

    /** Decides about all members of an import, in their order. They are sent together, so they share one slot. */
    resendImport(members: readonly UnconfirmedDelivery[]): Settlement[] {
      const decided = members.map((delivery) => ({
        id: delivery.id,
        revision: delivery.revision,
        decision: decideResend(resendContext(delivery), delivery.reason, false),
      }));
      const dueAt = decided.some(({ decision }) => decision.kind === 'resend') ? reserveSlot() : 0;
      return decided.map(({ decision, ...name }) => ({
        ...name,
        decision: decision.kind === 'resend' ? { ...decision, dueAt } : decision,
      }));
    },
  };
}

export type UnconfirmedDecisions = ReturnType<typeof createUnconfirmedDecisions>;
