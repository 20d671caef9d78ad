// Decides how fast requests are sent. The limit of an API is real and unknown. The search (rate-search.ts) learns it
// from refusals.
//
//            429, or a 503 that names a time          a reopen probe was accepted
//   open ─────────────────────────────────────► stopped ─────────────────────────► open
//
// While open, requests are sent evenly at the rate of the search (rate-search.ts), or freely until the first refusal. A refusal
// stops all requests. The stop lasts as long as the API asks for, to the millisecond up to a minute (stop.ts). If the API
// names no time, the stop lasts as long as the last one, and doubles. Then one request, the reopen probe, finds out
// whether the stop is over. What the refusal proves is decided when the stop has ended, because the length of the stop shows the
// kind of limit. A 503 proves nothing, however long it lasts.
//
// Requests in flight at the first refusal are no further evidence; the controller recognises them by their send time. A
// stated limit (RateLimit-Policy, draft-ietf-httpapi-ratelimit-headers) is only the start of the search. A wrong
// statement costs a few refusals or a few seconds. A configured ceiling is never exceeded.

import type { Observation } from '../observation.ts';
import { createConcurrency, createGoodput } from './concurrency.ts';
import { createRateSearch } from './rate-search.ts';
import {
  createStopHistory,
  createStopWait,
  firstBackoffMs,
  type LongWait,
  limitRefused,
  probeLost,
  probeRefused,
  type Refusal,
  refusalOf,
  type Stop,
  startStop,
} from './stop.ts';

/** How often a request that waits for the reopen probe asks again. */
const PROBE_POLL_MS = 25;
/**
 * If no request was accepted for this time, or for this many requests, the accepted requests before that are not
 * counted any more.
 */
const PAUSE = { ms: 3000, requests: 5 };

/**
 * Decides when the next request may be sent. Pure: the caller passes the time as `ticks` of a clock and gets a wait. The
 * controller never sleeps.
 *
 * @param ceiling requests per second, or null for no ceiling
 * @param random numbers in [0, 1), so that many processes do not send their probes together
 */
