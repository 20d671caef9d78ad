import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { JsonObject } from '../../../../src/sdk/index.ts';
import { runHere } from '../../../support/cli/cli-here.ts';
import { describeRealExport } from '../../../support/connectors/real-exports.ts';
import { text } from '../../../support/ledger/items.ts';
import {
  createPresetWorld,
  deliveredTo,
  type PresetWorldOptions,
  runOf,
  stopAtEachRequest,
  textOfPreset,
} from '../../../support/rest/preset-world.ts';
import { idsOf, readFrom } from '../../../support/rest/read-from.ts';
import { loadText } from '../../../support/worlds/config-folder.ts';
import { API_KEY, type World } from '../../../support/worlds/world.ts';
import { type Shopify, shopifyEnv, startShopify } from './shopify-server.ts';

const DAY_MS = 86_400_000;
let shop: Shopify;
let world: World | undefined;
let laterMs = 0;

beforeEach(async () => {
  laterMs = 0;
  shop = await startShopify();
});
afterEach(async () => {
  await shop.close();
  await world?.remove();
  world = undefined;
});

/** Three products with five variants, of which one is a bundle of two others, and two materials. */
function fill(): void {
  const updated = shop.now - DAY_MS;
  shop.products = [
    { number: 1, title: 'Shirt', descriptionHtml: '<p>Soft &amp; light</p>', updated },
    { number: 2, title: 'Socks', updated },
    { number: 3, title: 'Gift set', status: 'DRAFT', updated },
  ];
  const cotton = [{ material: 'cotton', quantity: 0.18, unit: 'kg' }];
  shop.variants = [
    { number: 11, product: 1, title: 'S', country: 'PT', barcode: '4006381333931', updated, materials: cotton },
    {
      number: 12,
      product: 1,
      title: 'M',
      updated,
      materials: [...cotton, { material: 'label', quantity: '1', unit: 'pcs' }],
    },
    { number: 13, product: 1, title: 'L', sku: null, updated },
    { number: 21, product: 2, updated },
    {
      number: 31,
      product: 3,
      sku: 'SET',
      updated,
      parts: [
        [12, 1],
        [21, 2],
      ],
    },
  ];
  shop.materials = [
    { handle: 'cotton', name: 'Cotton', country: 'India', recycled_percent: '20' },
    { handle: 'label' },
  ];
}

const WHOLE = {
  products: ['SET Gift set', 'SHOPIFY-13 Shirt, L', 'SKU-11 Shirt, S', 'SKU-12 Shirt, M', 'SKU-21 Socks'],
  materials: ['cotton Cotton', 'label label'],
  bomItems: [
    'SET ← 1 C62 SKU-12',
    'SET ← 2 C62 SKU-21',
    'SKU-11 ← 0.18 KGM cotton',
    'SKU-12 ← 0.18 KGM cotton',
    'SKU-12 ← 1 C62 label',
  ],
  published: ['SET', 'SHOPIFY-13', 'SKU-11', 'SKU-12', 'SKU-21'],
};

async function begin({ change, ...more }: Partial<PresetWorldOptions> = {}): Promise<World> {
  return await createPresetWorld('shopify', {
    env: shopifyEnv(shop),
    laterMs: () => laterMs,
    change: (sources) => {
      // Pages of two rows.
      for (const { changes } of Object.values(sources[0]?.streams ?? {})) {
        const body = (changes as { body?: JsonObject } | undefined)?.body;
        if (body !== undefined) body['query'] = text(body['query']).replace(/first: \d+/, 'first: 2');
      }
      change?.(sources);
    },
    ...more,
  });
}

const queriesFrom = (number: number) =>
  shop.server.calls.slice(number).map(({ body }) => text((body as JsonObject | null)?.['query']));

