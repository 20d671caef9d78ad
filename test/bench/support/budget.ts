import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The least allowed value of each ratio, by benchmark and ratio. */
type Budget = Record<string, Record<string, number>>;

const FILE = join(import.meta.dirname, '../budget.json');

/**
 * Prints the ratios of a run beside their budgets in `budget.json`. The process ends with exit code 1 if a ratio is below its
 * budget, if the benchmark has no budget, or if a whole run has not measured a ratio that has a budget. Raise the budget when
 * the code gets faster. Lower it only on purpose.
 *
 * @param isWhole whether everything was measured; a part may leave ratios out
 */
export function holdAgainstBudget(
  benchmark: string,
  ratios: Readonly<Record<string, number>>,
  { isWhole }: { isWhole: boolean },
): void {
  const budget = (JSON.parse(readFileSync(FILE, 'utf8')) as Budget)[benchmark] ?? {};
  const names = [...new Set([...Object.keys(ratios), ...(isWhole ? Object.keys(budget) : [])])];
  const width = Math.max(...names.map((name) => name.length));
  process.stdout.write(`\n${'Ratio'.padEnd(width)}    is  at least\n`);
  for (const name of names) {
    const ratio = ratios[name];
    const least = budget[name];
    const trouble = troubleOf(ratio, least);
    if (trouble !== '') process.exitCode = 1;
    const is = ratio === undefined ? '   –' : ratio.toFixed(2).padStart(4);
    const asked = least === undefined ? '       –' : least.toFixed(2).padStart(8);
    process.stdout.write(`${name.padEnd(width)}  ${is}  ${asked}${trouble}\n`);
  }
  if (Object.keys(budget).length > 0) return;
  process.stdout.write(`budget.json has nothing for ${benchmark}\n`);
  process.exitCode = 1;
}

function troubleOf(ratio: number | undefined, least: number | undefined): string {
  if (ratio === undefined) return '  was not measured';
  return least !== undefined && !(ratio >= least) ? '  behind its budget' : '';
}
