import { connect } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ENDPOINTS, OPERATION_NAMES } from '../../../src/sandbox/api/endpoints.ts';
import { type Call, type RunningSandbox, startSandbox } from '../../support/sandbox/sandbox-caller.ts';
import { CASES, prepareGround } from '../../support/sandbox/sandbox-cases.ts';

const ROUTES: [method: string, path: string, fields: string[]][] = [
  ['POST', '/api/products/', ['sku', 'name', 'status', 'country_of_origin', 'description', 'gtin']],
  ['POST', '/api/materials/', ['code', 'name', 'recycled_mass_fraction', 'hazardous', 'composition']],
  ['PATCH', '/api/materials/1/', ['code', 'name', 'category', 'origin_country', 'composition']],
  ['POST', '/api/bom-items/', ['product', 'material', 'component', 'quantity', 'mass', 'position', 'valid_from']],
  ['POST', '/api/imports/products/', ['products', 'sku', 'name']],
  ['POST', '/api/reports/', ['type', 'title']],
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

async function expectDecision(call: Call, method: string, path: string, body: unknown): Promise<void> {
  const { status, body: answer } = await call(method, path, { body });
  const decision = status === 201 || status === 200 || (status >= 400 && status < 500);
  expect(decision, `${status} for ${JSON.stringify(body)}`).toBe(true);
  expect(typeof answer).toBe('object');
}

test.each(ROUTES)('%s %s answers any members with a decision, and never with 5xx', async (method, path, fields) => {
  const { call, sandbox } = await startSandbox({ idempotency: 'honoured' });
  await call('POST', '/api/products/', { body: { sku: 'A', name: 'x' } });
  await call('POST', '/api/materials/', { body: { name: 'Steel' } });
  const members = fc.dictionary(fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...fields) }, fc.string()), value);
  await fc.assert(
    fc.asyncProperty(members, (body) => expectDecision(call, method, path, body)),
    { numRuns: 400 },
  );
  expect(sandbox.inspect().events.filter((event) => event.error !== undefined)).toEqual([]);
});

// The import answers rows that are wrong with 200 and says so row by row, and a report needs no body at all.
const STRICT_ROUTES = ROUTES.filter(([, path]) => !/imports|reports/.test(path));

