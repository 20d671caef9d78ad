import { createHash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '../lib/clock.ts';
import { hashPassword, isPassword } from '../lib/password-hash.ts';
import { type AttemptLimit, createAttemptLimit } from './limits.ts';
import type { Notice, Person, Role } from './server/route.ts';

/** The data of a request that identify its sender. */
export interface Visitor {
  headers: IncomingHttpHeaders;
  /** The address from which the request came. */
  ip: string;
}

/** A visitor who is not known. */
export interface Stranger {
  ok: false;
  /** Milliseconds until the address or the name may try again, after too many wrong passwords or tokens; else 0. */
  retryAfterMs: number;
}

/** A user of the config. */
interface User {
  name: string;
  /** The scrypt hash of the password. */
  password: string;
  role: Role;
}

/** The credentials with which people and programs log in. */
export interface Credentials {
  token: string | null;
  users: readonly User[];
}

const COOKIE = 'dpp_sync_session';
/** The name of a person who logs in with the token. */
const TOKEN_NAME = 'token';
/** How many passwords are compared at once. Each comparison takes 32 MiB (I9). */
const COMPARED_MAX = 2;
const WAITING_MAX = 64;
/** How many pairs of address and name are remembered (I9). */
const KNOWN_MAX = 1000;

export type Access = ReturnType<typeof createAccess>;

/**
 * Decides who may use the dashboard: users by name and password, and every person with the token, who counts as an
 * operator.
 *
 * The right token is accepted even after many wrong ones. Behind a proxy all clients have the same address, so a limit
 * that also refused the right token would allow anybody to lock out its owner. The comparison costs microseconds and
 * takes the same time for every token. The length of the token makes guessing impossible; the limits only slow guessers
 * down and report them. A password may be weak, so it is not compared after too many guesses from the address or for
 * the name. A name that has logged in from an address has attempts of its own there, so that strangers who share the
 * address cannot lock out its owner. The comparison uses scrypt, which costs memory and time, so few passwords are
 * compared at once.
 */
export function createAccess(credentials: Credentials, clock: Clock) {
  // Two separate limits: a script with an old token must not use up the attempts of people at the login form, and
  // people must not use up those of scripts.
  const limits = {
    form: createAttemptLimit(clock),
    bearer: createAttemptLimit(clock),
    name: createAttemptLimit(clock),
    known: createAttemptLimit(clock),
  };
  const sessions = createSessions(clock);
  const inTurn = createPasswordQueue();
  // The pairs of address and name that have logged in.
  const known = new Set<string>();
  /** A hash that is compared for unknown names, so that the answer takes as long as for a known name. */
  let nobody: Promise<string> | null = null;
  const passwordOf = async (user: User | undefined): Promise<string> =>
    user === undefined ? (nobody ??= hashPassword(randomUUID())) : user.password;
  let { token, users } = credentials;
  let expected = digest(token ?? '');
  // Hashes have one length, so comparing them always takes the same time.
  const isToken = (given: string) => token !== null && given !== '' && timingSafeEqual(digest(given), expected);

  /** What limits the guesses of an address for a name. */
  function limitsOf(ip: string, name: string): { limit: AttemptLimit; key: string }[] {
    const pair = `${ip} ${name}`;
    if (known.has(pair)) return [{ limit: limits.known, key: pair }];
    return [
      { limit: limits.form, key: ip },
      { limit: limits.name, key: name },
    ];
  }

  return {
    recognise({ headers, ip }: Visitor): { ok: true; person: Person; session: Session | null } | Stranger {
      const id = sessionOf(headers);
      // The requests of a page that renews itself do not show that a person is present.
      const session = id === null ? null : sessions.find(id, { isUse: headers['x-live'] === undefined });
      if (session !== null) {
        return { ok: true, person: { name: session.name, role: session.role, by: 'session' }, session };
      }
      const given = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
      if (given === undefined) return { ok: false, retryAfterMs: 0 };
      return isToken(given)
        ? { ok: true, person: { name: TOKEN_NAME, role: 'operator', by: 'token' }, session: null }
        : { ok: false, retryAfterMs: limits.bearer.take(ip) };
    },
    /** @param given if the name is empty, the secret is the token */
    async login(
      { ip }: Visitor,
      { name, secret }: { name: string; secret: string },
    ): Promise<{ ok: true; session: string; person: Person } | Stranger> {
      const opened = (who: string, role: Role, credential: string) => {
        const session = sessions.open({ name: who, role, credential });
        return { ok: true as const, session, person: { name: who, role, by: 'session' as const } };
      };
      if (name === '') {
        return isToken(secret)
          ? opened(TOKEN_NAME, 'operator', tokenCredential(secret))
          : { ok: false, retryAfterMs: limits.form.take(ip) };
      }
      const user = users.find((one) => one.name === name);
      const limiting = limitsOf(ip, name);
      const wait = () => Math.max(...limiting.map(({ limit, key }) => limit.waitMs(key)));
      const waitMs = wait();
      if (waitMs > 0) return { ok: false, retryAfterMs: waitMs };
      const compared = await inTurn(async () => {
        // Other guesses were counted while this one waited for its turn.
        const retryAfterMs = wait();
        if (retryAfterMs > 0) return { right: false, retryAfterMs };
        for (const { limit, key } of limiting) limit.take(key);
        return { right: await isPassword(secret, await passwordOf(user)), retryAfterMs };
      });
      if (compared === null) return { ok: false, retryAfterMs: BUSY_MS };
      // The config may have changed while the password was compared, so the user is looked up again.
      const same = users.some((one) => one === user);
      if (!compared.right || user === undefined || !same) return { ok: false, retryAfterMs: compared.retryAfterMs };
      for (const { limit, key } of limiting) limit.giveBack(key);
      known.delete(`${ip} ${name}`);
      known.add(`${ip} ${name}`);
      const [oldest] = known;
      if (known.size > KNOWN_MAX && oldest !== undefined) known.delete(oldest);
      return opened(user.name, user.role, userCredential(user));
    },
    logout({ headers }: Visitor) {
      const session = sessionOf(headers);
      if (session !== null) sessions.close(session);
    },
    /** Uses other credentials from now on. Ends sessions whose token or user has changed. */
    renew(renewed: Credentials) {
      ({ token, users } = renewed);
      expected = digest(token ?? '');
      sessions.keepOnly(new Set([...users.map(userCredential), ...(token === null ? [] : [tokenCredential(token)])]));
    },
    /** Aborted when the visitor's session ends; null for a visitor without one. */
    signal({ headers }: Visitor): AbortSignal | null {
      const session = sessionOf(headers);
      return session === null ? null : sessions.signal(session);
    },
  };
}

const BUSY_MS = 1000;

/** Compares few passwords at once. Returns null if the queue is full. */
function createPasswordQueue(): <Result>(compare: () => Promise<Result>) => Promise<Result | null> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (compare) => {
    if (running >= COMPARED_MAX) {
      if (waiting.length >= WAITING_MAX) return null;
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else running += 1;
    try {
      return await compare();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}

function tokenCredential(token: string): string {
  return `token ${digest(token).toString('hex')}`;
}

function userCredential({ name, password, role }: User): string {
  return `user ${digest(JSON.stringify([name, password, role])).toString('hex')}`;
}

/** The value of a Set-Cookie header. Without a session it ends the present session. */
export function sessionCookie(session: string | null, headers: IncomingHttpHeaders): string {
  const lifetime = session === null ? 0 : SESSION_MS / 1000;
  const parts = [`${cookieName(headers)}=${session ?? ''}`, 'Path=/', 'HttpOnly', 'SameSite=Strict'];
  return [...parts, `Max-Age=${lifetime}`, ...(isHttps(headers) ? ['Secure'] : [])].join('; ');
}

/** With HTTPS the name has a prefix that makes browsers refuse such a cookie from another host or over plain HTTP. */
function cookieName(headers: IncomingHttpHeaders): string {
  return isHttps(headers) ? `__Host-${COOKIE}` : COOKIE;
}

/**
 * True if the visitor uses HTTPS. The server itself speaks plain HTTP, so a proxy reports it in a header. A visitor
 * gains nothing by a forged header.
 */
export function isHttps(headers: IncomingHttpHeaders): boolean {
  return headers['x-forwarded-proto'] === 'https';
}

function sessionOf(headers: IncomingHttpHeaders): string | null {
  const wanted = cookieName(headers);
  for (const pair of (headers.cookie ?? '').split(';')) {
    const [name, value] = pair.trim().split('=', 2);
    if (name === wanted && value !== undefined) return value;
  }
  return null;
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
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
}

const SESSION_MS = 12 * 3_600_000;
/** A session that sends no request for this long has ended. */
const IDLE_MS = 2 * 3_600_000;
/** The most sessions, more than any company needs. Each session takes some hundred bytes (I9). */
const SESSIONS_MAX = 1000;

interface Entry {
  session: Session;
  endsAt: number;
  idleAt: number;
  end: AbortController;
}

/** The sessions of all persons. They are in memory, so a restart logs everybody out. */
function createSessions(clock: Clock) {
  /** The sessions by the hash of their ids, so that the time of a search does not reveal which ids exist. */
  const entries = new Map<string, Entry>();
  const nameOf = (id: string) => createHash('sha256').update(id).digest('base64url');

  function close(name: string): void {
    entries.get(name)?.end.abort();
    entries.delete(name);
  }

  function open(id: string): Entry | null {
    const name = nameOf(id);
    const entry = entries.get(name);
    if (entry === undefined) return null;
    const now = clock.ticks();
    if (entry.endsAt > now && entry.idleAt > now) return entry;
    close(name);
    return null;
  }

  return {
    /** Opens a session and returns its id: 256 random bits. */
    open(who: { name: string; role: Role; credential: string }) {
      const id = randomBytes(32).toString('base64url');
      const now = clock.ticks();
      for (const [name, { endsAt, idleAt }] of entries) if (endsAt <= now || idleAt <= now) close(name);
      const oldest = entries.keys().next().value;
      if (entries.size >= SESSIONS_MAX && oldest !== undefined) close(oldest);
      const csrf = randomBytes(32).toString('base64url');
      entries.set(nameOf(id), {
        session: { ...who, csrf, notice: null },
        endsAt: now + SESSION_MS,
        idleAt: now + IDLE_MS,
        end: new AbortController(),
      });
      return id;
    },
    /** Finds a session; null if there is none or its time is over. With `isUse` the idle time of the session begins again. */
    find(id: string, { isUse }: { isUse: boolean }): Session | null {
      const entry = open(id);
      if (entry === null) return null;
      if (isUse) entry.idleAt = clock.ticks() + IDLE_MS;
      return entry.session;
    },
    close: (id: string) => close(nameOf(id)),
    /** Ends all sessions with another credential. */
    keepOnly(credentials: ReadonlySet<string>) {
      for (const [name, { session }] of entries) if (!credentials.has(session.credential)) close(name);
    },
    /** Aborted when the session ends, for streams that outlast their request. Null if there is no such session. */
    signal: (id: string): AbortSignal | null => open(id)?.end.signal ?? null,
  };
}
