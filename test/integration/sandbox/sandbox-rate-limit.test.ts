import { expect, test } from 'vitest';
import { startSandbox } from '../../support/sandbox/sandbox-caller.ts';

const PATH = '/api/products/';

test('a token bucket throttles after its burst, and lets in one request per interval after that', async () => {
  const { call, clock, sandbox } = await startSandbox({
    rateLimit: { kind: 'token-bucket', ratePerSecond: 0.5, burst: 2 },
  });
  expect((await call('GET', PATH)).status).toBe(200);
  expect((await call('GET', PATH)).status).toBe(200);
  const refused = await call('GET', PATH);
  expect(refused.status).toBe(429);
  expect(refused.body).toEqual({ detail: 'Request was throttled. Expected available in 2 seconds.' });
  expect(refused.headers['retry-after']).toBe('2');
  clock.advance(1999);
  expect((await call('GET', PATH)).headers['retry-after']).toBe('1');
  clock.advance(1);
  expect((await call('GET', PATH)).status).toBe(200);
  expect((await call('GET', PATH)).status).toBe(429);
  expect(sandbox.inspect().throttled).toBe(3);
});

test('a limit may answer 503 with the page of an nginx', async () => {
  const { call } = await startSandbox({
    rateLimit: { kind: 'fixed-window', limit: 1, windowMs: 60_000, status: 503, retryAfter: 'none' },
  });
  await call('GET', PATH);
  const refused = await call('GET', PATH);
  expect(refused).toMatchObject({ status: 503, headers: { 'content-type': 'text/html' } });
  expect(refused.text).toContain('<center><h1>503 Service Temporarily Unavailable</h1></center>');
  expect(refused.headers['retry-after']).toBeUndefined();
});

test('a fixed window is renewed at its end', async () => {
  const { call, clock } = await startSandbox({
    rateLimit: { kind: 'fixed-window', limit: 3, windowMs: 60_000 },
  });
  clock.advance(59_000);
  for (const expected of [200, 200, 200, 429]) expect((await call('GET', PATH)).status).toBe(expected);
  clock.advance(1000);
  expect((await call('GET', PATH)).status).toBe(200);
});

test('the rate limit counts each key by itself', async () => {
  const { call, sandbox } = await startSandbox({ rateLimit: { kind: 'fixed-window', limit: 1, windowMs: 1000 } });
  const other = sandbox.issueKey({ organization: 'acme', name: 'k', scopes: ['read'] }).key;
  expect((await call('GET', PATH)).status).toBe(200);
  expect((await call('GET', PATH)).status).toBe(429);
  expect((await call('GET', PATH, { key: other })).status).toBe(200);
});

test('the rate limit gives no Retry-After when told so', async () => {
  const { call } = await startSandbox({
    rateLimit: { kind: 'fixed-window', limit: 1, windowMs: 1000, retryAfter: 'none' },
  });
  await call('GET', PATH);
  const refused = await call('GET', PATH);
  expect(refused).toMatchObject({ status: 429, body: { detail: 'Request was throttled.' } });
  expect(refused.headers['retry-after']).toBeUndefined();
});

test('a throttled request has no effect', async () => {
  const { call, sandbox } = await startSandbox({ rateLimit: { kind: 'fixed-window', limit: 1, windowMs: 1000 } });
  await call('GET', PATH);
  expect((await call('POST', PATH, { body: { sku: 'S', name: 'x' } })).status).toBe(429);
  expect(sandbox.inspect().organizations.acme?.products).toEqual([]);
});

test('the rate limit takes a new setting while it runs', async () => {
  const { call, sandbox } = await startSandbox();
  for (let index = 0; index < 5; index += 1) expect((await call('GET', PATH)).status).toBe(200);
  sandbox.setRateLimit({ kind: 'fixed-window', limit: 1, windowMs: 1000, retryAfter: 'seconds' });
  expect((await call('GET', PATH)).status).toBe(200);
  expect((await call('GET', PATH)).status).toBe(429);
  sandbox.setRateLimit({ kind: 'fixed-window', limit: 2, windowMs: 1000, retryAfter: 'seconds' });
  for (const expected of [200, 200, 429]) expect((await call('GET', PATH)).status).toBe(expected);
  sandbox.setRateLimit({ kind: 'none' });
  expect((await call('GET', PATH)).status).toBe(200);
});

test('the rate limit counts the requests of a whole organisation together where told to', async () => {
  const { call, sandbox } = await startSandbox({
    rateLimit: { kind: 'sliding-window', limit: 2, windowMs: 1000, per: 'organization' },
  });
  const colleague = sandbox.issueKey({ organization: 'acme', name: 'k', scopes: ['read'] }).key;
  const rival = sandbox.issueKey({ organization: 'rival', name: 'k', scopes: ['read'] }).key;
  expect((await call('GET', PATH)).status).toBe(200);
  expect((await call('GET', PATH, { key: colleague })).status).toBe(200);
  expect((await call('GET', PATH)).status).toBe(429);
  expect((await call('GET', PATH, { key: colleague })).status).toBe(429);
  expect((await call('GET', PATH, { key: rival })).status).toBe(200);
});

test.each([
  ['seconds', '2'],
  ['date', 'Thu, 01 Jan 2026 00:00:02 GMT'],
  ['wrong', '0'],
  ['none', undefined],
] as const)('the rate limit says when to come back in the form "%s"', async (retryAfter, expected) => {
  const { call } = await startSandbox({ rateLimit: { kind: 'gcra', ratePerSecond: 0.5, burst: 1, retryAfter } });
  await call('GET', PATH);
  const refused = await call('GET', PATH);
  expect([refused.status, refused.headers['retry-after']]).toEqual([429, expected]);
});

test('the rate limit never dates the end of a wait too early', async () => {
  const { call, clock } = await startSandbox({
    rateLimit: { kind: 'fixed-window', limit: 1, windowMs: 1500, retryAfter: 'date' },
  });
  clock.advance(100);
  await call('GET', PATH);
  const refused = await call('GET', PATH);
  clock.advance(Date.parse(String(refused.headers['retry-after'])) - clock.now());
  expect((await call('GET', PATH)).status).toBe(200);
});

test('the rate limit is in every answer in the fields of the IETF draft', async () => {
  const { call } = await startSandbox({
    rateLimit: { kind: 'fixed-window', limit: 2, windowMs: 60_000, headers: 'draft' },
  });
  const policy = { 'ratelimit-policy': '"default";q=2;w=60' };
  expect((await call('GET', PATH)).headers).toMatchObject({ ...policy, ratelimit: '"default";r=1;t=60' });
  expect((await call('GET', '/api/nothing/')).headers).toMatchObject({ ...policy, ratelimit: '"default";r=0;t=60' });
  expect(await call('GET', PATH)).toMatchObject({
    status: 429,
    headers: { ...policy, ratelimit: '"default";r=0;t=60' },
  });
});

test('the rate limit is in every answer in the older fields', async () => {
  const { call, clock } = await startSandbox({
    rateLimit: { kind: 'token-bucket', ratePerSecond: 1, burst: 3, headers: 'legacy' },
  });
  expect((await call('GET', PATH)).headers).toMatchObject({
    'x-ratelimit-limit': '3',
    'x-ratelimit-remaining': '2',
    'x-ratelimit-reset': String(clock.now() / 1000 + 1),
  });
});
