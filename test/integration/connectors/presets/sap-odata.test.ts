import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runHere } from '../../../support/cli/cli-here.ts';
import {
  createPresetWorld,
  deliveredTo,
  type PresetSource,
  runOf,
  stopAtEachRequest,
  textOfPreset,
} from '../../../support/rest/preset-world.ts';
import { loadText } from '../../../support/worlds/config-folder.ts';
import { API_KEY, type World } from '../../../support/worlds/world.ts';
import { productV2, productV4, type Sap, sapBom, sapBomItem, sapDay, sapEnv, startSap } from './sap-server.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const RAW = { ProductType: 'ROH' };

let sap: Sap;
let world: World | undefined;
let laterMs = 0;

beforeEach(async () => {
  laterMs = 0;
  sap = await startSap();
  for (const [of, product] of [
    [sap.productsV2, productV2],
    [sap.productsV4, productV4],
  ] as const) {
    of.put(product(100, 'Duct fan', { ProductStandardID: '4006381333931' }));
    of.put(product(200, 'Motor', { ProductType: 'HALB' }));
    of.put(product(300, 'Steel', RAW));
    of.put(product(400, 'Paint', RAW));
    of.put(product(500, 'Old fan', { IsMarkedForDeletion: true }));
  }
  // The motor stands twice in the bill, and a deleted item is no part of it.
  const items = [sapBomItem(1, 200, '1.000'), sapBomItem(2, 300, '2.500', { BillOfMaterialItemUnit: 'KG' })];
  const twice = [...items, sapBomItem(3, 200, '3.000'), sapBomItem(4, 400, '1.000', { IsDeleted: true })];
  sap.boms.put(sapBom(1, 100, twice, { BOMHeaderQuantityInBaseUnit: '10.000' }));
  const ended = { ValidityEndDate: sapDay('2030-12-31') };
  sap.boms.put(sapBom(2, 200, [sapBomItem(1, 400, '0.250', { ...ended, BillOfMaterialItemUnit: 'KG' })]));
  // Another plant makes the fan in another way, and so does an alternative.
  sap.boms.put(sapBom(3, 100, [sapBomItem(1, 400, '9.000')], { Plant: '1710' }));
  sap.boms.put(sapBom(4, 100, [sapBomItem(1, 400, '9.000')], { BillOfMaterialVariant: '2' }));
});
afterEach(async () => {
  await sap.server.close();
  await world?.remove();
  world = undefined;
});

const number = (short: number) => String(short).padStart(18, '0');
const WHOLE = {
  products: [`${number(100)} Duct fan`, `${number(200)} Motor`],
  materials: [`${number(300)} Steel`, `${number(400)} Paint`],
  bomItems: [
    `${number(100)} ← 1 C62 ${number(200)}`,
    `${number(100)} ← 2.5 KGM ${number(300)}`,
    `${number(100)} ← 3 C62 ${number(200)}`,
    `${number(200)} ← 0.25 KGM ${number(400)}`,
  ],
  published: [number(100), number(200)],
};

/** One of few records is more than the guard of the preset lets go. */
const change = (sources: PresetSource[]): void => {
  for (const source of sources) source.guard = { maxMissing: '50%', maxDrop: '50%' };
};
const beginWith = (preset: string): Promise<World> =>
  createPresetWorld(preset, { env: sapEnv(sap), size: 2, change, laterMs: () => laterMs });

/** The requests for rows of an entity set, since a call. */
const requestsOf = (name: string, from = 0) =>
  sap.server.calls.slice(from).filter(({ path }) => path.endsWith(`/${name}`));

/** The keys of the items that no row makes any more. */
async function missing(): Promise<string[]> {
  const { stdout } = await runHere(['items', '--state', 'missing', '-c', world?.configFile ?? '', '--json']);
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => (JSON.parse(line) as { key: string }).key);
}

