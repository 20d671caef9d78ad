import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import type { Notice, Role } from './server/route.ts';

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

export const SESSION_MS = 12 * 3_600_000;
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
export function createSessions(clock: Clock) {
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
