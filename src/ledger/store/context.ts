import type { PassportRules } from '../../domain/passport.ts';
import type { ContactRules } from '../../domain/ports/first-contact.ts';
import type { Profile } from '../../domain/profile.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Sqlite } from './database.ts';

// How statements of this folder are written: one that runs for every record, and is more than a lookup in one table, takes
// its parameters as `+?`. SQLite prepares such a statement anew whenever a bare `?` that may decide its plan is bound to
// another value, which costs ten times what the statement itself does.

/** What the parts of the ledger share. */
export interface LedgerContext {
  db: Sqlite;
  clock: Clock;
  profile: Profile;
  passportRules: PassportRules;
  contactRules: ContactRules;
  /** Random, renewed by a rebuild or restore; goes into every idempotency key. */
  epoch: string;
  /** The base URL that this ledger is bound to. */
  target: string;
}

/** Reads a JSON column that this code has written itself. */
export function parseJson<T>(text: string): T {
  return JSON.parse(text) as T;
}

export function parseJsonOrNull<T>(text: string | null): T | null {
  return text === null ? null : (JSON.parse(text) as T);
}
