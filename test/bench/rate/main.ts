// How well limits are learnt, in virtual time: `npm run bench:rate`. Prints the tables and writes them to
// docs/performance.md. With `-- --quick` only the limits of 10 and 50 requests per second are looked at, and nothing is written.

import {
  type Cell,
  type CellResult,
  LIMITS,
  type LimitName,
  RATES,
  runCell,
  STORIES,
} from '../../support/rate-sim/cells.ts';
import { controlledClient } from '../../support/rate-sim/controlled-client.ts';
import { TOLD } from '../../support/rate-sim/limit-headers.ts';
import type { SimClient } from '../../support/rate-sim/simulate.ts';
import { holdAgainstBudget } from '../support/budget.ts';
import { writeBetween } from '../support/document.ts';
import { BASELINES } from './baselines.ts';
import { ratiosOf } from './ratios.ts';
import { comparison, type Run, tableOfLimits } from './tables.ts';

const isQuick = process.argv.includes('--quick');
const rates = isQuick ? RATES.filter((rate) => rate < 100) : RATES;
const limits = Object.keys(LIMITS) as LimitName[];

function cells(rate: number, told: readonly Cell['told'][], seeds: readonly number[]): Cell[] {
  return limits.flatMap((limit) =>
    told.flatMap((one) => [
      ...seeds.map((seed): Cell => ({ limit, rate, told: one, story: 'steady', processes: 1, seed })),
      ...seeds.map((seed): Cell => ({ limit, rate, told: one, story: 'steady', processes: 3, seed })),
      ...STORIES.slice(1).map((story): Cell => ({ limit, rate, told: one, story, processes: 1, seed: 1 })),
    ]),
  );
}

function run(all: readonly Cell[], clientOf: (random: () => number, cell: Cell) => SimClient): Run[] {
  return all.map((cell): Run => ({ cell, result: runCell(cell, clientOf) satisfies CellResult }));
}

/** A million requests a cell take their time: at 500 per second less is told, and ten times of that is tried once. */
const isTooMuch = ({ rate, told, story, seed }: Cell): boolean =>
  rate === 500 && (seed > 1 || told === 'date' || told === 'wrong' || (story === '×10' && told !== 'none'));
const all = rates.flatMap((rate) => cells(rate, TOLD, [1, 2])).filter((cell) => !isTooMuch(cell));
const ours = run(all, (random) => controlledClient(random));
const compared = [10, 50].flatMap((rate) => cells(rate, ['none', 'seconds'], [1]));
const isCompared = ({ cell }: Run): boolean =>
  cell.rate < 100 && cell.seed === 1 && (cell.told === 'none' || cell.told === 'seconds');
const others = Object.entries(BASELINES).map(([name, clientOf]) => ({ name, runs: run(compared, clientOf) }));
const text = [
  comparison([{ name: 'dpp-sync', runs: ours.filter(isCompared) }, ...others]),
  ...tableOfLimits(ours),
].join('\n\n');
process.stdout.write(`${text}\n`);

if (!isQuick) {
  holdAgainstBudget('rate', ratiosOf(ours), { isWhole: true });
  writeBetween('bench:rate', text);
}
