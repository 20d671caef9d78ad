import type { Clock } from '../../lib/clock.ts';
import type { Observation } from '../observation.ts';
import type { RateController } from '../rate/rate-controller.ts';
import { refusalOf } from '../rate/refusal.ts';
import type { Answer } from './answer.ts';

/**
 * In an outage, and during a wait of more than a minute, each probe begins with a question that writes nothing. As long as it
 * fails no delivery is sent, so that none is lost on the way and becomes unconfirmed.
 */
export interface HalfOpenQuestions {
  /** Asks. True where the API answered, or where a delivery may be sent all the same. */
  mayProbe(abort: AbortSignal): Promise<boolean>;
  /** Asks. True where the API answered. */
  isAnswered(abort: AbortSignal): Promise<boolean>;
  /** A delivery that was sent has ended like this. */
  deliveryEnded(observation: Observation): void;
}

/** So many questions fail before a delivery is sent all the same: the question may fail alone. */
const FAILED_MAX = 10;

export function createHalfOpenQuestions(options: {
  ask: (abort: AbortSignal) => Promise<Answer>;
  /** Takes in an answer, and gives what it shows the rate controller. */
  learn: (answer: Answer) => Observation;
  rate: RateController;
  clock: Pick<Clock, 'ticks'>;
}): HalfOpenQuestions {
  const { ask, learn, rate, clock } = options;
  /** Questions that have failed since a delivery was sent. */
  let failed = 0;
  /** How many have to fail until a delivery is sent all the same. */
  let needed = FAILED_MAX;

  /**
   * During a long wait a question that fails is repeated as late as one that is refused. A question that is answered does not
   * end the wait, because the limit may be one of writes: a delivery has to follow.
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
   * Where the question fails and writes are taken, nothing but a write can find out. In an outage that costs a few deliveries a
   * day, since each one that fails doubles the questions before the next.
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
      // The question was wrong: in the next outage a delivery is sent at once.
      if (kind === 'answered' && needed !== FAILED_MAX) needed = 1;
    },
  };
}
