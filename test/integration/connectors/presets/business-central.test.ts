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
import {
  BC_ENV,
  type BusinessCentral,
  bcId,
  bcItem,
  bcLine,
  readsFrom,
  startBusinessCentral,
} from './business-central-server.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const RAW = { inventoryPostingGroupCode: 'RAW MAT' };

let bc: BusinessCentral;
let world: World | undefined;
let laterMs = 0;

beforeEach(async () => {
  laterMs = 0;
  bc = await startBusinessCentral();
  bc.items.put(bcItem(1000, { gtin: '4006381333931' }));
  bc.items.put(bcItem(1100));
  for (const number of [7000, 7001, 7002]) bc.items.put(bcItem(number, RAW));
  bc.itemDetails.put({ id: bcId(1000), number: '1000', countryOfOrigin: 'DE' });
  bc.bomLines.put(bcLine(1, 1000, 7000));
  bc.bomLines.put(bcLine(2, 1000, 1100, { position: '20' }));
  bc.bomLines.put(bcLine(3, 1100, 7001, { unitOfMeasureCode: 'KG' }));
});
afterEach(async () => {
  await bc.server.close();
  await world?.remove();
  world = undefined;
});

const WHOLE = {
  products: ['1000 Item 1000', '1100 Item 1100'],
  materials: ['7000 Item 7000', '7001 Item 7001', '7002 Item 7002'],
  bomItems: ['1000 ← 1.5 C62 1100', '1000 ← 1.5 C62 7000', '1100 ← 1.5 KGM 7001'],
  published: ['1000', '1100'],
};

/** One of few items is more than the guard of the preset lets go. */
const change = (sources: PresetSource[]): void => {
  readsFrom(bc, sources);
  for (const source of sources) source.guard = { maxMissing: '50%', maxDrop: '50%' };
};
const begin = (): Promise<World> =>
  createPresetWorld('business-central', { env: BC_ENV, change, laterMs: () => laterMs });

/** The requests for rows of an entity, since a call. */
const requestsOf = (entity: string, from = 0) =>
  bc.server.calls.slice(from).filter(({ path }) => path.endsWith(`/${entity}`));

