import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import type { Runtime } from '../../src/daemon/runtime.ts';
import { sync } from '../../src/daemon/sync.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { exitCodeOf } from '../../src/observe/standing.ts';
import { scaled } from '../support/runner/chaos.ts';
import { TEST_MS, WAIT_MS } from '../support/runner/limits.ts';
import { createWorld, type World, type WorldOptions } from '../support/worlds/world.ts';

/** A hexadecimal key of 32 digits shares 6 of them with one UUID in about 60,000. Other secrets count like the key. */
const OTHER_SECRETS = 60;

async function givenCatalog(count: number, options: Omit<WorldOptions, 'config' | 'files'>): Promise<World> {
  const lines = Array.from({ length: count }, (_, index) => `P-${index},Chair ${index}`);
  return createWorld({
    config: {
      sources: [
        {
          id: 'erp',
          connector: 'csv',
          streams: { products: { path: './products.csv', key: ['sku'] } },
          mappings: [
            { stream: 'products', to: 'product', key: 'row.sku', fields: { sku: 'row.sku', name: 'row.name' } },
          ],
        },
      ],
    },
    files: { 'products.csv': `sku,name\n${lines.join('\n')}\n` },
    ...options,
  });
}

async function synced(runtime: Runtime): Promise<number> {
  const abort = new AbortController().signal;
  return exitCodeOf(await sync(runtime, { sources: [], accept: [], waitMs: WAIT_MS, abort }, systemClock));
}

it('a catalogue of any size with UUIDs under a hexadecimal key is delivered, first contact included', {
  timeout: TEST_MS,
}, async () => {
  const count = scaled(2_000, 100_000);
  const key = `dpp_${hex(0)}`;
  const world = await givenCatalog(count, { sandbox: { ids: 'uuid' }, target: { apiKey: key } });
  try {
    world.sandbox.ensureKey({ organization: 'acme', name: 'hex', scopes: ['read', 'write', 'publish'], key });
    await using runtime = await world.open();
    for (let other = 1; other <= OTHER_SECRETS; other += 1) runtime.secrets.add(hex(other));
    expect(await synced(runtime)).toBe(0);
    const ids = world.contents().products.map((product) => String((product as { id: unknown }).id));
    expect(ids).toHaveLength(count);
    const shared = ids.filter((id) => runtime.secrets.scrub(id) !== id);
    if (count === 100_000) expect(shared.length, 'ids that share 6 characters with a secret').toBeGreaterThan(10);
  } finally {
    await world.remove();
  }
});

it('one list confirms a catalogue of any size whose creates are answered with nothing but wrong ids', {
  timeout: TEST_MS,
}, async () => {
  const count = scaled(2_000, 25_000);
  const pageSize = 500;
  const world = await givenCatalog(count, {
    sandbox: { lies: ['product.create:other-id'] },
    profile: { imports: { creates: 'off' }, list: { lagMs: 0, pageSize } },
  });
  try {
    await using runtime = await world.open();
    expect(await synced(runtime)).toBe(0);
    // One request is the first contact with an empty list.
    expect(world.requests()).toEqual({ 'product.create': count, 'product.list': 1 + count / pageSize });
  } finally {
    await world.remove();
  }
});

function hex(seed: number): string {
  return createHash('sha256').update(String(seed)).digest('hex').slice(0, 32);
}
