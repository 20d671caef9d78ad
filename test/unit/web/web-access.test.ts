import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hashPassword } from '../../../src/lib/password-hash.ts';
import { createAccess, sessionCookie } from '../../../src/web/access.ts';
import { html } from '../../../src/web/html.ts';
import { createHostCheck, isOwnPage } from '../../../src/web/server/forged-requests.ts';
import { quickHash } from '../../support/browser/quick-hash.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';

const TOKEN = 'a-token-of-some-length';
const CREDENTIALS = { token: TOKEN, users: [] };
const OPERATOR = { name: 'token', role: 'operator' };
const HOUR = 3_600_000;
const byToken = (secret: string) => ({ name: '', secret });
const visitor = (headers = {}, ip = '10.0.0.1') => ({ headers, ip });
type Access = ReturnType<typeof createAccess>;

async function cookieFrom(access: Access, given = byToken(TOKEN)): Promise<string> {
  const result = await access.login(visitor(), given);
  return sessionCookie(result.ok ? result.session : null, {}).split(';')[0] ?? '';
}
const knows = (access: Access, cookie: string) => access.recognise(visitor({ cookie })).ok;

describe('access', () => {
  it('a session ends after twelve hours, however busy it is', async () => {
    const clock = createManualClock();
    const access = createAccess(CREDENTIALS, clock);
    const cookie = await cookieFrom(access);
    for (let hour = 1; hour < 12; hour += 1) {
      clock.advance(HOUR);
      expect(access.recognise(visitor({ cookie: `other=1; ${cookie}` }))).toMatchObject({
        ok: true,
        person: { ...OPERATOR, by: 'session' },
      });
    }
    clock.advance(HOUR - 1);
    expect(knows(access, cookie)).toBe(true);
    clock.advance(1);
    expect(access.recognise(visitor({ cookie }))).toEqual({ ok: false, retryAfterMs: 0 });
  });

  it('a session that sends nothing for two hours ends', async () => {
    const clock = createManualClock();
    const access = createAccess(CREDENTIALS, clock);
    const cookie = await cookieFrom(access);
    clock.advance(2 * HOUR - 1);
    expect(knows(access, cookie)).toBe(true);
    clock.advance(2 * HOUR);
    expect(knows(access, cookie)).toBe(false);
  });

  it('the right token is accepted however many wrong ones came from its address, by the form and by the header', async () => {
    const access = createAccess(CREDENTIALS, createManualClock());
    const bearer = (token: string) => access.recognise(visitor({ authorization: `Bearer ${token}` }));
    for (let guess = 0; guess < 1000; guess += 1) {
      await access.login(visitor(), byToken('wrong'));
      bearer('wrong');
    }
    expect((await access.login(visitor(), byToken(TOKEN))).ok).toBe(true);
    expect(bearer(TOKEN)).toMatchObject({ ok: true, person: { ...OPERATOR, by: 'token' } });
  });

  it('wrong tokens of scripts are counted apart from those at the form', async () => {
    const access = createAccess(CREDENTIALS, createManualClock());
    const bearer = () => access.recognise(visitor({ authorization: 'Bearer wrong' }));
    for (let guess = 0; guess < 10; guess += 1) expect(bearer()).toEqual({ ok: false, retryAfterMs: 0 });
    expect(bearer()).toEqual({ ok: false, retryAfterMs: 30_000 });
    expect(await access.login(visitor(), byToken('wrong'))).toEqual({ ok: false, retryAfterMs: 0 });
  });

  it('the same session is never given twice', async () => {
    const access = createAccess(CREDENTIALS, createManualClock());
    const sessions = await Promise.all(Array.from({ length: 500 }, () => cookieFrom(access)));
    expect(new Set(sessions).size).toBe(500);
  });

  it('an address may guess a token ten times, and then once every half minute', async () => {
    const clock = createManualClock();
    const access = createAccess(CREDENTIALS, clock);
    const wrong = () => access.login(visitor(), byToken('wrong'));
    for (let guess = 0; guess < 10; guess += 1) expect(await wrong()).toEqual({ ok: false, retryAfterMs: 0 });
    expect(await wrong()).toEqual({ ok: false, retryAfterMs: 30_000 });
    expect(await access.login(visitor({}, '10.0.0.2'), byToken('wrong'))).toEqual({ ok: false, retryAfterMs: 0 });
    clock.advance(30_000);
    expect(await wrong()).toEqual({ ok: false, retryAfterMs: 0 });
    expect(await wrong()).toEqual({ ok: false, retryAfterMs: 30_000 });
    clock.advance(HOUR);
    for (let guess = 0; guess < 10; guess += 1) expect(await wrong()).toEqual({ ok: false, retryAfterMs: 0 });
  });

  it('nothing but the token is accepted as the token', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.string(), fc.constantFrom(TOKEN.slice(0, -1), `${TOKEN} `, TOKEN.toUpperCase())),
        async (given) => {
          const access = createAccess(CREDENTIALS, createManualClock());
          expect((await access.login(visitor(), byToken(given))).ok).toBe(given === TOKEN);
        },
      ),
    );
  });

  it('no token is accepted where the config has none', async () => {
    const access = createAccess({ token: null, users: [] }, createManualClock());
    expect((await access.login(visitor(), byToken(''))).ok).toBe(false);
    expect(access.recognise(visitor({ authorization: 'Bearer null' })).ok).toBe(false);
  });
});