export function createRateController(ceiling: number | null, random: () => number) {
  let maxRate = ceiling;
  const search = createRateSearch(random);
  const concurrency = createConcurrency();
  const goodput = createGoodput();
  const history = createStopHistory();
  const advice = createAdvisedRate();
  const slots = createSendSlots(maxRate);
  /** Null while requests are sent. */
  let stop: Stop | null = null;
  let closedUntil = Number.NEGATIVE_INFINITY;
  /** When requests were sent for the first time, or again after a stop; NaN before the first request. */
  let openedAt = Number.NaN;
  let accepted = 0;
  let lastAnswerAt = 0;

  /** The present limit in requests per second, learnt or configured; infinite while none is known. */
  const pacedRate = (now: number): number => Math.min(search.rate(now), maxRate ?? Number.POSITIVE_INFINITY);

  /** Opens the controller at the first admission or the first answer. An answer can belong to a request without a slot. */
  function begin(at: number): void {
    if (!Number.isNaN(openedAt)) return;
    openedAt = at;
    lastAnswerAt = at;
    history.startFree(at);
    goodput.forget(at);
  }

  function closeFor(ms: number, now: number): void {
    closedUntil = Math.max(closedUntil, now + ms);
  }

  function refuse({ retryAfterMs, away }: Refusal, sentAt: number, now: number): void {
    lastAnswerAt = now;
    const askedMs = retryAfterMs !== null && retryAfterMs > 0 ? retryAfterMs : null;
    const isLateAnswer = sentAt < (stop === null ? openedAt : stop.startedAt);
    if (stop !== null && away) stop.disturbed = true;
    if (isLateAnswer) {
      if (askedMs !== null) closeFor((stop?.wait ?? createStopWait(now)).alsoRefused(askedMs, now), now);
      return;
    }
    if (stop === null) {
      const backoffMs = firstBackoffMs(pacedRate(now), history.usualMs());
      stop = startStop({ openMs: Math.max(1, now - openedAt), accepted, backoffMs, away }, now);
    } else probeRefused(stop, search.hasLongWindow(), now);
    if (!away) limitRefused(stop, askedMs);
    const { wait, backoffMs } = stop;
    const waitMs = wait.refused(askedMs, () => backoffMs * (0.8 + 0.4 * random()), now);
    closeFor(waitMs, now);
  }

  /** Ends a stop: the reopen probe was accepted. */
  function reopen(ended: Stop, now: number): void {
    if (ended.limitRefusals === 0) pause(now);
    else {
      const length = history.ended(ended, search.hasLongWindow(), now);
      const { openMs, accepted: acceptedBefore } = ended;
      const facts = { openMs, accepted: acceptedBefore, peak: concurrency.peak(), ...length };
      search.reopened({ ...facts, goodput: (ms) => goodput.over(ms, now) }, now);
    }
    stop = null;
    openedAt = now;
    accepted = 0;
    concurrency.restart();
    const rate = pacedRate(now);
    // The probe has used the present slot. The random part prevents several processes from sending at the same moments.
    if (Number.isFinite(rate)) slots.continueAt(now + ((0.75 + 0.5 * random()) * 1000) / rate);
  }

  function pause(now: number): void {
    history.startFree(now);
    goodput.forget(now);
    search.paused(now);
  }

  function accept(sentAt: number, latencyMs: number, now: number): void {
    const pauseMs = Math.max(PAUSE.ms, (1000 * PAUSE.requests) / search.rate(now));
    if (stop === null && now - lastAnswerAt > pauseMs) pause(now);
    lastAnswerAt = now;
    goodput.accepted(now);
    concurrency.answered(latencyMs, now);
    accepted += 1;
    search.accepted(sentAt, now, stop === null);
    if (stop !== null && sentAt >= stop.startedAt) reopen(stop, now);
  }

  /**
   * Milliseconds for which the API's refusal still stops all requests; 0 while the controller is open or a reopen probe may be
   * sent. Takes no slot.
   */
  function closedForMs(now: number): number {
    if (now < closedUntil) return closedUntil - now;
    return stop?.probeInFlight ? PROBE_POLL_MS : 0;
  }

  /** Counts a request that is sent without waiting for a slot. The next slot comes later for it. */
  function takeSlot(now: number): void {
    if (stop === null) slots.take(search.rate(now), now);
    else slots.takeForProbe(now);
  }

  /** Milliseconds to wait before asking again; 0 if a request may be sent now. Takes no slot. */
  function waitMs(now: number): number {
    begin(now);
    return closedForMs(now) || slots.waitMs(stop !== null, now);
  }

  /** Takes the slot of a request that is sent now. */
  function take(now: number): void {
    if (stop !== null) stop.probeInFlight = true;
    takeSlot(now);
  }

  return {
    waitMs,
    take,

    /** Milliseconds to wait before asking again; 0 admits the request. */
    admit(now: number): number {
      const ms = waitMs(now);
      if (ms === 0) take(now);
      return ms;
    },

    sentBeside: takeSlot,

    closedForMs,
    /** True from a refusal until a reopen probe has succeeded. */
    isStopped: () => stop !== null,

    /** The current wait beyond a minute, or null. It ends when a reopen probe has succeeded. */
    wait: (now: number): LongWait | null =>
      stop === null || stop.limitRefusals === 0 ? null : stop.wait.long(closedUntil, now),

    /** Replaces the configured ceiling in requests per second; null for none. What was learnt stays. */
    setCeiling(rate: number | null) {
      maxRate = rate;
      slots.setCeiling(rate);
    },

    /** How many requests may be in flight. */
    concurrency: (now: number) => concurrency.bound(search.rate(now)),

    rate: pacedRate,

    /** @param latencyMs the time since the request was admitted */
    observe(observation: Observation, latencyMs: number, now: number) {
      const sentAt = now - latencyMs;
      begin(sentAt);
      const refusal = refusalOf(observation);
      if (refusal !== null) refuse(refusal, sentAt, now);
      else if (observation.kind === 'answered') accept(sentAt, latencyMs, now);
      else if (stop !== null && sentAt >= stop.startedAt) probeLost(stop);
      const advisedRate = 'advisedRate' in observation ? observation.advisedRate : undefined;
      if (advisedRate !== undefined && advice.stated(advisedRate, now)) search.advised(advisedRate, now);
    },
  };
}

