import { realpathSync } from 'node:fs';
import Database from 'better-sqlite3';
import { Fault, messageOf, systemCodeOf } from '../../lib/errors.ts';
import { createPrivateFile } from '../../lib/files.ts';
import type { SandboxSettings } from '../settings/settings.ts';
import { sandboxFault } from './sandbox-faults.ts';

/** Columns that every listed resource has. `ordinal` counts an organisation's rows from 1 without a gap. */
const COMMON = `
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  uuid TEXT,
  organization_id INTEGER NOT NULL REFERENCES organization (id),
  ordinal INTEGER NOT NULL,
  fields TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL`;

const FIRST = `
  CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE organization (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, plan TEXT NOT NULL);
  CREATE TABLE api_key (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid TEXT UNIQUE,
    organization_id INTEGER NOT NULL REFERENCES organization (id),
    name TEXT NOT NULL,
    prefix TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    scopes TEXT NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    created_at INTEGER NOT NULL
  );
  CREATE TABLE product (${COMMON}, sku TEXT NOT NULL, UNIQUE (organization_id, ordinal), UNIQUE (organization_id, sku));
  CREATE TABLE material (
    ${COMMON},
    code TEXT,
    uncoded_name TEXT,
    UNIQUE (organization_id, ordinal),
    UNIQUE (organization_id, code),
    UNIQUE (organization_id, uncoded_name)
  );
  CREATE TABLE bom_item (
    ${COMMON},
    product_id INTEGER NOT NULL REFERENCES product (id),
    material_id INTEGER REFERENCES material (id),
    component_id INTEGER REFERENCES product (id),
    UNIQUE (organization_id, ordinal),
    CHECK ((material_id IS NULL) <> (component_id IS NULL))
  );
  CREATE UNIQUE INDEX product_uuid ON product (uuid) WHERE uuid IS NOT NULL;
  CREATE UNIQUE INDEX material_uuid ON material (uuid) WHERE uuid IS NOT NULL;
  CREATE UNIQUE INDEX bom_item_uuid ON bom_item (uuid) WHERE uuid IS NOT NULL;
  CREATE TABLE write_count (
    organization_id INTEGER NOT NULL REFERENCES organization (id),
    operation TEXT NOT NULL,
    natural_key TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (organization_id, operation, natural_key)
  ) WITHOUT ROWID;
  CREATE TABLE idempotency_record (
    id INTEGER PRIMARY KEY,
    organization_id INTEGER NOT NULL REFERENCES organization (id),
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    status INTEGER NOT NULL,
    body TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (organization_id, key)
  );
  CREATE INDEX idempotency_record_age ON idempotency_record (created_at);
`;

const PASSPORTS_REPORTS_AND_USERS = `
  CREATE INDEX bom_item_product ON bom_item (product_id);
  CREATE TABLE passport (
    ${COMMON},
    product_id INTEGER NOT NULL UNIQUE REFERENCES product (id),
    UNIQUE (organization_id, ordinal)
  );
  CREATE TABLE publication (
    ${COMMON},
    product_id INTEGER NOT NULL REFERENCES product (id),
    sku TEXT NOT NULL,
    UNIQUE (organization_id, ordinal)
  );
  CREATE INDEX publication_product ON publication (product_id);
  CREATE TABLE report (${COMMON}, UNIQUE (organization_id, ordinal));
  CREATE TABLE user (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    organization_id INTEGER NOT NULL REFERENCES organization (id),
    email TEXT NOT NULL,
    role TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (organization_id, email)
  );
`;

const REPLAYED_HEADERS_AND_DOCUMENTS = `
  ALTER TABLE idempotency_record ADD COLUMN headers TEXT;
  ALTER TABLE idempotency_record ADD COLUMN type TEXT;
`;

/** The SQL of each format after the one before. A file of an older format is upgraded when it is opened. */
const FORMATS = [FIRST, PASSPORTS_REPORTS_AND_USERS, REPLAYED_HEADERS_AND_DOCUMENTS];

/** The mark in the header of a sandbox's file: "DPPS". */
const APPLICATION_ID = 0x44505053;

/** The suggestion for a file that may belong to another program. */
const NAME_ANOTHER = 'Name another file, in a folder that can be written.';
/** The suggestion for a file that certainly belongs to a sandbox. */
const NAME_OR_DELETE = 'Name another file, or delete this one to start with an empty sandbox.';

/**
 * Opens the storage and creates its tables. A file is written with a WAL and `synchronous = NORMAL`. Committed
 * transactions survive a SIGKILL of the process, because the kernel has them; a power cut may undo the last ones. A
 * file that does not belong to a sandbox is not changed.
 *
 * @throws Fault when the file cannot be opened, is not a sandbox's, or belongs to another kind of sandbox.
 */
