import type { WrittenForms } from '../../domain/delivery/wire-form.ts';
import type { PassportRules } from '../../domain/passport.ts';
import type { Encode, EncodeImport } from '../../domain/ports/claim.ts';
import type { ContactRules } from '../../domain/ports/first-contact.ts';
import type { MissingGuard } from '../../domain/ports/intake.ts';
import type { Profile } from '../../domain/profile.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Sqlite } from './database.ts';

// A rule for the statements of the ledger: a statement that runs for every record and reads more than one table takes
// its parameters as `+?`. If another value of a bare `?` could change the plan, SQLite prepares the statement again for
// each value. This takes ten times as long as the statement itself.

/** The values that the parts of the ledger share. */
export interface LedgerContext {
  db: Sqlite;
  clock: Clock;
  profile: Profile;
  forms: WrittenForms;
  encode: Encode;
  encodeImport: EncodeImport;
  passportRules: PassportRules;
  contactRules: ContactRules;
  /** The guard of a source; null for a source that the config does not have. */
  guardOf: (source: string) => MissingGuard | null;
  /** A random text that a restore renews. It is a part of every idempotency key. */
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
