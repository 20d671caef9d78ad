// What all answers show about the API: whether it is there, and which requests it accepts. The parts are
//
//   authorization   stops deliveries whose key, plan or scope the API refuses (401, 402, 403)
//   outage          stops requests when no answers come or all writes fail; half-open probes find the end
//   rate            learns the limit, and obeys the waits that the API asks for
//   reachability    remembers since when the API has not answered, for reports
//   questions       ask the API whether it is there, without writing anything
//
// Each request calls `admit` before it is sent. Each answer is passed to `observe` once.
import type { ApiWait, Outcome } from '../../domain/delivery/outcome.ts';
import type { Emit } from '../../domain/ports/progress.ts';
import type { Target } from '../../domain/ports/target.ts';
import type { Clock } from '../../lib/clock.ts';
import { type Answer, type Observation, observationOf } from '../observation.ts';
import type { LearntRate } from '../rate/learnt-rate.ts';
import type { RateController } from '../rate/rate-controller.ts';
import { refusalOf } from '../rate/stop.ts';
import { createAuthorization } from './authorization.ts';
import { createOutage } from './outage.ts';

/** Writes that have failed since the API last accepted a write. */
export interface FailingWrites {
  failed: number;
  /** When the API last accepted a write, in milliseconds since the Unix epoch; null if this process has seen none. */
  takenAt: number | null;
}

interface ApiHealthOptions {
  target: Pick<Target, 'ping'>;
  rate: LearntRate;
  /** True if publishing has a separate API key. */
  ownPublishKey: boolean;
  clock: Clock;
  random: () => number;
  emit: Emit;
}

