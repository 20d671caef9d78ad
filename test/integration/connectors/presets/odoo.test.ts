import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { describeRealExport } from '../../../support/connectors/real-exports.ts';
import {
  createPresetWorld,
  deliveredTo,
  type PresetWorldOptions,
  runOf,
  stopAtEachRequest,
  textOfPreset,
} from '../../../support/rest/preset-world.ts';
import { idsOf, readFrom, upTo } from '../../../support/rest/read-from.ts';
import { loadText } from '../../../support/worlds/config-folder.ts';
import { API_KEY, type World } from '../../../support/worlds/world.ts';
import { type Odoo, type OdooRecord, odooEnv, startOdoo } from './odoo-server.ts';

const DAY_MS = 86_400_000;
let odoo: Odoo;
let world: World | undefined;
let laterMs = 0;

beforeEach(async () => {
  laterMs = 0;
  odoo = await startOdoo();
  fill();
});
afterEach(async () => {
  await odoo.close();
  await world?.remove();
  world = undefined;
});

const writeDate = (at: number): string => new Date(at).toISOString().slice(0, 19).replace('T', ' ');
const before = () => ({ write_date: writeDate(odoo.now - 10 * DAY_MS) });

const product = (id: number, template: number, code: string | false, name: string, more: object = {}): OdooRecord => ({
  id,
  product_tmpl_id: template,
  default_code: code,
  name,
  description_sale: false,
  barcode: false,
  type: 'consu',
  sale_ok: false,
  active: true,
  product_template_attribute_value_ids: [],
  ...before(),
  ...more,
});

const bill = (id: number, template: number, more: object = {}): OdooRecord => ({
  id,
  product_tmpl_id: template,
  product_id: false,
  product_qty: 1,
  sequence: 5,
  active: true,
  ...before(),
  ...more,
});

const line = (id: number, of: number, part: number, quantity: number, values: number[] = [], unit = 1): OdooRecord => ({
  id,
  bom_id: of,
  product_id: part,
  product_qty: quantity,
  product_uom_id: unit,
  bom_product_template_attribute_value_ids: values,
  ...before(),
});

const [WHITE, BLACK, LARGE] = [11, 12, 21];

/** A table in two colours, a frame and a leg, a kit of a table and a leg, and what is no part of any bill. */
function fill(): void {
  const sold = { sale_ok: true };
  odoo.models = {
    'product.product': [
      product(1, 1, 'TABLE-W', 'Table', { ...sold, product_template_attribute_value_ids: [WHITE, LARGE] }),
      product(2, 1, 'TABLE-B', 'Table', { ...sold, product_template_attribute_value_ids: [BLACK, LARGE] }),
      product(3, 3, 'LEG', 'Leg'),
      product(4, 4, 'KIT', 'Kit', { ...sold, barcode: '4006381333931' }),
      product(5, 5, false, 'Screw', { barcode: 'BIN-5' }),
      product(6, 6, 'FRAME', 'Frame'),
      product(7, 7, 'OLD', 'Old table', { ...sold, active: false }),
      product(8, 8, 'SERVICE', 'Delivery', { ...sold, type: 'service' }),
    ],
    'mrp.bom': [
      bill(1, 1),
      bill(2, 1, { product_id: 2 }),
      bill(3, 1, { sequence: 9 }),
      bill(4, 4, { type: 'phantom' }),
      bill(5, 6, { product_qty: 10 }),
      bill(6, 1, { sequence: 1, active: false }),
    ],
    'mrp.bom.line': [
      line(1, 1, 3, 4),
      line(2, 1, 5, 8, [WHITE]),
      line(3, 1, 5, 9, [BLACK]),
      line(4, 1, 6, 1, [WHITE, BLACK, LARGE]),
      line(5, 2, 3, 6),
      line(6, 3, 5, 99),
      line(7, 4, 1, 1),
      line(8, 5, 5, 2.5, [], 2),
      line(9, 6, 5, 77),
    ],
    'product.template.attribute.value': [
      { id: WHITE, attribute_line_id: 1 },
      { id: BLACK, attribute_line_id: 1 },
      { id: LARGE, attribute_line_id: 2 },
    ],
    'uom.uom': [
      { id: 1, name: 'Units' },
      { id: 2, name: 'kg' },
    ],
  };
}

