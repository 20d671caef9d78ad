import { afterEach, expect, it } from 'vitest';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { SMALL_SOURCES, type SmallExport, smallFiles } from '../../support/worlds/small-export.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const PRODUCTS = 40;
const LINES = 160;
const LIMIT = 20;
const EXPORT: SmallExport = {
  products: Array.from({ length: PRODUCTS }, (_, id) => ({ id: `P${id}`, name: `Product ${id}` })),
  materials: Array.from({ length: 10 }, (_, id) => ({ id: `M${id}`, name: `Material ${id}` })),
  lines: Array.from({ length: LINES }, (_, id) => ({
    id: `L${id}`,
    product: `P${id % PRODUCTS}`,
    material: `M${id % 10}`,
    quantity: '1',
  })),
};

let world: World;
afterEach(() => world.remove());

it('a limit that answers 503 is obeyed, and leaves few BOM items unconfirmed', async () => {
  world = await createWorld({
    config: { sources: SMALL_SOURCES },
    files: smallFiles(EXPORT),
    // The sandbox stores at once, so an absence needs no wait: a 503 to an import would be waited for up to five minutes.
    profile: {
      settlingDelayMs: { reset: 20, timeout: 20 },
      imports: { lostSettlesWithinMs: 100 },
      list: { lagMs: 100 },
    },
    sandbox: {
      rateLimit: { kind: 'token-bucket', ratePerSecond: LIMIT, burst: LIMIT, status: 503, retryAfter: 'none' },
    },
  });
  const { fault, items } = await world.sync({ waitMs: WAIT_MS });
  const { bomItems } = world.contents();
  expect(fault).toBeNull();
  expect(items.bom_item?.['in_doubt'] ?? 0).toBeLessThan(LINES / 8);
  expect(bomItems.length + (items.bom_item?.['in_doubt'] ?? 0)).toBe(LINES);
});
