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

/** The most requests that the sandbox has received within a second, of those after `since`. */
function busiestSecond(since: number): number {
  const times = world.sandbox
    .inspect()
    .events.map(({ at }) => at)
    .filter((at) => at > since);
  return Math.max(...times.map((at) => times.filter((one) => one >= at && one < at + 1000).length));
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
    // A request may be up to 50 ms late, and the requests after it make up for that.
    expect(busiestSecond(since)).toBeLessThanOrEqual(MAX_RATE + 1);
  });
});
