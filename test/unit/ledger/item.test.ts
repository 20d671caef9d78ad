import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changedFields, difference } from '../../../src/domain/delivery/reconcile.ts';
import { type Item, itemHash, parseItem } from '../../../src/domain/item.ts';
import { addDecimals, compareDecimals, normalizeDecimal } from '../../../src/lib/decimal.ts';
import { canonicalJson, type JsonValue } from '../../../src/lib/json.ts';

const bom = (change: Partial<Item> = {}): Item => ({
  kind: 'bom_item',
  key: '1/10',
  payload: { quantity: '02,50'.replace(',', '.') },
  refs: [
    { role: 'product', kind: 'product', key: 'P' },
    { role: 'material', kind: 'material', key: 'M' },
  ],
  ...change,
});

const codes = (item: Item): string[] => {
  const result = parseItem(item);
  return result.ok ? [] : result.error.map(({ code }) => code);
};

describe('parseItem', () => {
  it.each<[string, JsonValue, string]>([
    ['sku', 5, 'sku: found a number, expected text. sku is text of 1 to 255 characters.'],
    ['sku', ['a'], 'sku: found a list, expected text. sku is text of 1 to 255 characters.'],
    ['status', true, 'status: found true, expected text. status is text of 1 to 64 characters.'],
    [
      'name',
      'x'.repeat(501),
      'name: the text has 501 characters, expected at most 500. name is text of 1 to 500 characters.',
    ],
  ])('parseItem says in its own words what is wrong with %s: %j', (field, value, message) => {
    const payload = { sku: 'A', name: 'Pump', [field]: value };
    const result = parseItem({ kind: 'product', key: 'A', payload, refs: [] });
    expect(result).toMatchObject({ ok: false, error: [{ code: 'field.invalid', field, message }] });
  });

  it('parseItem normalises decimals and leaves empty optional fields out', () => {
    const result = parseItem(bom({ payload: { quantity: '02.50', unit: '', position: null } }));
    expect(result.ok && result.value.payload).toEqual({ quantity: '2.5' });
  });

  it('parseItem keeps white space and invisible characters around text, and takes no text without any other', () => {
    const product = (name: string): Item => ({
      kind: 'product',
      key: 'P',
      payload: { sku: ' A\u00a0', name },
      refs: [],
    });
    const result = parseItem(product('\ufeffPump '));
    expect(result.ok && result.value.payload).toEqual({ sku: ' A\u00a0', name: '\ufeffPump ' });
    expect(codes(product(' \ufeff\n'))).toEqual(['field.invalid']);
  });

  it('parseItem names every field that is wrong, with its value', () => {
    const result = parseItem({
      kind: 'product',
      key: 'P',
      payload: { sku: '', country_of_origin: 'Germany' },
      refs: [],
    });
    expect(!result.ok && result.error).toMatchObject([
      { code: 'field.required', field: 'sku' },
      { code: 'field.required', field: 'name' },
      { code: 'field.invalid', field: 'country_of_origin', value: 'Germany' },
    ]);
  });

  it('parseItem wants exactly one of material and component', () => {
    const [product, material] = bom().refs;
    const component = { role: 'component' as const, kind: 'product' as const, key: 'C' };
    expect(codes(bom({ refs: [product!] }))).toEqual(['refs.part']);
    expect(codes(bom({ refs: [product!, material!, component] }))).toEqual(['refs.part']);
    expect(codes(bom({ refs: [component] }))).toEqual(['refs.product']);
    expect(codes(bom({ refs: [product!, component] }))).toEqual([]);
  });

  it('parseItem refuses a product that is a component of itself', () => {
    const refs: Item['refs'] = [
      { role: 'product', kind: 'product', key: 'P' },
      { role: 'component', kind: 'product', key: 'P' },
    ];
    expect(codes(bom({ refs }))).toEqual(['refs.cycle']);
  });

  it('parseItem does not take a percentage for a fraction', () => {
    const payload = { name: 'Steel', recycled_mass_fraction: '12.5' };
    expect(codes({ kind: 'material', key: 'M', payload, refs: [] })).toEqual(['field.invalid']);
  });

  it('parseItem never throws, whatever a mapping gives', () => {
    const kinds = fc.constantFrom('product' as const, 'material' as const, 'bom_item' as const);
    fc.assert(
      fc.property(kinds, fc.string(), fc.dictionary(fc.string(), fc.jsonValue()), (kind, key, payload) => {
        parseItem({ kind, key, payload: payload as Record<string, JsonValue>, refs: [] });
      }),
    );
  });
});

describe('itemHash', () => {
  it('the hash of an item does not depend on the order of its fields', () => {
    const a = { payload: { sku: '1', name: 'x' }, refs: [] };
    const b = { payload: { name: 'x', sku: '1' }, refs: [] };
    expect(itemHash(a)).toBe(itemHash(b));
  });

  it('the hash of an item depends on payload and refs', () => {
    expect(itemHash(bom())).not.toBe(itemHash(bom({ payload: { quantity: '3' } })));
    expect(itemHash(bom())).not.toBe(itemHash(bom({ refs: bom().refs.slice(0, 1) })));
  });
});

