import { afterEach, describe, expect, it } from 'vitest';
import { runHere } from '../../support/cli/cli-here.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';
import { bomLines } from './bom-lines.ts';

let world: World;
afterEach(() => world.remove());

const LINES = {
  stream: 'lines',
  to: 'bom_item',
  key: 'row.product + "/" + string(row.pos)',
  refs: { product: 'row.product', material: 'row.part' },
  fields: { quantity: 'row.qty' },
};
const PRODUCTS = { stream: 'products', to: 'product', key: 'row.id', fields: { sku: 'row.id', name: 'row.id' } };
const MATERIALS = { stream: 'materials', to: 'material', key: 'row.id', fields: { code: 'row.id', name: 'row.id' } };
const materials = {
  path: './materials.ndjson',
  key: ['id'],
};

async function begin(sources: object[], files: Record<string, string>): Promise<void> {
  const all = { 'materials.ndjson': '{"id":"M-1"}\n{"id":"M-2"}\n', ...files };
  world = await createWorld({ config: { sources }, files: all });
}

describe('one JSON object in a file', () => {
  const object = JSON.stringify({
    bom: '4711',
    product: 'P-1',
    lines: [
      { pos: 10, part: 'M-1', qty: 2 },
      { pos: 20, part: 'M-2', qty: 1 },
    ],
  });
  const product = { ...PRODUCTS, key: 'row.product', fields: { sku: 'row.product', name: 'row.product' } };

  it('one JSON object in a file becomes a product and its BOM items, with its own values as parent', async () => {
    const products = { path: './bom.json', format: 'object', key: ['product'] };
    const lines = { path: './bom.json', at: '$.lines', parent: { product: '$.product' }, key: ['product', 'pos'] };
    const streams = { products, lines, materials };
    await begin([{ id: 'plm', connector: 'json', streams, mappings: [product, LINES, MATERIALS] }], {
      'bom.json': object,
    });
    expect((await runHere(['check', '-c', world.configFile])).exitCode).toBe(0);
    expect(await world.sync()).toMatchObject({ failedRuns: [], quarantined: 0, left: 0 });
    expect(bomLines(world)).toEqual(['P-1 ← 2 M-1', 'P-1 ← 1 M-2']);
    world.requests();
    await world.sync();
    expect(world.requests()).toEqual({});
  });

  it('a folder of JSON objects is read although one of them is damaged, and its correction is delivered', async () => {
    const options = { format: 'object' };
    const products = { path: './boms/*.json', key: ['product'] };
    const lines = { ...products, at: '$.lines', parent: { product: '$.product' }, key: ['product', 'pos'] };
    const streams = { products, lines, materials: { ...materials, format: 'ndjson' } };
    await begin([{ id: 'plm', connector: 'json', options, streams, mappings: [product, LINES, MATERIALS] }], {
      'boms/a.json': object,
      'boms/b.json': object.slice(0, 60),
      'boms/c.json': object.replace('P-1', 'P-3'),
    });
    expect(await world.sync()).toMatchObject({ failedRuns: [], quarantined: 2 });
    expect(bomLines(world)).toEqual(['P-1 ← 2 M-1', 'P-1 ← 1 M-2', 'P-3 ← 2 M-1', 'P-3 ← 1 M-2']);
    const { stdout } = await runHere(['quarantine', '-c', world.configFile]);
    expect(stdout).toContain('The file b.json is not valid JSON');
    world.write('boms/b.json', object.replace('P-1', 'P-2'));
    expect(await world.sync()).toMatchObject({ failedRuns: [], quarantined: 0, left: 0 });
    expect(bomLines(world)).toHaveLength(6);
  });
});
