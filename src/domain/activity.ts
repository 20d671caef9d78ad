// What dpp-sync has done in a span of time, and how long the platform took to answer.

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** What happened in a span of time. */
export interface ActivityCounts {
  /** Requests to the API, reads included. */
  requests: number;
  /** Requests that the API refused because they came too fast (429). */
  refused: number;
  delivered: number;
  /**
   * Writes that the API rejected or blocked, or that were given up. A write that was sent again and failed for the same
   * reason is not counted again.
   */
  failed: number;
  /** Rows that were read from sources. */
  rows: number;
}

/** How many answers took how long: counts by class. A class is a tenth longer than the class before it. */
export type Latencies = Record<string, number>;

/** The latencies of each operation. A bulk import has none, because its time depends on how many items it has. */
export type LatenciesByOperation = Record<string, Latencies>;

export interface ActivityHour extends ActivityCounts {
  /** When the hour begins, in milliseconds since the Unix epoch. */
  hour: number;
  latencies: LatenciesByOperation;
}

/** What was counted. */
export interface Activity {
  /** When the counting began; null if nothing was stored yet. */
  since: number | null;
  /** The time up to which everything was counted; null if nothing was stored yet. A process counts up to now. */
  storedAt: number | null;
  /** The hours in which something happened, the oldest first. */
  hours: ActivityHour[];
}

export function nothingIn(hour: number): ActivityHour {
  return { hour, requests: 0, refused: 0, delivered: 0, failed: 0, rows: 0, latencies: {} };
}

/** Adds counts to those of an hour. */
export function addActivity(to: ActivityHour, counts: Omit<ActivityHour, 'hour'>): void {
  to.requests += counts.requests;
  to.refused += counts.refused;
  to.delivered += counts.delivered;
  to.failed += counts.failed;
  to.rows += counts.rows;
  addLatencies(to.latencies, counts.latencies);
}

/** The counts of the last 24 hours, of which the last hour is the present one. Hours in which nothing happened are missing. */
export function lastDay<Hour extends { hour: number }>(hours: readonly Hour[], now: number): Hour[] {
  const present = now - (now % HOUR_MS);
  return hours.filter(({ hour }) => hour > present - DAY_MS && hour <= present);
}

export function addLatencies(to: LatenciesByOperation, from: LatenciesByOperation): void {
  for (const [operation, counts] of Object.entries(from)) {
    const sum = (to[operation] ??= {});
    for (const [name, count] of Object.entries(counts)) sum[name] = (sum[name] ?? 0) + count;
  }
}

const RATIO = 1.1;
/** The last class begins at about four minutes. A request is given up long before that. */
const LAST_CLASS = 130;

/** Counts one answer. A time that is no length of time is left out. */
export function addLatency(to: LatenciesByOperation, operation: string, ms: number): void {
  if (!Number.isFinite(ms) || ms < 0) return;
  const name = String(Math.min(LAST_CLASS, Math.max(0, Math.floor(Math.log(ms) / Math.log(RATIO)))));
  const counts = (to[operation] ??= {});
  counts[name] = (counts[name] ?? 0) + 1;
}

export function countLatencies(latencies: Latencies): number {
  return Object.values(latencies).reduce((sum, count) => sum + count, 0);
}

/** The time in milliseconds within which half of the answers came, with an error of at most a twentieth; null without answers. */
export function medianLatency(latencies: Latencies): number | null {
  const half = countLatencies(latencies) / 2;
  let below = 0;
  const classes = Object.entries(latencies).map(([name, count]) => [Number(name), count] as const);
  for (const [at, count] of classes.toSorted(([a], [b]) => a - b)) {
    if (count > 0 && below + count >= half) return RATIO ** (at + (half - below) / count);
    below += count;
  }
  return null;
}

/** How long the platform takes to answer one operation, in milliseconds. */
export interface LatencyComparison {
  operation: string;
  /** The median of the last minutes. */
  now: number;
  /** The median of the last days; null if there are too few answers. */
  usual: number | null;
}

/** So few answers say nothing about the platform. */
const ANSWERS_NOW = 20;
const ANSWERS_USUAL = 100;
/** What is usual is known from answers that are older than this. */
const USUAL_BEFORE_MS = HOUR_MS;

/**
 * Compares the last minutes with the last days, for the operation that had the most answers in the last minutes: some
 * operations always take longer than others. Null if there were too few answers.
 */
export function compareLatency(
  latest: LatenciesByOperation,
  hours: readonly ActivityHour[],
  now: number,
): LatencyComparison | null {
  const [most] = Object.entries(latest)
    .map(([operation, counts]) => ({ operation, counts, answers: countLatencies(counts) }))
    .toSorted((a, b) => b.answers - a.answers);
  if (most === undefined || most.answers < ANSWERS_NOW) return null;
  const { operation, counts } = most;
  const before: LatenciesByOperation = {};
  for (const { hour, latencies } of hours) {
    if (hour + HOUR_MS <= now - USUAL_BEFORE_MS) addLatencies(before, latencies);
  }
  const usual = before[operation] ?? {};
  return {
    operation,
    now: medianLatency(counts) ?? 0,
    usual: countLatencies(usual) < ANSWERS_USUAL ? null : medianLatency(usual),
  };
}
