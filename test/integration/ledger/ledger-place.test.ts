import fs, { mkdirSync, mkdtempSync, readdirSync, realpathSync, renameSync, statfsSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { assertLocalDisk } from '../../../src/ledger/file/file.ts';
import { openLedgerReads } from '../../../src/ledger/reads.ts';
import { assertFixedSqlite } from '../../../src/ledger/store/database.ts';
import { FORMS, NO_PASSPORTS, openLedger } from '../../support/ledger/ledger.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';

let folder: string;
let file: string;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'dpp-place-')));
  file = join(folder, 'ledger.db');
});
afterEach(() => removeFolder(folder));

describe('a path of a ledger that cannot be one', () => {
  it('a folder is refused as a folder, and nothing is written beside it', () => {
    const place = join(folder, 'data');
    mkdirSync(place);
    for (const open of [
      () => openLedger(place),
      () => openLedgerReads({ file: place, passportRules: NO_PASSPORTS, forms: FORMS }),
    ]) {
      expect(open).toThrow(
        expect.objectContaining({
          code: 'ledger.unwritable',
          message: `The ledger ${place} is a folder, not a file.`,
          suggestion: expect.stringContaining(join(place, 'ledger.db')),
        }),
      );
    }
    expect(readdirSync(folder)).toEqual(['data']);
  });

  it('a file in the place of a folder is named as the reason', () => {
    writeFileSync(join(folder, 'data'), '');
    expect(() => openLedger(join(folder, 'data', 'ledger.db'))).toThrow(/cannot be used: a part of the path is/);
  });
});

/**
 * Runs work while `statfs` gives this type. The machines of the tests have no network file system, and can mount none
 * without a server, so the answer of the system is replaced here.
 */
function onFileSystem<T>(type: number, work: () => T): T {
  const real = fs.statfsSync;
  fs.statfsSync = ((path: string) => Object.assign(real(path), { type })) as typeof fs.statfsSync;
  syncBuiltinESMExports();
  try {
    return work();
  } finally {
    fs.statfsSync = real;
    syncBuiltinESMExports();
  }
}

describe.runIf(process.platform === 'linux')('the file system of a ledger', () => {
  it.each([
    [0x6969, 'NFS'],
    [0x517b, 'SMB'],
    [0xff534d42, 'SMB (CIFS)'],
    // The same type as a signed number of 32 bits.
    [0xff534d42 - 2 ** 32, 'SMB (CIFS)'],
    [0xfe534d42, 'SMB 2 or 3'],
    [0x5346414f, 'AFS'],
    [0x6b414653, 'AFS'],
    [0x01021997, '9p'],
    [0x00c36400, 'Ceph'],
    [0x0bd00bd0, 'Lustre'],
    [0x73757245, 'Coda'],
    [0x564c, 'NCP'],
  ])('the file system of type %i is refused before anything is written, with its name: %s', (type, name) => {
    onFileSystem(type, () => {
      expect(() => openLedger(file)).toThrow(`The ledger ${file} is on a network file system (${name}).`);
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  it.each([
    ['ext4', 0xef53],
    ['XFS', 0x58465342],
    ['Btrfs', 0x9123683e],
    ['overlayfs', 0x794c7630],
    ['tmpfs', 0x01021994],
    ['FUSE', 0x65735546],
    ['virtiofs', 0x6a656a63],
    ['one that nobody knows', 1],
  ])('the file system %s is accepted', (_name, type) => {
    onFileSystem(type, () => assertLocalDisk(file));
  });

  it('the file system of this machine is asked, and a ledger is opened on it', async () => {
    expect(statfsSync(folder).type).toBeGreaterThan(0);
    await openLedger(file).close();
  });

  it('the file system is also checked before a ledger is read beside its daemon', async () => {
    await openLedger(file).close();
    const views = () => openLedgerReads({ file, passportRules: NO_PASSPORTS, forms: FORMS });
    onFileSystem(0x6969, () => expect(views).toThrow('is on a network file system (NFS).'));
    views()?.close();
  });

  it('the file system may be changed as the message says: by moving all files of the ledger', async () => {
    const before = openLedger(file);
    await before.close();
    const other = join(folder, 'other');
    mkdirSync(other);
    for (const name of readdirSync(folder))
      if (name.startsWith('ledger.db')) renameSync(join(folder, name), join(other, name));
    const moved = openLedger(join(other, 'ledger.db'));
    expect(moved.id).toBe(before.id);
    await moved.close();
  });
});

describe('the version of SQLite', () => {
  /** A database whose SQLite says that it has this version. */
  function withVersion(version: string): Database.Database {
    const db = new Database(':memory:');
    db.function('sqlite_version', () => version);
    return db;
  }

  it.each(['3.51.2', '3.50.4', '3.9.0', '2.99.99', '3.51'])('the version of SQLite %s is refused', (version) => {
    expect(() => assertFixedSqlite(withVersion(version))).toThrow(`SQLite ${version} can damage the ledger.`);
  });

  it.each(['3.51.3', '3.51.10', '3.52.0', '3.100.0', '4.0.0'])('the version of SQLite %s is accepted', (version) => {
    assertFixedSqlite(withVersion(version));
  });

  it('the version of SQLite is checked when a ledger is opened', async () => {
    type Prepare = (this: Database.Database, sql: string) => Database.Statement;
    const prepare = Reflect.get(Database.prototype, 'prepare') as Prepare;
    const older: Prepare = function older(sql) {
      return prepare.call(this, sql.replace('sqlite_version()', "'3.51.2'"));
    };
    const spy = vi.spyOn(Database.prototype, 'prepare').mockImplementation(older as never);
    expect(() => openLedger(file)).toThrow('SQLite 3.51.2 can damage the ledger.');
    spy.mockRestore();
    await openLedger(file).close();
  });
});
