import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '../lib/clock.ts';
import { createAttemptLimit } from './attempt-limit.ts';
import { createSessions, SESSION_MS } from './sessions.ts';

/** What a request shows of whoever sent it. */
export interface Visitor {
  headers: IncomingHttpHeaders;
  /** The address that it came from. */
  ip: string;
}

/** How a visitor is known: by the cookie of a session, or by the token in a header. */
export type Known = 'session' | 'token';

/** A visitor who is not known. */
export interface Stranger {
  ok: false;
  /** Milliseconds until the address may try a token again, after too many wrong ones; else 0. */
  retryAfterMs: number;
}

/**
 * Decides who may use the dashboard. There is one token, and it permits everything.
 *
 * The right token is taken whatever came before it: behind a proxy everybody has one address, so a limit that refused the
 * right token would let anybody lock out its owner. Comparing costs microseconds and takes one time, so nothing is gained by
 * leaving it out. What keeps guessers out is the token's length; the limits only slow them down and show them.
 */
export interface Access {
  recognise(visitor: Visitor): { ok: true; known: Known } | Stranger;
  login(visitor: Visitor, token: string): { ok: true; session: string } | Stranger;
  logout(visitor: Visitor): void;
}

const COOKIE = 'dpp_sync_session';

export function createAccess(token: string, clock: Clock): Access {
  // A script with an old token must not use up the attempts of people at the form, nor the other way round.
  const limits = { form: createAttemptLimit(clock), bearer: createAttemptLimit(clock) };
  const sessions = createSessions(clock);
  const expected = digest(token);
  // Hashes have one length, and comparing them takes one time.
  const isToken = (given: string) => timingSafeEqual(digest(given), expected);

  return {
    recognise({ headers, ip }) {
      const session = sessionOf(headers);
      if (session !== null && sessions.isOpen(session)) return { ok: true, known: 'session' };
      const given = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
      if (given === undefined) return { ok: false, retryAfterMs: 0 };
      return isToken(given) ? { ok: true, known: 'token' } : { ok: false, retryAfterMs: limits.bearer.failed(ip) };
    },
    login({ ip }, given) {
      if (isToken(given)) return { ok: true, session: sessions.open() };
      return { ok: false, retryAfterMs: limits.form.failed(ip) };
    },
    logout({ headers }) {
      const session = sessionOf(headers);
      if (session !== null) sessions.close(session);
    },
  };
}

/** The value of a Set-Cookie header; without a session it ends the one that there is. */
export function sessionCookie(session: string | null, headers: IncomingHttpHeaders): string {
  const lifetime = session === null ? 0 : SESSION_MS / 1000;
  const parts = [`${COOKIE}=${session ?? ''}`, 'Path=/', 'HttpOnly', 'SameSite=Strict', `Max-Age=${lifetime}`];
  return [...parts, ...(isHttps(headers) ? ['Secure'] : [])].join('; ');
}

/** The server speaks plain HTTP itself; a proxy in front of it says what the visitor speaks. Lying gains nobody anything. */
function isHttps(headers: IncomingHttpHeaders): boolean {
  return headers['x-forwarded-proto'] === 'https';
}

function sessionOf(headers: IncomingHttpHeaders): string | null {
  for (const pair of (headers.cookie ?? '').split(';')) {
    const [name, value] = pair.trim().split('=', 2);
    if (name === COOKIE && value !== undefined) return value;
  }
  return null;
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
