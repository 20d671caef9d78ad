import { seededRandom } from '../chaos.ts';
import { fixedWindow, gcra, type Limiter, slidingWindow, stacked } from './limiters.ts';
import { type SimClient, simulate, type Trace } from './simulate.ts';
import { headersOf, type Told } from './told.ts';

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
export const TURN_S = 240;
/** Of a whole cell. */
export const LENGTH_S = 600;

/** Seconds that a limit with long windows is given where the others are given the first number. */
export function patienceOf(limit: LimitName, seconds: number): number {
  return limit.includes('60 s') ? 120 : seconds;
}

export function runCell(cell: Cell, clientOf: (random: () => number, cell: Cell) => SimClient): Trace {
  const random = seededRandom(cell.seed);
  const limiter = LIMITS[cell.limit](cell.rate, random());
  const headers = headersOf(cell.told, random());
  const clients = Array.from({ length: cell.processes }, () => clientOf(random, cell));
  const factor = { steady: 1, '÷5': 0.2, '×10': 10, outage: 1 }[cell.story];
  return simulate({
    limiter,
    clients,
    startsAt: clients.map((_, index) => index * 1000 * random()),
    headers,
    untilMs: LENGTH_S * 1000,
    changes: factor === 1 ? [] : [{ atMs: TURN_S * 1000, factor }],
    outage: cell.story === 'outage' ? { fromMs: TURN_S * 1000, toMs: (TURN_S + 60) * 1000 } : undefined,
    random,
  });
}
