import type { SandboxStatistics } from '../sandbox/inspection.ts';
import { faultWords } from './fault-flag.ts';
import { plural } from './style.ts';

/** What a sandbox has been asked, in a few lines. */
export function statisticsLines({ requests, throttled, replayed, faults }: SandboxStatistics): string[] {
  const entries = Object.entries(requests);
  const total = entries.flatMap(([, counts]) => Object.values(counts)).reduce((sum, count) => sum + count, 0);
  const besides = [
    ...(throttled > 0 ? [`${throttled} throttled`] : []),
    ...(replayed > 0 ? [`${replayed} replayed`] : []),
  ];
  return [
    `${plural(total, 'request')}${besides.length === 0 ? '' : `, of them ${besides.join(' and ')}`}`,
    ...entries.map(([operation, counts]) => {
      const told = Object.entries(counts).map(([ending, count]) => `${ending} ×${count}`);
      return `  ${operation.padEnd(18)} ${told.join(', ')}`;
    }),
    ...faults.flatMap(({ rule, used }) => (used === 0 ? [] : [`  fault ${faultWords(rule)}: ${plural(used, 'time')}`])),
  ];
}

/** Faults that were asked for and never happened: whatever was to be shown by them was not. */
export function unusedLines({ unusedFaults }: SandboxStatistics): string[] {
  if (unusedFaults.length === 0) return [];
  return [
    `${plural(unusedFaults.length, 'fault')} never happened:`,
    ...unusedFaults.map((rule) => `  ${faultWords(rule)}`),
  ];
}
