import type { Decision, Settlement } from '../../domain/ports/decision.ts';
import type { UnconfirmedDelivery } from '../../domain/ports/unconfirmed.ts';
import type { Profile } from '../../domain/profile.ts';
import { hasTrait, isLookedForOnce, wasThereBefore, whenAbsent } from '../../domain/reason.ts';
import { type Clock, ticksAt } from '../../lib/clock.ts';
import type { ApiHealth } from '../admission/api-health.ts';
import type { RetryBudget } from '../admission/retry-budget.ts';
import type { DecideContext } from '../outcome/decide-context.ts';
import { decideReadBack } from '../outcome/decide-read-back.ts';
import { blockedByRule } from '../outcome/decide-refusal.ts';
import { decideResend, type ResendContext } from '../outcome/decide-resend.ts';
import type { ListReads } from './list-reads.ts';
import type { ListingMatch } from './listing-match.ts';
import { unclearPublicationsReason } from './publications.ts';
import type { ListName } from './read-budget.ts';
import { absentReason, notFoundReason, notShownReason, unprovenReason, withSentence } from './unconfirmed-reasons.ts';

/** What becomes of a delivery in doubt. Whatever goes out again has its turn among the retries. */
export interface UnconfirmedDecisions {
  /**
   * After its list was read.
   *
   * @param list one that could not be read to its end proves what it shows, and no absence
   */
  afterList(delivery: UnconfirmedDelivery, sighting: ListingMatch, list: ListRead): Decision;
  /** After the publications were read. @param done whether it has taken effect; null where they do not tell */
  afterPublications(delivery: UnconfirmedDelivery, done: boolean | null): Decision;
  /** Where the list has to be read once more, after so long at least. */
  readAgain(delivery: UnconfirmedDelivery, what: ListName, waitMs?: number): Decision;
  /** Where it is safe to send it again. */
  resend(delivery: UnconfirmedDelivery): Decision;
  /** The same of all members of an import, in their order: they go out together, so that they take one turn. */
  resendImport(members: readonly UnconfirmedDelivery[]): Settlement[];
}

/** A list that was read. */
export interface ListRead {
  what: ListName;
  complete: boolean;
  /** Milliseconds until it has to be read again, before it is believed that something is absent; 0 to believe it. */
  waitMs: () => number;
}

export interface UnconfirmedDecisionsOptions {
  readings: Pick<ListReads, 'waitMs'>;
  health: Pick<ApiHealth, 'wasOut'>;
  retries: RetryBudget;
  profile: Profile;
  clock: Clock;
  /** Numbers in [0, 1). */
  random: () => number;
}

export function createUnconfirmedDecisions(options: UnconfirmedDecisionsOptions): UnconfirmedDecisions {
  const { readings, health, retries, profile, clock, random } = options;

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

  /** When the next retry may go out; 0 for now. */
  function reserveSlot(): number {
    const turnMs = retries.reserve(clock.ticks());
    return turnMs === 0 ? 0 : clock.now() + turnMs;
  }

  /** Gives a retry its turn. What has not been sent since the ledger was put back is none. */
  function inSlot(decision: Decision): Decision {
    if (decision.kind !== 'resend' || hasTrait(decision.reason, 'since_backup')) return decision;
    return { ...decision, dueAt: reserveSlot() };
  }

  function readAgain({ reason }: UnconfirmedDelivery, what: ListName, waitMs = 1): Decision {
    const nextLookAt = clock.now() + Math.max(1, Math.ceil(waitMs), readings.waitMs(what));
    return { kind: 'unconfirmed', nextLookAt, spend: false, reason };
  }

  /** Of a write that is proven to have had no effect. A refusal that came after it stands then. */
  function absent(delivery: UnconfirmedDelivery): Decision {
    const { reason } = delivery;
    switch (whenAbsent(reason)) {
      case 'reject_as_hidden':
        return { kind: 'rejected', reason: notShownReason(reason) };
      case 'block':
        return blockedByRule({ ...reason, code: 'gate' }, context(delivery));
      case 'reject':
        return { kind: 'rejected', reason: { ...reason, code: 'refused' }, absent: true };
      case 'ask_person':
        return { kind: 'unconfirmed', nextLookAt: null, spend: false, reason: notFoundReason(reason) };
      case 'resend':
        return inSlot(decideResend(resendContext(delivery), absentReason(reason), true));
    }
  }

  return {
    afterList(delivery, sighting, { what, complete, waitMs }) {
      const { reason, sent } = delivery;
      const { found, unclear } = sighting;
      if (sent !== null && complete) {
        return inSlot(decideReadBack({ ...delivery, sent }, sighting, resendContext(delivery)));
      }
      // I6: a create that may be there, although it is not shown, would make the item a second time.
      if (unclear !== null && found.length === 0 && complete) {
        // It was refused and is not sent again. The reason names the other entries for the person who corrects the row.
        if (hasTrait(reason, 'may_exist')) return absent({ ...delivery, reason: withSentence(reason, unclear) });
        return { kind: 'unconfirmed', nextLookAt: null, spend: false, reason: unprovenReason(reason, unclear) };
      }
      const remoteId = sent === null ? (found.at(-1)?.remoteId ?? null) : null;
      const decision: Decision = {
        kind: 'delivered',
        remoteId,
        contentKnown: !hasTrait(reason, 'content_unknown'),
        by: 'read_back',
      };
      // An item that existed before is adopted. An item that an earlier attempt may have made is ours.
      if (remoteId !== null) return wasThereBefore(reason) ? { ...decision, shown: found } : decision;
      if (!complete) return readAgain(delivery, what);
      // A refused create is not sent again, so a list that lags doubles nothing. It is looked for again only if the platform
      // stated that the item exists.
      const againMs = isLookedForOnce(reason) ? 0 : waitMs();
      return againMs > 0 ? readAgain(delivery, what, againMs) : absent(delivery);
    },

    afterPublications(delivery, done) {
      const { reason } = delivery;
      if (done === true) return { kind: 'delivered', remoteId: null, contentKnown: true, by: 'read_back' };
      if (done === null)
        return { kind: 'unconfirmed', nextLookAt: null, spend: false, reason: unclearPublicationsReason(reason) };
      return absent(delivery);
    },

    readAgain: readAgain,

    resend: (delivery) => inSlot(decideResend(resendContext(delivery), delivery.reason, false)),

    resendImport(members) {
      const judged = members.map((delivery) => ({
        id: delivery.id,
        revision: delivery.revision,
        decision: decideResend(resendContext(delivery), delivery.reason, false),
      }));
      const dueAt = judged.some(({ decision }) => decision.kind === 'resend') ? reserveSlot() : 0;
      return judged.map(({ decision, ...name }) => ({
        ...name,
        decision: decision.kind === 'resend' ? { ...decision, dueAt } : decision,
      }));
    },
  };
}
