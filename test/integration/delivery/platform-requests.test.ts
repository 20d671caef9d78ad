import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Runtime } from '../../../src/daemon/runtime.ts';
import { covers } from '../../support/docs/reliability.ts';
import { SMALL_SOURCES } from '../../support/worlds/small-export.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

let world: World;
let runtime: Runtime;
beforeEach(async () => {
  world = await createWorld({ config: { sources: SMALL_SOURCES } });
  runtime = await world.open();
});
afterEach(async () => {
  await runtime.close();
  await world.remove();
});

/** A page that nobody reads. */
const sink = { write: () => Promise.resolve() };
const report = () => runtime.platform.createReport({ body: {}, idempotencyKey: 'one' });

describe('what the platform answers to a person holds for the deliveries of the process', () => {
  it(
    'an answer to a request of a person holds for the deliveries where it asks to wait',
    covers('throttled', 'I5'),
    async () => {
      const refusal = { kind: 'status', status: 429, retryAfterSeconds: 120, count: 1 } as const;
      world.sandbox.faults.add({ operation: 'passport.pdf', ...refusal });
      expect(runtime.api.throttled()).toBeNull();
      expect(await runtime.platform.passportPdf(1, sink)).toMatchObject({ ok: false, outcome: { kind: 'throttled' } });
      expect(runtime.api.throttled()).toMatchObject({
        message: expect.stringMatching(/./),
        wait: { until: expect.any(Number) },
      });
    },
  );

  it.each([
    ['report.list', () => runtime.platform.reports(() => undefined)],
    ['publication.list', () => runtime.platform.publications(() => undefined)],
    ['product.list', () => runtime.platform.list('product', () => undefined)],
    ['report.create', report],
  ] as const)(
    'an answer to a request of a person holds for the deliveries where it refuses the key to %s',
    async (operation, ask) => {
      world.sandbox.faults.add({ operation, kind: 'status', status: 401 });
      expect(runtime.api.authorization().open).toBe(true);
      await ask();
      expect(runtime.api.authorization()).toMatchObject({ open: false });
    },
  );

  it(
    'a refusal of one kind of request by a person does not hold for the deliveries',
    covers('key-refused', 'I5'),
    async () => {
      world.sandbox.faults.add({ operation: 'report.create', kind: 'status', status: 403 });
      expect(await report()).toMatchObject({ outcome: { kind: 'denied', by: 'scope' } });
      expect(runtime.api.authorization().open).toBe(true);
      expect([...runtime.api.refused().keys()]).toEqual([]);
    },
  );
});
