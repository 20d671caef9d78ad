// How a limit is shared with others who are not known.
//
// A rate that was held and is refused without having been raised was refused for the sake of somebody else, or of jitter.
// Each such refusal is a strike. So is what a limit that stands still does not give: a rate well beyond all that were held
// before. Whoever only probes among others who give way would else take everything from them, and never be refused at what
// it holds. Each rest with neither takes a strike back. With three of them others are assumed. From then on the rate rises
// steadily and gives up a share of itself when refused (Chiu and Jain, 1989): of two who do so the greater is refused more
// often and gives up more, while the smaller gains at least as much for its size. Whoever was refused less often of late gains
// more, which is fair as well, since the refusals that a server gives fall on each as often as it asks. But a gain is not
// handed on from turn to turn: where all are refused at the same moment nothing else would make different gains equal again.
// Who is not refused for long has room, and rises faster and faster: the others are gone, or the limit was raised.
//
// Who is alone is seen from the turns: from refusal to refusal the same is accepted, since the limit stands still. Then a rate
// is held again. Where that was wrong, more turns have to agree the next time.

import type { Block } from './refusal-streak.ts';
import { acceptedIn, RATE_MIN } from './rate-estimates.ts';

/** Pure: times are ticks of a clock, rates are requests per second. */
export interface Crowd {
  /** A rate was refused that had been taken before; `held` is the one that was held. */
  strike(weight?: number, held?: number): void;
  /** This rate was held for a whole rest. */
  rest(held: number): void;
  /** This rate was taken before a probe beyond it was refused. */
  found(taken: number): void;
  strikes(): number;
  /** The limit is another one than what the strikes were about. */
  forget(): void;
  /** There have been so many strikes that others are there. */
  isSeen(): boolean;
  /** Goes in among the others after this rate was refused. */
  enter(refusedRate: number, now: number): void;
  /** As it has risen, used or not: without bounds where nothing went out for long. */
  rate(now: number): number;
  /** The rate was not used for so long, and nothing is gained by that. */
  rested(ms: number, now: number): void;
  /** What was refused is taken for the rest of what others have sent: it goes on from that rate. */
  goOn(refusedRate: number, now: number): void;
  /** Gives up a share. @returns the rate to hold, where nobody else is seen any more; else null */
  giveUp(refusedRate: number, block: Block, now: number): number | null;
}

const STRIKES = 3;
/**
 * What a limit that stands still does not give: a rate so far above the highest that was held, as a share times the root of
 * that rate, where it was held for a whole rest; and in a probe, so many times that rate. Half of the share is nothing.
 */
const BEYOND = { perRoot: 0.1, probed: 1.1 };
/** The share that is given up. */
const BACK = 0.15;
/**
 * Requests per second that are gained in a second at first, times the rate to this power; small rates gain as much as one per
 * second. It goes with the square of how long turns were, within these bounds, each counting half as much as the next one. And it
 * is no more than this share of the rate: one that rises faster than requests go out at it would never count as used.
 */
const GAIN = { first: 0.06, power: 0.5, turnsMin: 0.25, turnsMax: 4, shareMax: 0.2 };
const TURN_MS = 15_000;
/** Whoever is not refused for so long grows e-fold in this time. */
const FREE = { afterMs: 25_000, efoldMs: 12_000 };
/**
 * So many turns in a row, at first and at most, tell of a limit that stands still, where what they have brought differs by no
 * more than this ratio. Shorter ones tell nothing. This share of the least rate that was refused is held.
 */
const STILL = { ratio: 1.04, openMs: 5000, first: 4, max: 32, held: 0.96 };

/** What the turns have in common that were alike. */
const NONE = { least: Number.POSITIVE_INFINITY, most: 0, refused: Number.POSITIVE_INFINITY, count: 0 };

export function createCrowd(): Crowd {
  let strikes = 0;
  /** The highest rate that was held; 0 before there was one. */
  let highest = 0;
  let from = { rate: 0, at: 0 };
  let agreed = NONE;
  let needed = STILL.first;
  let turns = 1;

  const turnsAt = (now: number): number => (now - from.at) / TURN_MS;

  function rateAt(now: number): number {
    const ms = now - from.at;
    const usual = GAIN.first * turns ** 2 * Math.max(1, from.rate) ** GAIN.power;
    const gain = Math.min(usual, GAIN.shareMax * Math.max(RATE_MIN, from.rate));
    const risen = from.rate + gain * (Math.min(ms, FREE.afterMs) / 1000);
    return risen * Math.exp(Math.max(0, ms - FREE.afterMs) / FREE.efoldMs);
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
    strike(weight = 1, held = 0) {
      strikes += weight;
      highest = Math.max(highest, held);
    },
    rest(held) {
      const beyond = highest === 0 ? 0 : (Math.sqrt(highest) * (held / highest - 1)) / BEYOND.perRoot;
      if (beyond > 1) strikes += 1;
      else if (beyond < 0.5) strikes = Math.max(0, strikes - 1);
      if (beyond > 1 || highest === 0) highest = held;
      if (strikes === 0) needed = STILL.first;
    },
    found(taken) {
      if (highest > 0 && taken > BEYOND.probed * highest) strikes += 1;
    },
    strikes: () => strikes,
    forget() {
      strikes = 0;
      highest = 0;
      needed = STILL.first;
    },
    isSeen: () => strikes >= STRIKES,
    enter(refusedRate, now) {
      strikes = STRIKES;
      highest = 0;
      agreed = NONE;
      goOn(refusedRate * (1 - BACK), now);
    },
    rate: rateAt,
    rested(ms, now) {
      from.at = Math.min(now, from.at + ms);
    },
    goOn,
    giveUp(refusedRate, block, now) {
      turns = Math.sqrt(turns * Math.max(GAIN.turnsMin, Math.min(GAIN.turnsMax, turnsAt(now))));
      goOn(refusedRate * (1 - BACK), now);
      if (block.openMs > STILL.openMs) agree(acceptedIn(block), refusedRate);
      if (agreed.count < needed) return null;
      strikes = STRIKES - 1;
      needed = Math.min(STILL.max, needed * 2);
      return agreed.refused * STILL.held;
    },
  };
}