const WHOLE = {
  products: ['FRAME Frame', 'KIT Kit', 'OLD Old table', 'TABLE-B Table', 'TABLE-W Table'],
  materials: ['LEG Leg', 'ODOO-5 Screw'],
  bomItems: [
    'FRAME ← 2.5 KGM ODOO-5',
    'KIT ← 1 C62 TABLE-W',
    'TABLE-B ← 6 C62 LEG',
    'TABLE-W ← 1 C62 FRAME',
    'TABLE-W ← 4 C62 LEG',
    'TABLE-W ← 8 C62 ODOO-5',
  ],
  published: ['FRAME', 'KIT', 'OLD', 'TABLE-B', 'TABLE-W'],
};

async function begin(preset = 'odoo', options: Partial<PresetWorldOptions> = {}): Promise<World> {
  return await createPresetWorld(preset, { env: odooEnv(odoo), size: 4, laterMs: () => laterMs, ...options });
}

const change = (model: string, id: number, more: object): void => {
  const record = odoo.models[model]?.find((one) => one.id === id) as OdooRecord;
  Object.assign(record, { write_date: writeDate(odoo.now - 60_000) }, more);
};
/** Few items exist, so some that vanish are many. */
const unguarded: PresetWorldOptions['change'] = ([source]) =>
  Object.assign(source?.guard as object, { maxMissing: '100%', maxDrop: '100%' });

describe.each(['odoo', 'odoo-rpc'])('the preset %s', (preset) => {
  it('each preset of Odoo is a whole config without a problem', async () => {
    const env = { DPP_BASE_URL: 'https://dpp.example.com', DPP_API_KEY: API_KEY, ...odooEnv(odoo) };
    expect((await loadText(textOfPreset(preset), { env })).warnings).toEqual([]);
  });

  it('products of Odoo become products and materials, the lines of the bill of each variant become BOM items, and passports are published', async () => {
    world = await begin(preset);
    expect(await world.sync()).toMatchObject({ failedRuns: [], quarantined: 0, left: 0 });
    expect(deliveredTo(world)).toEqual(WHOLE);
    world.requests();
    await world.sync();
    expect(world.requests()).toEqual({});
    const { products, bomItems } = world.contents();
    expect(products.filter((one) => one['gtin'] !== null)).toMatchObject([{ sku: 'KIT', gtin: '04006381333931' }]);
    expect(products.filter((one) => one['status'] === 'ARCHIVED')).toMatchObject([{ sku: 'OLD' }]);
    expect(bomItems.filter((one) => one['per_quantity'] !== null)).toMatchObject([
      { quantity: '2.5', per_quantity: '10' },
    ]);
  });

  it('a sync of Odoo that is stopped at any request gives each record once when it runs again', async () => {
    const again = (one: World) => expect(deliveredTo(one)).toEqual(WHOLE);
    const stopped = await stopAtEachRequest(odoo.server, () => begin(preset), again);
    // Products, bills, lines, values of attributes and units: their pages, and for each an empty one.
    expect(stopped).toBe(3 + 3 + 4 + 2 + 2);
  });

  it('the changes of Odoo are asked for in UTC, and the complete read finds what was deleted or missed', async () => {
    world = await begin(preset, { change: unguarded });
    await world.sync();
    odoo.now += DAY_MS;
    change('product.product', 1, { name: 'Better table' });
    const from = odoo.server.calls.length;
    expect(runOf(await world.sync(), 'products')).toMatchObject({ read: 1, changed: 1 });
    expect(deliveredTo(world).products).toContain('TABLE-W Better table');
    expect(JSON.stringify(odoo.server.calls[from]?.body)).toContain('[["write_date",">=","2026-06-01 11:50:00"]]');
    laterMs = 8 * DAY_MS;
    odoo.now += 8 * DAY_MS;
    odoo.models['product.product'] = (odoo.models['product.product'] ?? []).filter(({ id }) => id !== 7);
    Object.assign(odoo.models['product.product'][3] as object, { name: 'Changed by SQL' });
    expect(runOf(await world.sync(), 'products')).toMatchObject({ missing: 1, missedByChanges: 1 });
  });

  it('products that come and go while Odoo is read disturb neither the read nor the others', async () => {
    world = await begin(preset);
    odoo.server.onCall = (number) => {
      if (number !== 2) return;
      odoo.models['product.product'] = [
        ...(odoo.models['product.product'] ?? []).filter(({ id }) => id > 1),
        product(9, 9, 'NEW', 'New table', { sale_ok: true }),
      ];
      change('product.product', 6, { name: 'Frame changed' });
    };
    const report = await world.sync();
    expect(runOf(report, 'products')).toMatchObject({ read: 9 });
    const { products } = deliveredTo(world);
    expect(products).toEqual([
      'FRAME Frame changed',
      'KIT Kit',
      'NEW New table',
      'OLD Old table',
      'TABLE-B Table',
      'TABLE-W Table',
    ]);
  });

  it('a wrong key of Odoo fails the run, and the message does not have it', async () => {
    world = await begin(preset, { env: { ...odooEnv(odoo), ODOO_KEY: 'wrong-key-0002' } });
    const { failedRuns } = await world.sync();
    expect(failedRuns).toMatchObject([{ error: expect.stringMatching(/Invalid apikey|AccessDenied/) }]);
    expect(JSON.stringify(failedRuns)).not.toContain('wrong-key');
  });
});

