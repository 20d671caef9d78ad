import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Call, startSandbox } from '../support/sandbox-caller.ts';

const ROUTES: [method: string, path: string, fields: string[]][] = [
  ['POST', '/api/products/', ['sku', 'name', 'status', 'country_of_origin', 'description', 'gtin']],
  ['POST', '/api/materials/', ['code', 'name', 'recycled_mass_fraction', 'hazardous', 'composition']],
  ['PATCH', '/api/materials/1/', ['code', 'name', 'category', 'origin_country', 'composition']],
  ['POST', '/api/bom-items/', ['product', 'material', 'component', 'quantity', 'mass', 'position', 'valid_from']],
];

/** Values that tend to break servers, besides whatever fast-check thinks of. */
const texts = fc.constantFrom(
  '',
  '\0',
  '\ud800',
  '9'.repeat(400),
  '__proto__',
  'DE',
  'DRAFT',
  '1',
  '1e999',
  '2026-02-30',
);
const numbers = fc.constantFrom(1, -1, 0.5, -0, 1e308, 1e-320, 2 ** 63);
const structures = fc.constantFrom<unknown>(null, true, [], {}, [[[]]], [null], [{ mass_fraction: 1 }], { value: {} });
const anything = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.string({ unit: 'binary' }));
const value = fc.oneof(texts, numbers, structures, anything);

async function expectVerdict(call: Call, method: string, path: string, body: unknown): Promise<void> {
  const { status, body: answer } = await call(method, path, { body });
  const verdict = status === 201 || status === 200 || (status >= 400 && status < 500);
  expect(verdict, `${status} for ${JSON.stringify(body)}`).toBe(true);
  expect(typeof answer).toBe('object');
}

test.each(ROUTES)('%s %s answers any members with a verdict, and never with 5xx', async (method, path, fields) => {
  const { call, sandbox } = await startSandbox({ idempotency: 'honoured' });
  await call('POST', '/api/products/', { body: { sku: 'A', name: 'x' } });
  await call('POST', '/api/materials/', { body: { name: 'Steel' } });
  const members = fc.dictionary(fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...fields) }, fc.string()), value);
  await fc.assert(
    fc.asyncProperty(members, (body) => expectVerdict(call, method, path, body)),
    { numRuns: 400 },
  );
  expect(sandbox.inspect().events.filter((event) => event.error !== undefined)).toEqual([]);
});

test.each(ROUTES)('%s %s answers any bytes with 4xx', async (method, path) => {
  const { call } = await startSandbox();
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array)),
    fc.json().map((text) => Buffer.from(text.slice(0, -1))),
    fc.nat(200_000).map((depth) => Buffer.from('['.repeat(depth) + ']'.repeat(depth))),
  );
  await fc.assert(
    fc.asyncProperty(bytes, async (body) => {
      const { status } = await call(method, path, { body });
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(500);
    }),
    { numRuns: 100 },
  );
});

test('lists answer any query with a verdict', async () => {
  const { call } = await startSandbox();
  const query = fc.dictionary(fc.constantFrom('page', 'page_size', 'x'), fc.string({ unit: 'grapheme' }));
  await fc.assert(
    fc.asyncProperty(query, async (parameters) => {
      const { status } = await call('GET', `/api/products/?${new URLSearchParams(parameters).toString()}`);
      expect([200, 404]).toContain(status);
    }),
    { numRuns: 300 },
  );
});
