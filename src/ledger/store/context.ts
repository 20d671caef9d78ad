import type { PassportRules } from '../../domain/passport.ts';
import type { ContactRules } from '../../domain/ports/first-contact.ts';
import type { MissingGuard } from '../../domain/ports/intake.ts';
import type { Profile } from '../../domain/profile.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Sqlite } from './database.ts';

// How the ledger's statements are written: a statement that runs for every record and reads more than one table takes
// its parameters as `+?`. SQLite prepares a statement again whenever a bare `?` that can change its plan gets another
// value. That costs ten times as much as the statement itself.

/** What the parts of the ledger share. */
export interface LedgerContext {
  db: Sqlite;
  clock: Clock;
  profile: Profile;
  passportRules: PassportRules;
  contactRules: ContactRules;
  /** The guard of a source; null for a source that the config does not have. */
  guardOf: (source: string) => MissingGuard | null;
  /** Random, and renewed by a restore. It is a part of every idempotency key. */
  epoch: string;
  /** The base URL that this ledger is bound to. */
  target: string;
}

/** Parses a JSON column that this code has written. */
export function parseJson<T>(text: string): T {
  return JSON.parse(text) as T;
}

export function parseJsonOrNull<T>(text: string | null): T | null {
  return text === null ? null : (JSON.parse(text) as T);
}
