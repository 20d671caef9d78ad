import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { createApiClient } from '../../../src/api/api-client.ts';
import type { ApiOptions } from '../../../src/api/session.ts';
import type { RemoteItem, Target } from '../../../src/domain/ports/target.ts';
import { Profile } from '../../../src/domain/profile.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLogger } from '../../../src/lib/logging/logging.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';
import { startSandbox } from '../../support/sandbox/sandbox-caller.ts';
import { answerWith, type Reply, type ScriptedServer, sendRaw, startScriptedServer } from './scripted-server.ts';
import { UNPACED } from './unpaced.ts';

const KEY = 'dpp_live_4f9a8b7c6d5e4f3a2b1c';
const CREATE = {
  operation: 'product.create',
  idempotencyKey: 'k-1',
  path: '/api/products/',
  body: '{"sku":"A","name":"Ö"}',
} as const;

interface Setup {
  server: ScriptedServer;
  target: Target;
  /** Lines that were logged. */
  lines: string[];
}

async function setUp(
  options: { profile?: unknown; prefix?: string; keys?: string[] } & Partial<Omit<ApiOptions, 'profile'>> = {},
): Promise<Setup> {
  const server = await startScriptedServer();
  const { prefix = '', keys = [KEY], profile = {}, ...rest } = options;
  const lines: string[] = [];
  const secrets = createSecretStore();
  let reads = 0;
  const { target } = createApiClient({
    baseUrl: server.baseUrl + prefix,
    apiKey: { read: () => Promise.resolve(keys[Math.min(reads++, keys.length - 1)] ?? '') },
    secrets,
    pacing: UNPACED,
    clock: systemClock,
    log: createLogger({ level: 'debug', secrets, write: (line) => lines.push(line) }),
    version: '1.2.3',
    ...rest,
    profile: Profile.parse(profile),
  });
  onTestFinished(async () => {
    await server.close();
    await target.close();
  });
  return { server, target, lines };
}

/** A profile whose requests end soon. undici counts headers and bodies in whole seconds. */
const HASTY = { timeouts: { connectMs: 4_000, headersMs: 8_000, bodyMs: 8_000, totalMs: 4_000 } };
const CREATED = answerWith(201, { id: 7 });

test('the client sends the committed bytes with the headers of the document', async () => {
  const { server, target } = await setUp();
  server.script(CREATED);
  const { outcome, latencyMs } = await target.send(CREATE);
  expect(outcome).toMatchObject({ kind: 'accepted', remoteId: 7 });
  expect(latencyMs).toBeGreaterThan(0);
  const [request] = server.requests;
  expect(request).toMatchObject({ method: 'POST', path: '/api/products/', body: CREATE.body });
  expect(request?.headers).toEqual({
    host: server.baseUrl.replace('http://', ''),
    connection: 'keep-alive',
    'x-api-key': KEY,
    accept: 'application/json',
    'user-agent': 'dpp-sync/1.2.3',
    'content-type': 'application/json',
    'idempotency-key': 'k-1',
    'content-length': '23',
  });
});

test('the client names the media types of the profile, and another one for a change', async () => {
  const requests = { accept: 'application/vnd.api+json', contentType: 'application/vnd.api+json' };
  const { server, target } = await setUp({
    profile: { requests: { ...requests, updateContentType: 'application/merge-patch+json' } },
  });
  server.script(CREATED);
  server.script(CREATED);
  await target.send(CREATE);
  await target.send({ operation: 'material.update', idempotencyKey: 'k', path: '/api/materials/7/', body: '{}' });
  expect(server.requests.map(({ headers }) => [headers['accept'], headers['content-type']])).toEqual([
    ['application/vnd.api+json', 'application/vnd.api+json'],
    ['application/vnd.api+json', 'application/merge-patch+json'],
  ]);
});

