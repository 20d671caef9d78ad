import type { SandboxStatistics } from '../../sandbox/control/inspection.ts';
import { faultWords } from '../fault-flag.ts';
import { plural, printable } from '../text/style.ts';

/** At most this many doubles are listed; the others are only counted. */
const DOUBLES_SHOWN = 20;

/** Lines about the requests and writes of a sandbox. */
export function statisticsLines(statistics: SandboxStatistics): string[] {
  const { requests, throttled, replayed, faults, writes } = statistics;
  const entries = Object.entries(requests);
  const total = entries.flatMap(([, counts]) => Object.values(counts)).reduce((sum, count) => sum + count, 0);
  const besides = [
    ...(throttled > 0 ? [`${throttled} throttled`] : []),
    ...(replayed > 0 ? [`${replayed} replayed`] : []),
  ];
  return [
    `${plural(total, 'request')}${besides.length === 0 ? '' : `, of them ${besides.join(' and ')}`}`,
    ...entries.map(([operation, counts]) => {
      const shown = Object.entries(counts).map(([ending, count]) => `${ending} ×${count}`);
      return `  ${operation.padEnd(18)} ${shown.join(', ')}`;
    }),
    ...(writes.length === 0 ? [] : [plural(sumOf(writes), 'write')]),
    ...doubleLines(statistics),
    ...faults.flatMap(({ rule, used }) => (used === 0 ? [] : [`  fault ${faultWords(rule)}: ${plural(used, 'time')}`])),
  ];
}

/** Lines about objects that were created more than once, with the names that people know. */
function doubleLines({ duplicates }: SandboxStatistics): string[] {
  if (duplicates.length === 0) return [];
  const shown = duplicates.slice(0, DOUBLES_SHOWN);
  const more = duplicates.length - shown.length;
  return [
    `  created more than once: ${plural(duplicates.length, 'item')}`,
    ...shown.map(({ organization, operation, naturalKey, count }) => {
      return `    ${printable(`${operation} ${naturalKey}`)} ×${count} (${printable(organization)})`;
    }),
    ...(more > 0 ? [`    and ${more} more`] : []),
  ];
}

function sumOf(counts: readonly { count: number }[]): number {
  return counts.reduce((sum, { count }) => sum + count, 0);
}

/** Lines about requested faults that never happened. A test that relies on one of them has proved nothing. */
export function unusedLines({ unusedFaults }: SandboxStatistics): string[] {
  if (unusedFaults.length === 0) return [];
  return [
    `${plural(unusedFaults.length, 'fault')} never happened:`,
    ...unusedFaults.map((rule) => `  ${faultWords(rule)}`),
  ];
}
