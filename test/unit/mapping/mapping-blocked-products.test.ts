import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Mapper } from '../../../src/domain/mapping.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import { mapperOf } from '../../support/connectors/map-row.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';

const PRODUCT = {
  stream: 'products',
  to: 'product',
  key: 'row.ID',
  fields: { sku: 'row.ID', name: 'row.NAME' },
} as const;
const MATERIAL = { stream: 'materials', to: 'material', key: 'row.ID', fields: { name: 'row.NAME' } } as const;
const BOM_ITEM = {
  stream: 'boms',
  to: 'bom_item',
  key: 'row.ID',
  when: 'row.USED == "1"',
  refs: { product: 'row.PARENT', material: 'row.PART' },
  fields: { quantity: 'decimal(row.QTY)' },
} as const;

let mapper: Mapper;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'dpp-holds-'));
  const module = join(folder, 'map.mjs');
  writeFileSync(
    module,
    `export default { map(row) {
       if (row.throws) throw new Error('no');
       if (row.refuses) return { issues: [{ code: 'a', message: 'b' }], ...(row.names ? { products: [row.names] } : {}) };
       return [{ kind: 'bom_item', key: 'B', payload: {}, refs: [{ role: 'product', kind: 'product', key: 'P7' }] }];
     } };`,
  );
  mapper = await mapperOf([PRODUCT, MATERIAL, BOM_ITEM, { stream: 'free', module }], folder);
});
afterAll(() => removeFolder(folder));

function holdsOf(stream: string, fields: JsonObject, broken = false) {
  const issues = broken ? [{ code: 'row.columns' as const, message: 'too many' }] : [];
  const result = mapper.map({ source: 'erp', stream, fields, place: { file: 'x.csv', line: 2 }, issues });
  return result.status === 'quarantined' ? result.blockedProducts : result.status;
}

function materialsOf(stream: string, fields: JsonObject) {
  const result = mapper.map({ source: 'erp', stream, fields, place: { file: 'x.csv', line: 2 }, issues: [] });
  return result.status === 'quarantined' ? result.blockedMaterials : result.status;
}

describe('a quarantined row holds back', () => {
  it('a quarantined row holds back the passport of its product, where the row still has the key', () => {
    expect(holdsOf('products', { ID: 'P1', NAME: '' })).toEqual(['P1']);
    expect(holdsOf('products', { ID: '', NAME: 'Fan' })).toEqual([]);
  });

  it('a quarantined row of a material holds back no passport, since a product with the material waits by itself', () => {
    expect(holdsOf('materials', { ID: 'M1', NAME: '' })).toEqual([]);
  });

  it('a quarantined row names the material that it makes, where the row still has the key', () => {
    expect(materialsOf('materials', { ID: 'M1', NAME: '' })).toEqual(['M1']);
    expect(materialsOf('materials', { ID: '', NAME: 'Steel' })).toEqual([]);
    expect(materialsOf('products', { ID: 'P1', NAME: '' })).toEqual([]);
  });

  it('a quarantined row holds back the passport of the product that its BOM item belongs to', () => {
    const line = { ID: 'B1', USED: '1', PARENT: 'P1', PART: 'M1', QTY: 'much' };
    expect(holdsOf('boms', line)).toEqual(['P1']);
    expect(holdsOf('boms', { ...line, USED: null })).toEqual('excluded');
    const { USED: _, ...withoutColumn } = line;
    expect(holdsOf('boms', withoutColumn)).toEqual(['P1']);
  });

  it('a quarantined row holds back every passport, where its BOM item might belong to any product', () => {
    expect(holdsOf('boms', { ID: 'B1', USED: '1', PARENT: '', PART: 'M1', QTY: '1' })).toEqual([null]);
    expect(holdsOf('boms', { ID: 'B1', USED: '1', PART: 'M1', QTY: '1' })).toEqual([null]);
  });

  it('a quarantined row holds back every passport, where the row of a bill of materials could not be read', () => {
    expect(holdsOf('boms', { ID: 'B1', USED: '1', PARENT: 'P1', PART: 'M1', QTY: '1' }, true)).toEqual([null]);
    expect(holdsOf('products', { ID: 'P1', NAME: 'Fan' }, true)).toEqual([]);
    expect(holdsOf('free', {}, true)).toEqual([null]);
  });

  it('a quarantined row holds back every passport, where a module refuses it, unless the module names the products', () => {
    expect(holdsOf('free', { throws: true })).toEqual([null]);
    expect(holdsOf('free', { refuses: true })).toEqual([null]);
    expect(holdsOf('free', { refuses: true, names: 'P5' })).toEqual(['P5']);
    expect(holdsOf('free', {})).toEqual(['P7']);
  });
});
