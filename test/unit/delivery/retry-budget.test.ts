import { expect, it } from 'vitest';
import { createRetryBudget } from '../../../src/delivery/admission/retry-budget.ts';
import { createReadBudget } from '../../../src/delivery/unconfirmed/list-reads.ts';
import { covers } from '../../support/docs/reliability.ts';

const START = 1_000_000;

it(
  'the retry budget gives ten retries a second where little is sent, and delays others',
  covers('server-error', 'I5'),
  () => {
    const budget = createRetryBudget();
    const waits = Array.from({ length: 111 }, () => budget.reserve(START));
    // The unused slots of the last second may be used at once.
    expect(waits.slice(0, 11)).toEqual(Array.from({ length: 11 }, () => 0));
    expect([waits[11], waits[20], waits[110]]).toEqual([100, 1000, 10_000]);
  },
);

it('the retry budget gives a tenth of the requests where many are sent', () => {
  const budget = createRetryBudget();
  for (let at = START; at < START + 10_000; at += 2) budget.sent(at);
  const now = START + 10_000 - 1;
  let placed = 0;
  while (budget.reserve(now) <= 1000) placed += 1;
  // 500 requests a second: the unused places of one second and those of the next.
  expect(placed).toBeGreaterThan(99);
  expect(placed).toBeLessThan(103);
  // Requests that were sent long ago do not count any more.
  const later = now + 60_000;
  const waits = Array.from({ length: 31 }, () => budget.reserve(later));
  expect(waits[30]).toBe(2000);
});

it('the retry budget never turns a retry away, however many there are', covers('server-error', 'I5'), () => {
  const budget = createRetryBudget();
  for (let count = 0; count < 5000; count += 1) budget.reserve(START);
  expect(budget.reserve(START)).toBeGreaterThan(490_000);
});

it('the time between reads of a list is as long as the reading took, for each list by itself', () => {
  const budget = createReadBudget();
  expect(budget.admit('product', START)).toBe(0);
  budget.ended('product', { begunAt: START, endedAt: START + 60_000 }, true);
  expect(['product', 'material'].map((kind) => budget.admit(kind as 'product', START + 70_000))).toEqual([50_000, 0]);
  expect(budget.admit('product', START + 120_000)).toBe(0);
});

it('a list that cannot be read is tried ever more seldom, up to every five minutes', () => {
  const budget = createReadBudget();
  const rests = Array.from({ length: 10 }, () => {
    budget.ended('product', { begunAt: START, endedAt: START }, false);
    return budget.admit('product', START) / 1000;
  });
  expect(rests).toEqual([2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
  budget.ended('product', { begunAt: START, endedAt: START }, true);
  expect(budget.admit('product', START)).toBe(0);
});
