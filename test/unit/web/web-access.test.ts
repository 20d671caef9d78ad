import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { OwnPassword } from '../../../src/domain/ports/ledger/care-ledger.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { hashPassword } from '../../../src/lib/password-hash.ts';
import { type Credentials, createAccess, type OwnPasswords } from '../../../src/web/access.ts';
import { html } from '../../../src/web/html.ts';
import { createHostCheck, isOwnPage } from '../../../src/web/server/forged-requests.ts';
import { sessionCookie } from '../../../src/web/sessions.ts';
import { quickHash } from '../../support/browser/quick-hash.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';

const TOKEN = 'a-token-of-some-length';
const CREDENTIALS = { token: TOKEN, users: [] };
const OPERATOR = { name: 'token', role: 'operator' };
const HOUR = 3_600_000;
const byToken = (secret: string) => ({ name: '', secret });
const visitor = (headers = {}, ip = '10.0.0.1', named: string | null = null) => ({ headers, ip, named });
type Access = ReturnType<typeof createAccess>;
const NONE: OwnPasswords = { stored: [], store: async () => undefined, drop: async () => undefined };
const accessOf = (credentials: Credentials, clock: Clock = createManualClock(), own = NONE) =>
  createAccess(credentials, clock, own);

async function cookieFrom(access: Access, given = byToken(TOKEN)): Promise<string> {
  const result = await access.login(visitor(), given);
  return sessionCookie(result.ok ? result.session : null, {}).split(';')[0] ?? '';
}
const knows = (access: Access, cookie: string) => access.recognise(visitor({ cookie })).ok;

describe('access', () => {
  it('a session ends after twelve hours, however busy it is', async () => {
    const clock = createManualClock();
    const access = accessOf(CREDENTIALS, clock);
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
    const access = accessOf(CREDENTIALS, clock);
    const cookie = await cookieFrom(access);
    clock.advance(2 * HOUR - 1);
    expect(knows(access, cookie)).toBe(true);
    clock.advance(2 * HOUR);
    expect(knows(access, cookie)).toBe(false);
  });

  it('the right token is accepted however many wrong ones came from its address, by the form and by the header', async () => {
    const access = accessOf(CREDENTIALS);
    const bearer = (token: string) => access.recognise(visitor({ authorization: `Bearer ${token}` }));
    for (let guess = 0; guess < 1000; guess += 1) {
      await access.login(visitor(), byToken('wrong'));
      bearer('wrong');
    }
    expect((await access.login(visitor(), byToken(TOKEN))).ok).toBe(true);
    expect(bearer(TOKEN)).toMatchObject({ ok: true, person: { ...OPERATOR, by: 'token' } });
  });

  it('wrong tokens of scripts are counted apart from those at the form', async () => {
    const access = accessOf(CREDENTIALS);
    const bearer = () => access.recognise(visitor({ authorization: 'Bearer wrong' }));
    for (let guess = 0; guess < 10; guess += 1) expect(bearer()).toEqual({ ok: false, retryAfterMs: 0 });
    expect(bearer()).toEqual({ ok: false, retryAfterMs: 30_000 });
    expect(await access.login(visitor(), byToken('wrong'))).toEqual({ ok: false, retryAfterMs: 0 });
  });

  it('the same session is never given twice', async () => {
    const access = accessOf(CREDENTIALS);
    const sessions = await Promise.all(Array.from({ length: 500 }, () => cookieFrom(access)));
    expect(new Set(sessions).size).toBe(500);
  });

  it('an address may guess a token ten times, and then once every half minute', async () => {
    const clock = createManualClock();
    const access = accessOf(CREDENTIALS, clock);
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
          const access = accessOf(CREDENTIALS);
          expect((await access.login(visitor(), byToken(given))).ok).toBe(given === TOKEN);
        },
      ),
    );
  });

  it('no token is accepted where the config has none', async () => {
    const access = accessOf({ token: null, users: [] });
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
    const access = accessOf(withUsers('editor', own));
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
    const access = accessOf(withUsers());
    const mine = await cookieFrom(access, anna);
    const tokens = await cookieFrom(access);
    await access.renew(withUsers());
    expect([knows(access, mine), knows(access, tokens)]).toEqual([true, true]);
    await access.renew({ ...withUsers(), token: 'another-token-of-length' });
    expect([knows(access, mine), knows(access, tokens)]).toEqual([true, false]);
    await access.renew(withUsers('viewer'));
    expect(knows(access, mine)).toBe(false);
    const again = await cookieFrom(access, anna);
    await access.renew(CREDENTIALS);
    expect(knows(access, again)).toBe(false);
    expect((await access.login(visitor(), anna)).ok).toBe(false);
  });

  it('passwords of users are not compared with further guesses after too many wrong ones from an address or for a name', async () => {
    const clock = createManualClock();
    const access = accessOf(withUsers(), clock);
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
    const access = accessOf(withUsers());
    const guesses = Array.from({ length: 60 }, (_, at) => (at === 50 ? anna : { name: 'anna', secret: `wrong ${at}` }));
    const answers = await Promise.all(guesses.map((guess) => access.login(visitor({}, '10.0.1.1'), guess)));
    expect(answers.filter(({ ok }) => ok)).toEqual([]);
    expect(answers.filter((answer) => !answer.ok && answer.retryAfterMs === 0)).toHaveLength(10);
  });

  it('users who share an address have attempts of their own there once they have logged in', async () => {
    const access = accessOf(withUsers());
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
    const access = accessOf(withUsers());
    expect((await access.login(visitor(), anna)).ok).toBe(true);
    for (let guess = 0; guess < 20; guess += 1) {
      await access.login(visitor({}, `10.0.1.${guess}`), { name: 'anna', secret: 'wrong' });
    }
    expect((await access.login(visitor(), anna)).ok).toBe(true);
    expect((await access.login(visitor({}, '10.0.9.9'), anna)).ok).toBe(false);
  });
});