export function createApiHealth(options: ApiHealthOptions) {
  const { rate, clock, random } = options;
  const authorization = createAuthorization(options);
  const outage = createOutage(random);
  const reachability = createReachability();
  /** When a request has failed the last time; null if none has. */
  let failedAt: number | null = null;
  /** The time of tick 0, in milliseconds since the Unix epoch. */
  const tickZeroAt = (): number => clock.now() - clock.ticks();

  /**
   * Learns from an answer, and returns what the answer shows the rate controller. A delivery that fails because of its
   * own content must not slow down the others.
   */
  function learn({ outcome, access, memberAccess, subject, advisedRate, denial }: Answer): Observation {
    const now = clock.ticks();
    const isAtFault = typeof subject === 'number' && outage.isExcused(subject);
    const observation = observationOf(outcome, subject, advisedRate);
    const isOwnRefusal = isAtFault && outcome.kind === 'unavailable' && outcome.sent;
    if (!isOwnRefusal) reachability.observe(outcome, now);
    authorization.observe(outcome, access, denial);
    if (memberAccess !== undefined && outcome.kind !== 'denied') authorization.observe(outcome, memberAccess);
    outage.observe(observation, now);
    if (observation.kind === 'failed') failedAt = now;
    if (!isAtFault || observation.kind !== 'failed') return observation;
    // The 503 to it may still be that of a limit, but the wait that it asks for concerns nobody else.
    return observation.is503 ? { ...observation, retryAfterMs: null } : { kind: 'unused' };
  }

  /**
   * Milliseconds until a request may be sent; 0 admits the request. An admitted request ends with `observe` or
   * `unused`.
   */
  function admitOne(): number {
    const now = clock.ticks();
    const waitMs = outage.admit(now);
    if (waitMs > 0) return waitMs;
    const slotMs = rate.admit(now);
    // The request has to wait for its slot, so it gives the half-open probe back.
    if (slotMs > 0) outage.observe({ kind: 'unused' }, now);
    return slotMs;
  }

  /** Reports that a request was admitted `latencyMs` ago and is not sent. */
  function unused(latencyMs: number): void {
    const now = clock.ticks();
    outage.observe({ kind: 'unused' }, now);
    rate.observe({ kind: 'unused' }, latencyMs, now);
  }

  /** Gives a half-open probe back if its question throws. Otherwise no other probe could be sent. */
  async function givenBack<T>(question: Promise<T>): Promise<T> {
    try {
      return await question;
    } catch (error) {
      unused(0);
      throw error;
    }
  }

  const ask = (abort: AbortSignal): Promise<Answer> => askApi(options, abort);
  const questions = createHalfOpenQuestions({ ask, learn, rate, clock });

  /** The wait that the API has asked for; null if its last answer asked for none. */
  function throttled(): Throttled | null {
    const since = reachability.throttledSince();
    // A request with a turn of its own may have been refused, whose words nobody has kept.
    const message = reachability.lastThrottle() ?? 'The answer was 429.';
    return throttledBy({ rate, since, message, now: clock.ticks(), tickZeroAt: tickZeroAt() });
  }

  return {
    ...authorization,
    ...outage,
    /** Whether the API accepts the key and the plan. */
    authorization: () => authorization.state(),
    admit: admitOne,
    /** How many requests may be in flight at the present rate. */
    concurrency: () => rate.concurrency(clock.ticks()),
    /** The present limit in requests per second, learnt or configured; null while none is known. */
    learntRate(): number | null {
      const perSecond = rate.rate(clock.ticks());
      return Number.isFinite(perSecond) ? perSecond : null;
    },
    /**
     * Learns from an answer. `latencyMs` counts since the request was admitted; null for a request with a turn of its own
     * (rate/request-gate.ts), whose answer the rate controller has learnt already.
     */
    observe(answer: Answer, latencyMs: number | null) {
      const observation = learn(answer);
      if (latencyMs === null) return;
      rate.observe(observation, latencyMs, clock.ticks());
      if (typeof answer.subject === 'number') questions.deliveryEnded(observation);
    },
    unused,
    /** True in an outage or a long wait: the API must answer a question before a delivery is sent. */
    asksFirst: () => outage.openSince() !== null || rate.wait(clock.ticks()) !== null,
    /** Asks the API a question that writes nothing. True if a delivery may be sent now. */
    async mayProbe(abort: AbortSignal): Promise<boolean> {
      const mayProbe = await givenBack(questions.mayProbe(abort));
      // The question has used the slot, and the delivery is sent as well.
      if (mayProbe) rate.sentBeside(clock.ticks());
      return mayProbe;
    },
    /**
     * True if the API is there and has answered something at or after `since`. Asks the API if that is unknown and a
     * request may be sent now. Never waits for a slot. False while the API asks to wait.
     */
    async answers(since: number | null, abort: AbortSignal): Promise<boolean> {
      // While the API asks to wait, no question is sent: the rate does not limit questions, so this is checked here.
      if (rate.closedForMs(clock.ticks()) > 0) return false;
      const isWaiting = rate.wait(clock.ticks()) !== null;
      const isKnown = since === null || outage.hasAnsweredSince(since);
      if (!isWaiting && outage.isWell() && isKnown) return true;
      if (admitOne() > 0 || !(await givenBack(questions.isAnswered(abort)))) return false;
      // Only the question was sent, so the half-open probe is given back.
      outage.observe({ kind: 'unused' }, clock.ticks());
      if (isWaiting) rate.observe({ kind: 'answered', by: 'read' }, 0, clock.ticks());
      return true;
    },
    /**
     * True if the API has failed at requests up to `since` or later, by `Clock.ticks`. If no request was sent that late, the API is
     * asked now. False while nothing can be known, because the API asks to wait.
     */
    async isAway(since: number, abort: AbortSignal): Promise<boolean> {
      // Only a write shows whether an outage of writes has ended, and a write is tried at intervals.
      if (outage.failsAtWrites() || (failedAt !== null && failedAt >= since)) return true;
      const now = clock.ticks();
      if (rate.closedForMs(now) > 0) return false;
      rate.sentBeside(now);
      const observation = learn(await ask(abort));
      if (refusalOf(observation) !== null) rate.observe(observation, 0, clock.ticks());
      return observation.kind !== 'answered' && observation.kind !== 'throttled';
    },
    /**
     * Since when the API has answered no request, or has failed at every write, by `Clock.ticks`; null if neither is the
     * case.
     */
    unreachableSince: (): number | null => reachability.unreachableSince() ?? outage.openSince(),
    /** How many different writes have failed in a row while the API can be read; null if writes succeed. */
    failsAtWrites(): FailingWrites | null {
      if (!outage.failsAtWrites() || reachability.unreachableSince() !== null) return null;
      const { failed, takenAt } = outage.writes();
      return { failed, takenAt: takenAt === null ? null : Math.round(tickZeroAt() + takenAt) };
    },
    /** True in an outage of writes alone. */
    takesOnlyReads: () => outage.failsAtWrites(),
    throttled,
    /** The present wait of more than a minute; null if there is none. */
    longWait: (): ApiWait | null => throttled()?.wait ?? null,
    /** True if a request was answered with 503 a short time ago. */
    sees503s: () => rate.sees503s(clock.ticks()),
    /** True from a 503 of a limit until the API has accepted a request again. */
    isStoppedBy503: () => rate.isStoppedBy503(),
  };
}

export type ApiHealth = ReturnType<typeof createApiHealth>;

/**
 * Asks the API a question that writes nothing. A refusal of the scope `read` is an answer too, and must not stop
 * reading.
 */
async function askApi({ target, emit }: ApiHealthOptions, abort: AbortSignal): Promise<Answer> {
  const outcome = await target.ping(abort);
  emit({ type: 'request', operation: 'ping', outcome: outcome.kind, retry: false, latencyMs: null });
  return { outcome, access: 'read', subject: null, denial: 'request' };
}

/** After this many failed questions a delivery is sent nevertheless, because the question itself may be at fault. */
const FAILED_MAX = 10;

/**
 * In an outage and in a wait of more than a minute, each probe begins with a question that writes nothing. No delivery
 * is sent before the API answers the question, so no delivery gets lost and becomes unconfirmed.
 */