describe('users', () => {
  const PASSWORD = 'correct horse battery';
  const anna = { name: 'anna', secret: PASSWORD };
  const hash = quickHash(PASSWORD);
  const withUsers = (role: 'viewer' | 'editor' = 'editor', password = hash) => ({
    token: TOKEN,
    users: [{ name: 'anna', password, role }],
  });

  it('users log in with their own name and password, and get their role', async () => {
    const own = await hashPassword(PASSWORD);
    const access = createAccess(withUsers('editor', own), createManualClock());
    expect(await access.login(visitor(), anna)).toMatchObject({ ok: true, person: { name: 'anna', role: 'editor' } });
    for (const given of [
      { name: 'anna', secret: 'wrong' },
      { name: 'Anna', secret: PASSWORD },
      { name: 'berta', secret: PASSWORD },
      { name: '', secret: PASSWORD },
      { name: 'anna', secret: TOKEN },
      { name: 'anna', secret: own },
    ]) {
      expect((await access.login(visitor(), given)).ok, given.name).toBe(false);
    }
  });

  it('users lose their sessions when password, role or user changes, and keep them when they stay the same', async () => {
    const access = createAccess(withUsers(), createManualClock());
    const mine = await cookieFrom(access, anna);
    const tokens = await cookieFrom(access);
    access.renew(withUsers());
    expect([knows(access, mine), knows(access, tokens)]).toEqual([true, true]);
    access.renew({ ...withUsers(), token: 'another-token-of-length' });
    expect([knows(access, mine), knows(access, tokens)]).toEqual([true, false]);
    access.renew(withUsers('viewer'));
    expect(knows(access, mine)).toBe(false);
    const again = await cookieFrom(access, anna);
    access.renew(CREDENTIALS);
    expect(knows(access, again)).toBe(false);
    expect((await access.login(visitor(), anna)).ok).toBe(false);
  });

  it('passwords of users are not compared with further guesses after too many wrong ones from an address or for a name', async () => {
    const clock = createManualClock();
    const access = createAccess(withUsers(), clock);
    for (let guess = 0; guess < 10; guess += 1) {
      expect(await access.login(visitor({}, `10.0.1.${guess}`), { name: 'anna', secret: 'wrong' })).toEqual({
        ok: false,
        retryAfterMs: 0,
      });
    }
    expect(await access.login(visitor({}, '10.0.1.99'), anna)).toEqual({ ok: false, retryAfterMs: 30_000 });
    clock.advance(30_000);
    expect((await access.login(visitor({}, '10.0.1.99'), anna)).ok).toBe(true);
  });

  it('of passwords that are guessed at the same time, no more are compared than of those one after the other', async () => {
    const access = createAccess(withUsers(), createManualClock());
    const guesses = Array.from({ length: 60 }, (_, at) => (at === 50 ? anna : { name: 'anna', secret: `wrong ${at}` }));
    const answers = await Promise.all(guesses.map((guess) => access.login(visitor({}, '10.0.1.1'), guess)));
    expect(answers.filter(({ ok }) => ok)).toEqual([]);
    expect(answers.filter((answer) => !answer.ok && answer.retryAfterMs === 0)).toHaveLength(10);
  });

  it('users who share an address have attempts of their own there once they have logged in', async () => {
    const access = createAccess(withUsers(), createManualClock());
    const wrong = (name: string) => access.login(visitor(), { name, secret: 'wrong' });
    // Right passwords use up no attempts.
    for (let login = 0; login < 15; login += 1) expect((await access.login(visitor(), anna)).ok).toBe(true);
    for (let guess = 0; guess < 60; guess += 1) await access.login(visitor(), byToken('wrong'));
    expect(await access.login(visitor(), { name: 'berta', secret: 'wrong' })).toMatchObject({ retryAfterMs: 30_000 });
    expect((await access.login(visitor(), anna)).ok).toBe(true);
    for (let guess = 0; guess < 10; guess += 1) expect(await wrong('anna')).toEqual({ ok: false, retryAfterMs: 0 });
    expect(await access.login(visitor(), anna)).toEqual({ ok: false, retryAfterMs: 30_000 });
  });

  it('users are not locked out by guesses from elsewhere where they have logged in before', async () => {
    const access = createAccess(withUsers(), createManualClock());
    expect((await access.login(visitor(), anna)).ok).toBe(true);
    for (let guess = 0; guess < 20; guess += 1) {
      await access.login(visitor({}, `10.0.1.${guess}`), { name: 'anna', secret: 'wrong' });
    }
    expect((await access.login(visitor(), anna)).ok).toBe(true);
    expect((await access.login(visitor({}, '10.0.9.9'), anna)).ok).toBe(false);
  });
});

