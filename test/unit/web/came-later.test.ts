import { expect, it } from 'vitest';
import { cameLater } from '../../../src/operations/causes.ts';

it('what came into its state after a page was loaded is later, and what has a time from before the clock was set back is not', () => {
  const of = (since: number | null, until: number | null) => cameLater(since, { until, now: 500 });
  expect([of(99, 100), of(100, 100), of(101, 100), of(500, 100), of(501, 100)]).toEqual([
    false,
    false,
    true,
    true,
    false,
  ]);
  expect([of(null, 100), of(null, 0), of(101, null)]).toEqual([false, false, false]);
});
