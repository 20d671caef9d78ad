import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exitCodeOf, type SyncReport } from '../../src/daemon/sync.ts';
import {
  ADVENTUREWORKS,
  adventureworksSources,
  hasAdventureworks,
  readAdventureworks,
} from '../support/adventureworks.ts';
import { type RedisServer, redisAvailable, startRedis } from '../support/redis.ts';
import { createWorld, type World } from '../support/world.ts';

const queues = redisAvailable ? (['embedded', 'redis'] as const) : (['embedded'] as const);
const skip = hasAdventureworks ? '' : ' (skipped: ../shared/data/adventureworks is not here)';

describe.skipIf(!hasAdventureworks).each(queues)(`AdventureWorks over the %s queue${skip}`, (queue) => {
  let world: World;
  let redis: RedisServer | null = null;
  let report: SyncReport;

  beforeAll(async () => {
    redis = queue === 'redis' ? await startRedis() : null;
    world = await createWorld({
      config: { sources: adventureworksSources(ADVENTUREWORKS) },
      queue: redis?.url ?? 'embedded',
    });
    report = await world.sync();
  }, 120_000);
  afterAll(async () => {
    await world.remove();
    await redis?.stop();
  });

  it('delivers every product of the file once, as the file has it', () => {
    const expected = readAdventureworks().products.map(({ name, number }) => ({ sku: number, name }));
    const found = world.contents().products.map(({ sku, name, status, country_of_origin }) => {
      expect(status).toBe('DRAFT');
      expect(country_of_origin).toBe('US');
      return { sku, name };
    });
    expect(found).toHaveLength(504);
    const bySku = (a: { sku: unknown }, b: { sku: unknown }) => (String(a.sku) < String(b.sku) ? -1 : 1);
    expect(found.sort(bySku)).toEqual(expected.sort(bySku));
  });

  it('delivers every BOM line in force whose parent and component exist, with the right ids', () => {
    const { products, lines } = readAdventureworks();
    const { products: remote, bomItems } = world.contents();
    const skuOf = new Map(remote.map(({ id, sku }) => [id, sku]));
    const numberOf = new Map(products.map(({ id, number }) => [id, number]));
    const expected = lines
      .filter(({ assembly, component, ended }) => !ended && numberOf.has(assembly) && numberOf.has(component))
      .map(
        ({ assembly, component, quantity }) =>
          `${numberOf.get(assembly)} < ${numberOf.get(component)} x ${Number(quantity)}`,
      );
    const found = bomItems.map(
      ({ product, component, quantity }) =>
        `${String(skuOf.get(product as number))} < ${String(skuOf.get(component as number))} x ${Number(quantity)}`,
    );
    expect(found.sort()).toEqual(expected.sort());
  });

  it('accounts for every line of the files', () => {
    const { lines } = readAdventureworks();
    const excluded = lines.filter(({ assembly, ended }) => assembly === '' || ended).length;
    expect(report.runs).toMatchObject([
      { stream: 'products', read: 504, unchanged: 0, changed: 504, quarantined: 0, excluded: 0 },
      { stream: 'boms', read: lines.length, unchanged: 0, changed: lines.length - excluded, quarantined: 0, excluded },
    ]);
    expect(exitCodeOf(report)).toBe(0);
    expect(report.items.product).toEqual({ delivered: 504 });
    expect(report.items.bom_item).toEqual({ delivered: lines.length - excluded });
  });

  it('sends nothing in a second sync', async () => {
    world.requests();
    const again = await world.sync();
    expect(world.requests()).toEqual({});
    expect(again.requests).toEqual({ sent: 0, throttled: 0, retried: 0 });
    expect(again.runs.map(({ read, unchanged }) => read - unchanged)).toEqual([0, 0]);
  });
});