test.each(STRICT_ROUTES)('%s %s answers any bytes with 4xx', async (method, path) => {
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

test('lists of the sandbox answer any query with a decision', async () => {
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

/** Sends a request as bytes, because an HTTP client would correct it. Returns the status of the answer. */
async function sendRaw(baseUrl: string, head: string, body: Buffer | string = ''): Promise<number> {
  const socket = connect(Number(new URL(baseUrl).port), '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  // A server that refuses a body may close the connection before the whole body is sent. Only its answer counts.
  socket.on('error', () => socket.destroy());
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(head, 'latin1');
  socket.write(body);
  await closed;
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(Buffer.concat(chunks).toString('latin1'))?.[1]);
}

function headOf(
  { key, token }: { key: string; token: string },
  method: string,
  target: string,
  more: string[],
): string {
  const lines = [
    `${method} ${target} HTTP/1.1`,
    'Host: localhost',
    'Connection: close',
    `X-API-Key: ${key}`,
    `Authorization: Bearer ${token}`,
    ...more,
  ];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

async function startWithToken(): Promise<RunningSandbox & { token: string }> {
  const running = await startSandbox({ idempotency: 'honoured' });
  await prepareGround(running);
  const token = running.sandbox.openSession({ organization: 'acme', email: 'o@example.com', role: 'owner' });
  return { ...running, token };
}

/** Ids and parts of paths that an attacker could send. */
const nastySegments = fc.oneof(
  fc.constantFrom(
    '..%2f..',
    '..%2F1',
    '%2e%2e',
    '..',
    '.',
    '%00',
    '1%00',
    '1%0d%0aX-Evil:%201',
    '%c0%ae',
    '%ff',
    '%',
    '%zz',
    '1;a=b',
    '1%20',
    '-1',
    '1e1',
    '0x1',
    '1.0',
    'null',
    '__proto__',
    'constructor',
    "1'--",
    '%F0%9F%92%A9',
    '%E6%BC%A2',
    '9'.repeat(400),
    'a'.repeat(5000),
    '%41'.repeat(3000),
  ),
  fc.string({ unit: 'binary', maxLength: 40 }).map((text) => encodeURIComponent(text.toWellFormed())),
  fc.webPath(),
);

test.each(OPERATION_NAMES)('%s answers nasty ids, paths and queries with 4xx', async (operation) => {
  const running = await startWithToken();
  const { method } = ENDPOINTS[operation];
  const { succeeds, elsewhere } = CASES[operation];
  await fc.assert(
    fc.asyncProperty(nastySegments, fc.constantFrom('inside', 'after'), async (segment, where) => {
      const path = where === 'inside' && elsewhere ? elsewhere.replace('{}', segment) : `${succeeds.path}${segment}`;
      // A segment that gives the path of this or another operation is left out.
      fc.pre(!/^\/*(\?|#|$)/.test(segment) && !/^[1-9]\d{0,3}$/.test(decodeURIComponentOr(segment)));
      const status = await sendRaw(running.baseUrl, headOf(running, method, path, ['Content-Length: 0']));
      expect(status, path).toBeGreaterThanOrEqual(400);
      expect(status, path).toBeLessThan(500);
    }),
    {
      numRuns: 60,
      examples: [
        ['..%2f..', 'inside'],
        ['..%2f..', 'after'],
      ],
    },
  );
});

function decodeURIComponentOr(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return text;
    throw error;
  }
}

const nastyHeaders = fc.oneof(
  fc.constantFrom(
    'Idempotency-Key: a\r\nX-API-Key: dpp_other',
    'Idempotency-Key: a\nX-Evil: 1',
    'Idempotency-Key: a\rX-Evil: 1',
    'Idempotency-Key: \0',
    `Idempotency-Key: ${'k'.repeat(300)}`,
    'Content-Type: application/json\r\nContent-Type: text/plain',
    'Content-Type: multipart/form-data',
    'Content-Type: application/json; charset=utf-16',
    'Content-Encoding: gzip',
    'Transfer-Encoding: chunked\r\nContent-Length: 3',
    'Content-Length: 99999999999999999999',
    'Content-Length: -1',
    'Content-Length: 3\r\nContent-Length: 4',
    'Host: a\r\nHost: b',
    'Expect: 200-maybe',
    `X-Long: ${'x'.repeat(30_000)}`,
    ' folded: yes',
    'no colon',
  ),
  fc.string({ unit: 'binary-ascii', maxLength: 60 }).map((text) => `X-Any: ${text}`),
);

test.each(OPERATION_NAMES)('%s answers nasty headers with a decision, and never with 5xx', async (operation) => {
  const running = await startWithToken();
  const { method } = ENDPOINTS[operation];
  const { path } = CASES[operation].succeeds;
  await fc.assert(
    fc.asyncProperty(nastyHeaders, async (header) => {
      const head = headOf(running, method, path, [header, 'Content-Length: 3']);
      const status = await sendRaw(running.baseUrl, head, '{ [');
      const decision = (status >= 400 && status < 500) || (method === 'GET' && status === 200);
      expect(decision, `${status} for ${JSON.stringify(header)}`).toBe(true);
    }),
    { numRuns: 60 },
  );
  const { organizations, events } = running.sandbox.inspect();
  expect(events.filter(({ error }) => error !== undefined)).toEqual([]);
  expect(Object.keys(organizations)).toEqual(['acme']);
});

test.each(OPERATION_NAMES.filter((name) => ENDPOINTS[name].method !== 'GET'))(
  '%s answers a body of 10 MB with 413, told in advance or not',
  async (operation) => {
    const running = await startWithToken();
    const { method } = ENDPOINTS[operation];
    const { path } = CASES[operation].succeeds;
    const huge = Buffer.alloc(10 * 1024 * 1024, 'a');
    const json = 'Content-Type: application/json';
    const told = headOf(running, method, path, [json, `Content-Length: ${huge.length}`]);
    expect(await sendRaw(running.baseUrl, told, huge)).toBe(413);
    const chunked = headOf(running, method, path, [json, 'Transfer-Encoding: chunked']);
    const chunks = Buffer.concat([Buffer.from(`${huge.length.toString(16)}\r\n`), huge, Buffer.from('\r\n0\r\n\r\n')]);
    expect(await sendRaw(running.baseUrl, chunked, chunks)).toBe(413);
  },
);
