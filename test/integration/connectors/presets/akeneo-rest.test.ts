import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createPresetWorld,
  deliveredTo,
  type PresetWorldOptions,
  runOf,
  stopAtEachRequest,
  textOfPreset,
} from '../../../support/rest/preset-world.ts';
import { loadText } from '../../../support/worlds/config-folder.ts';
import { API_KEY, type World } from '../../../support/worlds/world.ts';
import { type Akeneo, type AkeneoRow, akeneoEnv, startAkeneo } from './akeneo-server.ts';

const DAY_MS = 86_400_000;
let pim: Akeneo;
let world: World | undefined;
let laterMs = 0;

beforeEach(async () => {
  laterMs = 0;
  pim = await startAkeneo();
});
afterEach(async () => {
  await pim.close();
  await world?.remove();
  world = undefined;
});

const value = (data: unknown, locale: string | null = null, scope: string | null = null) => ({ data, locale, scope });
const uuid = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

function product(number: number, name: string, more: object = {}): AkeneoRow {
  return {
    uuid: uuid(number),
    enabled: true,
    family: 'fans',
    parent: null,
    values: { sku: [value(`FAN-${number}`)], name: [value(`DE ${name}`, 'de_DE'), value(name, 'en_US')] },
    associations: {},
    quantified_associations: {},
    updated: pim.now - DAY_MS,
    ...more,
  } as unknown as AkeneoRow;
}

const material = (number: number, name: string, amount: unknown) =>
  product(number, name, {
    family: 'materials',
    values: {
      sku: [value(`MAT-${number}`)],
      name: [value(name)],
      recycled_content: [value({ amount, unit: 'PERCENT' })],
    },
  });

const partsOf = (products: object[], models: object[] = []) => ({
  quantified_associations: { BOM: { products, product_models: models } },
});

const model = (code: string, updated = pim.now - DAY_MS): AkeneoRow =>
  ({ code, parent: null, values: { name: [value(`Model ${code}`)] }, updated }) as unknown as AkeneoRow;

/** Seven products, two materials and a model: three pages of products. */
function fill(): void {
  pim.models = [model('motors')];
  pim.products = [
    product(
      1,
      'Duct fan',
      partsOf(
        [
          { uuid: uuid(2), quantity: 2 },
          { uuid: uuid(9), quantity: 3 },
        ],
        [{ identifier: 'motors', quantity: 1 }],
      ),
    ),
    ...[2, 3, 4, 5, 6, 7].map((number) => product(number, `Fan ${number}`)),
    material(8, 'Steel', '35.5000'),
    material(9, 'Paint', 20),
  ];
}

const WHOLE = {
  products: ['FAN-1 Duct fan', ...[2, 3, 4, 5, 6, 7].map((number) => `FAN-${number} Fan ${number}`)],
  materials: ['MAT-8 Steel', 'MAT-9 Paint', 'motors Model motors'],
  bomItems: ['FAN-1 ← 1 C62 motors', 'FAN-1 ← 2 C62 FAN-2', 'FAN-1 ← 3 C62 MAT-9'],
  published: [1, 2, 3, 4, 5, 6, 7].map((number) => `FAN-${number}`),
};

async function begin({ size = 3, ...more }: Partial<PresetWorldOptions> = {}): Promise<World> {
  return await createPresetWorld('akeneo-rest', { env: akeneoEnv(pim), size, laterMs: () => laterMs, ...more });
}

/** The queries of the lists since the last call. */
function listsSince(from = 0) {
  return pim.server.calls.slice(from).filter(({ path }) => path.startsWith('/api/rest/'));
}

