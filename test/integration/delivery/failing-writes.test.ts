import { afterEach, expect, it } from 'vitest';
import { exitCodeOf } from '../../../src/observe/standing.ts';
import { quickQueue } from '../../support/servers/quick-queue.ts';
import { PRODUCTS } from '../../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const GOOD = 100;
const BAD = 60;

const queue = quickQueue();
let world: World;
afterEach(() => world.remove());

function fileOf(names: readonly string[]): string {
  return `SKU,NAME,STATE\n${names.map((name) => `${name},Row ${name},10\n`).join('')}`;
}
const named = (name: string, count: number) => Array.from({ length: count }, (_, index) => `${name}-${index}`);

it('a sync whose last rows always fail reports what was accepted and what failed, and leaves those rows due', async () => {
  world = await createWorld({
    queue: queue(),
    config: { sources: [PRODUCTS.source] },
    files: { ...PRODUCTS.fixed, 'products.csv': fileOf([...named('GOOD', GOOD), ...named('BAD', BAD)]) },
    profile: { imports: { creates: 'off' } },
    sandbox: { faults: [{ operation: 'product.create', match: 'BAD-', kind: 'status', status: 500 }] },
  });
  const report = await world.sync({ waitMs: 1000 });
  expect(exitCodeOf(report)).toBe(3);
  expect(report.items.product).toMatchObject({ delivered: GOOD });
  expect(report.items.product.parked).toBeUndefined();
  expect(report.fault?.message).toMatch(
    /can be read\. It accepted the last write at 20.*Z, and has failed for each of \d+ different writes since\.$/,
  );
  expect(report.fault?.suggestion).toMatch(/these rows are wrong.*everything is still due\.$/);
});