describe.each(['sap-odata-v2', 'sap-odata-v4'])('the preset %s', (preset) => {
  const [products, product] =
    preset === 'sap-odata-v2'
      ? ([() => sap.productsV2, productV2] as const)
      : ([() => sap.productsV4, productV4] as const);
  const begin = () => beginWith(preset);

  it(`the preset ${preset} is a whole config without a problem`, async () => {
    const env = { DPP_BASE_URL: 'https://dpp.example.com', DPP_API_KEY: API_KEY, ...sapEnv(sap) };
    expect((await loadText(textOfPreset(preset), { env })).warnings).toEqual([]);
  });

  it(`products and bills of SAP are delivered and published (${preset})`, async () => {
    world = await begin();
    expect(await world.sync()).toMatchObject({ failedRuns: [], quarantined: 0, left: 0 });
    expect(deliveredTo(world)).toEqual(WHOLE);
    const { products: made, bomItems } = world.contents();
    expect(made[0]).toMatchObject({ gtin: '04006381333931' });
    // Quantities are for ten fans. 9999-12-31 is an open end.
    expect(bomItems.find(({ position }) => position === '0020')).toMatchObject({
      per_quantity: '10',
      valid_from: '2024-01-01',
      valid_to: null,
    });
    expect(bomItems.filter(({ valid_to: end }) => end === '2030-12-31')).toHaveLength(1);
  });

  it(`only what has changed in SAP is read and sent (${preset})`, async () => {
    world = await begin();
    await world.sync();
    sap.advance(HOUR_MS);
    await world.sync();
    world.requests();
    products().put(product(100, 'Duct fan, quiet', { ProductStandardID: '4006381333931' }));
    products().put(product(600, 'New fan'));
    sap.boms.put(sapBom(6, 600, [sapBomItem(1, 300, '1.000')]));
    const report = await world.sync();
    expect(runOf(report, 'products')).toMatchObject({ read: 2, changed: 2 });
    expect(runOf(report, 'boms')).toMatchObject({ read: 1, changed: 1 });
    expect(deliveredTo(world)).toMatchObject({
      products: [`${number(100)} Duct fan, quiet`, `${number(200)} Motor`, `${number(600)} New fan`],
      bomItems: [...WHOLE.bomItems, `${number(600)} ← 1 C62 ${number(300)}`],
    });
  });

  it(`the complete read of SAP finds what is gone, and reports a changed item of a bill whose header has not changed (${preset})`, async () => {
    world = await begin();
    await world.sync();
    sap.advance(HOUR_MS);
    await world.sync();
    products().remove(number(500));
    sap.boms.remove(`00000004/2/${number(100)}/1010`);
    sap.boms.putQuietly(sapBom(2, 200, [sapBomItem(1, 400, '0.500', { BillOfMaterialItemUnit: 'KG' })]));
    laterMs = DAY_MS;
    const report = await world.sync();
    expect(runOf(report, 'products')).toMatchObject({ read: 4, missedByChanges: 0 });
    expect(runOf(report, 'boms')).toMatchObject({ read: 2, missedByChanges: 1 });
    const checked = await runHere(['check', '-c', world.configFile]);
    expect(checked.stdout).toContain('do not show a changed item of a bill whose header has not changed');
  });

  it(`products that come and go while SAP is read disturb neither the read nor the others (${preset})`, async () => {
    world = await begin();
    const name = preset === 'sap-odata-v2' ? 'A_Product' : 'Product';
    sap.answerFirst(() => {
      if (requestsOf(name).length !== 2) return null;
      sap.answerFirst(null);
      // Without a second look 300 would be skipped: the rows before it are one less, and the number of rows stays the same.
      products().remove(number(100));
      products().put(product(700, 'Late fan'));
      return null;
    });
    expect(await world.sync()).toMatchObject({ failedRuns: [] });
    await world.sync();
    const made = deliveredTo(world);
    expect(made.materials).toEqual(WHOLE.materials);
    expect(made.products).toEqual([...WHOLE.products, `${number(700)} Late fan`]);
  });

  it(`a sync of SAP that is stopped at any page gives each record once when it runs again (${preset})`, async () => {
    const stopped = await stopAtEachRequest(sap.server, begin, (again) => expect(deliveredTo(again)).toEqual(WHOLE));
    expect(stopped).toBeGreaterThanOrEqual(5);
  });

  it(`a bill of SAP whose items were cut waits in quarantine, and no passport is published before it is whole (${preset})`, async () => {
    const cut = { results: [sapBomItem(1, 200, '1.000')], __next: `${sap.server.base}/sap/next` };
    sap.boms.put(sapBom(1, 100, [], { to_BillOfMaterialItem: cut }));
    world = await begin();
    expect(await world.sync()).toMatchObject({ failedRuns: [], quarantined: 1 });
    expect(deliveredTo(world).published).toEqual([]);
    sap.boms.put(sapBom(1, 100, [sapBomItem(1, 200, '1.000')]));
    expect(await world.sync()).toMatchObject({ quarantined: 0 });
    expect(deliveredTo(world).published).toEqual(WHOLE.published);
  });
});

describe('the preset sap-odata-v2', () => {
  it('the changes of products in SAP are asked for in the literals of OData 2', async () => {
    world = await beginWith('sap-odata-v2');
    await world.sync();
    sap.advance(HOUR_MS);
    const before = sap.server.calls.length;
    await world.sync();
    const asked = requestsOf('A_Product', before).map(({ query }) => query.get('$filter'));
    expect(new Set(asked)).toEqual(new Set([`LastChangeDateTime ge datetimeoffset'2026-03-01T07:50:00Z'`]));
    const ofBoms = requestsOf('MaterialBOM', before).map(({ query }) => query.get('$filter'));
    expect(ofBoms[0]).toBe(`Plant eq '1010' and LastChangeDateTime ge datetimeoffset'2026-03-01T07:50:00Z'`);
  });

  it('the origin of a product in SAP is that of the plant', async () => {
    world = await beginWith('sap-odata-v2');
    await world.sync();
    expect(world.contents().products.map((one) => one['country_of_origin'])).toEqual(['DE', 'DE']);
  });
});

describe('the preset sap-odata-v4', () => {
  it('a product that was deleted in SAP is missing after the read of changes', async () => {
    world = await beginWith('sap-odata-v4');
    await world.sync();
    sap.productsV4.remove(number(300));
    const report = await world.sync();
    expect(runOf(report, 'products')).toMatchObject({ missedByChanges: null });
    expect(await missing()).toEqual([number(300)]);
  });

  it('a service of SAP that gives no delta links any more is read completely each time, and a warning says so', async () => {
    world = await beginWith('sap-odata-v4');
    await world.sync();
    sap.loseDeltaLinks();
    for (const gone of [300, 400]) {
      sap.productsV4.remove(number(gone));
      const products = runOf(await world.sync(), 'products');
      expect(products?.warnings?.join(' ')).toContain('has no delta link');
      expect(await missing()).toContain(number(gone));
    }
  });
});