describe('the preset akeneo-rest', () => {
  it('the preset akeneo-rest is a whole config without a problem', async () => {
    const env = { DPP_BASE_URL: 'https://dpp.example.com', DPP_API_KEY: API_KEY, ...akeneoEnv(pim) };
    expect((await loadText(textOfPreset('akeneo-rest'), { env })).warnings).toEqual([]);
  });

  it('products of Akeneo become products and materials, their associations become BOM items, and passports are published', async () => {
    fill();
    world = await createPresetWorld('akeneo-rest', { env: akeneoEnv(pim) });
    expect(await world.sync()).toMatchObject({ failedRuns: [], quarantined: 0, left: 0 });
    expect(deliveredTo(world)).toEqual(WHOLE);
    world.requests();
    await world.sync();
    expect(world.requests()).toEqual({});
    const fractions = world.contents().materials.map(({ code, ...one }) => [code, one['recycled_mass_fraction']]);
    expect(Object.fromEntries(fractions)).toMatchObject({ 'MAT-8': '0.355', 'MAT-9': '0.2' });
  });

  it('a value is used in its locale and channel, and the values of other locales are not', async () => {
    const described = {
      values: {
        sku: [value('FAN-1')],
        name: [value('Rohrventilator', 'de_DE'), value('Duct fan', 'en_US')],
        description: [value('<p>For tablets</p>', 'en_US', 'tablet'), value('<p>For shops</p>', 'en_US', 'ecommerce')],
        country: [value('germany')],
        ean: [value('4006381333931')],
      },
    };
    pim.products = [product(1, '', described), product(2, '', { values: { name: [value('Nur deutsch', 'de_DE')] } })];
    world = await begin();
    expect(await world.sync()).toMatchObject({ quarantined: 1 });
    expect(world.contents().products).toMatchObject([
      { name: 'Duct fan', description: 'For shops', country_of_origin: 'DE', gtin: '04006381333931' },
    ]);
  });

  it('a product of Akeneo without values and associations, which PHP prints as empty lists, is named by its uuid', async () => {
    pim.products = [product(1, '', { family: null, values: [], quantified_associations: [] })];
    world = await begin();
    expect(await world.sync()).toMatchObject({ quarantined: 0 });
    expect(world.contents().products).toMatchObject([{ sku: uuid(1), name: uuid(1) }]);
  });

  it('the changes of Akeneo are asked for in the time zone of the PIM, and only changed products are sent', async () => {
    await pim.close();
    pim = await startAkeneo({ offsetHours: 9 });
    fill();
    const change: PresetWorldOptions['change'] = (sources) => {
      for (const { changes } of Object.values(sources[0]?.streams ?? {}))
        Object.assign(changes as object, { zone: 'Asia/Tokyo' });
    };
    world = await begin({ change });
    await world.sync();
    world.requests();
    const before = pim.server.calls.length;
    pim.now += DAY_MS;
    pim.products[4] = product(5, 'Fan 5 quiet', { updated: pim.now - 60_000 });
    const report = await world.sync();
    expect(runOf(report, 'products')).toMatchObject({ read: 1, changed: 1 });
    expect(world.requests()).toEqual({ 'product.list': 1, 'product.import': 1 });
    expect(deliveredTo(world).products).toContain('FAN-5 Fan 5 quiet');
    const asked = listsSince(before).map(({ query }) => query.get('search'));
    // The first read began at 12:00 UTC. The search index may be an hour late.
    expect(asked.at(-1)).toBe('{"updated":[{"operator":">","value":"2026-06-01 20:00:00"}]}');
  });

  it.each([-11, 14])(
    'a change is found although the preset does not know the time zone of the PIM: UTC %d',
    async (hours) => {
      await pim.close();
      pim = await startAkeneo({ offsetHours: hours });
      fill();
      pim.products = pim.products.map((row) => ({ ...row, updated: pim.now - 3 * DAY_MS }));
      world = await begin();
      await world.sync();
      pim.now += 60_000;
      pim.products[4] = product(5, 'Fan 5 quiet', { updated: pim.now });
      expect(runOf(await world.sync(), 'products')).toMatchObject({ read: 1, changed: 1 });
    },
  );

  it('the variants of a changed product model of Akeneo are read again, although they have an older time', async () => {
    fill();
    pim.products[3] = product(4, 'Fan 4', { parent: 'motors' });
    world = await begin();
    await world.sync();
    pim.now += 5 * DAY_MS;
    // A variant has the values of its model.
    pim.products[3] = product(4, 'Fan 4 with a new motor', { parent: 'motors', updated: pim.now - 9 * DAY_MS });
    pim.models = [model('motors', pim.now - 60_000)];
    const report = await world.sync();
    expect(runOf(report, 'products')).toMatchObject({ read: 1, changed: 1 });
    expect(report.warnings).toEqual([]);
    expect(deliveredTo(world).products).toContain('FAN-4 Fan 4 with a new motor');
  });

  it('the complete read of Akeneo finds a product that was deleted, and reports a change that the changes have missed', async () => {
    fill();
    world = await begin();
    await world.sync();
    laterMs = 8 * DAY_MS;
    pim.now += 8 * DAY_MS;
    pim.products = pim.products.filter(({ uuid: id }) => id !== uuid(7));
    pim.products[2] = product(3, 'Fan 3 changed in the database', { updated: pim.now - 9 * DAY_MS });
    expect(runOf(await world.sync(), 'products')).toMatchObject({ missing: 1, missedByChanges: 1 });
  });

  it('products that come and go while Akeneo is read disturb neither the read nor the others', async () => {
    fill();
    world = await begin();
    pim.server.onCall = (number) => {
      if (number !== 4) return;
      // Before the page that is read: one product comes, and one goes. Behind it a product changes.
      pim.products = [product(0, 'New fan', { updated: pim.now }), ...pim.products.slice(1)];
      pim.products[5] = product(6, 'Fan 6 changed', { updated: pim.now });
    };
    expect(await world.sync()).toMatchObject({ failedRuns: [] });
    const first = [
      'FAN-1 Duct fan',
      ...[2, 3, 4, 5].map((n) => `FAN-${n} Fan ${n}`),
      'FAN-6 Fan 6 changed',
      'FAN-7 Fan 7',
    ];
    expect(deliveredTo(world).products).toEqual(first);
    pim.server.onCall = null;
    await world.sync();
    expect(deliveredTo(world).products).toEqual(['FAN-0 New fan', ...first]);
  });

  it('a sync of Akeneo that is stopped at any page gives each record once when it runs again', async () => {
    fill();
    const stopped = await stopAtEachRequest(pim.server, begin, (again) => expect(deliveredTo(again)).toEqual(WHOLE));
    // The login, one page of models, and four pages of products.
    expect(stopped).toBe(6);
  });

  it('a token of Akeneo that ends in the middle of a read is renewed with the refresh token', async () => {
    fill();
    pim.requestsOfToken = 2;
    world = await begin();
    expect(await world.sync()).toMatchObject({ failedRuns: [] });
    expect(pim.grants).toEqual(['password', 'refresh_token', 'refresh_token']);
    expect(deliveredTo(world)).toEqual(WHOLE);
  });

  it('a full page of Akeneo without the address of the next page is an incomplete read, and no product is gone', async () => {
    fill();
    world = await begin();
    await world.sync();
    laterMs = 8 * DAY_MS;
    pim.losesNext = true;
    const { failedRuns } = await world.sync();
    expect(failedRuns).toMatchObject([
      { error: expect.stringContaining('a full page of 3 rows leads to no other page') },
    ]);
    pim.losesNext = false;
    expect(runOf(await world.sync(), 'products')).toMatchObject({ read: 9, missing: 0 });
  });

  it('every page of Akeneo is asked for with the locale of the search, which the address of the next page lacks', async () => {
    fill();
    const change: PresetWorldOptions['change'] = (sources) => {
      Object.assign(sources[0]?.streams['products']?.['query'] as object, { search_locale: 'en_US' });
    };
    world = await begin({ change });
    await world.sync();
    const products = listsSince().filter(({ path }) => path.endsWith('products-uuid'));
    expect(products.map(({ query }) => query.get('search_locale'))).toEqual(['en_US', 'en_US', 'en_US', 'en_US']);
  });
});
