import type { Clock } from '../../lib/clock.ts';
import type { Observation } from '../observation.ts';
import type { RateController } from '../rate/rate-controller.ts';
import { refusalOf } from '../rate/refusal.ts';
import type { Answer } from './answer.ts';

/**
 * In an outage and in a wait of more than a minute, each probe begins with a question that writes nothing. No delivery
 * is sent before the API answers the question, so no delivery gets lost and becomes unconfirmed.
 */
export interface HalfOpenQuestions {
  /** Asks the question. True if the API answered, or if a delivery may be sent nevertheless. */
  mayProbe(abort: AbortSignal): Promise<boolean>;
  /** Asks the question. True if the API answered. */
  isAnswered(abort: AbortSignal): Promise<boolean>;
  /** Reports how a delivery has ended that was sent as a probe. */
  deliveryEnded(observation: Observation): void;
}

/** After this many failed questions a delivery is sent nevertheless, because the question itself may be at fault. */
const FAILED_MAX = 10;

export function createHalfOpenQuestions(options: {
  ask: (abort: AbortSignal) => Promise<Answer>;
  /** Learns from an answer. Returns what the answer shows the rate controller. */
  learn: (answer: Answer) => Observation;
  rate: RateController;
  clock: Pick<Clock, 'ticks'>;
}): HalfOpenQuestions {
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
    mayProbe: async (abort) => (await isAnswered(abort)) || isWorthADelivery(),
    deliveryEnded({ kind }) {
      // The API answers deliveries although the questions fail. In the next outage a delivery is sent after the first
      // failed question.
      if (kind === 'answered' && needed !== FAILED_MAX) needed = 1;
    },
  };
}