export function openDatabase({ storage, ids }: Pick<SandboxSettings, 'storage' | 'ids'>): Database.Database {
  const database = openFile(storage);
  // Until it is known that the file belongs to a sandbox, nothing is written, and no message suggests deleting it.
  let suggestion = NAME_ANOTHER;
  try {
    if (isSandbox(database)) suggestion = NAME_OR_DELETE;
    else if (!isEmpty(database))
      throw storageFault(storage, { reason: 'the file has data of another program', suggestion });
    // The mark is set before the WAL is turned on. Otherwise a crash could leave the mark only in the WAL and not in
    // the file.
    database.pragma(`application_id = ${APPLICATION_ID}`);
    // In memory the journal is only needed for rollback.
    database.pragma(storage === ':memory:' ? 'journal_mode = MEMORY' : 'journal_mode = WAL');
    database.pragma(storage === ':memory:' ? 'synchronous = OFF' : 'synchronous = NORMAL');
    database.pragma('foreign_keys = ON');
    database.transaction(() => prepare(database, storage, ids)).immediate();
    return database;
  } catch (error) {
    database.close();
    if (error instanceof Fault) throw error;
    throw storageFault(storage, { reason: messageOf(error), suggestion, cause: error });
  }
}

/** Files that SQLite makes beside the database get the rights of the database. */
function openFile(storage: string): Database.Database {
  try {
    if (storage !== ':memory:') createPrivateFile(storage);
    return new Database(storage);
  } catch (error) {
    throw storageFault(storage, { reason: messageOf(error), suggestion: NAME_ANOTHER, cause: error });
  }
}

/** Files of the first formats do not have the mark. They are recognised by their tables. */
function isSandbox(database: Database.Database): boolean {
  const id = applicationIdOf(database);
  if (id !== 0) return id === APPLICATION_ID;
  const tables = new Set(tablesOf(database));
  return ['setting', 'write_count', 'idempotency_record'].every((name) => tables.has(name));
}

function isEmpty(database: Database.Database): boolean {
  return applicationIdOf(database) === 0 && tablesOf(database).length === 0;
}

function applicationIdOf(database: Database.Database): number {
  return Number(database.pragma('application_id', { simple: true }));
}

function tablesOf(database: Database.Database): string[] {
  return database.prepare<[], string>(`SELECT name FROM sqlite_schema WHERE type = 'table'`).pluck().all();
}

function prepare(database: Database.Database, storage: string, ids: SandboxSettings['ids']): void {
  const version = Number(database.pragma('user_version', { simple: true }));
  if (version > FORMATS.length) {
    const reason = `the file has format ${version}, but this version of the sandbox has format ${FORMATS.length}`;
    throw storageFault(storage, { reason, suggestion: NAME_OR_DELETE });
  }
  for (const statements of FORMATS.slice(version)) database.exec(statements);
  database.pragma(`user_version = ${FORMATS.length}`);
  if (version === 0) database.prepare(`INSERT INTO setting (name, value) VALUES ('ids', ?)`).run(ids);
  const stored = database.prepare(`SELECT value FROM setting WHERE name = 'ids'`).pluck().get();
  if (stored === ids) return;
  const reason = `the ids in the file are ${String(stored)}, but the settings have ${ids}`;
  throw storageFault(storage, { reason, suggestion: NAME_OR_DELETE });
}

function storageFault(
  storage: string,
  { reason, suggestion, cause }: { reason: string; suggestion: string; cause?: unknown },
): Fault {
  return sandboxFault('sandbox.storage', `The sandbox cannot use ${storage}: ${reason}.`, { suggestion, cause });
}

/** A lock that a sandbox holds while it uses its file. */
export interface StorageLock {
  release(): void;
}

/**
 * Makes this sandbox the only one on its file: an exclusive transaction on `<file>.lock`, which is never committed. The
 * kernel releases the lock when the process ends in any way, so a lock is never stale. With two sandboxes, each would
 * remember keys that the other has revoked, and count its requests separately.
 *
 * @param storage a file that exists, or `:memory:`, which no other process can use
 * @throws Fault when another sandbox holds it
 */
export function lockStorage(storage: string): StorageLock {
  if (storage === ':memory:') return { release: () => undefined };
  // The lock belongs to the real path, so a file has the same lock for every link to it.
  const file = `${realpathSync(storage)}.lock`;
  let database: Database.Database | undefined;
  try {
    createPrivateFile(file);
    const held = new Database(file, { timeout: 0 });
    database = held;
    held.exec('BEGIN EXCLUSIVE');
    return { release: () => void held.close() };
  } catch (error) {
    database?.close();
    const isBusy = systemCodeOf(error)?.startsWith('SQLITE_BUSY') === true;
    const reason = isBusy ? 'another sandbox uses this file' : `${file} cannot be locked (${messageOf(error)})`;
    throw sandboxFault('sandbox.storage', `The sandbox cannot use ${storage}: ${reason}.`, {
      suggestion: isBusy
        ? 'Stop the other sandbox, or name another file.'
        : 'Name a file in a folder that can be written to.',
      cause: error,
    });
  }
}
