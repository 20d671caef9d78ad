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
import { type Erpnext, erpnextEnv, type FrappeDoc, startErpnext } from './erpnext-server.ts';

const DAY_MS = 86_400_000;
let site: Erpnext;
let world: World | undefined;
let laterMs = 0;
let created = 0;

beforeEach(async () => {
  laterMs = 0;
  created = 0;
  site = await startErpnext({ offsetHours: 2 });
});
afterEach(async () => {
  await site.close();
  await world?.remove();
  world = undefined;
});

function doc(name: string, more: object): FrappeDoc {
  created += 1;
  const at = site.wallClock(site.now - 10 * DAY_MS + created);
  return { name, creation: at, modified: at, ...more } as FrappeDoc;
}

const item = (name: string, more: object = {}): FrappeDoc =>
  doc(name, {
    item_name: `The ${name}`,
    description: '<div><p>Good</p></div>',
    item_group: 'Products',
    stock_uom: 'Nos',
    country_of_origin: null,
    has_variants: 0,
    disabled: 0,
    ...more,
  });

const line = (idx: number, part: string, qty: number, uom = 'Nos') => ({
  name: `row${idx}`,
  idx,
  item_code: part,
  qty,
  uom,
});

const bom = (name: string, of: string, items: object[], more: object = {}): FrappeDoc =>
  doc(name, { item: of, quantity: 1, docstatus: 1, is_active: 1, is_default: 1, items, ...more });

/** Five items in two pages, and two bills. Others are not used: a template, a draft, a former version and a cancelled bill. */
function fill(): void {
  site.docs = {
    Item: [
      item('PUMP', { country_of_origin: 'Germany' }),
      item('PUMP/S', { item_group: 'Sub Assemblies', disabled: 1 }),
      item('STEEL', { item_group: 'Raw Material', country_of_origin: 'Korea, Republic of' }),
      item('SHIRT', { has_variants: 1 }),
      item('OIL', { item_group: 'Consumable' }),
    ],
    BOM: [
      bom('BOM-PUMP-001', 'PUMP', [line(1, 'OIL', 9)], { is_default: 0 }),
      bom('BOM-PUMP-002', 'PUMP', [line(1, 'PUMP/S', 2), line(2, 'STEEL', 1.25, 'Kg'), line(3, 'STEEL', 0.5, 'Kg')]),
      bom('BOM-PUMP/S-001', 'PUMP/S', [line(1, 'OIL', 1, 'Litre')], { quantity: 10 }),
      bom('BOM-PUMP-003', 'PUMP', [line(1, 'OIL', 8)], { docstatus: 0 }),
      bom('BOM-PUMP-004', 'PUMP', [line(1, 'OIL', 7)], { docstatus: 2 }),
    ],
  };
}

const WHOLE = {
  products: ['PUMP The PUMP', 'PUMP/S The PUMP/S'],
  materials: ['OIL The OIL', 'STEEL The STEEL'],
  bomItems: ['PUMP ← 0.5 KGM STEEL', 'PUMP ← 1.25 KGM STEEL', 'PUMP ← 2 C62 PUMP/S', 'PUMP/S ← 1 LTR OIL'],
  published: ['PUMP', 'PUMP/S'],
};

async function begin(options: Partial<PresetWorldOptions> = {}): Promise<World> {
  return await createPresetWorld('erpnext', { env: erpnextEnv(site), size: 3, laterMs: () => laterMs, ...options });
}

const named = (doctype: string, name: string) => site.docs[doctype]?.find((one) => one.name === name) as FrappeDoc;
const change = (doctype: string, name: string, more: object): void => {
  Object.assign(named(doctype, name), { modified: site.wallClock(site.now - 60_000), ...more });
};

