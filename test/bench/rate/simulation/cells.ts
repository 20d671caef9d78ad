import { retryAfterMs } from '../../../../src/lib/retry-after.ts';
import { seededRandom } from '../../../support/runner/chaos.ts';
import { type HeaderStyle, headersOf } from './limit-headers.ts';
import { fixedWindow, gcra, type Limiter, slidingWindow, stacked } from './limiters.ts';
import { jain, refusedShare, settledAfter, use } from './measures.ts';
import { type SimClient, simulate, type Trace } from './simulate.ts';

/** The limits of the simulated servers, by their names in the tables. */
export const LIMITS = {
  'fixed 1 s': (rate: number, draw: number) => fixedWindow(rate, 1000, draw * 1000),
  'fixed 60 s': (rate: number, draw: number) => fixedWindow(rate, 60_000, draw * 60_000),
  'sliding 1 s': (rate: number) => slidingWindow(rate, 1000),
  'sliding 60 s': (rate: number) => slidingWindow(rate, 60_000),
  'GCRA 0.2 s': (rate: number) => gcra(rate, 0.2),
  'GCRA 10 s': (rate: number) => gcra(rate, 10),
  'stacked 1 s, 60 s': (rate: number, draw: number) =>
    stacked([fixedWindow(2 * rate, 1000, draw * 1000), fixedWindow(rate, 60_000, draw * 60_000)]),
  'counts refused': (rate: number) => slidingWindow(rate, 1000, { countsRefused: true }),
} as const satisfies Record<string, (rate: number, draw: number) => Limiter>;
export type LimitName = keyof typeof LIMITS;

export const RATES = [10, 50, 500] as const;
export const SCENARIOS = ['steady', '÷5', '×10', 'outage'] as const;
export type Scenario = (typeof SCENARIOS)[number];

export interface Cell {
  limit: LimitName;
  rate: number;
  headers: HeaderStyle;
  scenario: Scenario;
  processes: number;
  seed: number;
}

/** The time at which the limit of a cell changes or its outage begins, in seconds from the start. */
const CHANGE_S = 240;
/** The length of a cell, in seconds. */
export const LENGTH_S = 600;
const OUTAGE_S = 60;

/** Seconds in which the rate has to settle: for a limit with long windows, the time of two windows. */
export function settlingSeconds(limit: LimitName, seconds: number): number {
  return limit.includes('60 s') ? 120 : seconds;
}

export interface CellResult {
  /** The used share of the final limit, after the time in which clients adapt. */
  use: number;
  /**
   * The share of refused requests: of all requests, or of those in the minute (or three long windows) after a change.
   */
  refused: number;
  /** Seconds from the start, or from the change, until nine tenths of the limit are used. It can be infinite. */
  settledS: number;
  /** Jain's index of the processes' shares. */
  jain: number;
  /** Jain's index from the fifth minute on. */
  jainLate: number;
  /** Requests that were sent before a `Retry-After` had passed. */
  early: number;
}

/** Runs one cell. The same cell always gives the same result. */
export function runCell(cell: Cell, clientOf: (random: () => number, cell: Cell) => SimClient): CellResult {
  const random = seededRandom(cell.seed);
  const limiter = LIMITS[cell.limit](cell.rate, random());
  // Each limit has a different kind of wrong headers.
  const kind = Object.keys(LIMITS).indexOf(cell.limit) * 0.29 + cell.rate * 0.013;
  const headers = headersOf(cell.headers, (random() + kind) % 1);
  const watched = Array.from({ length: cell.processes }, () => watch(clientOf(random, cell)));
  const factor = { steady: 1, '÷5': 0.2, '×10': 10, outage: 1 }[cell.scenario];
  const trace = simulate({
    limiter,
    clients: watched.map(({ client }) => client),
    startsAt: watched.map((_, index) => index * 1000 * random()),
    headers,
    untilMs: LENGTH_S * 1000,
    changes: factor === 1 ? [] : [{ atMs: CHANGE_S * 1000, factor }],
    outage: cell.scenario === 'outage' ? { fromMs: CHANGE_S * 1000, toMs: (CHANGE_S + OUTAGE_S) * 1000 } : undefined,
    random,
  });
  return { ...measure(cell, trace, cell.rate * factor), early: watched.reduce((sum, { early }) => sum + early(), 0) };
}

function measure({ limit, scenario }: Cell, trace: Trace, rate: number): Omit<CellResult, 'early'> {
  const beginS = { steady: 0, '÷5': CHANGE_S, '×10': CHANGE_S, outage: CHANGE_S + OUTAGE_S }[scenario];
  const settledBy = beginS + settlingSeconds(limit, scenario === '×10' ? 30 : 20);
  const span = settlingSeconds(limit, 20) === 120 ? 60 : 20;
  return {
    use: use(trace, rate, settledBy, LENGTH_S),
    refused: scenario === 'steady' ? refusedShare(trace, 0, LENGTH_S) : refusedShare(trace, beginS, beginS + 3 * span),
    settledS: settledAfter(trace, rate, { from: beginS, to: LENGTH_S, span, share: 0.9 }),
    jain: jain(trace, settledBy, LENGTH_S),
    jainLate: jain(trace, CHANGE_S, LENGTH_S),
  };
}

/** Counts the requests that a client sends before a `Retry-After` has passed. */
function watch(client: SimClient): { client: SimClient; early: () => number } {
  let notBefore = 0;
  let early = 0;
  return {
    early: () => early,
    client: {
      concurrency: (now) => client.concurrency(now),
      admit(now) {
        const waitMs = client.admit(now);
        if (waitMs === 0 && now < notBefore) early += 1;
        return waitMs;
      },
      observe(answer, sentAt, now) {
        if (answer.status === 429) notBefore = Math.max(notBefore, now + (retryAfterMs(answer.headers, 0) ?? 0));
        client.observe(answer, sentAt, now);
      },
    },
  };
}
