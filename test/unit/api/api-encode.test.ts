import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createEncoder, DECIMAL_PATHS } from '../../../src/api/encode.ts';
import { ENDPOINT_NAMES, ENDPOINTS, pathOf } from '../../../src/api/endpoints.ts';
import { ITEM_FIELDS, ITEM_KINDS } from '../../../src/domain/item.ts';
import type { Write } from '../../../src/domain/ports/target.ts';
import { Profile } from '../../../src/domain/profile.ts';
import { Fault } from '../../../src/lib/errors.ts';

const profile = Profile.parse({});
const write = (given: Partial<Write>): Write => ({
  operation: 'product.create',
  payload: {},
  refs: {},
  remoteId: null,
  ...given,
});

const encodeWrite = (given: Write, under: Profile) => createEncoder(under).encode(given);
const encodeImport = (members: Write['payload'][], under: Profile) => createEncoder(under).encodeImport(members);

describe('encodeWrite', () => {
  it('encodeWrite writes a product with its members in the order of the vocabulary', () => {
    const payload = { country_of_origin: 'DE', status: 'DRAFT', name: 'Stuhl "Ö"', sku: '00123' };
    expect(encodeWrite(write({ payload }), profile)).toEqual({
      path: '/api/products/',
      body: '{"sku":"00123","name":"Stuhl \\"Ö\\"","status":"DRAFT","country_of_origin":"DE"}',
    });
  });

  it('encodeWrite writes the refs of a BOM item in the JSON type of their ids', () => {
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

  it('encodeWrite writes an update with null for each field to clear', () => {
    const update = write({ operation: 'material.update', payload: { name: 'Steel', category: null }, remoteId: 12 });
    expect(encodeWrite(update, profile)).toEqual({
      path: '/api/materials/12/',
      body: '{"name":"Steel","category":null}',
    });
  });

  it('encodeWrite uses the names of the profile', () => {
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

  it('encodeWrite sends the fields of a payload beyond the profile, and never two members of one name', () => {
    const other = Profile.parse({ wireNames: { product: { sku: 'code' } } });
    expect(encodeWrite(write({ payload: { sku: 'A', code: 'B', zeta: 1, alpha: 2 } }), other).body).toBe(
      '{"code":"A","alpha":2,"zeta":1}',
    );
  });

  it('encodeWrite puts the remote id into the path so that it stays one segment', () => {
    const update = (remoteId: string | number | null) =>
      encodeWrite(write({ operation: 'material.update', remoteId }), profile);
    expect(update('a/b?c#d e%ü').path).toBe('/api/materials/a%2Fb%3Fc%23d%20e%25%C3%BC/');
    expect(update('$&').path).toBe('/api/materials/%24%26/');
    for (const id of ['', '.', '..']) expect(() => update(id), id).toThrow(RangeError);
    expect(() => update(null)).toThrow(Fault);
  });

  it('encodeWrite refuses an operation that has no endpoint', () => {
    for (const operation of ['product.update', 'bom_item.update'] as const) {
      expect(() => encodeWrite(write({ operation, remoteId: 1 }), profile)).toThrow(/no endpoint/);
    }
  });
});

describe('decimals', () => {
  const numbers = Profile.parse({ decimals: 'number' });

  it('decimals are written as text by default and as numbers with every digit when the profile says so', () => {
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

  it('decimals are known wherever the vocabulary has one', () => {
    for (const kind of ITEM_KINDS) {
      const decimal = Object.entries(ITEM_FIELDS[kind]).filter(([, schema]) => schema.safeParse('0.50').data === '0.5');
      const known = [...DECIMAL_PATHS[kind]].filter((path) => !path.includes('.'));
      expect(known.sort(), kind).toEqual(decimal.map(([name]) => name).sort());
    }
  });
});

describe('the body', () => {
  it('the body of a write is JSON of its payload, with the same bytes for any order of members', () => {
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

describe('the writes of a passport', () => {
  it('the writes of a passport have the id of their product in the path and no body', () => {
    const passport = (
      operation: 'passport.init' | 'passport.publish' | 'passport.unpublish',
      remoteId: string | number,
    ) => encodeWrite(write({ operation, payload: { sku: 'A' }, remoteId }), profile);
    expect(passport('passport.init', 7)).toEqual({ path: '/api/dpp/7/init/', body: null });
    expect(passport('passport.publish', 'a/b')).toEqual({ path: '/api/dpp/a%2Fb/publish/', body: null });
    expect(passport('passport.unpublish', '0f9c')).toEqual({ path: '/api/dpp/0f9c/unpublish/', body: null });
    expect(() => encodeWrite(write({ operation: 'passport.publish', remoteId: null }), profile)).toThrow(Fault);
  });
});

describe('encodeImport', () => {
  const members = [
    { sku: 'A', name: 'Ä' },
    { name: 'Bench', sku: 'B' },
  ];

  it('encodeImport writes its members under the name of the profile, or as a bare list', () => {
    const list = '[{"sku":"A","name":"Ä"},{"sku":"B","name":"Bench"}]';
    expect(encodeImport(members, profile)).toEqual({
      path: '/api/imports/products/',
      body: `{"products":${list}}`,
      memberCount: 2,
    });
    const bare = Profile.parse({ imports: { bodyMember: null }, wireNames: { product: { sku: 'code' } } });
    expect(encodeImport(members, bare).body).toBe(list.replaceAll('"sku"', '"code"'));
  });

  it('encodeImport never writes one through the encoding of a single item, and none without members', () => {
    expect(() => encodeWrite(write({ operation: 'product.import' }), profile)).toThrow(/from its members/);
    expect(() => encodeImport([], profile)).toThrow(Fault);
  });

  it('encodeImport lets a product that is too large by itself go alone, and ends before the bytes do', () => {
    const small = Profile.parse({ imports: { bytesMax: 1_024 } });
    const large = { sku: 'L', name: 'x'.repeat(2_000) };
    const half = { sku: 'H', name: 'x'.repeat(490) };
    expect(encodeImport([large, half], small).memberCount).toBe(1);
    expect(encodeImport([half, large], small).memberCount).toBe(1);
    expect(encodeImport([half, half], small).memberCount).toBe(1);
    expect(encodeImport([half, { sku: 'S', name: 'x' }], small).memberCount).toBe(2);
  });

  it('encodeImport takes the first members that fit, at least one, and never more bytes or members than allowed', () => {
    const product = fc.record({
      sku: fc.string({ maxLength: 20 }),
      name: fc.string({ unit: 'binary', maxLength: 600 }),
    });
    const limits = fc.record({
      membersMax: fc.integer({ min: 1, max: 8 }),
      bytesMax: fc.integer({ min: 1_024, max: 3_000 }),
    });
    fc.assert(
      fc.property(fc.array(product, { minLength: 1, maxLength: 12 }), limits, (products, imports) => {
        const own = Profile.parse({ imports });
        const { body, memberCount } = encodeImport(products, own);
        const bytes = Buffer.byteLength(body ?? '');
        expect(JSON.parse(body ?? '')).toEqual({ products: products.slice(0, memberCount) });
        expect(memberCount).toBeGreaterThan(0);
        expect(memberCount).toBeLessThanOrEqual(imports.membersMax);
        if (memberCount > 1) expect(bytes).toBeLessThanOrEqual(imports.bytesMax);
        // Nothing that would have fitted was left over.
        const next = products[memberCount];
        if (next === undefined || memberCount === imports.membersMax) return;
        expect(bytes + Buffer.byteLength(JSON.stringify(next)) + 2).toBeGreaterThan(imports.bytesMax);
      }),
    );
  });
});

describe('the endpoint table', () => {
  it('the endpoint table has the 15 operations of the document, with the slash at the end of every path', () => {
    expect(ENDPOINT_NAMES).toHaveLength(15);
    for (const name of ENDPOINT_NAMES) {
      expect(pathOf(ENDPOINTS[name], 1)).toMatch(
        /^\/api\/(?:[a-z-]+\/)+(1\/)?((init|publish|unpublish|revoke)\/|1\.pdf)?$/,
      );
    }
  });
});
