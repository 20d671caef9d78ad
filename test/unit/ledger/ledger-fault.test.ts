import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { failureOf } from '../../../src/cli/errors.ts';
import { ledgerFaultOf } from '../../../src/ledger/store/ledger-fault.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';

function temporaryFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'dpp-ledger-fault-'));
  onTestFinished(() => removeFolder(folder));
  return join(folder, 'ledger.db');
}

function open(file: string, options: Database.Options = {}): Database.Database {
  const db = new Database(file, options);
  onTestFinished(() => void db.close());
  return db;
}

function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error('it went well, and should not have');
}

describe('what SQLite says of the ledger', () => {
  it.each([
    ['SQLITE_CORRUPT', 'ledger.unreadable', /damaged/, /backup/],
    ['SQLITE_CORRUPT_INDEX', 'ledger.unreadable', /damaged/, /backup/],
    ['SQLITE_NOTADB', 'ledger.unreadable', /damaged/, /backup/],
    ['SQLITE_FULL', 'ledger.unwritable', /cannot be written/, /disk is full/],
    ['SQLITE_IOERR_WRITE', 'ledger.unwritable', /disk/, /full, read-only/],
    ['SQLITE_READONLY_DBMOVED', 'ledger.unwritable', /cannot be written/, /read-only/],
    ['SQLITE_CANTOPEN', 'ledger.unwritable', /cannot be written/, /read-only/],
    ['SQLITE_BUSY_SNAPSHOT', 'ledger.held', /Another program/, /Close/],
    ['SQLITE_LOCKED', 'ledger.held', /Another program/, /Close/],
  ])('an error of SQLite, %s, becomes the fault %s with a cure', (sqliteCode, code, message, suggestion) => {
    const error = Object.assign(new Error('what it says'), { code: sqliteCode });
    const fault = ledgerFaultOf(error);
    expect(fault).toMatchObject({ code, exitCode: 3, path: 'ledger', cause: error });
    expect(fault?.message).toMatch(message);
    expect(fault?.message).toContain('what it says');
    expect(fault?.suggestion).toMatch(suggestion);
  });

  it('the faults of the ledger include the errors of the driver itself', () => {
    const damaged = temporaryFile();
    writeFileSync(damaged, 'this is no database, and it is longer than a header of SQLite would be: '.repeat(20));
    const notADatabase = thrownBy(() => open(damaged).pragma('user_version'));
    expect(ledgerFaultOf(notADatabase)).toMatchObject({ code: 'ledger.unreadable' });

    const file = temporaryFile();
    const holder = open(file);
    holder.exec('CREATE TABLE one (id INTEGER); BEGIN EXCLUSIVE');
    const busy = thrownBy(() => open(file, { timeout: 0 }).exec('INSERT INTO one VALUES (1)'));
    expect(ledgerFaultOf(busy)).toMatchObject({ code: 'ledger.held' });
    holder.exec('COMMIT');

    const readOnly = thrownBy(() => open(file, { readonly: true }).exec('INSERT INTO one VALUES (1)'));
    expect(ledgerFaultOf(readOnly)).toMatchObject({ code: 'ledger.unwritable' });

    const full = open(file);
    full.pragma('max_page_count = 3');
    const tooMuch = thrownBy(() => full.prepare('INSERT INTO one VALUES (?)').run('x'.repeat(100_000)));
    expect(ledgerFaultOf(tooMuch)).toMatchObject({
      code: 'ledger.unwritable',
      suggestion: expect.stringMatching(/full/),
    });
  });

  it('an error is no fault of the environment where a statement is wrong, nor where SQLite has no part in it', () => {
    const db = open(temporaryFile());
    db.exec('CREATE TABLE one (id INTEGER PRIMARY KEY); INSERT INTO one VALUES (1)');
    for (const error of [
      thrownBy(() => db.exec('SELECT nothing FROM nowhere')),
      thrownBy(() => db.exec('INSERT INTO one VALUES (1)')),
      Object.assign(new Error('no such file'), { code: 'ENOENT' }),
      new Error('SQLITE_CORRUPT'),
      'SQLITE_CORRUPT',
      null,
    ]) {
      expect(ledgerFaultOf(error)).toBe(null);
      expect(failureOf(error)).toMatchObject({ code: 'internal', exitCode: 1 });
    }
  });
});
