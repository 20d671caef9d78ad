// The sessions of people who have logged in, and the cookie that names one.

import { createHash, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '../lib/clock.ts';
import type { Draft } from './server/drafts.ts';
import type { Notice, Role } from './server/route.ts';

const COOKIE = 'dpp_sync_session';

/** The value of a Set-Cookie header. Without a session it ends the present session. */
export function sessionCookie(session: string | null, headers: IncomingHttpHeaders): string {
  const lifetime = session === null ? 0 : SESSION_MS / 1000;
  const parts = [`${cookieName(headers)}=${session ?? ''}`, 'Path=/', 'HttpOnly', 'SameSite=Strict'];
  return [...parts, `Max-Age=${lifetime}`, ...(isHttps(headers) ? ['Secure'] : [])].join('; ');
}

/**
 * Browsers share the cookies of a host between its ports, so the name has the port: a person may be logged in to several daemons of one
 * machine. With HTTPS the name has a prefix that makes browsers refuse such a cookie from another host or over plain HTTP.
 */
function cookieName(headers: IncomingHttpHeaders): string {
  const port = /:(\d+)$/.exec(headers.host ?? '')?.[1];
  const name = port === undefined ? COOKIE : `${COOKIE}_${port}`;
  return isHttps(headers) ? `__Host-${name}` : name;
}

/**
 * True if the visitor uses HTTPS. The server itself speaks plain HTTP, so a proxy reports it in a header. A visitor
 * gains nothing by a forged header.
 */
export function isHttps(headers: IncomingHttpHeaders): boolean {
  return headers['x-forwarded-proto'] === 'https';
}

/** The id of the session that a request names. */
export function sessionOf(headers: IncomingHttpHeaders): string | null {
  const wanted = cookieName(headers);
  for (const pair of (headers.cookie ?? '').split(';')) {
    const [name, value] = pair.trim().split('=', 2);
    if (name === wanted && value !== undefined) return value;
  }
  return null;
}

/** A person who has logged in. */
export interface Session {
  name: string;
  role: Role;
  /** The credential of the session: a hash of the token, or of the user's name, password and role. */
  credential: string;
  /** The CSRF token of the session's forms. */
  csrf: string;
  /** The notice that is shown once on the next page. */
  notice: Notice | null;
  /** What the person had typed into a form that was not carried out. It is shown once, on the page of the form. */
  draft: Draft | null;
}

const SESSION_MS = 12 * 3_600_000;
/** A session that sends no request for this long has ended. */
const IDLE_MS = 2 * 3_600_000;
/** The most sessions, more than any company needs. Each session takes some hundred bytes (I9). */
const SESSIONS_MAX = 1000;

/** Whose session it is, and with which credential it was opened. */
type Who = Pick<Session, 'name' | 'role' | 'credential'>;

interface Entry {
  session: Session;
  endsAt: number;
  idleAt: number;
  end: AbortController;
}

/** The key of a session without an id. No hash of an id has a space. */
const proxyKey = (name: string): string => `proxy ${name}`;

/** The sessions of all persons. They are in memory, so a restart logs everybody out. */
export function createSessions(clock: Clock) {
  /**
   * The sessions by the hash of their ids, so that the time of a search does not reveal which ids exist. Those of people
   * whom a proxy names have no id, and are found by the name.
   */
  const entries = new Map<string, Entry>();
  const nameOf = (id: string) => createHash('sha256').update(id).digest('base64url');

  function close(name: string): void {
    entries.get(name)?.end.abort();
    entries.delete(name);
  }

  function open(name: string): Entry | null {
    const entry = entries.get(name);
    if (entry === undefined) return null;
    const now = clock.ticks();
    if (entry.endsAt > now && entry.idleAt > now) return entry;
    close(name);
    return null;
  }

  function add(key: string, who: Who, draft: Draft | null = null): Entry {
    const now = clock.ticks();
    for (const [name, { endsAt, idleAt }] of entries) if (endsAt <= now || idleAt <= now) close(name);
    const oldest = entries.keys().next().value;
    if (entries.size >= SESSIONS_MAX && oldest !== undefined) close(oldest);
    const session = { ...who, csrf: randomBytes(32).toString('base64url'), notice: null, draft };
    const entry = { session, endsAt: now + SESSION_MS, idleAt: now + IDLE_MS, end: new AbortController() };
    entries.set(key, entry);
    return entry;
  }

  function found(entry: Entry | null, { isUse }: { isUse: boolean }): Session | null {
    if (entry !== null && isUse) entry.idleAt = clock.ticks() + IDLE_MS;
    return entry?.session ?? null;
  }

  return {
    /** Opens a session and returns its id: 256 random bits. */
    open(who: Who, draft: Draft | null) {
      const id = randomBytes(32).toString('base64url');
      add(nameOf(id), who, draft);
      return id;
    },
    /** Finds a session; null if there is none or its time is over. With `isUse` the idle time of the session begins again. */
    find: (id: string, how: { isUse: boolean }): Session | null => found(open(nameOf(id)), how),
    /** The session of a person whom a proxy names with each request. All browsers of the person share it. */
    ofProxy(who: Who, how: { isUse: boolean }): Session {
      const key = proxyKey(who.name);
      return found(open(key), how) ?? add(key, who).session;
    },
    close: (id: string) => close(nameOf(id)),
    /** Ends all sessions with another credential. */
    keepOnly(credentials: ReadonlySet<string>) {
      for (const [name, { session }] of entries) if (!credentials.has(session.credential)) close(name);
    },
    /** Aborted when the session ends, for streams that outlast their request. Null if there is no such session. */
    signal: (id: string): AbortSignal | null => open(nameOf(id))?.end.signal ?? null,
    /** The same for the session of a person whom a proxy names. */
    signalOfProxy: (name: string): AbortSignal | null => open(proxyKey(name))?.end.signal ?? null,
  };
}
