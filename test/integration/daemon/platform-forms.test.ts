import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { exitCodeOf } from '../../../src/observe/standing.ts';
import type { SyncReport } from '../../../src/operations/runtime.ts';
import type { SandboxOptions } from '../../../src/sandbox/settings/settings.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const COUNT = 30;
const SOURCES = [
  {
    id: 'erp',
    connector: 'csv',
    streams: {
      products: { path: './products.csv', key: ['sku'] },
      materials: { path: './materials.csv', key: ['code'] },
      boms: { path: './boms.csv', key: ['sku', 'code'] },
    },
    mappings: [
      {
        stream: 'products',
        to: 'product',
        key: 'row.sku',
        fields: { sku: 'row.sku', name: 'row.name', country_of_origin: '"DE"' },
      },
      {
        stream: 'materials',
        to: 'material',
        key: 'row.code',
        fields: { code: 'row.code', name: 'row.name', origin_country: '"DE"' },
      },
      {
        stream: 'boms',
        to: 'bom_item',
        key: 'row.sku + "/" + row.code',
        refs: { product: 'row.sku', material: 'row.code' },
        fields: { quantity: 'row.quantity', unit: 'row.unit' },
      },
    ],
  },
];

function csv(head: string, row: (at: number) => string): string {
  return `${[head, ...Array.from({ length: COUNT }, (_, at) => row(at))].join('\n')}\n`;
}

const FILES = {
  'products.csv': csv('sku,name', (at) => `P-${at},Chair ${at}`),
  'materials.csv': csv('code,name', (at) => `M-${at},Oak ${at}`),
  'boms.csv': csv('sku,code,quantity,unit', (at) => `P-${at},M-${at},${at + 1},KGM`),
};

const JSON_API = {
  list: { entry: 'attributes' },
  requests: {
    product: '{"data": {"type": "products", "attributes": "$fields"}}',
    material: '{"data": {"type": "materials", "attributes": "$fields"}}',
    bom_item: '{"data": {"type": "bom-items", "attributes": "$fields"}}',
  },
};

const PLATFORMS: { name: string; sandbox: SandboxOptions; profile: Record<string, unknown> }[] = [
  { name: 'entries with attributes', sandbox: { entries: 'attributes' }, profile: { list: { entry: 'attributes' } } },
  {
    name: 'JSON:API with UUIDs, in answers, lists and requests',
    sandbox: { entries: 'attributes', requests: 'data.attributes', idAt: 'data.id', ids: 'uuid' },
    profile: JSON_API,
  },
  {
    name: 'ids only in `url`',
    sandbox: { idAt: 'url' },
    profile: { idUrlPaths: { product: ['url'], material: ['url'], bom_item: ['url'] } },
  },
  {
    name: 'texts as ids, only in `_links.self.href`',
    sandbox: { idAt: '_links.self.href', ids: 'text' },
    profile: { idUrlPaths: { product: ['_links.self.href'], material: ['_links.self.href'] } },
  },
  { name: 'creates that answer with a Location only', sandbox: { answers: { '*': 'location' } }, profile: {} },
  {
    name: 'UUIDs, and creates that answer with a Location only',
    sandbox: { answers: { '*': 'location' }, ids: 'uuid' },
    profile: {},
  },
];

let world: World | null = null;
afterEach(async () => {
  await world?.remove();
  world = null;
});

async function open(sandbox: SandboxOptions, profile: Record<string, unknown>): Promise<World> {
  world = await createWorld({
    config: { sources: SOURCES, passports: { publish: 'auto' } },
    sandbox,
    files: FILES,
    profile: { ...profile, imports: { creates: 'off' } },
    target: { bom: 'create' },
  });
  return world;
}

/** Fields of all items, as the platform has them. */
function contentOf(platform: World) {
  const { products, materials, bomItems } = platform.contents();
  const sorted = (items: object[], field: string): string[] =>
    items.map((item) => String((item as Record<string, unknown>)[field])).sort();
  return {
    products: sorted(products, 'sku'),
    materials: sorted(materials, 'code'),
    names: sorted(materials, 'name'),
    bomItems: bomItems.length,
    parts: new Set(sorted(bomItems, 'material')).size,
  };
}

const named = (row: (at: number) => string): string[] => Array.from({ length: COUNT }, (_, at) => row(at)).sort();

async function exitCode(sync: Promise<SyncReport>): Promise<number> {
  return exitCodeOf(await sync);
}

describe('a platform of another form', () => {
  it.each(PLATFORMS)(
    'a platform of another form is synced without extra lists: $name',
    async ({ sandbox, profile }) => {
      const platform = await open(sandbox, profile);
      expect(await exitCode(platform.sync())).toBe(0);
      const expected = {
        products: named((at) => `P-${at}`),
        materials: named((at) => `M-${at}`),
        names: named((at) => `Oak ${at}`),
        bomItems: COUNT,
        parts: COUNT,
      };
      expect(contentOf(platform)).toEqual(expected);
      const first = platform.requests();
      // One listing of each kind at the first contact, and none for the ids.
      expect(first['product.list']).toBeLessThanOrEqual(4);
      expect(first['material.list']).toBeLessThanOrEqual(4);

      // A change.
      platform.write(
        'materials.csv',
        csv('code,name', (at) => `M-${at},Beech ${at}`),
      );
      expect(await exitCode(platform.sync())).toBe(0);
      expect(contentOf(platform)).toEqual({ ...expected, names: named((at) => `Beech ${at}`) });
      expect(platform.requests()['material.update']).toBe(COUNT);

      // A second ledger finds everything in the lists.
      const config = parse(readFileSync(platform.configFile, 'utf8')) as { ledger: string; target: { bom: string } };
      config.ledger = './data/second.db';
      config.target.bom = 'assume-present';
      platform.write('dpp-sync.yaml', stringify(config));
      expect(await exitCode(platform.sync())).toBe(0);
      expect(contentOf(platform)).toEqual({ ...expected, names: named((at) => `Beech ${at}`) });
      const third = platform.requests();
      expect(third['product.create'] ?? 0).toBe(0);
      expect(third['material.create'] ?? 0).toBe(0);
    },
  );

  it.each([
    ['an address in place of the id', { idAt: 'url' }, /idUrlPaths.*url/],
    ['an address in a link', { idAt: '_links.self.href' }, /idUrlPaths.*_links\.self\.href/],
  ] as [string, SandboxOptions, RegExp][])(
    'a platform whose profile does not name the place of its ids is refused with the setting: %s',
    async (_name, sandbox, message) => {
      const platform = await open(sandbox, { idPaths: { product: ['id', 'url', '_links.self.href'] } });
      await platform.sync({ waitMs: 2_000 });
      platform.requests();
      const report = await platform.sync({ waitMs: 2_000 });
      expect(exitCodeOf(report)).toBe(3);
      expect(report.fault?.message).toMatch(message);
    },
  );
});
