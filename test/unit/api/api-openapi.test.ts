import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { ENDPOINT_NAMES } from '../../../src/api/endpoints.ts';
import { compareOpenApi } from '../../../src/api/openapi/compare.ts';
import { OPENAPI_BYTES_MAX } from '../../../src/api/openapi/document.ts';
import type { Difference } from '../../../src/api/openapi/match.ts';
import { Profile } from '../../../src/domain/profile.ts';
import type { JsonObject, JsonValue } from '../../../src/lib/json.ts';
import { cpuMs } from '../support/cpu-time.ts';
import { type OpenApi, openApiOf } from './open-api.ts';

const profile = Profile.parse({});

function compare(document: unknown, own = profile): Difference[] {
  const result = compareOpenApi(typeof document === 'string' ? document : JSON.stringify(document), own);
  if (!result.ok) throw new Error(result.error);
  return result.value;
}

/** The differences of the sound document after a change. */
function after(change: (document: OpenApi) => void, own = profile): Difference[] {
  const document = openApiOf(profile);
  change(document);
  return compare(document, own);
}

const operation = (document: OpenApi, path: string, method: string): JsonObject => document.paths[path]?.[method] ?? {};

const propertiesOf = (schema: JsonObject | undefined): JsonObject => (schema?.['properties'] ?? {}) as JsonObject;

/** The profile with every value set that the differences name. */
function corrected(differences: readonly Difference[], own: Profile): Profile {
  const copy = structuredClone(own) as Record<string, unknown>;
  for (const { setting, value } of differences) {
    if (setting === undefined || value === undefined || setting.startsWith('target.')) continue;
    const names = setting.split('.');
    const last = names.pop() ?? '';
    const holder = names.reduce((at, name) => at[name] as Record<string, unknown>, copy);
    holder[last] = value;
  }
  return Profile.parse(copy);
}

describe('a document that agrees with the profile', () => {
  it('an OpenAPI document that agrees with the profile has no differences, as JSON and as YAML', () => {
    expect(compare(openApiOf(profile))).toEqual([]);
    expect(compare(stringify(openApiOf(profile), { aliasDuplicateObjects: false }))).toEqual([]);
  });

  it('an OpenAPI document that says less than the profile has no differences', () => {
    const { paths } = openApiOf(profile);
    const bare = Object.fromEntries(
      Object.entries(paths).map(([path, item]) => [
        path,
        Object.fromEntries(
          Object.keys(item).map((method) => [method, { responses: { '200': { description: 'ok' } } }]),
        ),
      ]),
    );
    const differences = compare({ openapi: '3.0.3', paths: bare });
    expect(differences.map(({ what, weight }) => [what, weight])).toEqual([
      ['success', 'breaks'],
      ['success', 'breaks'],
      ['Idempotency-Key', 'note'],
    ]);
  });

  it('an OpenAPI document that agrees may call path parameters as it likes and stand below another path', () => {
    const document = openApiOf(profile);
    const paths = Object.fromEntries(
      Object.entries(document.paths).map(([path, item]) => [`/v2${path.replace(/\{\w+\}/, '{pk}')}`, item]),
    );
    expect(compare({ ...document, paths })).toMatchObject([
      { path: 'servers', found: '"/v2"', weight: 'note', setting: 'target.baseUrl' },
    ]);
    expect(compare({ ...document, servers: [{ url: 'https://x.example/gw/' }] })).toMatchObject([{ found: '"/gw"' }]);
  });
});

