import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { SMALL_SOURCES, type SmallExport, smallFiles } from '../../support/worlds/small-export.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const PRODUCTS = 60;
const MAX_RATE = 20;
const EXPORT: SmallExport = {
  products: Array.from({ length: PRODUCTS }, (_, index) => ({ id: `P${index}`, name: `Product ${index}` })),
  materials: [],
  lines: [],
};

let world: World;
afterEach(() => world.remove());

/** When the sandbox has received each request after `since`. */
function timesAfter(since: number): number[] {
  return world.sandbox
    .inspect()
    .events.map(({ at }) => at)
    .filter((at) => at > since);
}

describe('requests that read', () => {
  it('a first contact stays below the configured rate with all its requests', async () => {
    world = await createWorld({
      config: { sources: SMALL_SOURCES },
      files: smallFiles(EXPORT),
      target: { maxRate: MAX_RATE },
      profile: { list: { pageSize: 1 } },
    });
    await world.sync();
    rmSync(join(world.folder, 'data'), { recursive: true });
    const since = Math.max(...world.sandbox.inspect().events.map(({ at }) => at));
    world.requests();
    expect((await world.sync()).fault).toBeNull();
    expect(world.requests()['product.list']).toBeGreaterThanOrEqual(PRODUCTS);
    const times = timesAfter(since);
    // The times of arrival vary on a busy machine, so the whole reading is measured and not each second.
    const seconds = (Math.max(...times) - Math.min(...times)) / 1000;
    expect(seconds).toBeGreaterThan((0.9 * times.length) / MAX_RATE);
  });
});
