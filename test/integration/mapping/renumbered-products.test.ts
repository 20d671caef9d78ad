import { afterEach, expect, it } from 'vitest';
import { covers } from '../../support/docs/reliability.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

let world: World;
afterEach(() => world.remove());

const stream = (name: string, key: string[]) => ({ [name]: { path: `./${name}.csv`, key } });

const SOURCE = {
  id: 'erp',
  connector: 'csv',
  streams: {
    ...stream('materials', ['NR']),
    ...stream('products', ['NR']),
    ...stream('boms', ['PRODUCT', 'MATERIAL']),
  },
  mappings: [
    { stream: 'materials', to: 'material', key: 'row.NR', fields: { code: 'row.NR', name: 'row.NR' } },
    { stream: 'products', to: 'product', key: 'row.NR', fields: { sku: 'row.SKU', name: 'row.NR' } },
    {
      stream: 'boms',
      to: 'bom_item',
      key: 'row.PRODUCT + "/" + row.MATERIAL',
      refs: { product: 'row.PRODUCT', material: 'row.MATERIAL' },
      fields: { quantity: 'decimal(row.QUANTITY)' },
    },
  ],
  guard: { maxMissing: '100%', maxDrop: '100%' },
};

/** An export with these products, each with one BOM item. */
function exportOf(skus: Record<string, string>): Record<string, string> {
  const lines = (header: string, rows: readonly string[]) => `${[header, ...rows].join('\n')}\n`;
  return {
    'materials.csv': lines('NR', ['M1']),
    'products.csv': lines(
      'NR,SKU',
      Object.entries(skus).map(([key, sku]) => `${key},${sku}`),
    ),
    'boms.csv': lines(
      'PRODUCT,MATERIAL,QUANTITY',
      Object.keys(skus).map((key) => `${key},M1,2`),
    ),
  };
}

function write(skus: Record<string, string>): void {
  world.writeAll(exportOf(skus));
}

it(
  'a product whose SKU another one has taken comes back whole under a new SKU: with its BOM item and its passport',
  covers('changed-amid', 'I4', 'I5'),
  async () => {
    world = await createWorld({
      config: { sources: [SOURCE], passports: { init: 'when-complete', publish: 'auto' } },
      files: exportOf({ A: 'S-A', X: 'S-1' }),
      profile: { list: { lagMs: 0 } },
      sandbox: { gates: { materialData: { enabled: false }, productComplete: { enabled: false } } },
    });
    const first = await world.sync();
    expect(first.fault).toBeNull();
    expect(first.passports).toEqual({ published: 2 });
    // The ERP gives the product another number, and later the old number to a new product.
    write({ A: 'S-A', Y: 'S-1' });
    await world.sync();
    write({ A: 'S-A', Y: 'S-1', X: 'S-2' });
    const last = await world.sync({ accept: ['erp'] });
    expect(last.fault).toBeNull();
    const { products, bomItems, publications } = world.contents();
    expect(new Set(products.map(({ sku }) => sku))).toEqual(new Set(['S-1', 'S-2', 'S-A']));
    expect(products).toHaveLength(3);
    const made = products.find(({ sku }) => sku === 'S-2');
    expect(bomItems.filter(({ product }) => product === made?.['id'])).toHaveLength(1);
    // Nobody has said whether the BOM item of the new product is at the platform, so it is not created.
    expect(bomItems).toHaveLength(3);
    expect(last.items.bom_item).toEqual({ delivered: 2, blocked: 1 });
    expect(publications).toHaveLength(3);
    expect(last.passports).toEqual({ published: 3 });
  },
);