test('the client sends no Content-Type without a body, and keeps the prefix of the base URL', async () => {
  const { server, target } = await setUp({ prefix: '/gw/dpp/' });
  server.script(answerWith(204));
  await target.send({ operation: 'material.update', idempotencyKey: 'k', path: '/api/materials/7/', body: null });
  expect(server.requests[0]).toMatchObject({ method: 'PATCH', path: '/gw/dpp/api/materials/7/' });
  expect(server.requests[0]?.headers).not.toHaveProperty('content-type');
});

test('the client follows no redirect, so that the key reaches no other host', async () => {
  const other = await startScriptedServer();
  onTestFinished(() => other.close());
  other.script(CREATED);
  const { server, target } = await setUp();
  for (const status of [301, 302, 303, 307, 308]) {
    server.script(answerWith(status, '', { location: `${other.baseUrl}/api/products/` }));
    const { outcome } = await target.send(CREATE);
    expect(outcome).toMatchObject({ kind: 'refused', detail: { status } });
    expect((await target.list('product', () => undefined)).complete).toBe(false);
  }
  expect(other.connections).toBe(0);
  expect(server.requests).toHaveLength(10);
});

test('a listing stays on its origin even when its next page is elsewhere', async () => {
  const other = await startScriptedServer();
  onTestFinished(() => other.close());
  const { server, target } = await setUp();
  server.script(
    answerWith(200, { count: 2, next: `${other.baseUrl}/api/products/?page=2`, results: [{ id: 1, sku: 'A' }] }),
    answerWith(200, { count: 2, next: null, results: [{ id: 2, sku: 'B' }] }),
  );
  const items: RemoteItem[] = [];
  expect(await target.list('product', (page) => items.push(...page))).toMatchObject({ complete: true });
  expect(items).toEqual([
    { remoteId: 1, naturalKey: 'A', fields: { sku: 'A' } },
    { remoteId: 2, naturalKey: 'B', fields: { sku: 'B' } },
  ]);
  expect(server.requests.map(({ path }) => path)).toEqual(['/api/products/?page_size=500', '/api/products/?page=2']);
  expect(other.connections).toBe(0);
});

test('the client asks for the page size of the profile and finds renamed fields', async () => {
  const profile = { list: { pageSize: 500, sizeParameter: 'limit' }, wireNames: { material: { code: 'number' } } };
  const { server, target } = await setUp({ profile });
  server.script(
    answerWith(200, [
      { id: 'm-1', number: 'ST37', name: 'Steel' },
      { id: 'm-2', name: 'Oak' },
    ]),
  );
  const items: RemoteItem[] = [];
  expect(await target.list('material', (page) => items.push(...page))).toMatchObject({ complete: true });
  expect(items.map(({ naturalKey }) => naturalKey)).toEqual(['ST37', 'Oak']);
  expect(server.requests[0]?.path).toBe('/api/materials/?limit=500');
});

const reset: Reply = (socket) => void socket.resetAndDestroy();
const close: Reply = (socket) => void socket.end();
const silence: Reply = () => undefined;

test.each<[string, Reply, string]>([
  ['a reset after the request', reset, 'reset'],
  ['a connection closed without an answer', close, 'reset'],
  ['half a status line', sendRaw('HTTP/1.1 20'), 'timeout'],
  ['headers that do not end', sendRaw('HTTP/1.1 201 Created\r\nX: y\r\n'), 'timeout'],
  ['no answer at all', silence, 'timeout'],
  ['a body that stops', sendRaw('HTTP/1.1 201 Created\r\nContent-Length: 50\r\n\r\n{"id": 7'), 'timeout'],
  [
    'a body that is cut off',
    (socket) => void socket.end('HTTP/1.1 201 Created\r\nContent-Length: 50\r\n\r\n{"id": 7}'),
    'reset',
  ],
  [
    'a chunk that is cut off',
    (socket) => void socket.end('HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{"id": 7}\r\n'),
    'reset',
  ],
  ['garbage', (socket) => void socket.end('SSH-2.0-OpenSSH_9.6\r\n'), 'unreadable_answer'],
  ['endless headers', sendRaw(`HTTP/1.1 201 Created\r\nX: ${'y'.repeat(200_000)}\r\n\r\n`), 'unreadable_answer'],
  ['a page of HTML', answerWith(200, '<html>Sign in</html>'), 'unreadable_answer'],
  ['an answer longer than the profile allows', answerWith(201, { id: 7, x: 'y'.repeat(2_000) }), 'unreadable_answer'],
])('%s leaves the write unconfirmed', async (_name, reply, cause) => {
  const { server, target } = await setUp({ profile: { ...HASTY, answerBytesMax: 1_024 } });
  server.script(reply);
  const { outcome } = await target.send(CREATE);
  expect(outcome).toMatchObject({ kind: 'ambiguous', cause });
  expect(server.requests).toHaveLength(1);
});

