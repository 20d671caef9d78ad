import { request } from 'undici';
import { expect, test } from 'vitest';
import { startSandbox } from '../../support/sandbox/sandbox-caller.ts';

async function startWithControl() {
  const running = await startSandbox({ gates: { review: { enabled: true } } });
  const controlUrl = await running.sandbox.listenControl();
  const control = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const answer = await request(`${controlUrl}${path}`, {
      method: method as 'GET',
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: isRaw(body) ? body : JSON.stringify(body) }),
    });
    return { status: answer.statusCode, body: (await answer.body.json()) as Record<string, unknown> };
  };
  return { ...running, control, controlUrl };
}

function isRaw(body: unknown): body is string | Buffer {
  return typeof body === 'string' || Buffer.isBuffer(body);
}

const RULE = { operation: 'product.list', kind: 'status', status: 500, count: 1 };

test('the control server sets, adds, shows and drops faults while the sandbox serves', async () => {
  const { call, control } = await startWithControl();
  expect(await control('PUT', '/faults', [RULE])).toMatchObject({ status: 200, body: { unused: [RULE] } });
  expect((await call('GET', '/api/products/')).status).toBe(500);
  expect((await call('GET', '/api/products/')).status).toBe(200);
  await control('POST', '/faults', { ...RULE, status: 502 });
  expect(await control('GET', '/faults')).toMatchObject({
    body: {
      faults: [
        { rule: RULE, used: 1 },
        { rule: { status: 502 }, used: 0 },
      ],
      unused: [{ status: 502 }],
    },
  });
  await control('PUT', '/faults', [{ ...RULE, status: 503 }]);
  expect((await call('GET', '/api/products/')).status).toBe(503);
  await control('DELETE', '/faults');
  expect(await control('GET', '/faults')).toMatchObject({ body: { faults: [], unused: [{ status: 502 }] } });
});

test('the control server shows statistics and contents, without a full key', async () => {
  const { call, control, key } = await startWithControl();
  await call('POST', '/api/products/', { body: { sku: 'A', name: 'x' } });
  const stats = await control('GET', '/stats');
  expect(stats).toMatchObject({ status: 200, body: { requests: { 'product.create': { '201': 1 } }, replayed: 0 } });
  const inspected = await control('GET', '/inspect');
  expect(inspected.body).toMatchObject({ organizations: { acme: { products: [{ sku: 'A' }] } } });
  expect(JSON.stringify(inspected.body)).not.toContain(key.slice(0, 12));
});

test('the control server approves a passport for the review gate', async () => {
  const { call, control } = await startWithControl();
  await call('POST', '/api/products/', { body: { sku: 'A', name: 'x' } });
  const approval = { organization: 'acme', sku: 'A' };
  expect((await control('POST', '/reviews', approval)).status).toBe(404);
  await call('POST', '/api/dpp/1/init/');
  expect((await control('POST', '/reviews', approval)).status).toBe(200);
  expect((await call('POST', '/api/dpp/1/publish/')).body['missing']).not.toContain('review');
});

test.each([
  ['a rule that makes no sense', 'PUT', '/faults', [{ ...RULE, status: 200 }], {}, 400],
  ['half of a good list', 'PUT', '/faults', [RULE, {}], {}, 400],
  ['broken JSON', 'PUT', '/faults', '[', {}, 400],
  ['nothing', 'PUT', '/faults', undefined, {}, 400],
  ['another type', 'PUT', '/faults', [RULE], { 'content-type': 'text/plain' }, 415],
  ['an unknown path', 'GET', '/nothing', undefined, {}, 404],
  ['a member of every object', 'GET', '/constructor', undefined, {}, 404],
  ['a key without a workspace', 'POST', '/keys', { name: 'x', scopes: [] }, {}, 400],
  ['a malformed key', 'POST', '/keys', { organization: 'acme', name: 'x', scopes: [], key: 'mine' }, {}, 400],
  ['a key that is not there', 'POST', '/revocations', { id: 99 }, {}, 404],
  ['a plan that is not sold', 'POST', '/organizations', { name: 'acme', plan: 'gold' }, {}, 400],
  ['a role that is not there', 'POST', '/tokens', { organization: 'acme', email: 'x', role: 'king' }, {}, 400],
  ['a limit that makes no sense', 'PUT', '/rate-limit', { kind: 'gcra' }, {}, 400],
  ['a name with half of a surrogate pair', 'POST', '/organizations', '{"name": "\\ud800"}', {}, 400],
  ['a key of such a name', 'POST', '/keys', '{"organization": "acme", "name": "\\udc00", "scopes": []}', {}, 400],
  ['such a user', 'POST', '/tokens', '{"organization": "acme", "email": "\\ud800", "role": "owner"}', {}, 400],
  ['bytes that are not UTF-8', 'POST', '/organizations', Buffer.from('{"name": "\u00e4"}', 'latin1'), {}, 400],
  ['a limit beyond any calendar', 'PUT', '/rate-limit', { kind: 'fixed-window', limit: 1, windowMs: 9e15 }, {}, 400],
  ['rows that are stored late with answers that have their ids', 'PUT', '/import', { storesAfterMs: 5 }, {}, 400],
  ['a rate of next to nothing', 'PUT', '/rate-limit', { kind: 'gcra', ratePerSecond: 5e-324, burst: 9 }, {}, 400],
  ['a revocation without a body, which any web page could ask for', 'POST', '/revocations', undefined, {}, 400],
  ['an unknown method', 'PATCH', '/faults', undefined, {}, 404],
  ['a name from the network', 'GET', '/inspect', undefined, { host: 'sandbox.example.com' }, 403],
  ['a huge body', 'PUT', '/faults', ' '.repeat(1_100_000), {}, 413],
])('the control server refuses %s and keeps its faults', async (_what, method, path, body, headers, status) => {
  const { control, sandbox } = await startWithControl();
  sandbox.faults.add({ operation: '*', kind: 'duplicate' });
  const answer = await control(method, path, body, headers);
  expect([answer.status, typeof answer.body['detail']]).toEqual([status, 'string']);
  expect(sandbox.faults.list()).toHaveLength(1);
});

