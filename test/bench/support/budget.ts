import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** By benchmark and ratio, the least that it may come to. Ratios that were not measured in a run are passed over. */
type Budget = Record<string, Record<string, number>>;

const FILE = join(import.meta.dirname, '../budget.json');

/**
 * Prints the ratios of a run beside what `budget.json` asks of them. Where one falls behind, the process ends with exit
 * code 1; it is meant to be raised as the code gets faster, and never lowered unseen.
 */
export function holdAgainstBudget(benchmark: string, ratios: Readonly<Record<string, number>>): void {
  const budget = (JSON.parse(readFileSync(FILE, 'utf8')) as Budget)[benchmark] ?? {};
  const width = Math.max(...Object.keys(ratios).map((name) => name.length));
  process.stdout.write(`\n${'Ratio'.padEnd(width)}    is  at least\n`);
  for (const [name, ratio] of Object.entries(ratios)) {
    const least = budget[name];
    const isBehind = least !== undefined && !(ratio >= least);
    if (isBehind) process.exitCode = 1;
    const asked = least === undefined ? '       –' : least.toFixed(2).padStart(8);
    const note = isBehind ? '  behind its budget' : '';
    process.stdout.write(`${name.padEnd(width)}  ${ratio.toFixed(2).padStart(4)}  ${asked}${note}\n`);
  }
}
