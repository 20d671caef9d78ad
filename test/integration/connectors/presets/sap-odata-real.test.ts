// The presets for SAP against an OData server that others have written: the mock server of SAP Fiori tools.

import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/lib/json.ts';
import { removeFolder } from '../../../support/machine/remove-folder.ts';
import { createPresetWorld, deliveredTo, type PresetSource, runOf } from '../../../support/rest/preset-world.ts';
import type { World } from '../../../support/worlds/world.ts';
import { type FeMockserver, startFeMockserver } from '../fe-mockserver.ts';
import { sapBom, sapBomItem } from './sap-server.ts';

const number = (short: number) => String(short).padStart(18, '0');
const NAMES = new Map([
  [100, 'Duct fan'],
  [200, 'Motor'],
  [300, 'Steel'],
  [400, 'Paint'],
  [500, 'Rubber'],
]);
const EARLIER = Date.parse('2026-01-01T00:00:00Z');

let folder: string;
let server: FeMockserver;
let world: World | undefined;

function productRows(timeOf: (at: number) => string): JsonObject[] {
  return [...NAMES.keys()].map((short) => ({
    Product: number(short),
    ProductType: short < 300 ? 'FERT' : 'ROH',
    ProductGroup: 'L001',
    ProductStandardID: '',
    IsMarkedForDeletion: false,
    LastChangeDateTime: timeOf(EARLIER),
  }));
}

const dateOf = (at: number) => `/Date(${at})/`;
const isoOf = (at: number) => new Date(at).toISOString().replace('.000Z', 'Z');

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'dpp-fe-mockserver-'));
  const descriptions = [...NAMES].flatMap(([short, name]) =>
    ['DE', 'EN'].map((language) => ({
      Product: number(short),
      Language: language,
      ProductDescription: language === 'EN' ? name : `${name} (DE)`,
    })),
  );
  const plants = [...NAMES.keys()].map((short) => ({ Product: number(short), Plant: '1010', CountryOfOrigin: 'DE' }));
  const boms = [sapBom(1, 100, []), sapBom(2, 200, []), sapBom(3, 100, [], { Plant: '1710' })];
  const headers = boms.map((bom): JsonObject => {
    // The items are rows of another set here.
    const header = Object.entries(bom).filter(([name]) => name !== 'to_BillOfMaterialItem');
    return { ...Object.fromEntries(header), LastChangeDateTime: dateOf(EARLIER) };
  });
  const items = [
    { BillOfMaterial: '00000001', ...sapBomItem(1, 200, '1.000') },
    { BillOfMaterial: '00000001', ...sapBomItem(2, 300, '2.500', { BillOfMaterialItemUnit: 'KG' }) },
    { BillOfMaterial: '00000002', ...sapBomItem(1, 400, '0.250', { BillOfMaterialItemUnit: 'KG' }) },
    { BillOfMaterial: '00000003', ...sapBomItem(1, 400, '9.000') },
  ];
  server = await startFeMockserver(folder, {
    'product-v2': { A_Product: productRows(dateOf), A_ProductDescription: descriptions, A_ProductPlant: plants },
    'product-v4': { Product: productRows(isoOf), ProductDescription: descriptions },
    'bom-v2': { MaterialBOM: headers, MaterialBOMItem: items },
  });
});
afterEach(async () => {
  await world?.remove();
  world = undefined;
  await server.close();
  await removeFolder(folder);
});

const WHOLE = {
  products: [`${number(100)} Duct fan`, `${number(200)} Motor`],
  materials: [`${number(300)} Steel`, `${number(400)} Paint`, `${number(500)} Rubber`],
  bomItems: [
    `${number(100)} ← 1 C62 ${number(200)}`,
    `${number(100)} ← 2.5 KGM ${number(300)}`,
    `${number(200)} ← 0.25 KGM ${number(400)}`,
  ],
  published: [number(100), number(200)],
};

const begin = (preset: string, change?: (sources: PresetSource[]) => void): Promise<World> =>
  createPresetWorld(preset, {
    env: { SAP_URL: server.base, SAP_USER: 'DPP', SAP_PASSWORD: 'sap-password-1', SAP_PLANT: '1010' },
    size: 2,
    ...(change && { change }),
  });

describe('the presets for SAP against the mock server of SAP Fiori tools', () => {
  it('products and bills over OData 2 are read in pages, counted and published', async () => {
    world = await begin('sap-odata-v2');
    expect(await world.sync()).toMatchObject({ failedRuns: [], quarantined: 0, left: 0 });
    expect(deliveredTo(world)).toEqual(WHOLE);
    const pages = server.requests.filter((address) => address.includes('/A_Product?'));
    // Five products in pages of two, which overlap by one. The last page has the last row alone.
    expect(pages).toHaveLength(5);
  });

  it('products over OData 4 are read, and an ignored request for a delta link is reported', async () => {
    world = await begin('sap-odata-v4');
    const report = await world.sync();
    expect(report).toMatchObject({ failedRuns: [], quarantined: 0, left: 0 });
    expect(deliveredTo(world)).toEqual(WHOLE);
    expect(runOf(report, 'products')?.warnings?.join()).toContain('has no delta link');
  });

  it('the changes of products over OData 4 are read by a filter, in pages that the request decides', async () => {
    world = await begin('sap-odata-v4', (sources) => {
      for (const { streams } of sources) {
        streams['products'] = {
          ...streams['products'],
          headers: {},
          query: {
            $count: 'true',
            $expand: '_ProductDescription',
            $orderby: 'Product',
            $skip: '{{offset}}',
            $top: '{{size}}',
          },
          page: { by: 'offset', size: 2, total: '$["@odata.count"]' },
          changes: { by: '$.LastChangeDateTime', query: { $filter: 'LastChangeDateTime ge {{since}}' } },
        };
      }
    });
    await world.sync();
    await server.write('PATCH', 'product-v4', `ProductDescription(Product='${number(100)}',Language='EN')`, {
      ProductDescription: 'Duct fan, quiet',
    });
    const now = isoOf(Math.floor(Date.now() / 1000) * 1000);
    await server.write('PATCH', 'product-v4', `Product('${number(100)}')`, { LastChangeDateTime: now });
    const report = await world.sync();
    expect(runOf(report, 'products')).toMatchObject({ read: 1, changed: 1 });
    expect(deliveredTo(world).products).toEqual([`${number(100)} Duct fan, quiet`, `${number(200)} Motor`]);
  });
});