test.each<[string, Reply, object]>([
  ['a list', answerWith(200, { results: [] }), { kind: 'accepted' }],
  ['a list that is longer than what is read of it', answerWith(200, [{ x: 'y'.repeat(2_000) }]), { kind: 'accepted' }],
  ['a page of HTML', answerWith(200, '<html>Scheduled maintenance</html>'), { kind: 'ambiguous' }],
  ['a word', answerWith(200, '"ok"'), { kind: 'ambiguous' }],
  ['nothing', answerWith(200, ''), { kind: 'ambiguous' }],
])('%s answers the question whether the API can be reached', async (_name, reply, expected) => {
  const { server, target } = await setUp({ profile: { ...HASTY, answerBytesMax: 1_024 } });
  server.script(reply);
  const outcome = await target.ping();
  expect(outcome).toMatchObject(expected);
  // An answer of a proxy or a login page does not show that the API works.
  expect(outcome).not.toHaveProperty('atWork');
});

test('the client counts a request as never sent when no connection came about', async () => {
  const { server, target } = await setUp({ profile: HASTY });
  await server.close();
  const { outcome } = await target.send(CREATE);
  expect(outcome).toMatchObject({
    kind: 'unavailable',
    sent: false,
    detail: { status: null, message: 'The API refused the connection (ECONNREFUSED).' },
  });
  server.script(CREATED);
});

test('the client counts a request as never sent when the host is unknown or TLS fails', async () => {
  const plain = await startScriptedServer();
  onTestFinished(() => plain.close());
  plain.script(silence);
  const { port } = new URL(plain.baseUrl);
  for (const baseUrl of ['https://dpp-sync.invalid', `https://127.0.0.1:${port}`]) {
    const { target } = await setUp({ profile: HASTY, baseUrl });
    const { outcome } = await target.send(CREATE);
    expect(outcome, baseUrl).toMatchObject({ kind: 'unavailable', sent: false });
  }
  expect(plain.requests).toHaveLength(0);
});

test('a request given up while it waits for a connection was never sent', async () => {
  const { server, target } = await setUp({ connections: 1 });
  const arrived = Promise.withResolvers<() => void>();
  server.script((socket, request) => arrived.resolve(() => CREATED(socket, request)), CREATED);
  const first = target.send(CREATE);
  const answerFirst = await arrived.promise;
  const controller = new AbortController();
  const second = target.send(CREATE, controller.signal);
  // Lets the second one reach the queue behind the first.
  await new Promise(setImmediate);
  controller.abort();
  expect((await second).outcome).toMatchObject({ kind: 'unavailable', sent: false });
  answerFirst();
  expect((await first).outcome.kind).toBe('accepted');
  expect((await target.send(CREATE)).outcome.kind).toBe('accepted');
  expect(server.requests).toHaveLength(2);
});

