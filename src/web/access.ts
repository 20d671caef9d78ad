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

export type LoginResult = { ok: true; session: string } | { ok: false; retryAfterMs: number };

/** Decides who may see and do something. There is one token, and whoever has it may do everything. */
export interface Access {
  /** How the visitor is known: by the cookie of a session, by the token in a header, or not at all. */
  recognise(visitor: Visitor): 'session' | 'token' | 'throttled' | null;
  /** Milliseconds until the visitor's address may try a token again; 0 when it may now. */
  waitMs(visitor: Visitor): number;
  login(visitor: Visitor, token: string): LoginResult;
  logout(visitor: Visitor): void;
}

const COOKIE = 'dpp_sync_session';

export function createAccess(token: string, clock: Clock): Access {
  const limit = createAttemptLimit(clock);
  const sessions = createSessions(clock);
  const expected = digest(token);
  // Hashes have one length, and comparing them takes one time.
  const isToken = (given: string) => timingSafeEqual(digest(given), expected);

  function guess(ip: string, given: string): LoginResult['ok'] {
    if (isToken(given)) return true;
    limit.failed(ip);
    return false;
  }

  return {
    recognise({ headers, ip }) {
      const session = sessionOf(headers);
      if (session !== null && sessions.isOpen(session)) return 'session';
      const given = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
      if (given === undefined) return null;
      if (limit.waitMs(ip) > 0) return 'throttled';
      return guess(ip, given) ? 'token' : null;
    },
    waitMs: ({ ip }) => limit.waitMs(ip),
    login({ ip }, given) {
      const retryAfterMs = limit.waitMs(ip);
      if (retryAfterMs > 0) return { ok: false, retryAfterMs };
      return guess(ip, given) ? { ok: true, session: sessions.open() } : { ok: false, retryAfterMs: 0 };
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