describe('a password that a user has chosen', () => {
  const [OLD, CHOSEN] = ['correct horse battery', 'seven wooden chairs'];
  const config = (password = quickHash(OLD)) => ({
    token: TOKEN,
    users: [{ name: 'anna', password, role: 'editor' as const }],
  });
  /** A ledger in memory. */
  function ledger() {
    const stored: OwnPassword[] = [];
    return {
      stored,
      store: async (one: OwnPassword) => void stored.push(one),
      drop: async (ended: readonly OwnPassword[]) =>
        void stored.splice(0, stored.length, ...stored.filter((one) => !ended.includes(one))),
    };
  }
  const by = (secret: string) => ({ name: 'anna', secret });
  const logsIn = async (access: Access, secret: string) => (await access.login(visitor(), by(secret))).ok;
  const changed = { present: OLD, chosen: CHOSEN };

  it('a password that a user has chosen replaces that of the config, also after a restart and a reload', async () => {
    const own = ledger();
    const access = accessOf(config(), createManualClock(), own);
    const cookie = await cookieFrom(access, by(OLD));
    expect(await access.changePassword(visitor({ cookie }), changed)).toEqual({ ok: true });
    expect([await logsIn(access, OLD), await logsIn(access, CHOSEN)]).toEqual([false, true]);
    await access.renew(config());
    expect([await logsIn(access, OLD), await logsIn(access, CHOSEN)]).toEqual([false, true]);
    expect(own.stored).toHaveLength(1);
    expect(own.stored[0]?.replaces).not.toContain('scrypt');
    const restarted = accessOf(config(), createManualClock(), own);
    expect([await logsIn(restarted, OLD), await logsIn(restarted, CHOSEN)]).toEqual([false, true]);
  });

  it('a password that a user has chosen ends with a new hash in the config, and with the user', async () => {
    const own = ledger();
    const access = accessOf(config(), createManualClock(), own);
    const cookie = await cookieFrom(access, by(OLD));
    await access.changePassword(visitor({ cookie }), changed);
    await access.renew(config(quickHash('a reset by the administrator')));
    expect(knows(access, cookie)).toBe(false);
    expect([await logsIn(access, CHOSEN), await logsIn(access, 'a reset by the administrator')]).toEqual([false, true]);
    await access.renew({ token: TOKEN, users: [] });
    expect(await logsIn(access, CHOSEN)).toBe(false);
  });

  it.each([
    ['another hash', config(quickHash('a reset by the administrator'))],
    ['no hash', { token: TOKEN, users: [{ name: 'anna', password: null, role: 'editor' as const }] }],
    ['no user', { token: TOKEN, users: [] }],
  ])('a password that a user has chosen does not count again after a config with %s for it', async (_, between) => {
    const own = ledger();
    const access = accessOf(config(), createManualClock(), own);
    await access.changePassword(visitor({ cookie: await cookieFrom(access, by(OLD)) }), changed);
    await access.renew(between);
    expect(own.stored).toEqual([]);
    await access.renew(config());
    expect([await logsIn(access, OLD), await logsIn(access, CHOSEN)]).toEqual([true, false]);
  });

  it('a password that a user has chosen does not count again after a start with another config', async () => {
    const own = ledger();
    const access = accessOf(config(), createManualClock(), own);
    await access.changePassword(visitor({ cookie: await cookieFrom(access, by(OLD)) }), changed);
    await accessOf(config(), createManualClock(), own).dropEnded();
    expect(own.stored).toHaveLength(1);
    await accessOf(config(quickHash('a reset by the administrator')), createManualClock(), own).dropEnded();
    expect(own.stored).toEqual([]);
  });

  it('a password that is stored while the config changes is deleted', async () => {
    const own = ledger();
    const access = accessOf(config(), createManualClock(), {
      ...own,
      async store(password) {
        await own.store(password);
        await access.renew(config(quickHash('a reset by the administrator')));
      },
    });
    await access.changePassword(visitor({ cookie: await cookieFrom(access, by(OLD)) }), changed);
    expect(own.stored).toEqual([]);
    await access.renew(config());
    expect(await logsIn(access, CHOSEN)).toBe(false);
  });

  it('a password that a user has chosen ends all other sessions of the user, and no others', async () => {
    const access = accessOf(config());
    const [mine, other] = [await cookieFrom(access, by(OLD)), await cookieFrom(access, by(OLD))];
    const tokens = await cookieFrom(access);
    const stream = access.signal(visitor({ cookie: other }));
    await access.changePassword(visitor({ cookie: mine }), changed);
    expect([knows(access, mine), knows(access, other), knows(access, tokens)]).toEqual([true, false, true]);
    expect(stream?.aborted).toBe(true);
    await access.renew(config());
    expect(knows(access, mine)).toBe(true);
  });

  it('a password is not changed with a wrong present one, with the token, or where it cannot be stored', async () => {
    const access = accessOf(config(), createManualClock(), {
      stored: [],
      store: () => Promise.reject(new Error('The disk is full.')),
      drop: async () => undefined,
    });
    const cookie = await cookieFrom(access, by(OLD));
    const change = (as: string, present: string) =>
      access.changePassword(visitor({ cookie: as }), { present, chosen: CHOSEN });
    expect(await change(cookie, 'wrong')).toEqual({ ok: false, retryAfterMs: 0 });
    expect((await change(await cookieFrom(access), TOKEN)).ok).toBe(false);
    await expect(change(cookie, OLD)).rejects.toThrow('The disk is full.');
    expect([await logsIn(access, OLD), knows(access, cookie)]).toEqual([true, true]);
  });

  it('guesses of the present password are limited as those at the login form are', async () => {
    const access = accessOf(config());
    const cookie = await cookieFrom(access, by(OLD));
    const change = (present: string) => access.changePassword(visitor({ cookie }), { present, chosen: CHOSEN });
    for (let guess = 0; guess < 10; guess += 1) expect(await change('wrong')).toEqual({ ok: false, retryAfterMs: 0 });
    expect(await change(OLD)).toEqual({ ok: false, retryAfterMs: 30_000 });
    expect(await logsIn(access, OLD)).toBe(false);
  });

  it('a login with the old password that is compared during the change opens no session that stays', async () => {
    const access = accessOf(config());
    const cookie = await cookieFrom(access, by(OLD));
    const [, late] = await Promise.all([
      access.changePassword(visitor({ cookie }), changed),
      cookieFrom(access, by(OLD)),
    ]);
    expect([knows(access, cookie), knows(access, late)]).toEqual([true, false]);
  });
});

