// Measures in virtual time how well limits are learnt: `npm run bench:rate`. Prints the tables and writes them to
// docs/performance.md. With `-- --quick` it runs only the limits of 10 and 50 requests per second and writes nothing.

import { holdAgainstBudget } from '../support/budget.ts';
import { writeBetween } from '../support/document.ts';
import { BASELINES } from './baselines.ts';
import { ratiosOf, ratiosOfSeeds } from './ratios.ts';
import {
  type Cell,
  type CellResult,
  LENGTH_S,
  LIMITS,
  type LimitName,
  RATES,
  runCell,
  SCENARIOS,
} from './simulation/cells.ts';
import { controlledClient } from './simulation/controlled-client.ts';
import { HEADER_STYLES } from './simulation/limit-headers.ts';
import { runSeed, SEEDS, SHORT_LIMITS } from './simulation/seeds.ts';
import type { SimClient } from './simulation/simulate.ts';
import { comparison, type Run, seedBySeed, tableOfLimits } from './tables.ts';

const isQuick = process.argv.includes('--quick');
const rates = isQuick ? RATES.filter((rate) => rate < 100) : RATES;
const limits = Object.keys(LIMITS) as LimitName[];

function cells(rate: number, headerStyles: readonly Cell['headers'][], seeds: readonly number[]): Cell[] {
  return limits.flatMap((limit) =>
    headerStyles.flatMap((headers) => [
      ...seeds.map((seed): Cell => ({ limit, rate, headers, scenario: 'steady', processes: 1, seed })),
      ...seeds.map((seed): Cell => ({ limit, rate, headers, scenario: 'steady', processes: 3, seed })),
      ...SCENARIOS.slice(1).map((scenario): Cell => ({ limit, rate, headers, scenario, processes: 1, seed: 1 })),
    ]),
  );
}

function run(all: readonly Cell[], clientOf: (random: () => number, cell: Cell) => SimClient): Run[] {
  return all.map((cell): Run => ({ cell, result: runCell(cell, clientOf) satisfies CellResult }));
}

/** A cell at 500 requests per second takes long, so fewer header styles are run, and ten times that rate is run once. */
const isTooMuch = ({ rate, headers, scenario, seed }: Cell): boolean =>
  rate === 500 && (seed > 1 || headers === 'date' || headers === 'wrong' || (scenario === '×10' && headers !== 'none'));
const all = rates.flatMap((rate) => cells(rate, HEADER_STYLES, [1, 2])).filter((cell) => !isTooMuch(cell));
const ours = run(all, (random) => controlledClient(random));
const compared = [10, 50].flatMap((rate) => cells(rate, ['none', 'seconds'], [1]));
const isCompared = ({ cell }: Run): boolean =>
  cell.rate < 100 && cell.seed === 1 && (cell.headers === 'none' || cell.headers === 'seconds');
const others = Object.entries(BASELINES).map(([name, clientOf]) => ({ name, runs: run(compared, clientOf) }));
const seeds = SHORT_LIMITS.map((limit) => ({
  limit,
  results: SEEDS.map((seed) => runSeed(LIMITS[limit], seed, LENGTH_S)),
}));
const text = [
  comparison([{ name: 'dpp-sync', runs: ours.filter(isCompared) }, ...others]),
  ...tableOfLimits(ours),
  seedBySeed(seeds),
].join('\n\n');
process.stdout.write(`${text}\n`);

if (!isQuick) {
  holdAgainstBudget('rate', { ...ratiosOf(ours), ...ratiosOfSeeds(seeds) }, { isWhole: true });
  writeBetween('bench:rate', text);
}
