import { expect, it } from 'vitest';
import { createBreaker } from '../../src/delivery/admission/breaker.ts';
import { createCreatePause } from '../../src/delivery/admission/create-pause.ts';
import { createPacer } from '../../src/delivery/admission/pacer.ts';
import { createRetryBudget } from '../../src/delivery/admission/retry-budget.ts';
import { createTargetGate } from '../../src/delivery/admission/target-gate.ts';
import { createDeliverer, type DelivererOptions } from '../../src/delivery/deliverer.ts';
import { createRateController } from '../../src/delivery/rate/rate-controller.ts';
import type { DeliveryName } from '../../src/domain/ports/claim.ts';
import type { DueDelivery } from '../../src/domain/ports/due.ts';
import { Profile } from '../../src/domain/profile.ts';
import { createManualClock } from '../support/manual-clock.ts';

type Due = Pick<DueDelivery, 'id' | 'revision' | 'operation'> & { urgent?: boolean };

it('lets what somebody waits for go before the bulk', async () => {
  const clock = createManualClock();
  const gate = createTargetGate(clock);
  for (const scope of ['write', 'publish'] as const) gate.observe({ kind: 'accepted', remoteId: null }, scope);
  const [first, ...others]: [Due, ...Due[]] = [
    { id: 1, revision: 1, operation: 'product.create' },
    { id: 2, revision: 1, operation: 'bom_item.create' },
    { id: 3, revision: 1, operation: 'product.create' },
    { id: 4, revision: 1, operation: 'passport.publish', urgent: true },
    { id: 5, revision: 1, operation: 'passport.publish' },
    { id: 6, revision: 1, operation: 'passport.init', urgent: true },
  ];
  const claimed: number[] = [];
  const ledger = {
    isDue: async () => true,
    async claim(requests: readonly (readonly DeliveryName[])[]) {
      claimed.push(...requests.flat().map(({ id }) => id));
      return [];
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
    pause: createCreatePause(clock),
    profile: Profile.parse({}),
    clock,
    random: () => 0,
    emit: () => undefined,
  });
  const { signal } = new AbortController();
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const attempts = [deliverer.attempt(first, signal)];
  await settled();
  for (const due of others) attempts.push(deliverer.attempt(due, signal));
  for (let second = 0; second < 5; second += 1) {
    await clock.sleepers(1);
    clock.advance(1000);
    await settled();
  }
  await Promise.all(attempts);
  expect(claimed).toEqual([1, 4, 6, 2, 3, 5]);
});
