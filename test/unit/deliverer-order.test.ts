import { expect, it } from 'vitest';
import { createBreaker } from '../../src/delivery/breaker.ts';
import { createDeliverer, type DelivererOptions } from '../../src/delivery/deliverer.ts';
import { createPacer } from '../../src/delivery/pacer.ts';
import { createRateController } from '../../src/delivery/rate-controller.ts';
import { createRetryBudget } from '../../src/delivery/retry-budget.ts';
import { createTargetGate } from '../../src/delivery/target-gate.ts';
import type { Operation } from '../../src/domain/delivery.ts';
import { Profile } from '../../src/domain/profile.ts';
import { createManualClock } from '../support/manual-clock.ts';

it('lets what somebody waits for go before the bulk: publishing and withdrawing', async () => {
  const clock = createManualClock();
  const gate = createTargetGate(clock);
  for (const scope of ['write', 'publish'] as const) gate.observe({ kind: 'accepted', remoteId: null }, scope);
  const operations = new Map<number, Operation>([
    [1, 'product.create'],
    [2, 'bom_item.create'],
    [3, 'product.create'],
    [4, 'passport.publish'],
    [5, 'passport.unpublish'],
  ]);
  const claimed: number[] = [];
  const ledger = {
    dueOperation: async (id: number) => operations.get(id) ?? null,
    async claim(id: number) {
      claimed.push(id);
      return { status: 'gone' };
    },
  };
  const breaker = createBreaker(() => 0);
  const deliverer = createDeliverer({
    ledger: ledger as unknown as DelivererOptions['ledger'],
    target: {} as DelivererOptions['target'],
    pacer: createPacer({
      controller: createRateController(1, () => 0),
      breaker,
      ping: () => Promise.reject(new Error('Nobody is to ask.')),
      concurrency: 8,
      clock,
    }),
    breaker,
    retries: createRetryBudget(),
    gate,
    profile: Profile.parse({}),
    clock,
    random: () => 0,
    emit: () => undefined,
  });
  const { signal } = new AbortController();
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const attempts = [deliverer.attempt(1, signal)];
  await settled();
  for (const id of [2, 3, 4, 5]) attempts.push(deliverer.attempt(id, signal));
  for (let second = 0; second < 4; second += 1) {
    await clock.sleepers(1);
    clock.advance(1000);
    await settled();
  }
  await Promise.all(attempts);
  expect(claimed).toEqual([1, 4, 5, 2, 3]);
});
