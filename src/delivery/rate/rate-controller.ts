// How fast requests go out. An API's limit is real and unknown, so it is learnt from what the API refuses.
//
//            429, or a 503 that names a time               the canary came back
//   open ─────────────────────────────────────► stopped ─────────────────────────► open
//
// While open, requests are sent evenly at the rate of the search (rate-search.ts), or freely until a limit was met. A refusal
// stops all requests. The stop lasts as long as the API asks for, to the millisecond up to a minute (rate-wait.ts). If the API
// names no time, it lasts as long as the last block, and doubles. Then one request, the canary, shows whether the stop is over.
// What the refusal proves is decided when the block has ended, because its length shows the kind of limit. A 503 proves
// nothing, however long it lasts.
//
// Requests that were in flight at the first refusal are no further evidence; their send time identifies them. A stated limit (RateLimit-Policy, draft-ietf-httpapi-ratelimit-headers) is where the search begins, and no more: a
// wrong one costs a few refusals or a few seconds. A configured ceiling is never exceeded.

import type { Observation } from '../observation.ts';
import { createConcurrency } from './concurrency.ts';
import { createGoodput } from './goodput.ts';
import { createRateSearch } from './rate-search.ts';
import { createStopWait, type LongWait, type StopWait } from './rate-wait.ts';
import { type Refusal, refusalOf } from './refusal.ts';

/** Decides when the next request may go out. Pure: time comes in as `ticks` of a clock, a wait goes out, nothing sleeps. */
export interface RateController {
  /** Milliseconds to wait before asking again; 0 admits the request. */
  admit(now: number): number;
  /**
   * Milliseconds for which the API's refusal still stops all requests; 0 while the controller is open or a canary may be sent.
   * Takes no slot.
   */
  closedForMs(now: number): number;
  /** The current wait beyond a minute, or null. It ends when a canary has succeeded. */
  wait(now: number): LongWait | null;
  /** How many requests may be under way. */
  concurrency(now: number): number;
  /** @param latencyMs since the request was admitted */
  observe(observation: Observation, latencyMs: number, now: number): void;
}

/** How often a request that waits for the canary asks again. */
const CANARY_POLL_MS = 25;
/** Requests that are late may be followed by the next ones that much sooner: timers and the event loop are not exact. */
const LATE_MAX_MS = 50;
/**
 * Waits where the API does not say for how long: about as long as a few requests take their turn, or as blocks lately took, and
 * then in steps. Most windows are of a second, and have ended when a few canaries were refused. The first long window is
 * looked after more often, since all who share it begin anew when it ends. What goes on for minutes is asked less and less
 * often, by a share of how long it has lasted: a server that counts what it refuses would else never open again.
 */
const BACKOFF = {
  unknownMs: 100,
  turns: 3,
  turnMs: { min: 20, max: 600 },
  ofBlock: 0.8,
  blockMsMax: 1000,
  factor: 2,
  quick: { canaries: 2, msMax: 250 },
  thenMsMin: 700,
  msMax: { first: 3000, known: 8000 },
  lasting: { share: 0.05, msMax: 60_000 },
};
/** After a pause of this length, or of so many requests, what was accepted before it says nothing of the present. */
const PAUSE = { ms: 3000, requests: 5 };
/**
 * A stated rate that changes is believed when so many answers in a row agree. One that has changed so often, each time within
 * such a span of the last, tells of parts of the API and not of the whole: it is believed again when it stood still for as long.
 */
const BELIEVED = { agreeing: 3, changes: 3, spanMs: 60_000 };

/** A stop of all requests. */
interface Stop {
  /** When the first refusal came. */
  at: number;
  /** How long requests had gone out by then, and how many of them were accepted. */
  openMs: number;
  accepted: number;
  /** The next wait, where the API does not name one. */
  backoffMs: number;
  /** How many canaries were refused. */
  refused: number;
  /** The limit's word: how many refusals were its own, and the longest time that it asked for. */
  byLimit: number;
  askedMs: number;
  wait: StopWait;
  canaryOut: boolean;
  /** A canary was lost, or the API was away. */
  disturbed: boolean;
}

/**
 * What goes on for so long has a long window, where so much was asked for or so many canaries were refused: one or two may
 * have been for the sake of others who share the limit. But a window of a minute that was used up for so long without a long
 * block is not there: the API refuses for a reason of its own, such as maintenance.
 */
