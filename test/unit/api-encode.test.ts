import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DECIMAL_PATHS, encodeWrite } from '../../src/api/encode.ts';
import { pathOf, WRITE_ENDPOINTS } from '../../src/api/endpoints.ts';
import { ITEM_FIELDS, ITEM_KINDS } from '../../src/domain/item.ts';
import type { Write } from '../../src/domain/ports/target.ts';
import { Profile } from '../../src/domain/profile.ts';
import { Fault } from '../../src/lib/errors.ts';

const profile = Profile.parse({});
const write = (given: Partial<Write>): Write => ({
  operation: 'product.create',
  payload: {},
  refs: {},
  remoteId: null,
  ...given,
});

describe('encodeWrite', () => {
  it('writes a product with its members in the order of the vocabulary', () => {
    const payload = { country_of_origin: 'DE', status: 'DRAFT', name: 'Stuhl "Ö"', sku: '00123' };
    expect(encodeWrite(write({ payload }), profile)).toEqual({
      path: '/api/products/',
      body: '{"sku":"00123","name":"Stuhl \\"Ö\\"","status":"DRAFT","country_of_origin":"DE"}',
    });
  });

  it('writes the refs of a BOM item in the JSON type of their ids', () => {
    const bom = write({
      operation: 'bom_item.create',
      payload: { quantity: '2.5', unit: 'KGM' },
      refs: { material: '7', product: 7 },
    });
    expect(encodeWrite(bom, profile)).toEqual({
      path: '/api/bom-items/',
      body: '{"product":7,"material":"7","quantity":"2.5","unit":"KGM"}',
    });
  });

  it('writes an update with null for what is to be cleared', () => {
    const update = write({ operation: 'material.update', payload: { name: 'Steel', category: null }, remoteId: 12 });
    expect(encodeWrite(update, profile)).toEqual({
      path: '/api/materials/12/',
      body: '{"name":"Steel","category":null}',
    });
  });

  it('uses the names of the profile', () => {
    const other = Profile.parse({
      wireNames: { product: { sku: 'article_no' }, bom_item: { quantity: 'qty' } },
      refNames: { product: 'parent_id' },
      extraFields: { product: ['brand'] },
    });
    expect(encodeWrite(write({ payload: { brand: { b: 1, a: [true] }, sku: 'A' } }), other).body).toBe(
      '{"article_no":"A","brand":{"a":[true],"b":1}}',
    );
    const bom = write({ operation: 'bom_item.create', payload: { quantity: '1' }, refs: { product: 3, component: 4 } });
    expect(encodeWrite(bom, other).body).toBe('{"parent_id":3,"component":4,"qty":"1"}');
  });

  it('sends what a payload has beyond the profile, and never two members of one name', () => {
    const other = Profile.parse({ wireNames: { product: { sku: 'code' } } });
    expect(encodeWrite(write({ payload: { sku: 'A', code: 'B', zeta: 1, alpha: 2 } }), other).body).toBe(
      '{"code":"A","alpha":2,"zeta":1}',
    );
  });

  it('puts the remote id into the path so that it stays one segment', () => {
    const update = (remoteId: string | number | null) =>
      encodeWrite(write({ operation: 'material.update', remoteId }), profile);
    expect(update('a/b?c#d e%ü').path).toBe('/api/materials/a%2Fb%3Fc%23d%20e%25%C3%BC/');
    expect(update('$&').path).toBe('/api/materials/%24%26/');
    for (const id of ['', '.', '..']) expect(() => update(id), id).toThrow(RangeError);
    expect(() => update(null)).toThrow(Fault);
  });

  it('refuses an operation that has no endpoint', () => {
    for (const operation of ['product.update', 'bom_item.update'] as const) {
      expect(() => encodeWrite(write({ operation, remoteId: 1 }), profile)).toThrow(/no endpoint/);
    }
  });
});

describe('decimals', () => {
  const numbers = Profile.parse({ decimals: 'number' });

  it('are written as text by default and as numbers with every digit when the profile says so', () => {
    const payload = {
      quantity: '0.1234567890123456789012345',
      mass: { value: '10', unit: 'KGM' },
      position: '0010',
    };
    const bom = write({ operation: 'bom_item.create', payload, refs: { product: 1, material: 2 } });
    expect(encodeWrite(bom, profile).body).toContain('"quantity":"0.1234567890123456789012345"');
    expect(encodeWrite(bom, numbers).body).toBe(
      '{"product":1,"material":2,"quantity":0.1234567890123456789012345,"position":"0010","mass":{"unit":"KGM","value":10}}',
    );
    const material = write({
      operation: 'material.create',
      payload: { name: '12', composition: [{ name: '1', mass_fraction: '0.5' }], recycled_mass_fraction: null },
    });
    expect(encodeWrite(material, numbers).body).toBe(
      '{"name":"12","recycled_mass_fraction":null,"composition":[{"mass_fraction":0.5,"name":"1"}]}',
    );
  });

  it('are known wherever the vocabulary has one', () => {
    for (const kind of ITEM_KINDS) {
      const decimal = Object.entries(ITEM_FIELDS[kind]).filter(([, schema]) => schema.safeParse('0.50').data === '0.5');
      const known = [...DECIMAL_PATHS[kind]].filter((path) => !path.includes('.'));
      expect(known.sort(), kind).toEqual(decimal.map(([name]) => name).sort());
    }
  });
});

describe('the body', () => {
  it('is JSON that says what the payload says, the same bytes for any order of members', () => {
    const payload = fc.dictionary(
      fc.constantFrom('sku', 'name', 'status', 'x', 'y', '__proto__', 'constructor'),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(payload, (given) => {
        const { body } = encodeWrite(write({ payload: given as never }), profile);
        expect(JSON.parse(body ?? '')).toEqual(JSON.parse(JSON.stringify(given)));
        const shuffled = Object.fromEntries(Object.entries(given).reverse());
        expect(encodeWrite(write({ payload: shuffled as never }), profile).body).toBe(body);
      }),
    );
  });
});

describe('the endpoint table', () => {
  it('keeps the trailing slash that the document gives every path', () => {
    for (const endpoint of Object.values(WRITE_ENDPOINTS)) {
      expect(pathOf(endpoint, 1)).toMatch(/^\/api\/[a-z-]+\/(1\/)?$/);
    }
  });
});
