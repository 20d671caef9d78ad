import { afterEach, expect, it } from 'vitest';
import { exitCodeOf } from '../../../src/observe/standing.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { text } from '../../support/ledger/items.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

let world: World;
afterEach(() => world.remove());

/** The products of the first sync, in which an import proves itself, and of the second one. */
const FIRST = 40;
const COUNT = 60;
const rows = (count: number): string =>
  `sku,name\n${Array.from({ length: count }, (_, at) => `P-${at + 1},Chair ${at + 1}\n`).join('')}`;

const command = (...args: string[]) => runHere([...args, '-c', world.configFile, '--json']);

it('products that the platform has made twice wait for a person, who names the right ones', async () => {
  world = await createWorld({
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
      passports: { init: 'when-complete', publish: 'auto' },
    },
    files: { 'products.csv': rows(FIRST) },
    sandbox: {
      gates: { productComplete: { enabled: false }, bomPresent: { enabled: false }, materialData: { enabled: false } },
    },
    profile: { imports: { createsMin: 3 }, list: { lagMs: 0 }, settlingDelayMs: { reset: 20, timeout: 20 } },
  });
  expect(exitCodeOf(await world.sync())).toBe(0);
  world.sandbox.setLies(['product.import:doubles-from-two']);
  world.write('products.csv', rows(COUNT));
  const report = await world.sync();
  expect(exitCodeOf(report)).toBe(4);
  const products = (): string[] => world.contents().products.map(({ sku }) => text(sku));
  const twice = [...new Set(products().filter((sku, at, all) => all.indexOf(sku) !== at))];
  expect(twice.length).toBeGreaterThan(1);
  expect(report.items.product).toEqual({ in_doubt: twice.length, delivered: COUNT - twice.length });
  const made = products().length;

  world.requests();
  expect(exitCodeOf(await world.sync())).toBe(4);
  expect([world.requests()['product.create'], world.requests()['product.import']]).toEqual([undefined, undefined]);

  const idOf = (sku: string): string =>
    JSON.stringify(world.contents().products.find((product) => product['sku'] === sku)?.['id']);
  for (const sku of twice) {
    const settled = await command('settle', '--delivered', '--id', idOf(sku), sku);
    expect(settled.exitCode, JSON.stringify(settled.json())).toBe(0);
  }
  const after = await world.sync();
  expect(after.items.product).toEqual({ delivered: COUNT });
  expect(products()).toHaveLength(made);
  expect([exitCodeOf(after), after.passports]).toEqual([0, { published: COUNT }]);
});
