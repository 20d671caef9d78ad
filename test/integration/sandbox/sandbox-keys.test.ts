import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import type { SessionRequest } from '../../../src/sandbox/access/keys.ts';
import { type RunningSandbox, startSandbox } from '../../support/sandbox/sandbox-caller.ts';

const HOUR_MS = 3_600_000;

function session(role: SessionRequest['role'], organization = 'acme'): SessionRequest {
  return { organization, email: `${role}@example.com`, role };
}

/** A key to be revoked, and a call that tries it with a token and without an API key. */
async function startWithVictim(options = {}) {
  const running: RunningSandbox = await startSandbox(options);
  const victim = running.sandbox.issueKey({ organization: 'acme', name: 'old', scopes: ['read'] });
  const revoke = (token: string | null, id: unknown = victim.id, key: string | null = null) =>
    running.call('POST', `/api/api-keys/${String(id)}/revoke/`, {
      key,
      headers: token === null ? {} : { authorization: `Bearer ${token}` },
    });
  return { ...running, victim, revoke };
}

test.each(['owner', 'administrator'] as const)(
  'the sandbox lets an %s revoke a key, which is refused from then on',
  async (role) => {
    const { sandbox, revoke, victim, call } = await startWithVictim();
    expect((await call('GET', '/api/products/', { key: victim.key })).status).toBe(200);
    const answer = await revoke(sandbox.openSession(session(role)));
    expect(answer).toMatchObject({
      status: 200,
      body: {
        id: victim.id,
        name: 'old',
        prefix: victim.key.slice(0, 8),
        scopes: ['read'],
        status: 'revoked',
        expires_at: null,
        revoked_at: '2026-01-01T00:00:00.000Z',
      },
    });
    expect(JSON.stringify(answer.body)).not.toContain(victim.key.slice(0, 12));
    expect((await call('GET', '/api/products/', { key: victim.key })).status).toBe(401);
  },
);

test('a revoked key keeps the time of its first revocation when it is revoked again', async () => {
  const { sandbox, revoke, clock } = await startWithVictim();
  const token = sandbox.openSession(session('owner'));
  const first = await revoke(token);
  clock.advance(1000);
  expect(await revoke(token)).toMatchObject({ status: 200, body: first.body });
});

test('a revocation is refused for a member with 403, by the role that the user has now', async () => {
  const { sandbox, revoke } = await startWithVictim();
  const token = sandbox.openSession(session('member'));
  expect(await revoke(token)).toMatchObject({
    status: 403,
    body: { detail: 'The role "member" may not manage API keys.' },
  });
  sandbox.openSession({ ...session('member'), role: 'owner' });
  expect((await revoke(token)).status).toBe(200);
});

test('a revocation is refused for an API key in either header, whatever its scopes are', async () => {
  const { revoke, key, victim } = await startWithVictim();
  expect(await revoke(null, victim.id, key)).toMatchObject({
    status: 403,
    body: { detail: 'An API key cannot manage API keys.' },
  });
  expect((await revoke(null, victim.id, 'dpp_unknown')).status).toBe(401);
  expect(await revoke(key)).toMatchObject({ status: 401, body: { detail: 'An API key is not a session token.' } });
  // A token that is no good is not made up for by a key that is.
  expect((await revoke('nonsense', victim.id, key)).status).toBe(401);
  expect((await revoke(null)).status).toBe(401);
});

test('the sandbox takes no token in place of an API key', async () => {
  const { sandbox, call } = await startWithVictim();
  const authorization = `Bearer ${sandbox.openSession(session('owner'))}`;
  expect((await call('GET', '/api/products/', { key: null, headers: { authorization } })).status).toBe(401);
});

test('a revocation is refused for a token that is expired, altered, signed by another or not signed at all', async () => {
  const { sandbox, revoke, clock } = await startWithVictim();
  const token = sandbox.openSession({ ...session('owner'), lifetimeMs: HOUR_MS });
  const [header = '', payload = '', signature = ''] = token.split('.');
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
  const later = encode({ ...claims, exp: 9e9 });
  const bare = encode({ alg: 'none', typ: 'JWT' });
  const foreign = createHmac('sha256', 'guess').update(`${header}.${payload}`).digest('base64url');
  for (const forged of [
    `${header}.${later}.${signature}`,
    `${header}.${payload}.${foreign}`,
    `${bare}.${payload}.`,
    `${header}.${payload}.`,
    `${header}.${payload}`,
    `${token}.x`,
    `${token}=`,
    `${token}!`,
    `${token.slice(0, -1)}${neighbourOf(token.at(-1) ?? '')}`,
    '..',
    '',
  ]) {
    expect(await revoke(forged), forged).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': 'Bearer realm="api"' },
    });
  }
  clock.advance(HOUR_MS);
  expect(await revoke(token)).toMatchObject({ status: 401, body: { detail: 'The session token is expired.' } });
});

/** The base64url digit whose last two bits differ, which a signature of 32 bytes does not use. */
function neighbourOf(digit: string): string {
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return digits[digits.indexOf(digit) ^ 1] ?? '';
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

test('the sandbox takes an expiry of a key that the API can show, and shows the last one', async () => {
  const { sandbox, revoke } = await startWithVictim();
  const request = { organization: 'acme', name: 'k', scopes: ['read' as const] };
  const last = Date.parse('9999-12-31T23:59:59.999Z');
  for (const expiresAt of [last + 1, Number.MAX_SAFE_INTEGER, -1]) {
    expect(() => sandbox.issueKey({ ...request, expiresAt })).toThrow('expiresAt');
  }
  const { id } = sandbox.issueKey({ ...request, expiresAt: last });
  expect(await revoke(sandbox.openSession(session('owner')), id)).toMatchObject({
    status: 200,
    body: { expires_at: '9999-12-31T23:59:59.999Z' },
  });
});

test('a revocation does not find a key of another organisation', async () => {
  const { sandbox, revoke, call, victim } = await startWithVictim();
  const rival = sandbox.openSession(session('owner', 'rival'));
  const answer = await revoke(rival);
  expect(answer).toMatchObject({ status: 404, body: (await revoke(rival, 999)).body });
  expect((await call('GET', '/api/products/', { key: victim.key })).status).toBe(200);
});

test('a revocation needs the enterprise plan of an administrator too', async () => {
  const { sandbox, revoke } = await startWithVictim();
  sandbox.setPlan('acme', 'standard');
  expect((await revoke(sandbox.openSession(session('owner')))).status).toBe(402);
});

test('a revocation has the rate limit of its user, as of a key', async () => {
  const { sandbox, revoke } = await startWithVictim({ rateLimit: { kind: 'fixed-window', limit: 1, windowMs: 1000 } });
  const token = sandbox.openSession(session('owner'));
  expect((await revoke(token)).status).toBe(200);
  expect((await revoke(token)).status).toBe(429);
});

test('the sandbox sees a changed plan, scope or revocation at the next request, although it remembers keys', async () => {
  const { sandbox, call } = await startSandbox();
  const request = { organization: 'acme', name: 'k', key: 'dpp_a-key-of-my-choosing' };
  const statusOf = async () => (await call('GET', '/api/products/', { key: request.key })).status;
  sandbox.ensureKey({ ...request, scopes: ['read'] });
  expect(await statusOf()).toBe(200);
  const { id } = sandbox.ensureKey({ ...request, scopes: ['write'] });
  expect(await statusOf()).toBe(403);
  sandbox.setPlan('acme', 'standard');
  expect(await statusOf()).toBe(402);
  sandbox.revokeKey(id);
  expect(await statusOf()).toBe(401);
});