test.each([
  ['POST', '/revocations', { id: 0 }, 'There is no such key.'],
  ['POST', '/revocations', { id: null }, 'id: Expected the id of a key.'],
  ['POST', '/revocations', {}, 'id: Expected the id of a key.'],
  [
    'POST',
    '/tokens',
    { organization: 'acme', email: 'x', role: 'king', lifetimeMs: 0 },
    'role: Expected one of owner, administrator, member. lifetimeMs: Expected at least 1.',
  ],
  [
    'PUT',
    '/rate-limit',
    { kind: 'gcra', ratePerSecond: '1', burst: 1.5, by: 1 },
    'ratePerSecond: Expected a number. burst: Expected a whole number. The body: Unknown: by.',
  ],
  ['PUT', '/rate-limit', [], 'The body: Expected an object.'],
  [
    'PUT',
    '/faults',
    [RULE, { operation: '*', kind: 'boom' }],
    '[1].kind: Expected one of status, html, reset-before, reset-after, truncate, slow-body, duplicate, crossed, partial-import, outage, latency, move, shuffle, lag.',
  ],
])('the control server explains %s %s with the body %j', async (method, path, body, detail) => {
  const { control } = await startWithControl();
  expect((await control(method, path, body)).body['detail']).toBe(detail);
});

test.each(['application/json ; charset=utf-8', 'Application/JSON'])('a control body may be %s', async (type) => {
  const { control } = await startWithControl();
  expect((await control('POST', '/organizations', { name: 'Z\u00fcrich' }, { 'content-type': type })).status).toBe(200);
});

test('the control server makes workspaces, keys, tokens and limits', async () => {
  const { call, control, key } = await startWithControl();
  await control('POST', '/organizations', { name: 'other', plan: 'standard' });
  expect(await control('GET', '/organizations')).toMatchObject({
    body: {
      organizations: [
        { name: 'acme', plan: 'enterprise' },
        { name: 'other', plan: 'standard' },
      ],
    },
  });
  const request = { organization: 'other', name: 'robot', scopes: ['read'] };
  const made = await control('POST', '/keys', request);
  const chosen = await control('POST', '/keys', { ...request, key: 'dpp_0123456789abcdefghij' });
  expect(chosen.body).toMatchObject({ key: 'dpp_0123456789abcdefghij' });
  const listed = await control('GET', '/keys');
  expect(listed.body['keys']).toHaveLength(3);
  expect(JSON.stringify(listed.body)).not.toContain(String(made.body['key']).slice(0, 12));

  const products = (given: unknown) =>
    call('GET', '/api/products/', { key: String(given) }).then(({ status }) => status);
  expect(await products(made.body['key'])).toBe(402);
  await control('POST', '/organizations', { name: 'other' });
  expect(await products(made.body['key'])).toBe(200);
  expect((await control('POST', '/revocations', { id: made.body['id'] })).status).toBe(200);
  expect(await products(made.body['key'])).toBe(401);

  const session = await control('POST', '/tokens', { organization: 'other', email: 'me', role: 'owner' });
  const authorization = `Bearer ${String(session.body['token'])}`;
  const path = `/api/api-keys/${String(chosen.body['id'])}/revoke/`;
  expect((await call('POST', path, { key: null, headers: { authorization } })).status).toBe(200);

  expect((await control('PUT', '/rate-limit', { kind: 'fixed-window', limit: 1, windowMs: 60_000 })).status).toBe(200);
  expect([await products(key), await products(key)]).toEqual([200, 429]);
});

test('the control server replaces the settings of the bulk import', async () => {
  const { call, control, clock, sandbox } = await startWithControl();
  const put = await control('PUT', '/import', { answer: 'later', storesAfterMs: 1000 });
  expect(put).toMatchObject({ status: 200, body: { answer: 'later', storesAfterMs: 1000, upserts: true } });
  expect((await call('POST', '/api/imports/products/', { body: [{ sku: 'A', name: 'x' }] })).status).toBe(202);
  expect(sandbox.inspect().organizations.acme?.products).toEqual([]);
  clock.advance(1000);
  expect((await control('GET', '/stats')).body['writes']).toMatchObject([{ naturalKey: 'A' }]);
  expect((await control('PUT', '/import', {})).body).toMatchObject({ answer: 'per-row' });
});

test('the control server is no part of the API', async () => {
  const { call, controlUrl, baseUrl } = await startWithControl();
  expect(controlUrl).not.toBe(baseUrl);
  expect(new URL(controlUrl).hostname).toBe('127.0.0.1');
  expect((await call('GET', '/inspect')).status).toBe(404);
});

test('the control server that cannot have its port says which', async () => {
  const { sandbox } = await startSandbox();
  const { controlUrl } = await startWithControl();
  await expect(sandbox.listenControl({ port: Number(new URL(controlUrl).port) })).rejects.toMatchObject({
    code: 'sandbox.listen',
    suggestion: 'Choose another port with `--control-port`; 0 takes a free one.',
  });
});