describe('a difference', () => {
  it.each<[string, (document: OpenApi) => void, Partial<Difference>]>([
    [
      'of the slash at the end',
      ({ paths }) => {
        paths['/api/bom-items'] = paths['/api/bom-items/'] ?? {};
        delete paths['/api/bom-items/'];
      },
      {
        path: 'POST /api/bom-items/',
        what: 'slash at the end of the path',
        found: '"/api/bom-items"',
        weight: 'breaks',
      },
    ],
    [
      'of the method',
      ({ paths }) => {
        paths['/api/materials/{id}/'] = { put: {} };
      },
      { path: 'PATCH /api/materials/{id}/', what: 'method', found: 'PUT', expected: 'PATCH' },
    ],
    [
      'of an operation that is not there',
      ({ paths }) => {
        paths['/api/bom/{id}/bom-items/'] = {};
        paths['/api/parts/bom-items/'] = { post: {} };
        delete paths['/api/bom-items/'];
      },
      {
        path: 'POST /api/bom-items/',
        what: 'operation',
        found: '"/api/parts/bom-items/"',
        expected: '"/api/bom-items/"',
      },
    ],
    [
      'of an import that is not there',
      ({ paths }) => void delete paths['/api/imports/products/'],
      { what: 'operation', found: 'no such path', setting: 'productUpdate', value: 'none' },
    ],
    [
      'of the name of a field',
      ({ components }) => {
        const { gtin, ...others } = propertiesOf(components.schemas['product']);
        components.schemas['product'] = { type: 'object', properties: { ...others, ean: gtin ?? null } };
      },
      {
        path: 'POST /api/products/',
        what: 'request field',
        found: '"ean"',
        expected: '"gtin"',
        weight: 'note',
        setting: 'wireNames.product.gtin',
        value: 'ean',
      },
    ],
    [
      'of a pointer of a BOM item',
      ({ components }) => {
        const { product, ...others } = propertiesOf(components.schemas['bom_item']);
        components.schemas['bom_item'] = { type: 'object', properties: { ...others, product_id: product ?? null } };
      },
      {
        path: 'POST /api/bom-items/',
        found: '"product_id"',
        weight: 'breaks',
        setting: 'refNames.product',
        value: 'product_id',
      },
    ],
    [
      'of a field that is required and unknown',
      ({ components }) => {
        const product = components.schemas['product'] ?? {};
        components.schemas['product'] = {
          allOf: [product, { properties: { brand: { type: ['string', 'null'] } }, required: ['brand'] }],
        };
      },
      {
        what: 'required request fields',
        found: '"brand"',
        weight: 'breaks',
        setting: 'extraFields.product',
        value: ['brand'],
      },
    ],
    [
      'of the form of decimals',
      ({ components }) => {
        const properties = components.schemas['bom_item']?.['properties'] as JsonObject;
        for (const name of ['quantity', 'per_quantity', 'mass_fraction']) properties[name] = { type: 'number' };
      },
      { what: 'form of decimals', found: 'numbers', setting: 'decimals', value: 'number', weight: 'breaks' },
    ],
    [
      'of the id in an answer',
      (document) => {
        operation(document, '/api/products/', 'post')['responses'] = {
          '201': {
            content: {
              'application/json': { schema: { properties: { product: { properties: { uid: {}, uuid: {} } } } } },
            },
          },
        };
      },
      {
        what: 'id in the answer',
        found: '"product.uuid"',
        setting: 'idPaths.product',
        value: ['product.uuid', ...profile.idPaths.product],
      },
    ],
    [
      'of the envelope of a list',
      (document) => {
        const list = { type: 'array', items: { $ref: '#/components/schemas/material' } };
        operation(document, '/api/materials/', 'get')['responses'] = {
          '200': { content: { 'application/json': { schema: { properties: { next: {}, records: list } } } } },
        };
      },
      {
        path: 'GET /api/materials/',
        what: 'list in the answer',
        found: '"records"',
        setting: 'list.itemsAt',
        value: ['records', ...Profile.parse({}).list.itemsAt],
      },
    ],
    [
      'of the parameter for pages',
      (document) => {
        const products = operation(document, '/api/products/', 'get');
        products['parameters'] = [
          { name: 'page_number', in: 'query' },
          { name: 'limit', in: 'query' },
        ];
        products['responses'] = {
          '200': { content: { 'application/json': { schema: { type: 'array', items: {} } } } },
        };
      },
      {
        what: 'page parameter',
        found: '"page_number"',
        weight: 'breaks',
        setting: 'list.pageParameter',
        value: 'page_number',
      },
    ],
    [
      'of the header of the key',
      ({ components }) => {
        components.securitySchemes = { key: { type: 'apiKey', in: 'header', name: 'Authorization' } };
      },
      {
        path: 'components.securitySchemes',
        found: '"Authorization"',
        expected: '"X-API-Key" in the header',
        weight: 'breaks',
      },
    ],
    [
      'of a header that is required',
      (document) => {
        operation(document, '/api/dpp/{product_id}/init/', 'post')['parameters'] = [
          { name: 'X-Org-ID', in: 'header', required: true },
        ];
      },
      {
        path: 'POST /api/dpp/{product_id}/init/',
        what: 'required header parameter',
        found: '"X-Org-ID"',
        weight: 'breaks',
      },
    ],
    [
      'of a body where there is none',
      (document) => {
        operation(document, '/api/dpp/{product_id}/publish/', 'post')['requestBody'] = { required: true };
      },
      { path: 'POST /api/dpp/{product_id}/publish/', what: 'request body', weight: 'breaks' },
    ],
    [
      'of a success that is not final',
      (document) => {
        operation(document, '/api/imports/products/', 'post')['responses'] = { '202': {} };
      },
      {
        path: 'POST /api/imports/products/',
        what: 'success',
        found: '202, which does not mean that the work is done',
        weight: 'note',
      },
    ],
    [
      'of the body of an import',
      (document) => {
        const list = { type: 'array', maxItems: 20, items: { $ref: '#/components/schemas/product' } };
        operation(document, '/api/imports/products/', 'post')['requestBody'] = {
          content: { 'application/json': { schema: { properties: { rows: list } } } },
        };
      },
      {
        what: 'member with the products',
        found: '"rows"',
        expected: '"products"',
        setting: 'imports.bodyMember',
        value: 'rows',
      },
    ],
    [
      'of an import that takes files alone',
      (document) => {
        operation(document, '/api/imports/products/', 'post')['requestBody'] = {
          content: { 'multipart/form-data': {} },
        };
      },
      { what: 'type of the request body', found: '"multipart/form-data"', setting: 'productUpdate', value: 'none' },
    ],
    [
      'of the scope of creating a report',
      (document) => {
        operation(document, '/api/reports/', 'post')['security'] = [{ key: ['dpp:write'] }];
      },
      { path: 'POST /api/reports/', what: 'scope', found: '"write"', setting: 'scopes.reportCreate', value: 'write' },
    ],
    [
      'of what a publication is of',
      (document) => {
        const entry = { properties: { id: {}, item_id: {}, status: {}, published_at: {}, url: {} } };
        operation(document, '/api/dpp/publications/', 'get')['responses'] = {
          '200': { content: { 'application/json': { schema: { items: entry } } } },
        };
      },
      {
        what: 'product of an entry',
        weight: 'breaks',
        setting: 'publications.productIdPaths',
        value: ['item_id', ...profile.publications.productIdPaths],
      },
    ],
    [
      'of the place of the fields in an entry of a list',
      (document) => {
        const entry = { properties: { id: {}, type: {}, attributes: { $ref: '#/components/schemas/material' } } };
        operation(document, '/api/materials/', 'get')['responses'] = {
          '200': { content: { 'application/json': { schema: { items: entry } } } },
        };
      },
      { what: 'place of the fields in an entry', setting: 'list.entry', value: 'attributes', weight: 'breaks' },
    ],
    [
      'of the envelope of a request',
      (document) => {
        const data = {
          properties: { type: { const: 'materials' }, attributes: { $ref: '#/components/schemas/material' } },
        };
        operation(document, '/api/materials/', 'post')['requestBody'] = {
          content: { 'application/json': { schema: { properties: { data } } } },
        };
      },
      {
        what: 'place of the fields in the body',
        setting: 'requests.material',
        value: '{"data":{"type":"materials","attributes":"$fields"}}',
        weight: 'breaks',
      },
    ],
    [
      'of the media type of a change',
      (document) => {
        operation(document, '/api/materials/{id}/', 'patch')['requestBody'] = {
          content: { 'application/merge-patch+json': { schema: { $ref: '#/components/schemas/material' } } },
        };
      },
      {
        what: 'type of the request body',
        setting: 'requests.updateContentType',
        value: 'application/merge-patch+json',
        weight: 'breaks',
      },
    ],
  ])('the difference of an OpenAPI document in %s is found, with what to set', (_name, change, expected) => {
    expect(after(change)).toContainEqual(expect.objectContaining(expected));
  });

  it.each([
    { id: {}, status: {} },
    { uuid: {}, status: {} },
    { organization_id: {}, created_by_id: {} },
  ])(
    'the difference of an OpenAPI document in publications that name no product proposes no other id: %j',
    (properties) => {
      const differences = after((document) => {
        operation(document, '/api/dpp/publications/', 'get')['responses'] = {
          '200': { content: { 'application/json': { schema: { items: { properties: properties as JsonObject } } } } },
        };
      });
      const found = differences.find(({ setting }) => setting === 'publications.productIdPaths');
      expect(found).toMatchObject({ what: 'product of an entry', weight: 'breaks' });
      expect(found).not.toHaveProperty('value');
    },
  );

  it('the difference of an OpenAPI document in an answer without a body is none where it has a Location', () => {
    const changed = (headers: JsonObject) =>
      after((document) => {
        operation(document, '/api/products/', 'post')['responses'] = { '201': { description: '', headers } };
      }).filter(({ what }) => what === 'success');
    expect(changed({})).toHaveLength(1);
    expect(changed({ Location: { schema: { type: 'string' } } })).toEqual([]);
  });

  describe('of the idempotency header', () => {
    const WRITES = ['post', 'patch'];
    /** The result of the comparison for a document that lists the header on every write. */
    const noted = (refusals: JsonObject, own = profile) => {
      const differences = after((document) => {
        for (const item of Object.values(document.paths)) {
          for (const [method, one] of Object.entries(item)) {
            if (!WRITES.includes(method)) continue;
            one['parameters'] = [{ name: 'idempotency-key', in: 'header' }];
            one['responses'] = { ...(one['responses'] as JsonObject), ...refusals };
          }
        }
      }, own);
      return differences.filter(({ what }) => what === 'Idempotency-Key');
    };

    it('the difference of the idempotency header is a note without advice where no answer shows that it is obeyed', () => {
      for (const refusals of [{}, { 409: { description: 'A gate.' }, 422: { description: 'Validation Error' } }]) {
        const [difference, ...others] = noted(refusals);
        expect(others).toEqual([]);
        expect(difference).toMatchObject({ weight: 'note', expected: 'on publishing' });
        expect(difference?.found).toBe(
          'on every write, and the document does not show whether the API obeys the header',
        );
        expect(difference).not.toHaveProperty('setting');
        expect(difference).not.toHaveProperty('value');
      }
    });

    it('the difference of the idempotency header names the setting, and leaves it to the operator, where answers show use', () => {
      const [difference] = noted({ 422: { description: 'The idempotency key was used for another request.' } });
      expect(difference).toMatchObject({ weight: 'note', setting: 'idempotency' });
      expect(difference?.found).toContain('used again');
      expect(difference).not.toHaveProperty('value');
    });

    it('the difference of the idempotency header is none where the profile has it so already', () => {
      expect(noted({}, Profile.parse({ idempotency: 'honoured' }))).toEqual([]);
    });

    it('the difference of the idempotency header has a value to be set where it is missing', () => {
      const differences = after(({ paths }) => {
        for (const item of Object.values(paths)) for (const one of Object.values(item)) delete one['parameters'];
      });
      expect(differences).toMatchObject([{ what: 'Idempotency-Key', setting: 'idempotency', value: 'none' }]);
    });
  });

  it('a difference of an OpenAPI document is gone once everything is set that it names', () => {
    const other = fc.constantFrom('rows', 'records', 'entries');
    const draft = fc.record(
      {
        wireNames: fc.record(
          {
            product: fc.record({ sku: fc.constantFrom('article_number', 'SKU', 'skus', 'code') }),
            bom_item: fc.record({ unit: fc.constantFrom('uom', 'Unit', 'units'), quantity: fc.constant('qty') }),
            material: fc.record({ name: fc.constantFrom('title', 'label'), origin_country: fc.constant('country') }),
          },
          { requiredKeys: [] },
        ),
        refNames: fc.record({
          component: fc.constantFrom('child_id', 'componentId'),
          material: fc.constant('material_id'),
        }),
        decimals: fc.constantFrom('string', 'number'),
        imports: fc.record({ bodyMember: fc.option(other) }),
        list: fc.record({ itemsAt: fc.tuple(other) }),
        idPaths: fc.record({ product: fc.constantFrom(['uid_uuid'], ['pk'], ['item_id']) }),
        extraFields: fc.record({ material: fc.constantFrom([], ['colour', 'finish']) }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(draft, (given) => {
        const parsed = Profile.safeParse(given);
        fc.pre(parsed.success);
        const document = openApiOf(parsed.data as Profile);
        expect(compare(document, parsed.data)).toEqual([]);
        let own = profile;
        // The differences inside the envelope of a list are found only when the envelope is set.
        for (let round = 0; round < 3; round += 1) own = corrected(compare(document, own), own);
        expect(compare(document, own).filter(({ weight }) => weight === 'breaks')).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});

describe('what cannot be read', () => {
  const bodyOf = (schema: JsonValue): JsonObject => ({ content: { 'application/json': { schema } } });
  const nested = (depth: number): JsonObject => {
    let schema: JsonObject = { properties: { sku: {} } };
    for (let at = 0; at < depth; at += 1) schema = { allOf: [schema] };
    return schema;
  };

  it.each<[string, (document: OpenApi) => void, Partial<Difference>]>([
    [
      'a body in another file',
      (document) => {
        const external = bodyOf({ $ref: 'schemas.yaml#/Product' });
        operation(document, '/api/products/', 'post')['requestBody'] = external;
      },
      {
        path: 'POST /api/products/',
        what: 'request body',
        found: 'a reference out of the document, "schemas.yaml#/Product"',
      },
    ],
    [
      'a part of a body in another file',
      ({ components }) => {
        components.schemas['material'] = {
          allOf: [components.schemas['material'] ?? {}, { $ref: 'https://x.example/y' }],
        };
      },
      { path: 'PATCH /api/materials/{id}/', what: 'request body' },
    ],
    [
      'a whole request body in another file',
      (document) => {
        operation(document, '/api/imports/products/', 'post')['requestBody'] = { $ref: 'import.yaml' };
      },
      { path: 'POST /api/imports/products/', what: 'request body' },
    ],
    [
      'references in a circle',
      ({ components }) => {
        components.schemas['bom_item'] = { $ref: '#/components/schemas/part' };
        components.schemas['part'] = { $ref: '#/components/schemas/bom_item' };
      },
      { path: 'POST /api/bom-items/', what: 'request body', found: 'references that go round in a circle' },
    ],
    [
      'a schema that is part of itself',
      ({ components }) => {
        components.schemas['bom_item'] = { allOf: [{ $ref: '#/components/schemas/bom_item' }] };
      },
      { path: 'POST /api/bom-items/', what: 'request body' },
    ],
    [
      'a schema nested beyond measure',
      (document) => {
        operation(document, '/api/products/', 'post')['requestBody'] = bodyOf(nested(1_000));
      },
      { path: 'POST /api/products/', what: 'request body' },
    ],
    [
      'a reference to nothing in an answer',
      (document) => {
        const responses = { '200': bodyOf({ $ref: '#/components/schemas/none' }) };
        operation(document, '/api/dpp/publications/', 'get')['responses'] = responses;
      },
      { path: 'GET /api/dpp/publications/', what: 'answer', found: expect.stringContaining('schemas/none') },
    ],
    [
      'an answer in another file',
      (document) => {
        operation(document, '/api/reports/', 'get')['responses'] = { '200': { $ref: 'answers.yaml#/list' } };
      },
      { path: 'GET /api/reports/', what: 'answer 200' },
    ],
    [
      'a parameter in another file',
      (document) => {
        operation(document, '/api/products/', 'get')['parameters'] = [{ $ref: 'parameters.yaml#/page' }];
      },
      { path: 'GET /api/products/', what: 'parameter' },
    ],
  ])('an unreadable part of an OpenAPI document is reported: %s', (_what, change, expected) => {
    expect(after(change)).toContainEqual(expect.objectContaining({ weight: 'unread', ...expected }));
  });

  it('an OpenAPI document that is made to explode is reported as unreadable', () => {
    const differences = after(({ components }) => {
      const parts = Array.from({ length: 50 }, () => ({ $ref: '#/components/schemas/bom_item' }));
      components.schemas['bom_item'] = { anyOf: parts, allOf: parts };
    });
    expect(differences.filter(({ weight }) => weight === 'unread').map(({ path }) => path)).toContain(
      'POST /api/bom-items/',
    );
  });

  it('an unreadable part of an OpenAPI document is not reported where nothing is compared with it', () => {
    expect(
      after((document) => {
        operation(document, '/api/dpp/{product_id}/init/', 'post')['responses'] = {
          '201': bodyOf({ $ref: 'passport.yaml' }),
        };
      }),
    ).toEqual([]);
  });
});

describe('values that cannot be sent', () => {
  const withProperty = (kind: string, name: string, property: JsonObject) =>
    after(({ components }) => {
      const properties = propertiesOf(components.schemas[kind]);
      components.schemas[kind] = { type: 'object', properties: { ...properties, [name]: property } };
    });

  it.each<[string, string, JsonObject, Partial<Difference>]>([
    [
      'product',
      'status',
      { enum: ['ACTIVE', 'RETIRED'] },
      { what: 'values of "status"', found: '"ACTIVE", "RETIRED"', expected: '"DRAFT" or its like', weight: 'breaks' },
    ],
    [
      'product',
      'status',
      { oneOf: [{ enum: ['LIVE'] }, { enum: [''] }, { type: 'null' }] },
      { what: 'values of "status"', found: '"LIVE", ""' },
    ],
    ['bom_item', 'unit', { enum: ['kg', 'm', 'pieces'] }, { what: 'values of "unit"', expected: '"KGM" or its like' }],
    ['material', 'origin_country', { enum: ['DEU', 'FRA'] }, { what: 'values of "origin_country"', weight: 'breaks' }],
    [
      'product',
      'sku',
      { type: 'string', maxLength: 5 },
      { what: 'length of "sku"', found: 'at most 5', expected: 'up to 255', weight: 'note' },
    ],
    ['product', 'gtin', { maxLength: 13 }, { what: 'length of "gtin"', found: 'at most 13', weight: 'breaks' }],
  ])('a value that cannot be sent is reported: of a %s, %s as %j', (kind, name, property, expected) => {
    expect(withProperty(kind, name, property)).toContainEqual(expect.objectContaining(expected));
  });

  it.each<[string, string, JsonObject]>([
    ['product', 'status', { enum: ['DRAFT', 'ACTIVE'] }],
    ['product', 'status', { anyOf: [{ enum: ['ACTIVE'] }, { type: 'string' }] }],
    ['product', 'status', { allOf: [{ enum: ['DRAFT'] }], maxLength: 64 }],
    ['product', 'country_of_origin', { oneOf: [{ enum: ['DE', 'FR'] }, { enum: [null] }], maxLength: 2 }],
    ['bom_item', 'unit', { enum: ['KGM', 'H87'] }],
    ['product', 'sku', { anyOf: [{ maxLength: 5 }, { maxLength: 300 }] }],
  ])('a value that cannot be sent is no difference beside others: of a %s, %s as %j', (kind, name, property) => {
    expect(withProperty(kind, name, property)).toEqual([]);
  });
});

describe('a text', () => {
  it.each([
    ['', /neither JSON nor YAML/],
    ['{', /neither JSON nor YAML/],
    ['[1]', /neither JSON nor YAML/],
    ['a: b: c', /neither JSON nor YAML/],
    ['{"swagger": "2.0", "paths": {}}', /Swagger 2/],
    ['{"openapi": "4.0.0", "paths": {}}', /OpenAPI 3/],
    ['{"openapi": "3.1.0"}', /no paths/],
    [`{"openapi": "3.1.0", "x": "${'y'.repeat(OPENAPI_BYTES_MAX)}"}`, /longer than/],
    [`openapi: 3.1.0\npaths: ${'['.repeat(50_000)}`, /neither JSON nor YAML/],
    [
      `a: &a [x,x]\n${Array.from({ length: 40 }, (_, at) => `b${at}: &b${at} [${at === 0 ? '*a,*a' : `*b${at - 1},*b${at - 1}`}]`).join('\n')}`,
      /neither JSON nor YAML/,
    ],
  ])('a text that is no such document is reported as such (%#)', (text, reason) => {
    const result = compareOpenApi(text, profile);
    expect(result.ok ? '' : result.error).toMatch(reason);
  });

  it('a text without any of the operations has them all missing', () => {
    const missing = compare({ openapi: '3.0.0', paths: {} });
    expect(missing).toHaveLength(ENDPOINT_NAMES.length);
    expect(missing.every(({ what, weight }) => what === 'operation' && weight === 'breaks')).toBe(true);
  });

  it('a text with names that no terminal should see is shown without them', () => {
    const name = `\u001b[31m\u202e${'x'.repeat(500)}`;
    const [difference] = after(({ components }) => {
      components.schemas['product'] = {
        properties: { ...propertiesOf(components.schemas['product']), [name]: {} },
        required: [name],
      };
    });
    expect(difference?.found).toMatch(/^" ?\[31m x+…$/);
    expect(difference?.found).toHaveLength(200);
    expect(difference).not.toHaveProperty('value');
  });

  it('a text whose references go round in circles or explode is read to an end', () => {
    const document = openApiOf(profile);
    const schemas: Record<string, JsonObject> = document.components.schemas;
    schemas['product'] = { $ref: '#/components/schemas/other' };
    schemas['other'] = { $ref: '#/components/schemas/product' };
    const parts = Array.from({ length: 50 }, () => ({ $ref: '#/components/schemas/bom_item' }));
    schemas['bom_item'] = {
      anyOf: parts,
      allOf: parts,
      properties: { self: { $ref: '#/components/schemas/bom_item' } },
    };
    const begin = cpuMs();
    compare(document);
    expect(cpuMs() - begin).toBeLessThan(5_000);
  });

  it('a text of any form gives differences that can be shown, and never throws', () => {
    const names = [
      'get',
      'post',
      'parameters',
      'requestBody',
      'responses',
      'content',
      'schema',
      '$ref',
      'properties',
      'items',
      'allOf',
      'type',
    ];
    const { tree } = fc.letrec<{ tree: JsonValue }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 6 },
        fc.constantFrom<JsonValue>('array', '#/paths', '200', null, true, 7, '\u0000\u202e', 'application/json'),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(fc.oneof(fc.constantFrom(...names), fc.string()), tie('tree'), { maxKeys: 5 }),
      ),
    }));
    fc.assert(
      fc.property(tree, tree, (item, components) => {
        const paths = Object.fromEntries(Object.keys(openApiOf(profile).paths).map((path) => [path, item]));
        for (const difference of compare({ openapi: '3.1.0', paths, components })) {
          expect(difference.found + difference.what + difference.expected).not.toMatch(/[\p{Cc}\p{Cf}]/u);
          expect(difference.found.length).toBeLessThanOrEqual(200);
          expect(difference.path).not.toBe('');
        }
      }),
      { numRuns: 500 },
    );
  });
});