describe('the preset shopify', () => {
  it('the preset shopify is a whole config without a problem', async () => {
    const env = { DPP_BASE_URL: 'https://dpp.example.com', DPP_API_KEY: API_KEY, ...shopifyEnv(shop) };
    expect((await loadText(textOfPreset('shopify'), { env })).warnings).toEqual([]);
  });

  it('check shows the columns of Shopify and what the changes do not show, and starts no bulk operation', async () => {
    fill();
    world = await begin();
    const shown = (await runHere(['check', '-c', world.configFile])).stdout;
    expect(shown).toContain('2 rows on the first page, columns id, title, descriptionHtml, status, updatedAt');
    expect(shown).toContain('The changes of variants do not show variants that were deleted.');
    expect(queriesFrom(0).filter((query) => query.includes('bulkOperationRunQuery'))).toEqual([]);
  });

  it('check says that Shopify refuses the app', async () => {
    world = await begin({ env: { ...shopifyEnv(shop), SHOPIFY_CLIENT_SECRET: 'another-secret' } });
    const shown = await runHere(['check', '-c', world.configFile]);
    expect(shown.exitCode).toBe(3);
    expect(shown.stdout + shown.stderr).toContain('/admin/oauth/access_token was refused with 400');
    expect(shown.stdout + shown.stderr).not.toContain('another-secret');
  });

  it('variants of Shopify become products, metafields and bundles become BOM items, and passports are published', async () => {
    fill();
    world = await begin();
    expect(await world.sync()).toMatchObject({ failedRuns: [], quarantined: 0, left: 0 });
    expect(deliveredTo(world)).toEqual(WHOLE);
    const { products, materials } = world.contents();
    expect(products.find(({ sku }) => sku === 'SKU-11')).toMatchObject({
      description: 'Soft & light',
      country_of_origin: 'PT',
      gtin: '04006381333931',
      status: 'ACTIVE',
    });
    expect(materials.find(({ code }) => code === 'cotton')).toMatchObject({
      origin_country: 'IN',
      recycled_mass_fraction: '0.2',
    });
  });

  it('the server that has the files of bulk operations does not get the token of Shopify', async () => {
    fill();
    world = await begin();
    await world.sync();
    expect(shop.files).toHaveLength(3);
    for (const { headers } of shop.files) {
      expect(Object.keys(headers).toSorted()).toEqual(['connection', 'host']);
    }
  });

  it('the changes of Shopify are read page by page, and a changed title changes the variants of its product', async () => {
    fill();
    world = await begin();
    await world.sync();
    world.requests();
    const before = shop.server.calls.length;
    shop.now += DAY_MS;
    const [shirt, socks] = shop.products;
    Object.assign(shirt ?? {}, { title: 'Linen shirt', updated: shop.now - 60_000 });
    Object.assign(socks ?? {}, { updated: shop.now - 60_000 });
    for (const variant of shop.variants.slice(1)) variant.updated = shop.now - 60_000;
    const report = await world.sync();
    expect(report).toMatchObject({ failedRuns: [] });
    expect(runOf(report, 'variants')).toMatchObject({ read: 4, changed: 0 });
    expect(runOf(report, 'products')).toMatchObject({ read: 2 });
    expect(deliveredTo(world).products).toEqual([
      'SET Gift set',
      'SHOPIFY-13 Linen shirt, L',
      'SKU-11 Linen shirt, S',
      'SKU-12 Linen shirt, M',
      'SKU-21 Socks',
    ]);
    const asked = shop.server.calls.slice(before).map(({ body }) => (body as JsonObject | null)?.['variables']);
    expect(asked).toContainEqual({ query: "updated_at:>='2026-06-01T11:50:00Z'" });
    expect(asked).toContainEqual({ query: "updated_at:>='2026-06-01T11:50:00Z'", after: expect.any(String) });
    // Bundles have no changes, so they are read completely.
    expect(queriesFrom(before).filter((query) => query.includes('bulkOperationRunQuery'))).toHaveLength(1);
  });

  it('the complete read of Shopify finds what was deleted, and reports a change that the changes have missed', async () => {
    fill();
    world = await begin();
    await world.sync();
    laterMs = 8 * DAY_MS;
    shop.now += 8 * DAY_MS;
    shop.variants = shop.variants.filter(({ number }) => number !== 13);
    Object.assign(shop.variants[0] ?? {}, { materials: [{ material: 'cotton', quantity: 0.2, unit: 'kg' }] });
    expect(runOf(await world.sync(), 'variants')).toMatchObject({ read: 4, missing: 1, missedByChanges: 1 });
  });

  it('a variant of Shopify that changes while the changes are read comes with them or with the next ones', async () => {
    fill();
    world = await begin();
    await world.sync();
    shop.now += DAY_MS;
    for (const variant of shop.variants) variant.updated = shop.now - 60_000;
    let pages = 0;
    const before = shop.server.calls.length;
    shop.server.onCall = (number) => {
      if (!queriesFrom(number - 1)[0]?.includes('productVariants(first')) return;
      pages += 1;
      // Before the second page a variant of the first page changes again.
      if (pages === 2) Object.assign(shop.variants[0] ?? {}, { sku: 'SKU-11-NEW', updated: shop.now });
    };
    expect(runOf(await world.sync(), 'variants')).toMatchObject({ read: 5 });
    expect(queriesFrom(before).filter((query) => query.includes('productVariants(first'))).toHaveLength(3);
    shop.server.onCall = null;
    shop.now += 60_000;
    expect(runOf(await world.sync(), 'variants')).toMatchObject({ changed: 1 });
  });

  it('a sync of Shopify that is stopped at any request gives each record once when it runs again', async () => {
    fill();
    const stopped = await stopAtEachRequest(shop.server, begin, (again) => expect(deliveredTo(again)).toEqual(WHOLE));
    // The login, a start and a state of three bulk operations, and the materials.
    expect(stopped).toBe(8);
  });

  it('changes of Shopify that are stopped at any request are read again from their beginning', async () => {
    fill();
    world = await begin();
    await world.sync();
    let isWhole = false;
    for (let number = 1; !isWhole; number += 1) {
      shop.now += DAY_MS;
      for (const variant of shop.variants)
        Object.assign(variant, { title: `Size ${number}`, updated: shop.now - 60_000 });
      const abort = new AbortController();
      const last = shop.server.calls.length + number;
      shop.server.onCall = (at) => at === last && abort.abort();
      await world.sync({ abort: abort.signal });
      shop.server.onCall = null;
      isWhole = !abort.signal.aborted;
      if (!isWhole) await world.sync();
      const names = world.contents().products.map(({ name }) => name);
      expect(names.filter((name) => text(name).endsWith(`, Size ${number}`))).toHaveLength(5);
    }
  });

  it.each([
    [
      'has failed, whose file has only a part of the rows',
      (job: { lines: string[]; status: string; errorCode: string | null }) =>
        Object.assign(job, { lines: job.lines.slice(0, 2), status: 'FAILED', errorCode: 'TIMEOUT' }),
      'has ended with the state FAILED (TIMEOUT)',
    ],
    [
      'has fewer lines than it states',
      (job: { lines: string[] }) => Object.assign(job, { lines: job.lines.slice(0, -1) }),
      'lines, and its file has',
    ],
    [
      'has a line that was cut',
      (job: { lines: string[] }) => Object.assign(job, { lines: [...job.lines.slice(0, -1), '{"id":"gid://sho'] }),
      'is not JSON',
    ],
  ])('a bulk operation of Shopify that %s is an incomplete read, and nothing is gone', async (_, spoil, message) => {
    fill();
    world = await begin();
    await world.sync();
    laterMs = 8 * DAY_MS;
    shop.spoil = spoil;
    const { failedRuns } = await world.sync();
    expect(failedRuns).toMatchObject([{ error: expect.stringContaining(message) }]);
    shop.spoil = null;
    expect(runOf(await world.sync(), 'variants')).toMatchObject({ read: 5, missing: 0 });
  });

  it('the address of a file of Shopify that has ended is an error without the signature, and the next sync begins again', async () => {
    fill();
    shop.filesHaveEnded = true;
    world = await begin();
    const { failedRuns } = await world.sync();
    expect(failedRuns).toMatchObject([{ error: expect.stringContaining('the server answers with 403') }]);
    expect(JSON.stringify(failedRuns)).not.toContain('signed-for');
    shop.filesHaveEnded = false;
    expect(await world.sync()).toMatchObject({ failedRuns: [] });
    expect(deliveredTo(world)).toEqual(WHOLE);
  });

  it('Shopify is asked again if a request costs too many points, or if another bulk operation is running', async () => {
    fill();
    shop.throttled = 1;
    shop.busy = 1;
    shop.polls = 1;
    world = await begin({
      change: (sources) => {
        for (const { page } of Object.values(sources[0]?.streams ?? {}))
          if (page['by'] === 'bulkJob') page['poll'] = '1s';
      },
    });
    expect(await world.sync()).toMatchObject({ failedRuns: [] });
    expect(deliveredTo(world)).toEqual(WHOLE);
  });

  it('as many changes as Shopify gives at most are followed by a complete read', async () => {
    fill();
    world = await begin({
      change: (sources) => {
        for (const stream of Object.values(sources[0]?.streams ?? {})) if ('cap' in stream) stream['cap'] = 4;
      },
    });
    await world.sync();
    shop.cap = 4;
    shop.now += DAY_MS;
    for (const variant of shop.variants)
      Object.assign(variant, { barcode: '4006381333931', updated: shop.now - 60_000 });
    const before = shop.server.calls.length;
    expect(await world.sync()).toMatchObject({ failedRuns: [] });
    expect(world.contents().products.map(({ gtin }) => gtin)).toEqual(
      Array.from({ length: 5 }, () => '04006381333931'),
    );
    expect(queriesFrom(before).filter((query) => query.includes('bulkOperationRunQuery'))).toHaveLength(2);
  });

  it('a token of Shopify that ends in the middle of a read is renewed', async () => {
    fill();
    shop.requestsOfToken = 2;
    world = await begin();
    expect(await world.sync()).toMatchObject({ failedRuns: [] });
    expect(shop.tokens).toBeGreaterThan(2);
    expect(deliveredTo(world)).toEqual(WHOLE);
  });

  it('a field that Shopify does not know is an error with the words of Shopify', async () => {
    fill();
    world = await begin({
      change: (sources) => {
        const body = sources[0]?.streams['materials']?.['body'] as JsonObject;
        body['query'] = text(body['query']).replace('handle', 'invalidField');
      },
    });
    const { failedRuns } = await world.sync();
    expect(failedRuns).toMatchObject([{ error: expect.stringContaining('Cannot query field') }]);
  });
});

