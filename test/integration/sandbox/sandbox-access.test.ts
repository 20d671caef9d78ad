import { expect, test } from 'vitest';
import type { Scope } from '../../../src/sandbox/api/endpoints.ts';
import { startSandbox } from '../../support/sandbox/sandbox-caller.ts';

const DAY_MS = 86_400_000;

function keyRequest(scopes: Scope[], expiresAt?: number) {
  return { organization: 'acme', name: 'k', scopes, ...(expiresAt !== undefined && { expiresAt }) };
}

test('the sandbox answers 401 with a challenge to no key, an unknown key and a key in the query string', async () => {
  const { call, key } = await startSandbox();
  const missing = await call('GET', '/api/products/', { key: null });
  expect(missing).toMatchObject({ status: 401, body: { detail: 'Authentication credentials were not provided.' } });
  expect(missing.headers['www-authenticate']).toBeDefined();
  expect(await call('GET', '/api/products/', { key: 'dpp_wrong' })).toMatchObject({
    status: 401,
    body: { detail: 'The API key is invalid.' },
  });
  for (const name of ['x-api-key', 'X-API-Key', 'api_key']) {
    expect((await call('GET', `/api/products/?${name}=${key}`, { key: null })).status).toBe(401);
  }
  const bearer = await call('GET', '/api/products/', { key: null, headers: { authorization: `Bearer ${key}` } });
  expect(bearer.status).toBe(401);
});

test('the sandbox lets a key in until the instant of its expiry', async () => {
  const { call, clock, sandbox } = await startSandbox();
  const { key } = sandbox.issueKey(keyRequest(['read'], clock.now() + DAY_MS));
  clock.advance(DAY_MS - 1);
  expect((await call('GET', '/api/products/', { key })).status).toBe(200);
  clock.advance(1);
  expect(await call('GET', '/api/products/', { key })).toMatchObject({
    status: 401,
    body: { detail: 'The API key has expired.' },
  });
});

test('the sandbox refuses a revoked key from the next request on', async () => {
  const { call, sandbox } = await startSandbox();
  const { id, key } = sandbox.issueKey(keyRequest(['read']));
  expect((await call('GET', '/api/products/', { key })).status).toBe(200);
  expect(sandbox.revokeKey(id)).toBe(true);
  expect(await call('GET', '/api/products/', { key })).toMatchObject({
    status: 401,
    body: { detail: 'The API key has been revoked.' },
  });
  expect(sandbox.revokeKey(999)).toBe(false);
});

test('the sandbox answers 402 while the plan is not enterprise', async () => {
  const { call, sandbox } = await startSandbox();
  sandbox.setPlan('acme', 'standard');
  expect(await call('GET', '/api/products/')).toMatchObject({
    status: 402,
    body: { detail: 'API access requires the Enterprise plan.' },
  });
  sandbox.setPlan('acme', 'enterprise');
  expect((await call('GET', '/api/products/')).status).toBe(200);
});

test.each<[string, string, Scope]>([
  ['GET', '/api/products/', 'read'],
  ['POST', '/api/products/', 'write'],
  ['GET', '/api/materials/', 'read'],
  ['POST', '/api/materials/', 'write'],
  ['PATCH', '/api/materials/1/', 'write'],
  ['POST', '/api/bom-items/', 'write'],
])('the request %s %s needs the scope %s and no other', async (method, path, scope) => {
  const { call, sandbox } = await startSandbox();
  const others = (['read', 'write', 'publish'] as const).filter((other) => other !== scope);
  const body = method === 'GET' ? {} : { body: {} };
  const without = sandbox.issueKey(keyRequest(others)).key;
  expect(await call(method, path, { ...body, key: without })).toMatchObject({
    status: 403,
    body: { detail: `The API key does not have the scope "${scope}".` },
  });
  const enough = sandbox.issueKey(keyRequest([scope])).key;
  expect([200, 400, 404]).toContain((await call(method, path, { ...body, key: enough })).status);
});

test('the sandbox checks key, plan, scope and rate in this order, all of them before path, body and method', async () => {
  const { call, sandbox, clock } = await startSandbox({
    rateLimit: { kind: 'fixed-window', limit: 1, windowMs: 1000 },
  });
  const expired = sandbox.issueKey({ ...keyRequest([], clock.now()), organization: 'poor' }).key;
  const poor = sandbox.issueKey({ ...keyRequest([]), organization: 'poor' }).key;
  const limited = sandbox.issueKey(keyRequest([])).key;
  sandbox.setPlan('poor', 'standard');
  const statusOf = async (key: string | null, path = '/api/products/', method = 'POST') =>
    (await call(method, path, { key, body: '{', headers: { 'content-type': 'text/plain' } })).status;
  expect(await statusOf(expired)).toBe(401);
  expect(await statusOf(poor)).toBe(402);
  // A refused scope uses up no allowance, an unknown path does.
  expect(await statusOf(limited)).toBe(403);
  expect(await statusOf(limited)).toBe(403);
  expect(await statusOf(limited, '/api/nothing/')).toBe(404);
  expect(await statusOf(limited, '/api/nothing/')).toBe(429);
  expect(await statusOf(limited, '/api/products/', 'PUT')).toBe(429);
  expect(await statusOf(null, '/api/nothing/')).toBe(401);
  expect(await statusOf(null, '/api/products/', 'PUT')).toBe(401);
});

test('the sandbox issues keys of the documented form and shows only their first 8 characters afterwards', async () => {
  const { sandbox, key } = await startSandbox();
  expect(key).toMatch(/^dpp_[A-Za-z0-9_-]{43}$/);
  const snapshot = sandbox.inspect();
  expect(snapshot.keys).toEqual([
    {
      id: 1,
      organization: 'acme',
      name: 'test',
      prefix: key.slice(0, 8),
      scopes: ['read', 'write', 'publish'],
      expiresAt: null,
      revokedAt: null,
    },
  ]);
  expect(JSON.stringify(snapshot)).not.toContain(key.slice(0, 12));
});

test('the sandbox takes a key of the caller’s choice, and updates it when it comes again', async () => {
  const { call, sandbox } = await startSandbox();
  const key = 'dpp_demo-key-0123456789';
  const first = sandbox.ensureKey({ ...keyRequest(['read']), key });
  expect((await call('POST', '/api/products/', { key, body: {} })).status).toBe(403);
  expect(sandbox.ensureKey({ ...keyRequest(['read', 'write']), key })).toEqual(first);
  expect((await call('POST', '/api/products/', { key, body: {} })).status).toBe(400);
  sandbox.revokeKey(first.id);
  sandbox.ensureKey({ ...keyRequest(['read']), key });
  expect((await call('GET', '/api/products/', { key })).status).toBe(401);
});

test('the sandbox refuses to ensure a malformed key or one of another organisation, without repeating it', async () => {
  const { sandbox } = await startSandbox();
  const key = 'dpp_demo-key-0123456789';
  sandbox.ensureKey({ ...keyRequest(['read']), key });
  expect(() => sandbox.ensureKey({ ...keyRequest(['read']), key: 'secret' })).toThrow(/^A key is dpp_/);
  const foreign = () => sandbox.ensureKey({ ...keyRequest(['read']), organization: 'rival', key });
  expect(foreign).toThrow('belongs to the organisation "acme"');
  expect(foreign).not.toThrow(key);
});