test('the caller can give up: before it was sent nothing happened, afterwards nobody knows', async () => {
  const { server, target } = await setUp();
  expect((await target.send(CREATE, AbortSignal.abort())).outcome).toMatchObject({ kind: 'unavailable', sent: false });
  expect(server.requests).toHaveLength(0);
  const controller = new AbortController();
  server.script(() => controller.abort());
  expect((await target.send(CREATE, controller.signal)).outcome).toMatchObject({ kind: 'ambiguous', cause: 'timeout' });
});

test('the client keeps connections and opens a new one when the server has closed it', async () => {
  const { server, target } = await setUp({ connections: 1 });
  server.script(CREATED);
  for (let index = 0; index < 5; index += 1) await target.send(CREATE);
  expect(server.connections).toBe(1);
  const closing: Reply = (socket) => {
    socket.end('HTTP/1.1 201 Created\r\nConnection: close\r\nContent-Length: 9\r\n\r\n{"id": 7}');
  };
  server.script(closing, CREATED);
  expect((await target.send(CREATE)).outcome.kind).toBe('accepted');
  expect((await target.send(CREATE)).outcome.kind).toBe('accepted');
  expect(server.requests).toHaveLength(7);
});

test('the client never sends a write twice, however the connections fail', async () => {
  const { server, target } = await setUp({ profile: HASTY, connections: 3 });
  const hiccups: Reply[] = [CREATED, reset, CREATED, close, answerWith(503), CREATED, reset];
  server.script(...Array.from({ length: 120 }, (_, index) => hiccups[index % hiccups.length] ?? CREATED));
  const keys = Array.from({ length: 100 }, (_, index) => `key-${index}`);
  const results = await Promise.all(keys.map((idempotencyKey) => target.send({ ...CREATE, idempotencyKey })));
  const seen = server.requests.map(({ headers }) => headers['idempotency-key']);
  expect(new Set(seen).size).toBe(seen.length);
  for (const [index, { outcome }] of results.entries()) {
    const arrived = seen.includes(`key-${index}`);
    if (outcome.kind === 'accepted') expect(arrived).toBe(true);
    if (outcome.kind === 'unavailable' && !outcome.sent) expect(arrived).toBe(false);
    expect(['accepted', 'ambiguous', 'unavailable']).toContain(outcome.kind);
  }
});

test('the client reads the key when it is first needed and again on request, and reports whether it is another', async () => {
  const { server, target, lines } = await setUp({ keys: [`${KEY}\n`, KEY, 'dpp_next_0123456789', ''] });
  server.script(CREATED);
  await target.send(CREATE);
  expect(await target.rereadKey()).toBe(false);
  expect(await Promise.all([target.rereadKey(), target.rereadKey()])).toEqual([true, true]);
  await target.send(CREATE);
  expect(server.requests.map(({ headers }) => headers['x-api-key'])).toEqual([KEY, 'dpp_next_0123456789']);
  expect(await target.rereadKey()).toBe(false);
  expect((await target.send(CREATE)).outcome.kind).toBe('accepted');
  expect(lines.join('')).not.toMatch(/4f9a8b7c|0123456789/);
});

test('a client without a usable key denies everything and sends nothing', async () => {
  for (const read of [
    () => Promise.reject(new Error('ENOENT: no such file')),
    () => Promise.resolve('  '),
    () => Promise.resolve('dpp_a\r\nX-Evil: 1'),
  ]) {
    const { server, target } = await setUp({ apiKey: { read } });
    const denied = {
      kind: 'denied',
      by: 'key',
      detail: { status: null, message: expect.stringMatching(/^target\.apiKey/) as never },
    };
    expect((await target.send(CREATE)).outcome).toMatchObject(denied);
    expect(await target.list('product', () => undefined)).toMatchObject({ complete: false, outcome: denied });
    expect((await target.probe()).denied).toMatchObject({ by: 'key' });
    expect(await target.rereadKey()).toBe(false);
    expect(server.requests).toHaveLength(0);
  }
});

