import type { PassportRules } from '../domain/passport.ts';
import type { Profile } from '../domain/profile.ts';
import type { Clock } from '../lib/clock.ts';
import type { Sqlite } from './database.ts';

/** What the parts of the ledger share. */
export interface LedgerContext {
  db: Sqlite;
  clock: Clock;
  profile: Profile;
  passportRules: PassportRules;
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
