import type { Database } from 'better-sqlite3';
import type { WrittenForms } from '../../domain/delivery/wire-form.ts';
import type { PassportRules } from '../../domain/passport.ts';
import type { Encode, EncodeImport } from '../../domain/ports/claim.ts';
import type { ContactRules } from '../../domain/ports/first-contact.ts';
import type { MissingGuard } from '../../domain/ports/intake.ts';
import type { Profile } from '../../domain/profile.ts';
import type { Clock } from '../../lib/clock.ts';

/**
 * An open transaction of the ledger. Only the group commit and `inTransaction` make one, so what takes a `tx` runs inside
 * a transaction. It is synchronous: a `tx` is not kept beyond the call that it was given to.
 */
export interface Tx extends LedgerContext, Transaction {}

/** What a read takes that may run outside a transaction. A `Tx` is one too. */
export type Reads = LedgerContext;

/** The values that the parts of the ledger share. */
export interface LedgerContext {
  db: Database;
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

declare const open: unique symbol;

/** An open transaction of a database. What takes one runs inside a transaction. */
export interface Transaction {
  db: Database;
  readonly [open]: true;
}

/** Runs a write as one transaction, which begins as a writing one. If the write throws, all of it is undone. */
export function inTransaction<Of extends { db: Database }, T>(of: Of, write: (tx: Of & Transaction) => T): T {
  return of.db.transaction(() => write(of as Of & Transaction)).immediate();
}

/** Parses a JSON column that this code has written. */
export function parseJson<T>(text: string): T {
  return JSON.parse(text) as T;
}

export function parseJsonOrNull<T>(text: string | null): T | null {
  return text === null ? null : (JSON.parse(text) as T);
}