describe('the preset business-central', () => {
  it('the preset business-central is a whole config without a problem', async () => {
    const env = { DPP_BASE_URL: 'https://dpp.example.com', DPP_API_KEY: API_KEY, ...BC_ENV };
    expect((await loadText(textOfPreset('business-central'), { env })).warnings).toEqual([]);
  });

  it('items of Business Central become products and materials, rows of own pages become BOM items, and passports are published', async () => {
    world = await begin();
    expect(await world.sync()).toMatchObject({ failedRuns: [], quarantined: 0, left: 0 });
    expect(deliveredTo(world)).toEqual(WHOLE);
    expect(world.contents().products[0]).toMatchObject({ country_of_origin: 'DE', gtin: '04006381333931' });
  });

  it('the changes of Business Central come by the delta link of items, and by a filter for own pages', async () => {
    world = await begin();
    await world.sync();
    bc.advance(HOUR_MS);
    await world.sync();
    world.requests();
    const before = bc.server.calls.length;
    bc.items.put(bcItem(1000, { displayName: 'Renamed' }));
    bc.items.put(bcItem(1200));
    bc.bomLines.put(bcLine(4, 1200, 7002));
    const report = await world.sync();
    expect(runOf(report, 'items')).toMatchObject({ read: 2, changed: 2 });
    expect(runOf(report, 'bomLines')).toMatchObject({ read: 1, changed: 1 });
    expect(deliveredTo(world)).toMatchObject({
      products: ['1000 Renamed', '1100 Item 1100', '1200 Item 1200'],
      bomItems: [...WHOLE.bomItems, '1200 ← 1.5 C62 7002'],
    });
    expect(requestsOf('items', before).map(({ query }) => [...query.keys()])).toEqual([['$deltatoken']]);
    // The read before began at 09:00.
    const asked = requestsOf('bomLines', before).map(({ query }) => query.get('$filter'));
    expect(asked).toEqual(['systemModifiedAt ge 2026-03-01T08:50:00Z']);
  });

  it('a read of Business Central without changes sends nothing', async () => {
    world = await begin();
    await world.sync();
    world.requests();
    expect(await world.sync()).toMatchObject({ failedRuns: [] });
    expect(world.requests()).toEqual({});
  });

  it('an item that was deleted in Business Central is missing after the read of changes', async () => {
    world = await begin();
    await world.sync();
    bc.items.remove(bcId(7002));
    await world.sync();
    expect(await missing()).toEqual(['material 7002']);
    // It comes back.
    bc.items.put(bcItem(7002, RAW));
    await world.sync();
    expect(await missing()).toEqual([]);
  });

  it('the complete read of Business Central finds a line that is gone, and reports a change that the filter has not shown', async () => {
    world = await begin();
    await world.sync();
    bc.advance(HOUR_MS);
    await world.sync();
    bc.bomLines.remove(bcId(3));
    bc.bomLines.putQuietly(bcLine(2, 1000, 1100, { position: '30' }));
    laterMs = DAY_MS;
    expect(runOf(await world.sync(), 'bomLines')).toMatchObject({ read: 2, missing: 1, missedByChanges: 1 });
  });

  it('items that come and go while Business Central is read disturb neither the read nor the others', async () => {
    world = await begin();
    bc.answerFirst(({ path, query }) => {
      if (!path.endsWith('/items') || !query.has('$skiptoken')) return null;
      bc.answerFirst(null);
      bc.items.remove(bcId(1000));
      bc.items.put(bcItem(1001));
      bc.items.put(bcItem(7003, RAW));
      return null;
    });
    expect(await world.sync()).toMatchObject({ failedRuns: [] });
    // 1000 was there when the read began, and what came before the second page is in the next read of changes.
    expect(deliveredTo(world).products).toEqual(WHOLE.products);
    await world.sync();
    const { products, materials } = deliveredTo(world);
    expect(products).toEqual(['1000 Item 1000', '1001 Item 1001', '1100 Item 1100']);
    expect(materials).toEqual([...WHOLE.materials, '7003 Item 7003']);
    expect(await missing()).toEqual(['product 1000']);
  });

  it('a sync of Business Central that is stopped at any page gives each record once when it runs again', async () => {
    const stopped = await stopAtEachRequest(bc.server, begin, (again) => expect(deliveredTo(again)).toEqual(WHOLE));
    // The login, three pages of items, one of details, and two of lines. Each page but the last one of an entity is requested twice.
    expect(stopped).toBe(10);
  });

  it('no change of Business Central is lost if a read of changes is stopped at any page', async () => {
    world = await begin();
    await world.sync();
    const products = [...WHOLE.products];
    for (const stop of [1, 2, 3, 4, 5]) {
      for (const number of [1, 2, 3, 4, 5].map((at) => 2000 + 10 * stop + at)) {
        bc.items.put(bcItem(number));
        products.push(`${number} Item ${number}`);
      }
      const abort = new AbortController();
      const last = bc.server.calls.length + stop;
      bc.server.onCall = (at) => at === last && abort.abort();
      await world.sync({ abort: abort.signal });
      expect(abort.signal.aborted).toBe(true);
    }
    bc.server.onCall = null;
    await world.sync();
    expect(deliveredTo(world).products).toEqual(products);
  });

  it('everything is read again when Business Central has forgotten the delta link', async () => {
    world = await begin();
    await world.sync();
    bc.items.put(bcItem(1200));
    bc.items.remove(bcId(7002));
    bc.forgetDeltaLinks();
    const report = await world.sync();
    expect(runOf(report, 'items')).toMatchObject({ read: 5, changed: 1, missing: 1 });
    expect(runOf(report, 'items')?.warnings?.join()).toContain('no longer knows the address of the changes');
    const before = bc.server.calls.length;
    await world.sync();
    expect(requestsOf('items', before).map(({ query }) => [...query.keys()])).toEqual([['$deltatoken']]);
  });

  it('a token of Business Central that ends in the middle of a read is renewed', async () => {
    world = await begin();
    bc.answerFirst(({ query }) => {
      if (!query.has('$skiptoken')) return null;
      bc.answerFirst(null);
      bc.expireToken();
      return { status: 401, body: {} };
    });
    expect(await world.sync()).toMatchObject({ failedRuns: [] });
    expect(deliveredTo(world)).toEqual(WHOLE);
  });
});

/** The items that no row makes any more. */
async function missing(): Promise<string[]> {
  const shown = await runHere(['items', '--state', 'missing', '-c', world?.configFile ?? '', '--json']);
  const lines = shown.stdout.split('\n').filter((line) => line !== '');
  const items = lines.map((line) => JSON.parse(line) as { kind: string; key: string });
  return items.map(({ kind, key }) => `${kind} ${key}`);
}