export type RateController = ReturnType<typeof createRateController>;

/**
 * A changed rate is believed when this many answers in a row agree on it. If the rate changes this many times in a row,
 * each time within this span after the last change, it describes parts of the API and not the whole. It is believed
 * again when it has not changed for the same span.
 */
const BELIEVED = { agreeing: 3, changes: 3, spanMs: 60_000 };

/**
 * Decides whether a rate that the server states is believed. A wrong or changing statement must not move the rate at each
 * answer. Pure: times are ticks of a clock.
 */
function createAdvisedRate() {
  let latest = { rate: 0, agreed: 0, since: 0 };
  /** The rate that was believed last, and how many changes in a row came soon after the change before. */
  let believed = { rate: 0, at: 0, changes: 0 };
  return {
    /** Learns a stated rate, in requests per second. @returns true if it is believed now and was not before */
    stated(rate: number, now: number): boolean {
      const { agreeing, changes, spanMs } = BELIEVED;
      if (rate === latest.rate) latest.agreed += 1;
      else latest = { rate, agreed: 1, since: now };
      if (now - latest.since >= spanMs) believed.changes = 0;
      if (believed.rate !== 0) {
        const isChange = Math.abs(rate / believed.rate - 1) > 0.01;
        if (!isChange || latest.agreed < agreeing || believed.changes >= changes) return false;
        believed.changes = now - believed.at < spanMs ? believed.changes + 1 : 0;
      }
      believed = { ...believed, rate, at: now };
      return true;
    },
  };
}

/**
 * A late request does not delay the requests after it: they make up for a delay of up to this time, because timers are
 * not exact.
 */
const LATE_MAX_MS = 50;

const slotAfter = (slotAt: number, rate: number, now: number): number =>
  Math.max(slotAt, now - LATE_MAX_MS) + 1000 / rate;

/**
 * The times at which requests may be sent, at the learnt rate and below the configured ceiling. Pure: times are ticks
 * of a clock.
 *
 * @param ceiling requests per second, or null for no ceiling
 */
function createSendSlots(ceiling: number | null) {
  let maxRate = ceiling;
  let nextAt = Number.NEGATIVE_INFINITY;
  let ceilingAt = Number.NEGATIVE_INFINITY;

  /** Takes the slot of a reopen probe. */
  function takeForProbe(now: number): void {
    if (maxRate !== null) ceilingAt = slotAfter(ceilingAt, maxRate, now);
  }

  return {
    /** Milliseconds until the next slot; 0 if it has come. A reopen probe waits only for a slot of the ceiling. */
    waitMs: (isProbe: boolean, now: number) => Math.max(0, (isProbe ? ceilingAt : Math.max(nextAt, ceilingAt)) - now),
    /** Takes a slot at the present rate. */
    take(rate: number, now: number) {
      nextAt = slotAfter(nextAt, rate, now);
      takeForProbe(now);
    },
    takeForProbe,
    /** Replaces the configured ceiling; null for none. */
    setCeiling(rate: number | null) {
      maxRate = rate;
      // Without a ceiling no request waits for one.
      if (rate === null) ceilingAt = Number.NEGATIVE_INFINITY;
    },
    /** Sets the earliest time of the next request. */
    continueAt(at: number) {
      nextAt = at;
    },
  };
}
