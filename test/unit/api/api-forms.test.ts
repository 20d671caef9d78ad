import { describe, expect, it } from 'vitest';
import { createCleanText } from '../../../src/api/answers/answer-text.ts';
import { createClassifier } from '../../../src/api/answers/classify.ts';
import { holdersOf } from '../../../src/api/answers/echo.ts';
import { idInAddress, remoteIdIn } from '../../../src/api/answers/entry.ts';
import { sentIdentities } from '../../../src/api/answers/sent-identity.ts';
import { createEncoder } from '../../../src/api/encode.ts';
import type { Write } from '../../../src/domain/ports/target.ts';
import { Profile } from '../../../src/domain/profile.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';

const clean = createCleanText(createSecretStore());
const classifier = createClassifier({ clean, now: () => 0, unprocessed: [] });

const JSON_API = Profile.parse({
  list: { entry: 'attributes' },
  requests: {
    product: '{"data": {"type": "products", "attributes": "$fields"}}',
    productRow: '{"type": "products", "attributes": "$fields"}',
    material: '{"data": {"type": "materials", "id": "$id", "attributes": "$fields"}}',
    bom_item: JSON.stringify({
      data: {
        type: 'bom-items',
        attributes: '$fields',
        relationships: {
          product: { data: { type: 'products', id: '$product' } },
          material: { data: { type: 'materials', id: '$material' } },
          component: { data: { type: 'products', id: '$component' } },
        },
      },
    }),
  },
  imports: { bodyMember: 'data' },
});

function bodyOf(write: Partial<Write> & Pick<Write, 'operation'>): unknown {
  const { body } = createEncoder(JSON_API).encode({ payload: {}, refs: {}, remoteId: null, ...write });
  return JSON.parse(body ?? 'null');
}

describe('the body of a write', () => {
  it('the body of a write has the form of the profile, with the fields where the template says', () => {
    expect(bodyOf({ operation: 'product.create', payload: { sku: 'A', name: '$fields' } })).toEqual({
      data: { type: 'products', attributes: { sku: 'A', name: '$fields' } },
    });
    expect(bodyOf({ operation: 'material.create', payload: { code: 'M' } })).toEqual({
      data: { type: 'materials', attributes: { code: 'M' } },
    });
    expect(bodyOf({ operation: 'material.update', payload: { code: 'M' }, remoteId: 'x"1' })).toEqual({
      data: { type: 'materials', id: 'x"1', attributes: { code: 'M' } },
    });
  });

  it('the body of a BOM item has its refs where the template says, and nothing of a ref that it has not', () => {
    expect(
      bodyOf({ operation: 'bom_item.create', payload: { quantity: '2' }, refs: { product: 7, material: 'm-1' } }),
    ).toEqual({
      data: {
        type: 'bom-items',
        attributes: { quantity: '2' },
        relationships: {
          product: { data: { type: 'products', id: 7 } },
          material: { data: { type: 'materials', id: 'm-1' } },
        },
      },
    });
  });

  it('the rows of an import have a form of their own', () => {
    const { body } = createEncoder(JSON_API).encodeImport([{ sku: 'A' }, { sku: 'B' }]);
    expect(JSON.parse(body ?? '')).toEqual({
      data: [
        { type: 'products', attributes: { sku: 'A' } },
        { type: 'products', attributes: { sku: 'B' } },
      ],
    });
  });

  it('what was sent is read from the body in its form', () => {
    const encoder = createEncoder(JSON_API);
    const sent = (write: Write) =>
      sentIdentities(JSON_API)({ ...encoder.encode(write), operation: write.operation, idempotencyKey: 'k' });
    const create = { operation: 'product.create', payload: { sku: 'A', name: 'N' }, refs: {}, remoteId: null } as const;
    expect(sent(create)).toMatchObject({
      keys: [{ name: 'sku', value: 'A' }],
      fields: [{ name: 'name', value: 'N' }],
    });
    const part = {
      operation: 'bom_item.create',
      payload: { quantity: '2' },
      refs: { product: 7, material: 8 },
      remoteId: null,
    } as const;
    expect(sent(part).ids).toMatchObject([
      { name: 'product', id: 7 },
      { name: 'material', id: 8 },
    ]);
    // An answer in the form of the request that names another product is about another request.
    const shown = { data: { id: 1, relationships: { product: { data: { id: 9 } } } } };
    const outcome = classifier.outcomeOf(
      { kind: 'answer', status: 201, headers: {}, body: JSON.stringify(shown), cut: null },
      { needsId: false, idPaths: ['data.id'], uniqueFields: [], entryAt: 'attributes', sent: () => sent(part) },
    );
    expect(outcome).toMatchObject({ kind: 'ambiguous', cause: 'crossed' });
  });

  it.each([
    ['no JSON', '{"data": $fields}', 'no JSON'],
    ['a list', '["$fields"]', 'an object'],
    ['no fields', '{"data": {}}', '"$fields" is missing'],
    ['an unknown placeholder', '{"a": "$fields", "b": "$sku"}', '"$sku" is no placeholder'],
    ['a placeholder of another kind', '{"a": "$fields", "b": "$product"}', '"$product" is no placeholder'],
    ['a placeholder twice', '{"a": "$fields", "b": "$fields"}', 'there twice'],
    ['a name with a dot', '{"a.b": "$fields"}', 'has a dot'],
  ])('a template is refused with its reason: %s', (_name, template, reason) => {
    const parsed = Profile.safeParse({ requests: { material: template } });
    const words = reason === 'no JSON' ? 'This is not JSON' : reason;
    expect(parsed.error?.issues).toMatchObject([
      { path: ['requests', 'material'], message: expect.stringContaining(words) as string },
    ]);
  });
});