describe('a person whom a proxy names', () => {
  const PASSWORD = 'correct horse battery';
  const users = [
    { name: 'anna', password: null, role: 'editor' as const },
    { name: 'ben', password: quickHash(PASSWORD), role: 'operator' as const },
  ];
  const named = (name: string, headers = {}) => visitor(headers, '10.0.0.1', name);

  it('a person whom a proxy names is this user, whatever cookie or token the request has', async () => {
    const access = accessOf({ token: TOKEN, users });
    const cookie = await cookieFrom(access, { name: 'ben', secret: PASSWORD });
    for (const headers of [{}, { cookie }, { authorization: `Bearer ${TOKEN}` }]) {
      expect(access.recognise(named('anna', headers))).toMatchObject({
        ok: true,
        person: { name: 'anna', role: 'editor', by: 'proxy' },
        session: { name: 'anna' },
      });
      expect(access.recognise(named('carla', headers)).ok).toBe(false);
    }
    expect(access.recognise(visitor({ cookie }))).toMatchObject({ person: { name: 'ben', by: 'session' } });
  });

  it('a person whom a proxy names keeps one CSRF token, and has another one than anybody else', () => {
    const access = accessOf({ token: TOKEN, users });
    const csrf = (name: string) => {
      const found = access.recognise(named(name));
      return found.ok ? found.session?.csrf : null;
    };
    expect(csrf('anna')).toBe(csrf('anna'));
    expect(csrf('anna')).not.toBe(csrf('ben'));
  });

  it('a person whom a proxy names is refused where the name is unknown, and a text that is no name is not repeated', () => {
    const access = accessOf({ token: TOKEN, users });
    const refusal = (name: string) => {
      const found = access.recognise(named(name));
      return found.ok ? null : found.refusal;
    };
    expect(refusal('carla')).toContain('{ name: carla, role: viewer }');
    for (const odd of ['', ' anna', 'anna, ben', 'anna,anna', '<b>', 'token', 'a'.repeat(65), 'Jörg']) {
      expect(refusal(odd), odd).toContain('does not send the name of one user');
    }
  });

  it('a person whom a proxy names loses the stream of an open page when the role changes', async () => {
    const access = accessOf({ token: TOKEN, users });
    access.recognise(named('anna'));
    const stream = access.signal(named('anna'));
    await access.renew({ token: TOKEN, users });
    expect(stream?.aborted).toBe(false);
    await access.renew({ token: TOKEN, users: [{ name: 'anna', password: null, role: 'viewer' }] });
    expect(stream?.aborted).toBe(true);
    expect(access.recognise(named('anna'))).toMatchObject({ person: { role: 'viewer' } });
  });

  it('a user without a password cannot log in at the form', async () => {
    const access = accessOf({ token: TOKEN, users });
    for (const secret of ['', 'null', PASSWORD])
      expect((await access.login(visitor(), { name: 'anna', secret })).ok).toBe(false);
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
