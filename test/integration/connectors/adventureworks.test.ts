import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exitCodeOf } from '../../../src/observe/standing.ts';
import type { SyncReport } from '../../../src/operations/runtime.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { adventureworksSources, readAdventureworks } from '../../support/connectors/adventureworks.ts';
import { describeRealExport } from '../../support/connectors/real-exports.ts';
import { text } from '../../support/ledger/items.ts';
import { describeRedis, type RedisServer, startRedis } from '../../support/servers/redis.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

describeRealExport('adventureworks', 'AdventureWorks', (folder) => {
  describe('over the embedded queue', () => suite(folder, 'embedded'));
  describeRedis('over Redis', () => suite(folder, 'redis'));

  it('a plan of AdventureWorks is applied as it was shown, and leaves nothing to plan', async () => {
    const passports = { init: 'when-complete', publish: 'auto' };
    const config = { sources: adventureworksSources(folder), passports };
    const world = await createWorld({ config, sandbox: { gates: { materialData: { enabled: false } } } });
    const file = join(world.folder, 'plan.jsonl');
    const dpp = (...args: string[]) => runHere([...args, '-c', world.configFile]);
    try {
      expect((await dpp('plan', '--out', file, '--exit-code')).exitCode).toBe(4);
      const planned = readFileSync(file, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as PlanLine);
      const keysOf = (kind: string) =>
        planned.flatMap((line) => (line.action?.startsWith('create') && line.kind === kind ? [line.key] : []));
      expect((await dpp('sync', '--plan', file)).exitCode).toBe(4);
      const { products, bomItems } = world.contents();
      expect(keysOf('product')).toHaveLength(products.length);
      expect(keysOf('bom_item')).toHaveLength(bomItems.length);
      expect((await dpp('plan', '--exit-code')).exitCode).toBe(0);
    } finally {
      await world.remove();
    }
  });
});

interface PlanLine {
  action?: string;
  kind?: string;
  key?: string;
}

const byText = (a: string, b: string) => (a < b ? -1 : 1);

function suite(folder: string, queue: 'embedded' | 'redis'): void {
  let world: World;
  let redis: RedisServer | null = null;
  let report: SyncReport;

  beforeAll(async () => {
    redis = queue === 'redis' ? await startRedis() : null;
    const config = {
      sources: adventureworksSources(folder),
      passports: { init: 'when-complete', publish: 'auto' },
    };
    const sandbox = { gates: { materialData: { enabled: false } } };
    world = await createWorld({ config, sandbox, queue: redis?.url ?? 'embedded' });
    report = await world.sync();
  });
  afterAll(async () => {
    await world.remove();
    await redis?.stop();
  });

  it('a sync of AdventureWorks delivers every product of the file once, as the file has it', () => {
    const expected = readAdventureworks(folder).products.map(({ name, number }) => `${number} ${name} DRAFT US`);
    const found = world
      .contents()
      .products.map((row) => [row['sku'], row['name'], row['status'], row['country_of_origin']].map(text).join(' '));
    expect(found).toHaveLength(504);
    expect(found.toSorted(byText)).toEqual(expected.toSorted(byText));
  });

  it('a sync of AdventureWorks delivers every BOM line in force whose parent and component exist, with the right ids', () => {
    const { products, lines } = readAdventureworks(folder);
    const { products: remote, bomItems } = world.contents();
    const skuOf = new Map(remote.map(({ id, sku }) => [id, text(sku)]));
    const numberOf = new Map(products.map(({ id, number }) => [id, number]));
    const expected = lines
      .filter(({ assembly, component, ended }) => !ended && numberOf.has(assembly) && numberOf.has(component))
      .map((line) => `${numberOf.get(line.assembly)} < ${numberOf.get(line.component)} x ${Number(line.quantity)}`);
    const found = bomItems.map(
      ({ product, component, quantity }) => `${skuOf.get(product)} < ${skuOf.get(component)} x ${Number(quantity)}`,
    );
    expect(found.length).toBeGreaterThan(2000);
    expect(found.toSorted(byText)).toEqual(expected.toSorted(byText));
  });

  it('a sync of AdventureWorks accounts for every line of the files', () => {
    const { lines } = readAdventureworks(folder);
    const excluded = lines.filter(({ assembly, ended }) => assembly === '' || ended).length;
    expect(report.runs).toMatchObject([
      { stream: 'products', read: 504, unchanged: 0, changed: 504, quarantined: 0, excluded: 0 },
      { stream: 'boms', read: lines.length, unchanged: 0, changed: lines.length - excluded, quarantined: 0, excluded },
    ]);
    expect(exitCodeOf(report)).toBe(4);
    expect(report.items.product).toEqual({ delivered: 504 });
    expect(report.items.bom_item).toEqual({ delivered: lines.length - excluded });
  });

  it('a sync of AdventureWorks publishes each product with a bill of materials once, and the business rule blocks the others', async () => {
    const { products, lines } = readAdventureworks(folder);
    const numbers = new Map(products.map(({ id, number }) => [id, number]));
    const parents = new Set(
      lines
        .filter(({ assembly, component, ended }) => !ended && numbers.has(assembly) && numbers.has(component))
        .map(({ assembly }) => numbers.get(assembly)),
    );
    const published = world.contents().publications.map(({ sku }) => text(sku));
    expect(published.toSorted(byText)).toEqual([...parents].map(text).toSorted(byText));
    expect(report.passports).toEqual({ published: parents.size, blocked: products.length - parents.size });

    const gated = products.find(({ number }) => !parents.has(number))?.id ?? '';
    const runtime = await world.open();
    const passport = await runtime.reads.passport(gated);
    await runtime.close();
    expect(passport).toMatchObject({ state: 'blocked', acknowledged: 'initialized', reason: { status: 409 } });
    expect(passport?.reason?.message).toContain('bom_items is missing');
  });

  it('a second sync of AdventureWorks sends nothing', async () => {
    world.requests();
    const again = await world.sync();
    expect(world.requests()).toEqual({});
    expect(again.requests).toEqual({ sent: 0, throttled: 0, retried: 0 });
    expect(again.runs.map(({ read, unchanged }) => read - unchanged)).toEqual([0, 0]);
  });
}
