import { createHash, randomUUID, timingSafeEqual } from 'node:crypto';
import { isUserName, TOKEN_NAME } from '../config/sections.ts';
import type { OwnPassword } from '../domain/ports/ledger/care-ledger.ts';
import type { Clock } from '../lib/clock.ts';
import { hashPassword, isPassword } from '../lib/password-hash.ts';
import { type AttemptLimit, createAttemptLimit } from './limits.ts';
import type { Draft } from './server/drafts.ts';
import type { Person, Role, Visitor } from './server/route.ts';
import { createSessions, type Session, sessionOf } from './sessions.ts';

/** A visitor who is not known. */
export interface Stranger {
  ok: false;
  /** Milliseconds until the address or the name may try again, after too many wrong passwords or tokens; else 0. */
  retryAfterMs: number;
  /** Why a person whom the proxy names may do nothing. */
  refusal?: string;
}

/** A user of the config. */
interface User {
  name: string;
  /** The scrypt hash of the password in the config; null for a user whom only a proxy can name. */
  password: string | null;
  role: Role;
}

/** The credentials with which people and programs log in. */
export interface Credentials {
  token: string | null;
  users: readonly User[];
}

/** The passwords that users have chosen themselves. */
export interface OwnPasswords {
  stored: readonly OwnPassword[];
  /** Resolves when the password is stored. */
  store: (password: OwnPassword) => Promise<void>;
  /** Deletes these passwords. Resolves when they are gone. */
  drop: (passwords: readonly OwnPassword[]) => Promise<void>;
}

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
 *
 * A user may replace the password of the config by a password of the user's own. It counts while the config has the hash
 * that it replaced, so an administrator resets it by a new hash in the config. It is deleted then, so that it does not
 * count again if the former hash returns.
 *
 * A person whom a trusted proxy names is that user, whatever cookie or token the request has besides.
 */
