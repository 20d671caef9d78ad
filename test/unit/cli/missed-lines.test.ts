import { expect, it } from 'vitest';
import { missedLines } from '../../../src/cli/text/attention.ts';

const plain = (_: string, text: string): string => text;
const account = (missedByChanges: number | null) => ({ source: 'erp', stream: 'products', missedByChanges });

it('a warning names the records that the changes of a stream have missed, and what to check', () => {
  const lines = missedLines([account(2)], plain);
  expect(lines.join('\n')).toMatch(
    /^warning: The changes of erp\/products had missed 2 records .*\n {2}Check what the source counts as a change .*snapshotEvery/,
  );
});

it('no warning is given where no record was missed, or nothing was compared', () => {
  expect(missedLines([account(0), account(null)], plain)).toEqual([]);
});
