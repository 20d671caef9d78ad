import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { exitCodeOf } from '../../../src/observe/standing.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const SOURCE = {
  sources: [
    {
      id: 'erp',
      connector: 'csv',
      streams: {
        products: { path: './products.csv', key: ['sku'] },
        materials: { path: './materials.csv', key: ['code'] },
      },
      mappings: [
        { stream: 'products', to: 'product', key: 'row.sku', fields: { sku: 'row.sku', name: 'row.name' } },
        { stream: 'materials', to: 'material', key: 'row.code', fields: { code: 'row.code', name: 'row.name' } },
      ],
    },
  ],
};
const COUNT = 12;

function rows(head: string, prefix: string, name: string): string {
  const lines = Array.from({ length: COUNT }, (_, index) => `${prefix}${index},${name} ${index}`);
  return `${[head, ...lines].join('\n')}\n`;
}

/** Gives the program a new ledger, and a key of the API that shares 12 to 15 characters in a row with each of these ids. */
function shareCharacters(world: World, ids: readonly string[], name: string): void {
  const parts = ids.map((id, index) => (index % 2 === 0 ? id.slice(-12) : id.slice(9, 24)));
  const key = `dpp_${parts.join('_')}`.slice(0, 204);
  world.sandbox.ensureKey({ organization: 'acme', name, scopes: ['read', 'write', 'publish'], key });
  const config = parse(readFileSync(world.configFile, 'utf8')) as { target: { apiKey: string }; ledger: string };
  config.target.apiKey = key;
  config.ledger = `./data/${name}.db`;
  world.write('dpp-sync.yaml', stringify(config));
}

async function syncCode(world: World, accept: string[] = []): Promise<number> {
  return exitCodeOf(await world.sync({ accept }));
}

function idsOf(items: readonly object[]): string[] {
  return items.map((item) => String((item as { id: unknown }).id));
}

it('ids that share up to 15 characters with the key are ids, at the first contact, in answers and in lists', async () => {
  const world = await createWorld({
    config: SOURCE,
    sandbox: { ids: 'uuid' },
    files: {
      'products.csv': rows('sku,name', 'P-', 'Chair'),
      'materials.csv': rows('code,name', 'M-', 'Oak'),
    },
  });
  try {
    // Another ledger has created everything, so the first contact finds all items in the lists.
    expect(await syncCode(world)).toBe(0);
    const { products, materials } = world.contents();
    shareCharacters(world, [...idsOf(products).slice(0, 6), ...idsOf(materials).slice(0, 6)], 'second');
    expect(await syncCode(world)).toBe(0);
    expect(world.contents().products).toHaveLength(COUNT);

    // The same ids in the answers to changes.
    world.write('materials.csv', rows('code,name', 'M-', 'Beech'));
    world.write('products.csv', rows('sku,name', 'P-', 'Table'));
    expect(await syncCode(world, ['erp'])).toBe(0);
    const names = world.contents().materials.map((material) => String((material as { name: unknown }).name));
    expect(names.filter((name) => name.startsWith('Beech'))).toHaveLength(COUNT);
  } finally {
    await world.remove();
  }
});