describe('difference', () => {
  const item = {
    kind: 'material' as const,
    key: 'a b',
    desiredHash: 'a',
    baselineHash: null,
    renamed: null,
    sendsForm: false,
  };
  const BY_IMPORT = { productUpdate: 'import' as const };

  it('the difference to an item that the API does not have is a create', () => {
    expect(difference(item, BY_IMPORT)).toEqual({ need: 'write', operation: 'material.create' });
  });
  it('the difference between equal items is nothing', () => {
    expect(difference({ ...item, baselineHash: 'a' }, BY_IMPORT)).toEqual({ need: 'none' });
  });
  it('the difference patches a material, imports a product, and blocks what the API cannot change', () => {
    const changed = { ...item, baselineHash: 'b' };
    const product = { ...changed, kind: 'product' as const };
    expect(difference(changed, BY_IMPORT)).toEqual({ need: 'write', operation: 'material.update' });
    expect(difference(product, BY_IMPORT)).toEqual({ need: 'write', operation: 'product.import' });
    const blocked = { need: 'blocked', operation: 'product.update', reason: { code: 'unsupported' } };
    expect(difference(product, { productUpdate: 'none' })).toMatchObject(blocked);
    expect(difference({ ...changed, kind: 'bom_item' }, BY_IMPORT)).toMatchObject({
      ...blocked,
      operation: 'bom_item.update',
      reason: { message: expect.stringContaining("run `dpp-sync settle --delivered 'a b'`") },
    });
  });
  it('the difference does not import a product under another natural key, which would make a second one', () => {
    const renamed = { ...item, kind: 'product' as const, baselineHash: 'b', renamed: { from: '\ufeffA1', to: 'A1' } };
    expect(difference(renamed, BY_IMPORT)).toMatchObject({
      need: 'blocked',
      operation: 'product.update',
      reason: { code: 'renamed' },
    });
  });
});

describe('changedFields', () => {
  const payloads = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), fc.jsonValue());

  it('the changed fields turn the baseline into the desired payload', () => {
    fc.assert(
      fc.property(payloads, payloads, (desired, baseline) => {
        const without = (value: Record<string, unknown>) =>
          Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null)) as Record<string, JsonValue>;
        const changes = changedFields(without(desired), without(baseline));
        expect(canonicalJson(without({ ...without(baseline), ...changes }))).toBe(canonicalJson(without(desired)));
      }),
    );
  });

  it('the changed fields are empty for equal payloads', () => {
    fc.assert(
      fc.property(payloads, (payload) => {
        expect(
          changedFields(payload as Record<string, JsonValue>, structuredClone(payload) as Record<string, JsonValue>),
        ).toEqual({});
      }),
    );
  });
});

describe('decimals', () => {
  it.each([
    ['01.50', '1.5'],
    ['.5', '0.5'],
    ['-0.00', '0'],
    ['+7', '7'],
    ['1e3', '1000'],
    ['12.5e-3', '0.0125'],
    ['12345678901234567890.10', '12345678901234567890.1'],
    ['', null],
    ['1,5', null],
    ['1e999', null],
    ['abc', null],
  ])('normalising a decimal brings %j to %j', (given, expected) => {
    expect(normalizeDecimal(given)).toBe(expected);
  });

  it('normalised decimals keep their value and their order', () => {
    const decimal = fc.tuple(fc.integer({ min: -1e6, max: 1e6 }), fc.integer({ min: 0, max: 5 }));
    fc.assert(
      fc.property(decimal, decimal, ([a, scaleA], [b, scaleB]) => {
        const textA = normalizeDecimal(`${a}e-${scaleA}`)!;
        const textB = normalizeDecimal(`${b}e-${scaleB}`)!;
        expect(Number(textA)).toBeCloseTo(a / 10 ** scaleA, 9);
        expect(normalizeDecimal(textA)).toBe(textA);
        const exact = Math.sign(a * 10 ** scaleB - b * 10 ** scaleA);
        expect(Math.sign(compareDecimals(textA, textB))).toBe(exact);
      }),
    );
  });

  it('decimals are added exactly', () => {
    const scaled = (value: bigint, places: number): string => {
      const digits = String(value)
        .replace('-', '')
        .padStart(places + 1, '0');
      const text = `${digits.slice(0, digits.length - places)}.${digits.slice(digits.length - places)}`;
      return normalizeDecimal(value < 0n ? `-${text}` : text) ?? '';
    };
    const number = fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n });
    fc.assert(
      fc.property(number, fc.nat(30), number, fc.nat(30), (a, placesA, b, placesB) => {
        const places = Math.max(placesA, placesB);
        const exact = a * 10n ** BigInt(places - placesA) + b * 10n ** BigInt(places - placesB);
        expect(addDecimals(scaled(a, placesA), scaled(b, placesB))).toBe(scaled(exact, places));
      }),
    );
    expect(addDecimals('0.1', '0.2')).toBe('0.3');
    expect(addDecimals('-0.5', '0.5')).toBe('0');
  });
});