describe('the guard', () => {
  it('the guard of requests accepts the loopback names, the host that is listened on, and those that the config allows', () => {
    const isMeant = (web: { host: string; allowedHosts: string[] }, host: string | undefined) =>
      createHostCheck(web)(host === undefined ? {} : { host });
    const all = { host: '0.0.0.0', allowedHosts: [] };
    for (const host of ['localhost', 'LOCALHOST:1', '127.9.9.9', '[::1]:4280']) expect(isMeant(all, host)).toBe(true);
    for (const host of [
      'dpp.example.com',
      '10.1.2.3:4280',
      'localhost.evil.example',
      'a@localhost',
      'localhost/x',
      '',
      undefined,
    ]) {
      expect(isMeant(all, host), host).toBe(false);
      expect(isMeant({ host: '127.0.0.1', allowedHosts: [] }, host), host).toBe(false);
    }
    const named = { host: '10.1.2.3', allowedHosts: ['DPP.example.com', 'fe80::1', 'bücher.example'] };
    for (const host of ['10.1.2.3:4280', 'dpp.EXAMPLE.com', '[FE80::1]:80', 'xn--bcher-kva.example', 'localhost']) {
      expect(isMeant(named, host), host).toBe(true);
    }
    for (const host of ['example.com', 'x.dpp.example.com', '0.0.0.0', '10.1.2.30']) {
      expect(isMeant(named, host), host).toBe(false);
    }
  });

  it('the guard of requests believes the browser about the origin of a request, and its Origin where it says nothing else', () => {
    expect(isOwnPage({ 'sec-fetch-site': 'same-origin' })).toBe(true);
    expect(isOwnPage({ 'sec-fetch-site': 'none', origin: 'http://a', host: 'a' })).toBe(false);
    expect(isOwnPage({ origin: 'http://a:4280', host: 'A:4280' })).toBe(true);
    expect(isOwnPage({ origin: 'https://a', host: 'a' })).toBe(true);
    expect(isOwnPage({ origin: 'http://a:1', host: 'a' })).toBe(false);
    expect(isOwnPage({ host: 'a' })).toBe(false);
    expect(isOwnPage({ origin: 'null' })).toBe(false);
  });
});

describe('html', () => {
  it('the html function escapes each value that is put into it', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const { markup } = html`<p title="${text}">${[text, html`<b>${text}</b>`]}</p>`;
        expect(markup.replace(/&(?:amp|lt|gt|quot|apos);/g, '').match(/[<>"'&]/g)).toHaveLength(10);
      }),
    );
  });
});