interface Parsed {
  sources: { options: { failure: object[] }; streams: Record<string, { changes: { body: object; page: object } }> }[];
}

describeRealExport('rest/shopify', 'the preset shopify and recorded answers of Shopify', (folder) => {
  const recorded = (name: string) => ({ text: readFileSync(join(folder, `${name}.json`), 'utf8') });
  const [source] = (parse(textOfPreset('shopify')) as Parsed).sources;
  const { body, page } = source?.streams['products']?.changes ?? {};
  const stream = { get: 'graphql.json', body, page };
  const failure = source?.options.failure;

  it('recorded answers are read to their end, and a product that comes twice is used once', async () => {
    const { rows, error, warnings, calls } = await readFrom(
      ({ body: asked }) =>
        recorded('after' in (asked as { variables: object }).variables ? 'products' : 'products-with-next-page'),
      { ...stream, body: { ...body, variables: {} } },
      { options: { failure } },
    );
    expect(error).toBeNull();
    expect(calls).toHaveLength(2);
    expect(idsOf(rows)).toEqual(['gid://shopify/Product/123456789', 'gid://shopify/Product/987654321']);
    expect(warnings).toEqual([expect.stringContaining('One row of items came again on a later page')]);
  });

  it('a recorded error is shown in its words', async () => {
    const { error } = await readFrom(
      () => recorded('error-invalid-query'),
      { ...stream, body: {} },
      { options: { failure } },
    );
    expect(error?.message).toContain("Field 'invalidField' doesn't exist on type 'Product'");
  });
});
