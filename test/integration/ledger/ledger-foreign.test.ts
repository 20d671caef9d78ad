import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Profile } from '../../../src/domain/profile.ts';
import { backUpLedger } from '../../../src/ledger/backup/backup.ts';
import { restoreLedger } from '../../../src/ledger/backup/restore.ts';
import { verifyLedger } from '../../../src/ledger/backup/verify.ts';
import { readSqliteFile } from '../../../src/ledger/file/is-ledger.ts';
import { openLedgerReads } from '../../../src/ledger/reads.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { FORMS, NO_PASSPORTS, openLedger, TARGET } from '../../support/ledger/ledger.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dpp-foreign-'));
  file = join(folder, 'erp.db');
});
afterEach(() => removeFolder(folder));

function makeDatabase(pragmas: readonly string[], sql: string): void {
  const db = new Database(file);
  for (const pragma of pragmas) db.pragma(pragma);
  db.exec(`BEGIN; ${sql}; COMMIT`);
  db.close();
}

const PRODUCTS = "CREATE TABLE products (id TEXT PRIMARY KEY, name TEXT); INSERT INTO products VALUES ('A1', 'Pump')";
/** The schema takes several levels of pages. */
const MANY = Array.from(
  { length: 400 },
  (_, at) => `CREATE TABLE part_${at} (${'a_long_column_name TEXT, '.repeat(1)}x)`,
);

/** A ledger whose version is raised, as a file alone that others may read. */
async function makeNewerLedger(): Promise<void> {
  const made = join(folder, 'made.db');
  await openLedger(made).close();
  const db = new Database(made);
  db.pragma('user_version = 999');
  db.pragma('journal_mode = DELETE');
  db.close();
  copyFileSync(made, file);
  for (const name of readdirSync(folder)) if (name.startsWith('made.db')) rmSync(join(folder, name));
}

const FOREIGN: readonly [about: string, make: () => void | Promise<void>, says: RegExp][] = [
  [
    'a database of another program',
    () => makeDatabase([], PRODUCTS),
    /a database of another program, with the tables products\. It was not changed\.$/,
  ],
  ['one with a version', () => makeDatabase(['user_version = 7'], PRODUCTS), /another program/],
  ['one with a log', () => makeDatabase(['journal_mode = WAL', 'user_version = 7'], PRODUCTS), /another program/],
  ['one with a log and without a version', () => makeDatabase(['journal_mode = WAL'], PRODUCTS), /another program/],
  ['one with large pages', () => makeDatabase(['page_size = 65536'], PRODUCTS), /another program/],
  ['one in UTF-16', () => makeDatabase(["encoding = 'UTF-16'", 'user_version = 7'], PRODUCTS), /another program/],
  [
    'one with many tables',
    () => makeDatabase(['user_version = 7'], MANY.join(';')),
    /with the tables part_\d+, part_\d+, part_\d+, …/,
  ],
  [
    'one with a table meta',
    () => makeDatabase(['user_version = 7'], 'CREATE TABLE meta (name, value)'),
    /another program/,
  ],
  ['one with a version and no table', () => makeDatabase(['user_version = 7'], 'SELECT 1'), /another program\./],
  [
    'a text',
    () => writeFileSync(file, 'no database, and longer than a header of one would be. '.repeat(9)),
    /no database of SQLite/,
  ],
  ['a short text', () => writeFileSync(file, 'short'), /no database of SQLite/],
  ['a ledger of a newer version', makeNewerLedger, /was written by a newer version/],
];

const USES: Record<string, () => unknown> = {
  sync: () => openLedger(file),
  status: () => openLedgerReads({ file, passportRules: NO_PASSPORTS, forms: FORMS }),
  'ledger verify': () => verifyLedger(file, () => {}),
  'ledger backup': () => backUpLedger({ file, to: join(folder, 'to.db'), force: false, now: 0, onStep: () => {} }),
  'ledger restore': () =>
    restoreLedger({ file, from: null, target: TARGET, profile: Profile.parse({}), clock: systemClock }),
};

/** The names, contents and modes of all files of the folder. */
const standing = () =>
  readdirSync(folder).map((name) => {
    const { mode, mtimeMs, ino } = statSync(join(folder, name));
    return { name, mode, mtimeMs, ino, bytes: readFileSync(join(folder, name), 'base64') };
  });

describe('a file that is not a ledger', () => {
  it.each(FOREIGN)('is refused without any change of it or its folder: %s', async (about, make, says) => {
    await make();
    chmodSync(file, 0o644);
    const before = standing();
    for (const [command, use] of Object.entries(USES)) {
      let fault: unknown = null;
      try {
        use();
      } catch (error) {
        fault = error;
      }
      const code = about.includes('newer') ? 'ledger.newer' : 'ledger.unreadable';
      expect({ command, fault }).toMatchObject({ command, fault: { code, path: 'ledger' } });
      expect(String(fault)).toMatch(says);
      expect(standing()).toEqual(before);
    }
  });

  it('is not changed beside a lock that an earlier version has left there', () => {
    makeDatabase(['user_version = 7'], PRODUCTS);
    chmodSync(file, 0o644);
    writeFileSync(`${file}.lock`, '', { mode: 0o600 });
    const before = standing().filter(({ name }) => !name.endsWith('.lock'));
    for (const use of Object.values(USES)) expect(use).toThrow(/is not a ledger/);
    expect(standing().filter(({ name }) => !name.endsWith('.lock'))).toEqual(before);
  });

  it('an empty file becomes a ledger, and a ledger without its lock stays one, also with content in its log only', async () => {
    writeFileSync(file, '');
    const ledger = openLedger(file);
    const copy = join(folder, 'copy.db');
    copyFileSync(file, copy);
    copyFileSync(`${file}-wal`, `${copy}-wal`);
    await ledger.close();
    await openLedger(copy).close();
    rmSync(`${file}.lock`);
    await openLedger(file).close();
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('the tables of a file are read as SQLite reads them', () => {
    makeDatabase(['page_size = 512'], [...MANY, 'CREATE VIEW v AS SELECT 1', 'CREATE INDEX i ON part_1 (x)'].join(';'));
    const db = new Database(file, { readonly: true });
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all();
    db.close();
    const read = readSqliteFile(file);
    expect(read).toEqual({ version: 0, tables: expect.arrayContaining(tables) as unknown });
    // A file that was cut off is left to SQLite.
    writeFileSync(file, readFileSync(file).subarray(0, 2_000));
    expect(readSqliteFile(file)).toBeNull();
  });
});
