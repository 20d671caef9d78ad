import { table } from '../support/document.ts';
import { type Cell, type CellResult, type LimitName, settlingSeconds } from './simulation/cells.ts';
import { type LimitSeeds, SEEDS } from './simulation/seeds.ts';

export interface Run {
  cell: Cell;
  result: CellResult;
}

const percent = (share: number, digits = 1): string => (share * 100).toFixed(digits);
const mean = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
const worst = (numbers: readonly number[], of: 'least' | 'most'): number =>
  of === 'least' ? Math.min(...numbers) : Math.max(...numbers);

const results = (runs: readonly Run[], scenario: Cell['scenario'], processes = 1): CellResult[] =>
  runs.filter(({ cell }) => cell.scenario === scenario && cell.processes === processes).map(({ result }) => result);

/** Mean and worst cell, in percent. */
function both(numbers: readonly number[], of: 'least' | 'most', digits = 1): string {
  return numbers.length === 0 ? '' : `${percent(mean(numbers), digits)} / ${percent(worst(numbers, of), digits)}`;
}

/** True if nine tenths of the limit are in use within 20 s, or within two long windows. */
export function isSettled({ cell, result }: Run): boolean {
  return result.settledS <= settlingSeconds(cell.limit, 20);
}

function settledIn(runs: readonly Run[], scenario: Cell['scenario']): string {
  const of = runs.filter(({ cell }) => cell.scenario === scenario && cell.processes === 1);
  const inTime = of.filter(isSettled);
  return `${inTime.length} of ${of.length}`;
}

const HEAD = [
  'use',
  '429s',
  'settled',
  '÷5: settled',
  '÷5: 429s',
  '×10: use',
  'outage: use',
  '3: use',
  '3: 429s',
  '3: Jain',
  '3: Jain, 5th minute on',
];

function row(name: string, runs: readonly Run[]): string[] {
  const steady = results(runs, 'steady');
  const three = results(runs, 'steady', 3);
  const use = (of: readonly CellResult[]): string =>
    both(
      of.map((one) => one.use),
      'least',
    );
  const refused = (of: readonly CellResult[]): string =>
    both(
      of.map((one) => one.refused),
      'most',
      2,
    );
  const jain = (of: readonly number[]): string => `${mean(of).toFixed(3)} / ${worst(of, 'least').toFixed(3)}`;
  return [
    name,
    use(steady),
    refused(steady),
    settledIn(runs, 'steady'),
    settledIn(runs, '÷5'),
    refused(results(runs, '÷5')),
    use(results(runs, '×10')),
    use(results(runs, 'outage')),
    use(three),
    refused(three),
    jain(three.map((one) => one.jain)),
    jain(three.map((one) => one.jainLate)),
  ];
}

/** One row for each client, over the same cells. */
export function comparison(clients: readonly { name: string; runs: readonly Run[] }[]): string {
  const rows = clients.map(({ name, runs }) => row(name, runs));
  return table(['client, at 10 and 50/s', ...HEAD], rows);
}

/** One row for each limit: the used share, the refused share and the seconds until nine tenths are used, for each seed. */
export function seedBySeed(limits: readonly LimitSeeds[]): string {
  const rows = limits.map(({ limit, results }) => [
    limit,
    ...results.map(({ used, refused, settledS }) => `${percent(used)} / ${percent(refused, 2)} / ${settledS}`),
  ]);
  return table(['150 a second with `Retry-After: 1`, seed by seed', ...SEEDS.map((seed) => `seed ${seed}`)], rows);
}

/** One row for each limit of a rate, one for each rate, and the number of requests that no cell may send. */
export function tableOfLimits(runs: readonly Run[]): string[] {
  const rates = [...new Set(runs.map(({ cell }) => cell.rate))];
  const limits = [...new Set(runs.map(({ cell }) => cell.limit))] satisfies LimitName[];
  const headers = [...new Set(runs.map(({ cell }) => cell.headers))];
  const at = (rate: number): Run[] => runs.filter(({ cell }) => cell.rate === rate);
  const rows = rates.flatMap((rate) => [
    ...limits.map((limit) =>
      row(
        `${limit}, ${rate}/s`,
        at(rate).filter(({ cell }) => cell.limit === limit),
      ),
    ),
    row(`**all, ${rate}/s**`, at(rate)),
  ]);
  const byHeaders = headers.map((one) =>
    row(
      one,
      runs.filter(({ cell }) => cell.headers === one),
    ),
  );
  const early = runs.reduce((sum, { result }) => sum + result.early, 0);
  return [
    table(['limit', ...HEAD], [...rows, row('**all**', runs)]),
    table(['what the answers state', ...HEAD], byHeaders),
    `${runs.length} cells; requests before a \`Retry-After\` had passed: ${early}.`,
  ];
}
