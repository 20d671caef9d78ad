import type { Item } from '../../../src/domain/item.ts';
import type { MapResult } from '../../../src/domain/mapping.ts';

/** The result of a mapping for a record with these items. */
export function items(...list: Item[]): MapResult {
  return { status: 'mapped', items: list.map((item) => ({ ...item, mapping: 0 })) };
}

export function product(key: string, name = `Product ${key}`): Item {
  return { kind: 'product', key, payload: { sku: `SKU-${key}`, name }, refs: [] };
}

export function material(key: string, name = `Material ${key}`): Item {
  return { kind: 'material', key, payload: { code: `M-${key}`, name }, refs: [] };
}

export function bomItem(key: string, productKey: string, materialKey: string, quantity = '1'): Item {
  const refs: Item['refs'] = [
    { role: 'product', kind: 'product', key: productKey },
    { role: 'material', kind: 'material', key: materialKey },
  ];
  return { kind: 'bom_item', key, payload: { quantity }, refs };
}

/** The value if it is a text, or an empty text. */
export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
