import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';

/** Who has logged in. Kept in memory: a restart logs everybody out. */
export interface Sessions {
  /** Gives the id of a new session: 256 random bits. */
  open(): string;
  isOpen(id: string): boolean;
  close(id: string): void;
}

export const SESSION_MS = 12 * 3_600_000;
/** More than the people of any company; each takes some hundred bytes (I9). */
const SESSIONS_MAX = 1000;

export function createSessions(clock: Clock): Sessions {
  /** By hash, so that looking one up takes no time that tells anything about the ids that exist. */
  const endsAt = new Map<string, number>();
  const nameOf = (id: string) => createHash('sha256').update(id).digest('base64url');

  return {
    open() {
      const id = randomBytes(32).toString('base64url');
      const now = clock.ticks();
      for (const [name, end] of endsAt) if (end <= now) endsAt.delete(name);
      const oldest = endsAt.keys().next().value;
      if (endsAt.size >= SESSIONS_MAX && oldest !== undefined) endsAt.delete(oldest);
      endsAt.set(nameOf(id), now + SESSION_MS);
      return id;
    },
    isOpen: (id) => (endsAt.get(nameOf(id)) ?? 0) > clock.ticks(),
    close: (id) => void endsAt.delete(nameOf(id)),
  };
}