/** Answers like a platform of Django REST Framework to a key with these scopes. */
function platform(scopes: string[], overrides: Record<string, Reply> = {}): Reply {
  const decision = (scope: string, allowed: Reply) =>
    scopes.includes(scope) ? allowed : answerWith(403, { detail: 'You do not have permission.' });
  const missing = answerWith(404, { detail: 'Not found.' });
  return (socket, request) => {
    if (request.path.startsWith('/api/dpp-sync-check/')) return answerWith(404, '<h1>Not Found</h1>')(socket, request);
    const scope = request.method === 'GET' ? 'read' : request.path.endsWith('/publish/') ? 'publish' : 'write';
    const reply = overrides[scope] ?? decision(scope, scope === 'read' ? answerWith(200, []) : missing);
    reply(socket, request);
  };
}

test.each([
  [['read', 'write', 'publish'], { read: 'yes', write: 'yes', publish: 'yes' }],
  [['read'], { read: 'yes', write: 'no', publish: 'no' }],
  [['write'], { read: 'no', write: 'yes', publish: 'no' }],
  [['publish'], { read: 'no', write: 'no', publish: 'yes' }],
])('a probe finds out that a key has %j', async (given, scopes) => {
  const { server, target } = await setUp();
  server.script(platform(given));
  expect(await target.probe()).toEqual({
    denied: null,
    plan: 'yes',
    scopes,
  });
  const writes = server.requests.filter(({ method }) => method !== 'GET');
  expect(writes.every(({ path }) => /\/(0|00000000-0000-0000-0000-000000000000)\//.test(path))).toBe(true);
});

test('a probe leaves open what the answers do not tell', async () => {
  const { server, target } = await setUp();
  server.script(
    platform(['read'], { write: answerWith(400, { detail: 'x' }), publish: answerWith(404, '<h1>Not Found</h1>') }),
  );
  expect(await target.probe()).toMatchObject({
    denied: null,
    scopes: { read: 'yes', write: 'unknown', publish: 'unknown' },
  });
});

test('a probe says what denies the key', async () => {
  const { server, target } = await setUp();
  server.script(answerWith(402, { detail: 'Enterprise plan required.' }));
  expect(await target.probe()).toEqual({
    plan: 'no',
    denied: { by: 'plan', detail: { status: 402, message: 'Enterprise plan required.' } },
    scopes: { read: 'unknown', write: 'unknown', publish: 'unknown' },
  });
  server.script(platform([]));
  expect(await target.probe()).toMatchObject({ denied: { by: 'scope' }, scopes: { read: 'no' } });
  await server.close();
  await expect(target.probe()).rejects.toThrow(expect.objectContaining({ code: 'api.unreachable' }) as Error);
});

test('a probe asks about publishing with the key for publishing', async () => {
  const { server, target } = await setUp({ publishKey: { read: () => Promise.resolve('dpp_publish_9876543210') } });
  server.script((socket, request) => {
    const own = request.headers['x-api-key'] === 'dpp_publish_9876543210';
    platform(own ? ['publish'] : ['read', 'write'])(socket, request);
  });
  expect(await target.probe()).toEqual({
    denied: null,
    plan: 'yes',
    scopes: { read: 'yes', write: 'yes', publish: 'yes' },
  });
});

test('the client reads an answer that begins with a byte order mark', async () => {
  const { server, target } = await setUp();
  server.script(answerWith(201, '\uFEFF{"id": 7}'));
  expect((await target.send(CREATE)).outcome).toMatchObject({ kind: 'accepted', remoteId: 7 });
});

test('a key that does not look like one is a secret as well', async () => {
  const secret = 'Zk3-plain-secret-without-prefix';
  const { server, target, lines } = await setUp({ keys: [secret] });
  server.script(answerWith(403, { detail: `${secret} may not`, [secret]: [secret] }));
  const shown = JSON.stringify([await target.send(CREATE), await target.list('product', () => undefined)]);
  expect(shown).toContain('may not');
  expect(shown + lines.join('')).not.toContain('secret');
});

test('the key gets into no outcome, listing, probe or log, whatever an echoing server does with it', async () => {
  const { server, target, lines } = await setUp();
  const status = fc.constantFrom(200, 201, 302, 400, 401, 403, 404, 409, 418, 422, 500, 503);
  const forms: Record<string, (headers: string) => unknown> = {
    html: (headers) => `<pre>${headers}</pre>`,
    detail: (headers) => ({ detail: headers }),
    id: (headers) => ({ id: headers.slice(-200) }),
    key: () => ({ id: KEY }),
    fields: (headers) => ({ [headers]: [headers], sku: [`${KEY} already exists`] }),
    list: (headers) => ({ results: [{ id: KEY, sku: headers }], next: `/api/products/?k=${headers}` }),
  };
  await fc.assert(
    fc.asyncProperty(status, fc.constantFrom(...Object.keys(forms)), fc.nat(400), async (code, form, pad) => {
      server.script((socket, { headers }) => {
        const echo = ' '.repeat(pad) + 'x'.repeat(pad) + Object.entries(headers).flat().join(' ');
        answerWith(code, forms[form]?.(echo), { location: `/${KEY}`, 'x-echo': KEY })(
          socket,
          server.requests[0] as never,
        );
      });
      const shown = [
        await target.send(CREATE),
        await target.send({ ...CREATE, operation: 'material.update', path: '/api/materials/1/' }),
        await target.probe(),
      ];
      expect(JSON.stringify(shown)).not.toContain(KEY.slice(8));
    }),
    { numRuns: 150 },
  );
  expect(lines.join('')).not.toContain(KEY.slice(8));
});

test('the client works with the sandbox: it creates, lists, updates and recognises existing items', async () => {
  const { baseUrl, key } = await startSandbox({ pageSize: 2 });
  const { target } = await setUp({ baseUrl, keys: [key] });
  const send = (write: Parameters<Target['encode']>[0], idempotencyKey: string) =>
    target.send({ operation: write.operation, idempotencyKey, ...target.encode(write) });
  const product = (sku: string) =>
    send({ operation: 'product.create', payload: { sku, name: 'Chair' }, refs: {}, remoteId: null }, `p-${sku}`);

  const created = await product('A');
  expect(created.outcome).toMatchObject({ kind: 'accepted', remoteId: expect.any(Number) as never });
  for (const sku of ['B', 'C', 'D', 'E']) expect((await product(sku)).outcome.kind).toBe('accepted');
  expect((await product('A')).outcome.kind).toBe('exists');
  const items: RemoteItem[] = [];
  expect(await target.list('product', (page) => items.push(...page))).toMatchObject({ complete: true });
  expect(items.map(({ naturalKey }) => naturalKey)).toEqual(['A', 'B', 'C', 'D', 'E']);

  const material = await send(
    { operation: 'material.create', payload: { code: 'ST', name: 'Steel' }, refs: {}, remoteId: null },
    'm-1',
  );
  const materialId = material.outcome.kind === 'accepted' ? material.outcome.remoteId : null;
  const update = {
    operation: 'material.update',
    payload: { name: 'Steel 37' },
    refs: {},
    remoteId: materialId,
  } as const;
  expect((await send(update, 'm-2')).outcome).toMatchObject({ kind: 'accepted', remoteId: materialId });
  const refs = { product: items[0]?.remoteId ?? null, material: materialId };
  const bom = {
    operation: 'bom_item.create',
    payload: { quantity: '2.5', unit: 'KGM' },
    refs,
    remoteId: null,
  } as const;
  expect((await send(bom, 'b-1')).outcome.kind).toBe('accepted');
  expect((await send({ ...bom, payload: { quantity: '-1' } }, 'b-2')).outcome).toMatchObject({
    kind: 'refused',
    detail: { status: 400, fields: { quantity: expect.any(String) as never } },
  });
  expect((await target.probe()).scopes).toMatchObject({ read: 'yes', write: 'yes' });
});