export function createAccess(credentials: Credentials, clock: Clock, passwords: OwnPasswords) {
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
  const own = new Map(passwords.stored.map((one) => [one.name, one]));
  const replaces = (chosen: OwnPassword, { name, password }: User) =>
    chosen.name === name && password !== null && chosen.replaces === replacedBy(password);
  /** The hash with which a user logs in now. */
  function hashOf(user: User): string | null {
    const chosen = own.get(user.name);
    return chosen !== undefined && replaces(chosen, user) ? chosen.hash : user.password;
  }
  const credentialOf = (user: User) => userCredential(user, hashOf(user));
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

  /**
   * Compares a password as one of the guesses for a name.
   *
   * @param then what follows in the same turn if the password is right
   */
  async function guess(
    ip: string,
    { name, secret }: { name: string; secret: string },
    then: () => Promise<void>,
  ): Promise<{ ok: true; user: User } | Stranger> {
    const user = users.find((one) => one.name === name);
    const hash = user === undefined ? null : hashOf(user);
    const limiting = limitsOf(ip, name);
    const wait = () => Math.max(...limiting.map(({ limit, key }) => limit.waitMs(key)));
    const waitMs = wait();
    if (waitMs > 0) return { ok: false, retryAfterMs: waitMs };
    const compared = await inTurn(async () => {
      // Other guesses were counted while this one waited for its turn.
      const retryAfterMs = wait();
      if (retryAfterMs > 0) return { right: false, retryAfterMs };
      for (const { limit, key } of limiting) limit.take(key);
      const right = await isPassword(secret, hash ?? (await (nobody ??= hashPassword(randomUUID()))));
      if (right) await then();
      return { right, retryAfterMs };
    });
    if (compared === null) return { ok: false, retryAfterMs: BUSY_MS };
    // The config or the password may have changed while the password was compared, so the user is looked up again.
    const same = user !== undefined && users.some((one) => one === user) && hashOf(user) === hash;
    if (!compared.right || !same) return { ok: false, retryAfterMs: compared.retryAfterMs };
    for (const { limit, key } of limiting) limit.giveBack(key);
    known.delete(`${ip} ${name}`);
    known.add(`${ip} ${name}`);
    const [oldest] = known;
    if (known.size > KNOWN_MAX && oldest !== undefined) known.delete(oldest);
    return { ok: true, user };
  }

  /** Deletes the chosen passwords of which the config no longer has the hash that they replaced. */
  async function dropEnded(): Promise<void> {
    const ended = [...own.values()].filter((chosen) => !users.some((user) => replaces(chosen, user)));
    for (const { name } of ended) own.delete(name);
    if (ended.length > 0) await passwords.drop(ended);
  }

  /** Ends the sessions whose token, user or password has changed. */
  function endOldSessions(): void {
    sessions.keepOnly(new Set([...users.map(credentialOf), ...(token === null ? [] : [tokenCredential(token)])]));
  }

  return {
    recognise({ headers, ip, named }: Visitor): { ok: true; person: Person; session: Session | null } | Stranger {
      // The requests of a page that renews itself do not show that a person is present.
      const how = { isUse: headers['x-live'] === undefined };
      if (named !== null) {
        const user = isUserName(named) ? users.find(({ name }) => name === named) : undefined;
        if (user === undefined) return { ok: false, retryAfterMs: 0, refusal: refusalOf(named) };
        const { name, role } = user;
        const session = sessions.ofProxy({ name, role, credential: credentialOf(user) }, how);
        return { ok: true, person: { name, role, by: 'proxy' }, session };
      }
      const id = sessionOf(headers);
      const session = id === null ? null : sessions.find(id, how);
      if (session !== null) {
        return { ok: true, person: { name: session.name, role: session.role, by: 'session' }, session };
      }
      const given = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
      if (given === undefined) return { ok: false, retryAfterMs: 0 };
      return isToken(given)
        ? { ok: true, person: { name: TOKEN_NAME, role: 'operator', by: 'token' }, session: null }
        : { ok: false, retryAfterMs: limits.bearer.take(ip) };
    },
    /**
     * @param given if the name is empty, the secret is the token
     * @param draft a form that waits for the login
     */
    async login(
      { ip }: Visitor,
      { name, secret }: { name: string; secret: string },
      draft: Draft | null = null,
    ): Promise<{ ok: true; session: string; person: Person } | Stranger> {
      const opened = (who: string, role: Role, credential: string) => {
        const session = sessions.open({ name: who, role, credential }, draft);
        return { ok: true as const, session, person: { name: who, role, by: 'session' as const } };
      };
      if (name === '') {
        return isToken(secret)
          ? opened(TOKEN_NAME, 'operator', tokenCredential(secret))
          : { ok: false, retryAfterMs: limits.form.take(ip) };
      }
      const compared = await guess(ip, { name, secret }, async () => undefined);
      if (!compared.ok) return compared;
      return opened(name, compared.user.role, credentialOf(compared.user));
    },
    /** True for a user who has logged in with a password, and not with the token or through a proxy. */
    hasPassword: ({ name, by }: Person) => by === 'session' && users.some((user) => user.name === name),
    /**
     * Replaces the password of the user whose session the request has. All other sessions of the user end.
     *
     * @throws the error of a ledger that cannot store the password; then the present one stays
     */
    async changePassword(
      { headers, ip }: Visitor,
      { present, chosen }: { present: string; chosen: string },
    ): Promise<{ ok: true } | Stranger> {
      const id = sessionOf(headers);
      const session = id === null ? null : sessions.find(id, { isUse: true });
      if (id === null || session === null) return { ok: false, retryAfterMs: 0 };
      let hash = '';
      const compared = await guess(ip, { name: session.name, secret: present }, async () => {
        hash = await hashPassword(chosen);
      });
      if (!compared.ok) return compared;
      const { name, password } = compared.user;
      // The session may have ended while the passwords were compared.
      if (password === null || sessions.find(id, { isUse: false }) === null) return { ok: false, retryAfterMs: 0 };
      const changed = { name, hash, replaces: replacedBy(password) };
      await passwords.store(changed);
      own.set(name, changed);
      session.credential = credentialOf(compared.user);
      endOldSessions();
      // The config may have changed while the password was stored.
      await dropEnded();
      return { ok: true };
    },
    logout({ headers }: Visitor) {
      const session = sessionOf(headers);
      if (session !== null) sessions.close(session);
    },
    dropEnded,
    /**
     * Uses other credentials from now on. Ends sessions whose token or user has changed. Resolves when the chosen
     * passwords that have ended are deleted.
     */
    async renew(renewed: Credentials): Promise<void> {
      ({ token, users } = renewed);
      expected = digest(token ?? '');
      endOldSessions();
      await dropEnded();
    },
    /** Aborted when the visitor's session ends; null for a visitor without one. */
    signal({ headers, named }: Visitor): AbortSignal | null {
      if (named !== null) return sessions.signalOfProxy(named);
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

function userCredential({ name, role }: User, hash: string | null): string {
  return `user ${digest(JSON.stringify([name, hash, role])).toString('hex')}`;
}

/** The hash in the config as a password in the ledger names it: the ledger has no copy of it. */
function replacedBy(hash: string): string {
  return digest(hash).toString('base64url');
}

/** @param named what the proxy says. It is shown only if it can be the name of a user */
function refusalOf(named: string): string {
  return isUserName(named)
    ? `The proxy in front of the dashboard says that you are ${named}, and web.users in the config has no user with this name. Ask an administrator to add it: { name: ${named}, role: viewer }`
    : 'The proxy in front of the dashboard does not send the name of one user in the header that web.userHeader names. A name has at most 64 letters, digits, dots, dashes, underscores and @. Check the config of the proxy.';
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