function createHalfOpenQuestions(options: {
  ask: (abort: AbortSignal) => Promise<Answer>;
  /** Learns from an answer. Returns what the answer shows the rate controller. */
  learn: (answer: Answer) => Observation;
  rate: RateController;
  clock: Pick<Clock, 'ticks'>;
}) {
  const { ask, learn, rate, clock } = options;
  /** How many questions have failed since a delivery was last sent. */
  let failed = 0;
  /** How many questions have to fail before a delivery is sent. */
  let needed = FAILED_MAX;

  /**
   * Reports an answer to the rate controller during a long wait. A failed question is repeated as late as a refused
   * one. An answered question does not end the wait, because the limit may apply to writes only: a delivery has to be
   * sent.
   */
  function reportToRate(observation: Observation, askedAt: number): void {
    const now = clock.ticks();
    const isWaiting = rate.wait(now) !== null;
    if (isWaiting && observation.kind === 'answered') return;
    const isRefused = refusalOf(observation) !== null;
    const shown: Observation =
      isWaiting && !isRefused ? { kind: 'throttled', retryAfterMs: null, away: true } : observation;
    rate.observe(shown, now - askedAt, now);
  }

  /** Asks the question. True if the API answered. */
  async function isAnswered(abort: AbortSignal): Promise<boolean> {
    const askedAt = clock.ticks();
    const observation = learn(await ask(abort));
    reportToRate(observation, askedAt);
    if (observation.kind === 'failed') failed += 1;
    if (observation.kind !== 'answered') return false;
    failed = 0;
    needed = FAILED_MAX;
    return true;
  }

  /**
   * True if a delivery has to find out whether the API is back, because the question itself may be at fault. Few
   * deliveries are sent during an outage: each one that fails doubles the number of questions before the next delivery.
   */
  function isWorthADelivery(): boolean {
    if (failed < needed) return false;
    failed = 0;
    needed *= 2;
    return true;
  }

  return {
    isAnswered,
    /** Asks the question. True if the API answered, or if a delivery may be sent nevertheless. */
    mayProbe: async (abort: AbortSignal): Promise<boolean> => (await isAnswered(abort)) || isWorthADelivery(),
    /** Reports how a delivery has ended that was sent as a probe. */
    deliveryEnded({ kind }: Observation) {
      // The API answers deliveries although the questions fail. In the next outage a delivery is sent after the first
      // failed question.
      if (kind === 'answered' && needed !== FAILED_MAX) needed = 1;
    },
  };
}

/** Remembers since when the API has not answered, or has only asked to wait. Pure: times are `ticks` of a clock. */
export function createReachability() {
  let unreachableSince: number | null = null;
  let throttledSince: number | null = null;
  let lastThrottle: string | null = null;

  return {
    /** Since when no request was answered; null after an answer. */
    unreachableSince: (): number | null => unreachableSince,
    /** Since when the API has only asked to wait; null after any other answer. */
    throttledSince: (): number | null => throttledSince,
    /** The message of the last answer that asked to wait; null if there was none. */
    lastThrottle: (): string | null => lastThrottle,
    observe(outcome: Outcome, now: number) {
      // A limit of this machine shows nothing about the API.
      if (outcome.kind === 'unavailable' && outcome.local) return;
      if (isSilent(outcome)) {
        unreachableSince ??= now;
        return;
      }
      unreachableSince = null;
      if (outcome.kind !== 'throttled') {
        throttledSince = null;
        return;
      }
      throttledSince ??= now;
      lastThrottle = outcome.detail.message;
    },
  };
}

/** True if no answer came, or only the page of a proxy. A list that was answered incompletely counts as an answer. */
function isSilent(outcome: Outcome): boolean {
  if (outcome.kind === 'unavailable') return true;
  if (outcome.kind !== 'ambiguous' || outcome.atWork) return false;
  return outcome.detail.status === null || outcome.cause === 'unreadable_answer';
}

/** The API has asked to wait, and has accepted no request since then. */
export interface Throttled {
  /** In `Clock.ticks`. */
  since: number;
  /** Milliseconds until the API is asked again; almost 0 while the question is on its way. */
  askAgainInMs: number;
  message: string;
  /** Null for a wait of up to a minute. */
  wait: ApiWait | null;
}

/**
 * The present wait for the API; null if the API asks for none.
 *
 * @param state.since the time, by `ticks`, from which the API has only asked to wait; null if its last answer was another one
 * @param state.tickZeroAt the time of tick 0, in milliseconds since the Unix epoch. It is one reading for all times of the wait,
 *   because each reading of the two clocks differs a little
 */
function throttledBy(state: {
  rate: RateController;
  since: number | null;
  message: string;
  now: number;
  tickZeroAt: number;
}): Throttled | null {
  const { rate, message, now, tickZeroAt } = state;
  const atEpoch = (ticks: number): number => Math.round(tickZeroAt + ticks);
  const long = rate.wait(now);
  // An answered question does not end a long wait, because the API may still refuse writes.
  const since = long?.since ?? state.since;
  if (since === null) return null;
  const askAgainInMs = rate.closedForMs(now);
  if (long === null) return { since, askAgainInMs, message, wait: null };
  const wait: ApiWait = {
    since: atEpoch(long.since),
    until: long.until === null ? null : atEpoch(long.until),
    askAgainAt: atEpoch(long.askAgainAt),
    message,
  };
  return { since, askAgainInMs, message, wait };
}