describe('a profile', () => {
  it.each([
    [{ wireNames: { material: { code: 'attributes.code' } } }, ['wireNames', 'material', 'code'], 'list.entry'],
    [{ refNames: { product: 'product.id' } }, ['refNames', 'product'], 'requests'],
    [
      { publications: { productIdPaths: ['product_id', 'id'] } },
      ['publications', 'productIdPaths', 1],
      'the publication itself',
    ],
  ] as [JsonObject, (string | number)[], string][])(
    'a profile is refused that would be read in two ways: %j',
    (given, path, words) => {
      expect(Profile.safeParse(given).error?.issues).toMatchObject([
        { path, message: expect.stringContaining(words) as string },
      ]);
    },
  );
});

describe('an id in an address', () => {
  it.each<[string, string | number | null]>([
    ['https://api.example.com/api/products/7/', 7],
    ['/api/products/7', 7],
    ['/api/products/0f9c1f3e-5f0e-4c57-9a51-6e1c5c6f8a01/?x=1#y', '0f9c1f3e-5f0e-4c57-9a51-6e1c5c6f8a01'],
    ['/api/products/a%20b', 'a b'],
    ['/api/products/007', '007'],
    ['/api/products/%2e%2e/', null],
    ['/api/products/%E0%A4%A/', null],
    ['/', null],
    ['7', null],
    [`/api/${'x'.repeat(300)}`, null],
  ])('an id in an address is its last part: %s', (address, id) => {
    expect(idInAddress(address, clean)).toBe(id);
  });

  it('an id is at the places of addresses only where the profile names them', () => {
    const entry = { id: '/api/products/7/', _links: { self: { href: '/api/products/7/' } } };
    expect(remoteIdIn(entry, { idPaths: ['id', '_links.self.href'] }, clean)).toBeNull();
    expect(remoteIdIn(entry, { idPaths: ['id'], idUrlPaths: ['_links.self.href'] }, clean)).toBe(7);
    expect(remoteIdIn(entry, { idPaths: [], idUrlPaths: ['id'] }, clean)).toBe(7);
  });

  const create = { needsId: true, idPaths: ['id'], uniqueFields: [], createsAt: '/api/products/' };
  const located = (status: number, location: string, body = '') =>
    classifier.outcomeOf({ kind: 'answer', status, headers: { location }, body, cut: null }, create);

  it('the Location of a 201 is the id where the body has none', () => {
    expect(located(201, '/api/products/7/')).toMatchObject({ kind: 'accepted', remoteId: 7, evidence: 'id' });
    expect(located(201, '/v2/api/products/a-7', '{}')).toMatchObject({ kind: 'accepted', remoteId: 'a-7' });
    expect(located(201, 'https://x.example/api/products/7?x=1')).toMatchObject({ kind: 'accepted', remoteId: 7 });
    expect(located(201, './7')).toMatchObject({ kind: 'accepted', remoteId: 7 });
    expect(located(201, '/api/products/7/', '{"id": 8}')).toMatchObject({ kind: 'accepted', remoteId: 8 });
  });

  it.each([
    [202, '/api/jobs/7/'],
    [200, '/api/products/7/'],
    [201, '/api/materials/7/'],
    [201, '/api/products/'],
    [201, '/api/jobs/9'],
    [201, 'https://x.example/jobs/9'],
    [201, '/v2/items/a-7'],
    [201, '/myapi/products/7/'],
    [201, '/api/products-jobs/7/'],
    [201, '/api/products/7/jobs/9/'],
    [201, '/api/products/../jobs/9/'],
    [201, '/jobs/9/?of=/api/products/7/'],
  ])('the Location is no id with the status %s and the address %s', (status, location) => {
    expect(located(status, location)).toMatchObject({ kind: 'ambiguous' });
  });

  it('the answer to a change whose address is that of another item belongs to another request', () => {
    const profile = Profile.parse({ idUrlPaths: { material: ['url'] } });
    const write = {
      operation: 'material.update',
      path: '/api/materials/7/',
      body: '{"name": "Oak"}',
      idempotencyKey: 'k',
    } as const;
    const expectation = {
      needsId: false,
      idPaths: ['id'],
      idUrlPaths: ['url'],
      uniqueFields: [],
      sent: () => sentIdentities(profile)(write),
    };
    const changed = (url: string) => {
      const body = JSON.stringify({ url });
      return classifier.outcomeOf({ kind: 'answer', status: 200, headers: {}, body, cut: null }, expectation);
    };
    expect(changed('/api/materials/7/')).toMatchObject({ kind: 'accepted' });
    expect(changed('/api/materials/8/')).toMatchObject({ kind: 'ambiguous', cause: 'crossed' });
  });

  it('an answer with an address in place of an id names the setting', () => {
    for (const [body, at] of [
      [{ url: 'https://x.example/api/products/7/' }, 'url'],
      [{ data: { links: { self: '/api/products/7' } } }, 'data.links.self'],
    ] as const) {
      const exchange = { kind: 'answer', status: 200, headers: {}, body: JSON.stringify(body), cut: null } as const;
      expect(JSON.stringify(classifier.outcomeOf(exchange, create))).toContain(`\`idUrlPaths\`: ${at}`);
    }
  });
});

it('the fields of an answer are looked for where entries have them, and in the answer itself', () => {
  const answer = { data: { id: 1, attributes: { sku: 'A' } } };
  expect(holdersOf(answer, ['id', 'data.id'], 'attributes')[0]).toEqual({ sku: 'A' });
  expect(holdersOf({ id: 1, sku: 'A' }, ['id'], 'attributes')[0]).toEqual({ id: 1, sku: 'A' });
});
