import type { CellResult } from './simulation/cells.ts';
import type { LimitSeeds } from './simulation/seeds.ts';
import { isSettled, type Run } from './tables.ts';

const mean = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

/** The figures of the budget: the higher, the better. Refusals are given as the allowed share divided by the actual one. */
export function ratiosOf(runs: readonly Run[]): Record<string, number> {
  const of = (scenario: Run['cell']['scenario'], processes: number, rate?: number): CellResult[] =>
    runs
      .filter(({ cell }) => cell.scenario === scenario && cell.processes === processes)
      .filter(({ cell }) => rate === undefined || cell.rate === rate)
      .map(({ result }) => result);
  const settled = (scenario: Run['cell']['scenario']): number => {
    const all = runs.filter(({ cell }) => cell.scenario === scenario && cell.processes === 1);
    return all.filter(isSettled).length / all.length;
  };
  const use = of('steady', 1).map((result) => result.use);
  const refused = (scenario: Run['cell']['scenario'], rate: number): number =>
    mean(of(scenario, 1, rate).map((result) => result.refused));
  return {
    'use, mean': mean(use),
    'use, worst cell': Math.min(...use),
    settled: settled('steady'),
    '÷5: settled': settled('÷5'),
    '10/s: 1 % / 429s': 0.01 / refused('steady', 10),
    '50/s: 0.5 % / 429s': 0.005 / refused('steady', 50),
    '500/s: 0.1 % / 429s': 0.001 / refused('steady', 500),
    '÷5, 10/s: 5 % / 429s': 0.05 / refused('÷5', 10),
    '×10: use, mean': mean(of('×10', 1).map((result) => result.use)),
    '3 processes: Jain, mean': mean(of('steady', 3).map((result) => result.jain)),
    'never before a Retry-After': runs.every(({ result }) => result.early === 0) ? 1 : 0,
  };
}

/** A sliding window refuses every excess at once, and jitter causes some. */
const slides = ({ limit }: LimitSeeds): boolean => limit === 'sliding 1 s' || limit === 'counts refused';

/** The figures of the budget for 150 requests a second: each is that of the worst seed of the worst limit. */
export function ratiosOfSeeds(limits: readonly LimitSeeds[]): Record<string, number> {
  const used = (of: readonly LimitSeeds[]): number =>
    Math.min(...of.flatMap(({ results }) => results.map((result) => result.used)));
  const all = limits.flatMap(({ results }) => results);
  return {
    '150/s, each seed: used': used(limits.filter((one) => !slides(one))),
    '150/s, each seed: used, sliding': used(limits.filter(slides)),
    '150/s, each seed: 0.3 % / 429s': 0.003 / Math.max(...all.map(({ refused }) => refused)),
    '150/s, each seed: 15 s / settled': 15 / Math.max(1, ...all.map(({ settledS }) => settledS)),
  };
}
