import { retryAfterMs } from '../../../src/api/retry-after.ts';
import { seededRandom } from '../chaos.ts';
import { headersOf, type Told } from './limit-headers.ts';
import { fixedWindow, gcra, type Limiter, slidingWindow, stacked } from './limiters.ts';
import { jain, refusedShare, settledAfter, use } from './measures.ts';
import { type SimClient, simulate, type Trace } from './simulate.ts';

/** The limits that servers have, by what they are called in the tables. */
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
export const STORIES = ['steady', '÷5', '×10', 'outage'] as const;
export type Story = (typeof STORIES)[number];

export interface Cell {
  limit: LimitName;
  rate: number;
  told: Told;
  story: Story;
  processes: number;
  seed: number;
}

/** When the story of a cell takes its turn, in seconds from the beginning. */
const TURN_S = 240;
/** Of a whole cell. */
const LENGTH_S = 600;
const OUTAGE_S = 60;

/** Seconds that a limit is given: two windows where they are long. */
export function patienceOf(limit: LimitName, seconds: number): number {
  return limit.includes('60 s') ? 120 : seconds;
}

export interface CellResult {
  /** Share of the limit that was used: of the one that counts in the end, once there was time to settle. */
  use: number;
  /** Share of the requests that were refused: of all, or in the minute (two windows) after a change. */
  refused: number;
  /** Seconds from the beginning, or from the change, until nine tenths of the limit are in use; may be infinite. */
  settledS: number;
  /** Jain's index of what the processes got. */
  jain: number;
  /** The same, from the fifth minute on. */
  jainLate: number;
  /** Requests that went out before a `Retry-After` had passed. */
  early: number;
}

/** Runs one cell. Equal cells give equal results. */
export function runCell(cell: Cell, clientOf: (random: () => number, cell: Cell) => SimClient): CellResult {
  const random = seededRandom(cell.seed);
  const limiter = LIMITS[cell.limit](cell.rate, random());
  // Which of the wrong ones it is differs from limit to limit.
  const kind = Object.keys(LIMITS).indexOf(cell.limit) * 0.29 + cell.rate * 0.013;
  const headers = headersOf(cell.told, (random() + kind) % 1);
  const watched = Array.from({ length: cell.processes }, () => watch(clientOf(random, cell)));
  const factor = { steady: 1, '÷5': 0.2, '×10': 10, outage: 1 }[cell.story];
  const trace = simulate({
    limiter,
    clients: watched.map(({ client }) => client),
    startsAt: watched.map((_, index) => index * 1000 * random()),
    headers,
    untilMs: LENGTH_S * 1000,
    changes: factor === 1 ? [] : [{ atMs: TURN_S * 1000, factor }],
    outage: cell.story === 'outage' ? { fromMs: TURN_S * 1000, toMs: (TURN_S + OUTAGE_S) * 1000 } : undefined,
    random,
  });
  return { ...measure(cell, trace, cell.rate * factor), early: watched.reduce((sum, { early }) => sum + early(), 0) };
}

function measure({ limit, story }: Cell, trace: Trace, rate: number): Omit<CellResult, 'early'> {
  const beginS = { steady: 0, '÷5': TURN_S, '×10': TURN_S, outage: TURN_S + OUTAGE_S }[story];
  const settledBy = beginS + patienceOf(limit, story === '×10' ? 30 : 20);
  const span = patienceOf(limit, 20) === 120 ? 60 : 20;
  return {
    use: use(trace, rate, settledBy, LENGTH_S),
    refused: story === 'steady' ? refusedShare(trace, 0, LENGTH_S) : refusedShare(trace, beginS, beginS + 3 * span),
    settledS: settledAfter(trace, rate, { from: beginS, to: LENGTH_S, span, share: 0.9 }),
    jain: jain(trace, settledBy, LENGTH_S),
    jainLate: jain(trace, TURN_S, LENGTH_S),
  };
}

/** Counts what a client sends before it may. */
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