describe('the preset erpnext', () => {
  it('the preset erpnext is a whole config without a problem', async () => {
    const env = { DPP_BASE_URL: 'https://dpp.example.com', DPP_API_KEY: API_KEY, ...erpnextEnv(site) };
    expect((await loadText(textOfPreset('erpnext'), { env })).warnings).toEqual([]);
  });

  it('items of ERPNext become products and materials, default bills become BOM items, and passports are published', async () => {
    fill();
    world = await begin();
    expect(await world.sync()).toMatchObject({ failedRuns: [], quarantined: 0, left: 0 });
    expect(deliveredTo(world)).toEqual(WHOLE);
    world.requests();
    await world.sync();
    expect(world.requests()).toEqual({});
    const { products, materials, bomItems } = world.contents();
    expect(products).toMatchObject([
      { sku: 'PUMP', country_of_origin: 'DE', description: 'Good', status: 'ACTIVE' },
      { sku: 'PUMP/S', country_of_origin: null, description: 'Good', status: 'ARCHIVED' },
    ]);
    expect(materials).toContainEqual(expect.objectContaining({ code: 'STEEL', origin_country: 'KR' }));
    expect(bomItems.filter((one) => one['per_quantity'] !== null)).toMatchObject([
      { quantity: '1', per_quantity: '10' },
    ]);
  });

  it('ERPNext is asked for pages of the length of the preset, and not of its own 20', async () => {
    site.docs = { Item: Array.from({ length: 45 }, (_, at) => item(`ITEM-${at}`)), BOM: [] };
    world = await createPresetWorld('erpnext', { env: erpnextEnv(site) });
    expect(runOf(await world.sync(), 'items')).toMatchObject({ read: 45, quarantined: 0 });
    const lists = site.server.calls.filter(({ path }) => path === '/api/resource/Item');
    expect(lists.map(({ query }) => query.get('limit_start'))).toEqual(['0', '44', '45']);
  });

  it('the changes of ERPNext are asked for in the time zone of the site', async () => {
    fill();
    world = await begin({
      change: ([source]) => {
        for (const { changes } of Object.values(source?.streams ?? {})) {
          Object.assign(changes as object, { zone: 'Europe/Berlin' });
        }
      },
    });
    await world.sync();
    const before = site.server.calls.length;
    site.now += DAY_MS;
    change('Item', 'PUMP', { item_name: 'The better PUMP' });
    expect(runOf(await world.sync(), 'items')).toMatchObject({ read: 1, changed: 1 });
    expect(deliveredTo(world).products).toEqual(['PUMP The better PUMP', 'PUMP/S The PUMP/S']);
    // The first read began at 12:00 UTC. Ten minutes before, it was 13:50 in Berlin.
    expect(site.server.calls[before]?.query.get('filters')).toBe('[["modified",">=","2026-06-01 13:50:00"]]');
  });

  it.each([-11, 14])(
    'a change is found although the preset does not know the time zone of the site: UTC %d',
    async (hours) => {
      await site.close();
      site = await startErpnext({ offsetHours: hours });
      fill();
      world = await begin();
      await world.sync();
      site.now += 60_000;
      change('Item', 'PUMP', { item_name: 'The better PUMP', modified: site.wallClock(site.now) });
      const report = await world.sync();
      expect(runOf(report, 'items')).toMatchObject({ read: 1, changed: 1 });
      expect(report.warnings).toEqual([]);
    },
  );

  it('a new default bill of ERPNext takes the place of the former one, which has no newer time', async () => {
    fill();
    // Few items exist, so two that vanish are many.
    world = await begin({ change: ([source]) => Object.assign(source?.guard as object, { maxMissing: '100%' }) });
    await world.sync();
    site.now += DAY_MS;
    named('BOM', 'BOM-PUMP-002')['is_default'] = 0;
    change('BOM', 'BOM-PUMP-001', { is_default: 1, items: [line(1, 'PUMP/S', 2), line(2, 'OIL', 9)] });
    expect(runOf(await world.sync(), 'boms')).toMatchObject({ read: 1, changed: 1 });
    expect(deliveredTo(world).bomItems).toContain('PUMP ← 9 C62 OIL');
    const runtime = await world.open();
    const missing = await runtime.reads.items({ state: 'missing' }, { limit: 10 });
    await runtime.close();
    expect(missing.rows.map(({ key }) => key).toSorted()).toEqual(['PUMP/STEEL', 'PUMP/STEEL/2']);
  });

  it('the complete read of ERPNext finds an item that was deleted, and reports a change that the changes have missed', async () => {
    fill();
    site.docs['Item']?.push(item('LAST'));
    world = await begin();
    await world.sync();
    laterMs = 8 * DAY_MS;
    site.now += 8 * DAY_MS;
    site.docs['Item']?.pop();
    named('Item', 'OIL')['item_name'] = 'Changed by SQL';
    expect(runOf(await world.sync(), 'items')).toMatchObject({ missing: 1, missedByChanges: 1 });
  });

  it('items that come, go and get another name while ERPNext is read are given once, and no other is skipped', async () => {
    fill();
    world = await begin();
    const items = site.docs['Item'] as FrappeDoc[];
    site.server.onCall = (number) => {
      if (number !== 2) return;
      items.push(item('NEW'));
      // Two of the first page, so that the second one begins two rows later.
      items.splice(0, 2);
      Object.assign(named('Item', 'OIL'), { name: 'AAA' });
    };
    const report = await world.sync();
    expect(report).toMatchObject({ failedRuns: [] });
    expect(runOf(report, 'items')).toMatchObject({ read: 6 });
    expect(deliveredTo(world)).toMatchObject({
      products: ['NEW The NEW', 'PUMP The PUMP', 'PUMP/S The PUMP/S'],
      materials: ['AAA The OIL', 'STEEL The STEEL'],
    });
  });

  it('a bill of ERPNext that is deleted before its lines are read waits in quarantine, and the read goes on', async () => {
    fill();
    world = await begin();
    const bills = site.docs['BOM'] as FrappeDoc[];
    site.server.onCall = () => {
      if (site.server.calls.at(-1)?.path === '/api/resource/BOM/BOM-PUMP-002') bills.splice(1, 1);
    };
    expect(await world.sync()).toMatchObject({ failedRuns: [], quarantined: 1 });
    expect(deliveredTo(world).bomItems).toEqual(['PUMP/S ← 1 LTR OIL']);
  });

  it('a sync of ERPNext that is stopped at any request gives each record once when it runs again', async () => {
    fill();
    const stopped = await stopAtEachRequest(site.server, begin, (again) => expect(deliveredTo(again)).toEqual(WHOLE));
    // Three requests for items, two for bills, one behind the end of each, and one for the lines of each bill.
    expect(stopped).toBe(9);
  });

  it('a wrong key of ERPNext fails the run, and the message has neither the key nor the secret', async () => {
    world = await begin({ env: { ...erpnextEnv(site), ERPNEXT_SECRET: 'wrong-secret-1' } });
    const { failedRuns } = await world.sync();
    expect(failedRuns).toMatchObject([{ error: expect.stringContaining('was refused with 401') }]);
    expect(JSON.stringify(failedRuns)).not.toContain('wrong-secret');
  });
});
