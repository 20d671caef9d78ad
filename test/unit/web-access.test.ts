import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createAccess, sessionCookie } from '../../src/web/access.ts';
import { createHostCheck, isOwnPage } from '../../src/web/guard.ts';
import { html } from '../../src/web/html.ts';
import { createManualClock } from '../support/manual-clock.ts';

const TOKEN = 'a-token-of-some-length';
const visitor = (headers = {}, ip = '10.0.0.1') => ({ headers, ip });

describe('access', () => {
  it('ends a session after twelve hours', () => {
    const clock = createManualClock();
    const access = createAccess(TOKEN, clock);
    const result = access.login(visitor(), TOKEN);
    const cookie = sessionCookie(result.ok ? result.session : null, {}).split(';')[0];
    clock.advance(12 * 3_600_000 - 1);
    expect(access.recognise(visitor({ cookie: `other=1; ${cookie}` }))).toEqual({ ok: true, known: 'session' });
    clock.advance(1);
    expect(access.recognise(visitor({ cookie }))).toEqual({ ok: false, retryAfterMs: 0 });
  });

  it('takes the right token however many wrong ones came from its address, by the form and by the header', () => {
    const access = createAccess(TOKEN, createManualClock());
    const bearer = (token: string) => access.recognise(visitor({ authorization: `Bearer ${token}` }));
    for (let guess = 0; guess < 1000; guess += 1) {
      access.login(visitor(), 'wrong');
      bearer('wrong');
    }
    expect(access.login(visitor(), TOKEN).ok).toBe(true);
    expect(bearer(TOKEN)).toEqual({ ok: true, known: 'token' });
  });

  it('counts wrong tokens of scripts apart from those at the form', () => {
    const access = createAccess(TOKEN, createManualClock());
    const bearer = () => access.recognise(visitor({ authorization: 'Bearer wrong' }));
    for (let guess = 0; guess < 10; guess += 1) expect(bearer()).toEqual({ ok: false, retryAfterMs: 0 });
    expect(bearer()).toEqual({ ok: false, retryAfterMs: 30_000 });
    expect(access.login(visitor(), 'wrong')).toEqual({ ok: false, retryAfterMs: 0 });
  });

  it('never gives the same session twice', () => {
    const access = createAccess(TOKEN, createManualClock());
    const sessions = Array.from({ length: 500 }, () => access.login(visitor(), TOKEN)).map((result) =>
      result.ok ? result.session : '',
    );
    expect(new Set(sessions).size).toBe(500);
  });

  it('lets an address guess ten times, and then once every half minute', () => {
    const clock = createManualClock();
    const access = createAccess(TOKEN, clock);
    const wrong = () => access.login(visitor(), 'wrong');
    for (let guess = 0; guess < 10; guess += 1) expect(wrong()).toEqual({ ok: false, retryAfterMs: 0 });
    expect(wrong()).toEqual({ ok: false, retryAfterMs: 30_000 });
    expect(access.login(visitor({}, '10.0.0.2'), 'wrong')).toEqual({ ok: false, retryAfterMs: 0 });
    clock.advance(30_000);
    expect(wrong()).toEqual({ ok: false, retryAfterMs: 0 });
    expect(wrong()).toEqual({ ok: false, retryAfterMs: 30_000 });
    clock.advance(3_600_000);
    for (let guess = 0; guess < 10; guess += 1) expect(wrong()).toEqual({ ok: false, retryAfterMs: 0 });
  });

  it('takes nothing but the token for the token', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.constantFrom(TOKEN.slice(0, -1), `${TOKEN} `, TOKEN.toUpperCase())),
        (given) => {
          const access = createAccess(TOKEN, createManualClock());
          expect(access.login(visitor(), given).ok).toBe(given === TOKEN);
        },
      ),
    );
  });
});

describe('the guard', () => {
  it('takes the loopback names, the host that is listened on, and those that the config allows', () => {
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

  it('believes the browser about where a request comes from, and its Origin where it says nothing else', () => {
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
  it('escapes whatever is put into it', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const { markup } = html`<p title="${text}">${[text, html`<b>${text}</b>`]}</p>`;
        expect(markup.replace(/&(?:amp|lt|gt|quot|#39);/g, '').match(/[<>"'&]/g)).toHaveLength(10);
      }),
    );
  });
});
