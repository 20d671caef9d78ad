import type { Database, Statement } from 'better-sqlite3';
import type { WrittenForms } from '../../domain/delivery/wire-form.ts';
import type { PassportRules } from '../../domain/passport.ts';
import type { Encode, EncodeImport } from '../../domain/ports/deliveries.ts';
import type { MissingGuard } from '../../domain/ports/guarded-intake.ts';
import type { ContactRules } from '../../domain/ports/ledger/contact-ledger.ts';
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

// A rule for the statements of the ledger: a statement that runs for every record and reads more than one table takes
// its parameters as `+?`. If another value of a bare `?` could change the plan, SQLite prepares the statement again for
// each value. This takes ten times as long as the statement itself.

interface Of {
  readonly db: Database;
}

type Prepared<P extends unknown[] | {}, R> = P extends unknown[] ? Statement<P, R> : Statement<[P], R>;

const KEPT = Symbol('kept');

/**
 * A value that is made at its first use and kept beside the database that it belongs to. It ends with the database, so
 * no module has a state.
 */
export function perDatabase<T extends object, From extends Of = Of>(make: (of: From) => T): (of: From) => T {
  return (of) => {
    const db: Database & { [KEPT]?: Map<unknown, unknown> } = of.db;
    db[KEPT] ??= new Map();
    const known = db[KEPT].get(make);
    if (known !== undefined) return known as T;
    const made = make(of);
    db[KEPT].set(make, made);
    return made;
  };
}

// A statement is one text for two databases: PostgreSQL has its words too, or is given them (`postgres.ts`). Name the order of
// rows wherever it matters: neither database promises one.

/**
 * A statement that SQLite compiles at its first use, and that is kept for each database. The ledger has several hundred
 * statements, and a command uses a few of them: compiling all would take most of the time to open a ledger.
 */
export function statement<P extends unknown[] | {} = unknown[], R = unknown>(text: string): (of: Of) => Prepared<P, R> {
  return perDatabase(({ db }) => db.prepare<P, R>(text) as Prepared<P, R>);
}

/** A statement whose rows are the values of their first column. */
export function column<P extends unknown[] | {} = unknown[], R = unknown>(text: string): (of: Of) => Prepared<P, R> {
  return perDatabase(({ db }) => db.prepare<P, R>(text).pluck() as Prepared<P, R>);
}

const sequenceOf = column<[string], number>('SELECT seq FROM sqlite_sequence WHERE name = ?');

/**
 * Returns an id that no row of this AUTOINCREMENT table has ever had. The caller inserts rows with this id and the
 * following ones in the same transaction, which raises the table's sequence.
 */
export function nextId(tx: Transaction, table: 'items' | 'records' | 'requests'): number {
  return (sequenceOf(tx).get(table) ?? 0) + 1;
}

// Statements that store many rows of bound values.

type Value = string | number | null;

/** Stores many rows. Each row has the values of its columns. */
export type StoreMany = (tx: Transaction, rows: readonly (readonly Value[])[]) => void;

/** How many rows one statement stores. A larger statement is not faster for each row. */
const SIZES = [64, 32, 16, 8, 4, 2, 1];

/** Returns a function that stores many rows with few statements. `textOf` makes the statement for a number of rows. */
function storeMany(textOf: (size: number) => string): StoreMany {
  const statements = SIZES.map((size) => ({ size, store: statement<[Value[]]>(textOf(size)) }));
  return (tx, rows) => {
    let at = 0;
    for (const { size, store } of statements) {
      while (rows.length - at >= size) {
        const values: Value[] = [];
        for (const end = at + size; at < end; at += 1) for (const value of rows[at] ?? []) values.push(value);
        store(tx).run(values);
      }
    }
  };
}

function rowsOf(size: number, columns: readonly unknown[]): string[] {
  return Array.from({ length: size }, () => `(${columns.map(() => '?').join(', ')})`);
}

/** Returns a function that inserts many rows with few statements. */
export function insertMany({ into, columns }: { into: string; columns: readonly string[] }): StoreMany {
  return storeMany((size) => `INSERT INTO ${into} (${columns.join(', ')}) VALUES ${rowsOf(size, columns).join(', ')}`);
}

/**
 * Returns a function that updates many rows by their ids with few statements. For wide rows this takes less time than rows in JSON.
 *
 * @param values the names and types of the values of a row, without the id, which is the first one
 * @param set what is set to the values of a row `v`, which are set to the columns of the same names if it is left out
 */
export function updateMany({
  table,
  values,
  set = Object.keys(values)
    .map((name) => `${name} = v.${name}`)
    .join(', '),
}: {
  table: string;
  values: Readonly<Record<string, 'INTEGER' | 'TEXT'>>;
  set?: string;
}): StoreMany {
  const columns = Object.entries({ id: 'INTEGER', ...values });
  // The first row says the types for PostgreSQL.
  const first = `(${columns.map(([, type]) => `CAST(? AS ${type})`).join(', ')})`;
  return storeMany((size) => {
    const rows = [first, ...rowsOf(size - 1, columns)].join(', ');
    return `WITH v (${columns.map(([name]) => name).join(', ')}) AS (VALUES ${rows})
      UPDATE ${table} SET ${set} FROM v WHERE ${table}.id = v.id`;
  });
}
