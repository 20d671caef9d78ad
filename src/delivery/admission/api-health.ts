// Is the API there, and does it take what we send? All that is known about that stands behind this one face:
//
//   authorization   holds for a key, plan or scope that the API refuses (401, 402, 403)
//   outage          no answers, or failing writes: half-open probes find the end
//   rate            the learnt limit, and waits that the API has asked for
//   reachability    since when nothing was answered, for reports
//   questions       reads that write nothing and find out whether the API is there
//
// Each answer is passed to `observe` once. Each request asks `admit` before it is sent.

import type { ApiWait } from '../../domain/api-wait.ts';
import type { Emit } from '../../domain/ports/progress.ts';
import type { Target } from '../../domain/ports/target.ts';
import type { Clock } from '../../lib/clock.ts';
import { type Observation, observationOf } from '../observation.ts';
import type { RateController } from '../rate/rate-controller.ts';
import { refusalOf } from '../rate/refusal.ts';
import type { Answer } from './answer.ts';
import { type Throttled, throttledBy } from './api-wait.ts';
import { type Authorization, createAuthorization } from './authorization.ts';
import { createHalfOpenQuestions } from './half-open-questions.ts';
import { createOutage, type Outage } from './outage.ts';
import { createReachability } from './reachability.ts';

/** Writes that have failed since one was taken last. */
export interface FailingWrites {
  failed: number;
  /** When that was, in milliseconds since the Unix epoch; null where this process has seen none. */
  takenAt: number | null;
}

export interface ApiHealth
  extends Omit<Authorization, 'observe' | 'state'>,
    Omit<Outage, 'observe' | 'admit' | 'failsAtWrites' | 'writes'> {
  /** Whether the API takes the key and the plan. */
  authorization: Authorization['state'];
  /** Milliseconds until a request may be sent; 0 admits one, which ends with `observe` or `unused`. */
  admit(): number;
  /** How many requests may be under way at the present rate. */
  concurrency(): number;
  /** @param latencyMs since the request was admitted; null for one that was sent without being admitted */
  observe(answer: Answer, latencyMs: number | null): void;
  /** A request was admitted `latencyMs` ago and is not sent. */
  unused(latencyMs: number): void;
  /** Whether a question has to be answered before a delivery is sent: there is an outage, or a long wait. */
  asksFirst(): boolean;
  /** Asks that question. True where a delivery may be sent now. */
  mayProbe(abort: AbortSignal): Promise<boolean>;
  /**
   * Whether the API is there as far as is known, and has answered something at or after `since` where one is given. Asks
   * the API where that is open and a request may be sent now; never waits for a slot. False while it has asked to wait.
   */
  answers(since: number | null, abort: AbortSignal): Promise<boolean>;
  /** Asks the API at once whether it answers. False during an outage. */
  answersNow(abort: AbortSignal): Promise<boolean>;
  /**
   * Since when no request has been answered, or only writes have failed that ought not to, by `Clock.ticks`; null while all
   * is well.
   */
  unreachableSince(): number | null;
  /** Where the API may be read and fails at every write: at how many different ones, and since when; else null. */
  failsAtWrites(): FailingWrites | null;
  /** Whether an outage is known in which only writes fail. */
  takesOnlyReads(): boolean;
  /** Null where the last answer of the API was another one than to wait. */
  throttled(): Throttled | null;
  /** The wait beyond a minute that goes on; null where there is none. */
  longWait(): ApiWait | null;
}

export interface ApiHealthOptions {
  target: Pick<Target, 'ping'>;
  rate: RateController;
  /** Whether publishing has an API key of its own. */
  ownPublishKey: boolean;
  clock: Clock;
  random: () => number;
  emit: Emit;
}