const LONG = { ms: 3000, canaries: 8, canariesKnown: 2, freeMs: 120_000 };
/** Taken for the length of a block that is not known. */
const SHORT_MS = 1000;

const slotAfter = (slotAt: number, rate: number, now: number): number =>
  Math.max(slotAt, now - LATE_MAX_MS) + 1000 / rate;

/**
 * @param maxRate requests per second, or null for no ceiling
 * @param random numbers in [0, 1), so that many processes do not knock together
 */
export function createRateController(maxRate: number | null, random: () => number): RateController {
  const search = createRateSearch(random);
  const concurrency = createConcurrency();
  const goodput = createGoodput();
  let nextSlotAt = Number.NEGATIVE_INFINITY;
  /** The ceiling has slots of its own, which canaries take as well and no stop moves. */
  let ceilingSlotAt = Number.NEGATIVE_INFINITY;
  /** Null while requests go out. */
  let stop: Stop | null = null;
  let closedUntil = Number.NEGATIVE_INFINITY;
  let openedAt = Number.NaN;
  let accepted = 0;
  let lastBlockMs = 0;
  /** Since when requests have gone out without a long block. */
  let freeSince = 0;
  let heardAt = 0;
  let advice = { rate: 0, agreed: 0, since: 0 };
  /** The advice that was believed, and how many changes in a row came soon after the last. */
  let believed = { rate: 0, at: 0, changes: 0 };

  const paceAt = (now: number): number => Math.min(search.rate(now), maxRate ?? Number.POSITIVE_INFINITY);

  function firstBackoffMs(now: number): number {
    const rate = paceAt(now);
    const { min, max } = BACKOFF.turnMs;
    const turnMs = Number.isFinite(rate)
      ? Math.min(max, Math.max(min, (1000 * BACKOFF.turns) / rate))
      : BACKOFF.unknownMs;
    return Math.max(turnMs, Math.min(BACKOFF.blockMsMax, BACKOFF.ofBlock * lastBlockMs));
  }

  function nextBackoffMs({ at, backoffMs, refused }: Stop, now: number): number {
    const { quick, thenMsMin, msMax, lasting, factor } = BACKOFF;
    const longer = backoffMs * factor;
    if (refused <= quick.canaries) return Math.max(backoffMs, Math.min(quick.msMax, longer));
    const lastsMs = Math.min(lasting.msMax, lasting.share * (now - at));
    const most = Math.max(search.hasLongWindow() ? msMax.known : msMax.first, lastsMs);
    return Math.max(backoffMs, Math.min(most, Math.max(thenMsMin, longer)));
  }

  /** Whatever is heard first, of a turn or of a request that took none, opens. */
  function begin(at: number): void {
    if (!Number.isNaN(openedAt)) return;
    openedAt = at;
    heardAt = at;
    freeSince = at;
    goodput.forget(at);
  }

  function refuse({ retryAfterMs, away }: Refusal, sentAt: number, now: number): void {
    heardAt = now;
    const asked = retryAfterMs !== null && retryAfterMs > 0 ? retryAfterMs : null;
    const isResidue = sentAt < (stop === null ? openedAt : stop.at);
    if (stop !== null && away) stop.disturbed = true;
    if (isResidue) {
      if (asked !== null) closeFor((stop?.wait ?? createStopWait(now)).alsoRefused(asked, now), now);
      return;
    }
    if (stop === null) {
      const openMs = Math.max(1, now - openedAt);
      const wait = createStopWait(now);
      const unsent = { refused: 0, byLimit: 0, askedMs: 0, wait, canaryOut: false, disturbed: away };
      stop = { at: now, openMs, accepted, backoffMs: firstBackoffMs(now), ...unsent };
    } else {
      stop.canaryOut = false;
      stop.refused += 1;
      stop.backoffMs = nextBackoffMs(stop, now);
    }
    if (!away) {
      stop.byLimit += 1;
      stop.askedMs = Math.max(stop.askedMs, asked ?? 0);
    }
    const { wait, backoffMs } = stop;
    closeFor(
      wait.refused(asked, () => backoffMs * (0.8 + 0.4 * random()), now),
      now,
    );
  }

  function closeFor(ms: number, now: number): void {
    closedUntil = Math.max(closedUntil, now + ms);
  }

  function judge(over: Stop, now: number): void {
    const { at, openMs, askedMs, byLimit } = over;
    const isKnown = search.hasLongWindow();
    const canaries = isKnown ? LONG.canariesKnown : LONG.canaries;
    const wentOn = now - at >= LONG.ms && (askedMs >= LONG.ms || byLimit > canaries);
    // What went on for longer because the API was away tells nothing of its limit.
    const wasAway = over.disturbed || (wentOn && !isKnown && at - freeSince > LONG.freeMs);
    if (wentOn) freeSince = now;
    const blockMs = wasAway ? Math.min(now - at, lastBlockMs || SHORT_MS) : now - at;
    lastBlockMs = lastBlockMs === 0 ? blockMs : (lastBlockMs + blockMs) / 2;
    const isLong = wentOn && !wasAway;
    const known = { isLong, peak: concurrency.peak(), goodput: (ms: number) => goodput.over(ms, now) };
    search.reopened({ openMs, accepted: over.accepted, blockMs, ...known }, now);
  }

  function reopen(over: Stop, now: number): void {
    if (over.byLimit > 0) judge(over, now);
    else pause(now);
    stop = null;
    openedAt = now;
    accepted = 0;
    concurrency.restart();
    const rate = paceAt(now);
    // The canary took what there was; several processes shall not go on in step.
    if (Number.isFinite(rate)) nextSlotAt = now + ((0.75 + 0.5 * random()) * 1000) / rate;
  }

  function pause(now: number): void {
    freeSince = now;
    goodput.forget(now);
    search.paused(now);
  }

  function accept(sentAt: number, latencyMs: number, now: number): void {
    const pauseMs = Math.max(PAUSE.ms, (1000 * PAUSE.requests) / search.rate(now));
    if (stop === null && now - heardAt > pauseMs) pause(now);
    heardAt = now;
    goodput.accepted(now);
    concurrency.answered(latencyMs, now);
    accepted += 1;
    search.accepted(sentAt, now, stop === null);
    if (stop !== null && sentAt >= stop.at) reopen(stop, now);
  }

  function advise(rate: number, now: number): void {
    const { agreeing, changes, spanMs } = BELIEVED;
    if (rate === advice.rate) advice.agreed += 1;
    else advice = { rate, agreed: 1, since: now };
    if (now - advice.since >= spanMs) believed.changes = 0;
    if (believed.rate !== 0) {
      const isNews = Math.abs(rate / believed.rate - 1) > 0.01;
      if (!isNews || advice.agreed < agreeing || believed.changes >= changes) return;
      believed.changes = now - believed.at < spanMs ? believed.changes + 1 : 0;
    }
    believed = { ...believed, rate, at: now };
    search.advised(rate, now);
  }

  function closedForMs(now: number): number {
    if (now < closedUntil) return closedUntil - now;
    return stop?.canaryOut ? CANARY_POLL_MS : 0;
  }

  return {
    admit(now) {
      begin(now);
      const closedMs = closedForMs(now);
      if (closedMs > 0) return closedMs;
      const slotAt = stop === null ? Math.max(nextSlotAt, ceilingSlotAt) : ceilingSlotAt;
      if (now < slotAt) return slotAt - now;
      if (stop === null) nextSlotAt = slotAfter(nextSlotAt, search.rate(now), now);
      else stop.canaryOut = true;
      if (maxRate !== null) ceilingSlotAt = slotAfter(ceilingSlotAt, maxRate, now);
      return 0;
    },

    closedForMs,

    wait: (now) => (stop === null || stop.byLimit === 0 ? null : stop.wait.long(closedUntil, now)),

    concurrency: (now) => concurrency.bound(search.rate(now)),

    observe(observation, latencyMs, now) {
      const sentAt = now - latencyMs;
      begin(sentAt);
      const refusal = refusalOf(observation);
      if (refusal !== null) refuse(refusal, sentAt, now);
      else if (observation.kind === 'answered') accept(sentAt, latencyMs, now);
      else if (stop !== null && sentAt >= stop.at) {
        stop.canaryOut = false;
        stop.disturbed = true;
      }
      if ('advisedRate' in observation && observation.advisedRate !== undefined) advise(observation.advisedRate, now);
    },
  };
}
