// Bounds the number of requests in flight.
//
// By Little's law a rate X and a latency L keep X × L requests in flight. Further requests only wait at the server. As
// BBR does for a connection (Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue, 2016), the bound
// is the product of the highest rate and the lowest latency that were seen recently, with room to grow. A server that
// gets slower under load therefore gets no more requests. Requests are claimed and settled in groups, each in one
// commit, so even a request that is answered at once occupies its place for as long as its group takes. Once the rate
// is paced, the rate bounds the load, and the usual latency is used: this process may be the slow part.
//
// While no limit is known, twice the square root of the accepted requests bounds the growth as well. All requests in flight are
// refused when the limit is met. With this bound they are a share of all requests that shrinks.

import { REQUESTS_MAX } from '../../domain/ports/target.ts';

const MIN = 4;
const ROOM = 2.5;
const SLICE_MS = 50;
const LOWEST_KEPT_MS = 10_000;
const PEAK_KEPT_MS = 5_000;
const FIRST = 3;
const GROWTH = 2;
/** The weight of the latest answer in the smoothed latency. */
const LATEST = 1 / 16;
/** About how long a group takes to be claimed and settled. A shorter latency counts as this long. */
const GROUP_MS = 8;
/** The assumed latency before the first answer. */
const UNKNOWN_MS = 100;

/** Pure: times are ticks of a clock. */
export function createConcurrency() {
  let lowest = { latencyMs: Number.POSITIVE_INFINITY, at: 0 };
  let highest = { rate: 0, at: 0 };
  let slice = { from: Number.NaN, answers: 0 };
  let grown = 0;
  let usualMs = Number.NaN;

  const inFlight = (rate: number, latencyMs: number): number =>
    (rate * (Number.isFinite(latencyMs) ? latencyMs : UNKNOWN_MS)) / 1000;

  return {
    answered(latencyMs: number, now: number) {
      grown += 1;
      usualMs = Number.isNaN(usualMs) ? latencyMs : usualMs + LATEST * (latencyMs - usualMs);
      if (latencyMs <= lowest.latencyMs || now - lowest.at > LOWEST_KEPT_MS) lowest = { latencyMs, at: now };
      if (Number.isNaN(slice.from)) slice = { from: now, answers: 0 };
      slice.answers += 1;
      const ms = now - slice.from;
      if (ms < Math.max(SLICE_MS, lowest.latencyMs)) return;
      const rate = (1000 * slice.answers) / ms;
      if (rate >= highest.rate || now - highest.at > PEAK_KEPT_MS) highest = { rate, at: now };
      slice = { from: now, answers: 0 };
    },
    /** @param rate requests per second that the limit allows, or infinity while none is known */
    bound(rate: number): number {
      if (Number.isFinite(rate)) return Math.min(REQUESTS_MAX, MIN + Math.ceil(ROOM * inFlight(rate, usualMs)));
      const room = 2 * MIN + Math.ceil(ROOM * inFlight(highest.rate, Math.max(lowest.latencyMs, GROUP_MS)));
      return Math.min(REQUESTS_MAX, room, FIRST + Math.floor(GROWTH * Math.sqrt(grown)));
    },
    /** The highest recent rate of answers, per second. */
    peak: () => highest.rate,
    /** Lets the bound grow from its start value again. */
    restart() {
      grown = 0;
    },
  };
}

const SLOT_MS = 1000;
const SLOTS = 128;

/** The recent rate of accepted requests. Pure: times are ticks of a clock. */
export function createGoodput() {
  const counts = new Uint32Array(SLOTS);
  let slot = 0;
  let since = 0;

  const at = (index: number): number => ((index % SLOTS) + SLOTS) % SLOTS;

  function advance(now: number): void {
    const present = Math.floor(now / SLOT_MS);
    if (present - slot >= SLOTS) slot = present - SLOTS;
    while (slot < present) {
      slot += 1;
      counts[at(slot)] = 0;
    }
  }

  return {
    accepted(now: number) {
      advance(now);
      const index = at(slot);
      counts[index] = (counts[index] ?? 0) + 1;
    },
    /** Drops all counts. After a pause without requests, older counts do not describe the present. */
    forget(now: number) {
      counts.fill(0);
      slot = Math.floor(now / SLOT_MS);
      since = now;
    },
    /** Accepted requests per second over the last `ms` milliseconds, or since the counts begin if that is shorter. */
    over(ms: number, now: number): number {
      advance(now);
      const periodMs = Math.max(1, Math.min(ms, (SLOTS - 2) * SLOT_MS, now - since));
      let sum = 0;
      for (let back = 0; back < Math.ceil(periodMs / SLOT_MS); back += 1) sum += counts[at(slot - back)] ?? 0;
      return (1000 * sum) / periodMs;
    },
  };
}