export function createApiHealth(options: ApiHealthOptions): ApiHealth {
  const { target, rate, clock, random, emit } = options;
  const authorization = createAuthorization(options);
  const outage = createOutage(random);
  const reachability = createReachability();
  const atEpoch = (ticks: number): number => Math.round(clock.now() + (ticks - clock.ticks()));

  /** Takes in an answer. Gives what it shows the rate controller: a delivery that is at fault by itself slows down no other. */
  function learn({ outcome, scope, subject, advisedRate, denial }: Answer): Observation {
    const now = clock.ticks();
    const isAtFault = typeof subject === 'number' && outage.isExcused(subject);
    const observation = observationOf(outcome, subject, advisedRate);
    const isOwnRefusal = isAtFault && outcome.kind === 'unavailable' && outcome.sent;
    if (!isOwnRefusal) reachability.observe(outcome, now);
    authorization.observe(outcome, scope, denial);
    outage.observe(observation, now);
    return isAtFault && observation.kind === 'failed' ? { kind: 'unused' } : observation;
  }

  /** What was sent without being admitted shows the rate controller nothing but that others have to wait. */
  function learnBeside(answer: Answer): void {
    const observation = learn(answer);
    if (refusalOf(observation) !== null) rate.observe(observation, 0, clock.ticks());
  }

  function admitOne(): number {
    const now = clock.ticks();
    const waitMs = outage.admit(now);
    if (waitMs > 0) return waitMs;
    const slotMs = rate.admit(now);
    // Given back: the half-open probe must not be kept by a request that waits for its slot.
    if (slotMs > 0) outage.observe({ kind: 'unused' }, now);
    return slotMs;
  }

  function unused(latencyMs: number): void {
    const now = clock.ticks();
    outage.observe({ kind: 'unused' }, now);
    rate.observe({ kind: 'unused' }, latencyMs, now);
  }

  /** Gives back what was admitted for a question that throws: it would keep every other half-open probe from being sent. */
  async function givenBack<T>(question: Promise<T>): Promise<T> {
    try {
      return await question;
    } catch (error) {
      unused(0);
      throw error;
    }
  }

  /** A question that writes nothing. A refusal of the scope `read` is an answer, and no reason to stop reading. */
  async function ask(abort: AbortSignal): Promise<Answer> {
    const outcome = await target.ping(abort);
    emit({ type: 'request', operation: 'ping', outcome: outcome.kind, retry: false });
    return { outcome, scope: 'read', subject: null, denial: 'request' };
  }

  const questions = createHalfOpenQuestions({ ask, learn, rate, clock });

  function throttled(): Throttled | null {
    const since = reachability.throttledSince();
    return throttledBy({ rate, since, message: reachability.lastThrottle() ?? '', now: clock.ticks(), atEpoch });
  }

  return {
    ...authorization,
    ...outage,
    authorization: () => authorization.state(),
    admit: admitOne,
    concurrency: () => rate.concurrency(clock.ticks()),
    observe(answer, latencyMs) {
      if (latencyMs === null) {
        learnBeside(answer);
        return;
      }
      const observation = learn(answer);
      rate.observe(observation, latencyMs, clock.ticks());
      if (typeof answer.subject === 'number') questions.deliveryEnded(observation);
    },
    unused,
    asksFirst: () => outage.openSince() !== null || rate.wait(clock.ticks()) !== null,
    mayProbe: (abort) => givenBack(questions.mayProbe(abort)),
    async answers(since, abort) {
      // Whoever reads after this takes no slots, so reading has to wait as well where the API has asked for that.
      if (rate.closedForMs(clock.ticks()) > 0) return false;
      const isWaiting = rate.wait(clock.ticks()) !== null;
      const isKnown = since === null || outage.hasAnsweredSince(since);
      if (!isWaiting && outage.isWell() && isKnown) return true;
      if (admitOne() > 0 || !(await givenBack(questions.isAnswered(abort)))) return false;
      // It was admitted to find out, and no delivery follows from here.
      outage.observe({ kind: 'unused' }, clock.ticks());
      if (isWaiting) rate.observe({ kind: 'answered', by: 'read' }, 0, clock.ticks());
      return true;
    },
    async answersNow(abort) {
      if (outage.openSince() !== null) return false;
      const answer = await ask(abort);
      learnBeside(answer);
      const { kind } = observationOf(answer.outcome, null);
      return kind === 'answered' || kind === 'throttled';
    },
    unreachableSince: () => reachability.unreachableSince() ?? outage.openSince(),
    failsAtWrites() {
      if (!outage.failsAtWrites() || reachability.unreachableSince() !== null) return null;
      const { failed, takenAt } = outage.writes();
      return { failed, takenAt: takenAt === null ? null : atEpoch(takenAt) };
    },
    takesOnlyReads: () => outage.failsAtWrites(),
    throttled,
    longWait: () => throttled()?.wait ?? null,
  };
}