describe('the preset odoo', () => {
  it('another bill that becomes the first one of a template in Odoo replaces the lines, although no line has changed', async () => {
    world = await begin('odoo', { change: unguarded });
    await world.sync();
    odoo.now += DAY_MS;
    change('mrp.bom', 3, { sequence: 1 });
    const report = await world.sync();
    expect(runOf(report, 'lines')).toMatchObject({ read: 0 });
    const added = deliveredTo(world).bomItems.filter((one) => !WHOLE.bomItems.includes(one));
    expect(added).toEqual(['TABLE-B ← 99 C62 ODOO-5', 'TABLE-W ← 99 C62 ODOO-5']);
    const runtime = await world.open();
    const missing = await runtime.reads.items({ state: 'missing' }, { limit: 10 });
    await runtime.close();
    expect(missing.rows.map(({ key }) => key).toSorted()).toEqual(['1/1', '2/1', '4/1', '5/2']);
  });

  it('a new name of a part in Odoo changes no line, so the complete read finds no missed change of a line', async () => {
    world = await begin();
    await world.sync();
    odoo.now += 8 * DAY_MS;
    laterMs = 8 * DAY_MS;
    change('product.product', 3, { name: 'Better leg' });
    const report = await world.sync();
    expect(runOf(report, 'products')).toMatchObject({ missedByChanges: 0 });
    expect(runOf(report, 'lines')).toMatchObject({ read: 9, changed: 0, missedByChanges: 0 });
  });

  it('a product that is archived in Odoo gets the status ARCHIVED, and is not missing', async () => {
    world = await begin();
    await world.sync();
    odoo.now += 8 * DAY_MS;
    laterMs = 8 * DAY_MS;
    change('product.product', 4, { active: false });
    expect(runOf(await world.sync(), 'products')).toMatchObject({ missing: 0 });
    expect(world.contents().products).toContainEqual(expect.objectContaining({ sku: 'KIT', status: 'ARCHIVED' }));
  });
});

interface Parsed {
  sources: { streams: Record<string, { key?: string[]; page: object }> }[];
}

describeRealExport('rest/odoo', 'the preset odoo and the answers of a real Odoo', (folder) => {
  it('the answers of a real Odoo are read to their end by the last id', async () => {
    const { sources } = parse(textOfPreset('odoo')) as Parsed;
    const { key: _, page, ...stream } = sources[0]?.streams['units'] ?? { page: {} };
    const pages = new Map([
      [0, 'role-first-page'],
      [10, 'role-second-page'],
      [20, 'role-last-page'],
      [22, 'role-empty'],
    ]);
    const { rows, error } = await readFrom(
      ({ body }) => {
        const after = (body as { domain: [string, string, number][] }).domain[0]?.[2] ?? 0;
        return { text: readFileSync(join(folder, `${pages.get(after)}.json`), 'utf8') };
      },
      { ...stream, page: { ...page, size: 10 } },
    );
    expect(error).toBeNull();
    expect(idsOf(rows)).toEqual(upTo(22));
  });
});
