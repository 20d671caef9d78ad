// How a limit is shared with others who are not known.
//
// A rate that was held and is refused without having been raised was refused for the sake of somebody else, or of jitter.
// Each such refusal is a strike, each rest without one takes a strike back. With three of them others are assumed. From
// then on the rate rises steadily and gives up a share of itself when refused (Chiu and Jain, 1989): of two who do so the
// greater is refused more often and gives up more, while the smaller gains at least as much for its size. The gain is such
// that a refusal comes about once in a turn, at any rate: who is refused less often gains more, which is fair as well, since
// the refusals that a server gives fall on each as often as it asks. Who is not refused for a whole turn has room, and rises
// faster and faster: the others are gone, or the limit was raised.
//
// Who is alone is seen from the turns: from refusal to refusal the same is accepted, since the limit stands still. Then a rate
// is held again. Where that was wrong, more turns have to agree the next time.

import type { Block } from './rate-block.ts';
import { acceptedIn } from './rate-worth.ts';

/** Pure: times are ticks of a clock, rates are requests per second. */
export interface Crowd {
  /** A rate was refused that had been taken before. */
  strike(weight?: number): void;
  /** A rate was held for a whole rest. */
  calm(): void;
  strikes(): number;
  /** The limit is another one than what the strikes were about. */
  forget(): void;
  /** There have been so many strikes that others are there. */
  isSeen(): boolean;
  /** Goes in among the others after this rate was refused. */
  enter(refusedRate: number, now: number): void;
  rate(now: number): number;
  /** The rate was not used for so long, and nothing is gained by that. */
  rested(ms: number, now: number): void;
  /** What was refused is taken for the rest of what others have sent: it goes on from that rate. */
  goOn(refusedRate: number, now: number): void;
  /** Gives up a share. @returns the rate to hold, where nobody else is seen any more; else null */
  giveUp(refusedRate: number, block: Block, now: number): number | null;
}

const STRIKES = 3;
/** The share that is given up. */
const BACK = 0.15;
/**
 * Requests per second that are gained in a second at first, times the rate to this power; small rates gain as much as one per
 * second. After each turn it is corrected by the square of how long that was, within these factors.
 */
const GAIN = { first: 0.06, power: 0.5, less: 0.5, more: 3 };
const TURN_MS = 15_000;
/** Whoever is not refused for a turn grows e-fold in this time. */
const FREE_MS = 12_000;
/**
 * So many turns in a row, at first and at most, tell of a limit that stands still, where what they have brought differs by no
 * more than this ratio. Shorter ones tell nothing. This share of the least rate that was refused is held.
 */
const STILL = { ratio: 1.04, openMs: 5000, first: 4, max: 32, held: 0.96 };

/** What the turns have in common that were alike. */
const NONE = { least: Number.POSITIVE_INFINITY, most: 0, refused: Number.POSITIVE_INFINITY, count: 0 };

export function createCrowd(): Crowd {
  let strikes = 0;
  let from = { rate: 0, at: 0 };
  let agreed = NONE;
  let needed = STILL.first;
  let gain = GAIN.first;

  const turnsAt = (now: number): number => (now - from.at) / TURN_MS;

  function rateAt(now: number): number {
    const ms = now - from.at;
    const risen = from.rate + gain * Math.max(1, from.rate) ** GAIN.power * (Math.min(ms, TURN_MS) / 1000);
    return risen * Math.exp(Math.max(0, ms - TURN_MS) / FREE_MS);
  }

  function goOn(rate: number, now: number): void {
    from = { rate, at: now };
  }

  function agree(rate: number, refused: number): void {
    const [least, most] = [Math.min(agreed.least, rate), Math.max(agreed.most, rate)];
    agreed =
      most > STILL.ratio * least
        ? { least: rate, most: rate, refused, count: 1 }
        : { least, most, refused: Math.min(agreed.refused, refused), count: agreed.count + 1 };
  }

  return {
    strike(weight = 1) {
      strikes += weight;
    },
    calm() {
      strikes = Math.max(0, strikes - 1);
      if (strikes === 0) needed = STILL.first;
    },
    strikes: () => strikes,
    forget() {
      strikes = 0;
      needed = STILL.first;
    },
    isSeen: () => strikes >= STRIKES,
    enter(refusedRate, now) {
      strikes = STRIKES;
      agreed = NONE;
      goOn(refusedRate * (1 - BACK), now);
    },
    rate: rateAt,
    rested(ms, now) {
      from.at = Math.min(now, from.at + ms);
    },
    goOn,
    giveUp(refusedRate, block, now) {
      gain *= Math.max(GAIN.less, Math.min(GAIN.more, turnsAt(now) ** 2));
      goOn(refusedRate * (1 - BACK), now);
      if (block.openMs > STILL.openMs) agree(acceptedIn(block), refusedRate);
      if (agreed.count < needed) return null;
      strikes = STRIKES - 1;
      needed = Math.min(STILL.max, needed * 2);
      return agreed.refused * STILL.held;
    },
  };
}
