import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifyLedger } from '../../src/ledger/backup/verify.ts';
import { openLedgerViews } from '../../src/ledger/read-ledger.ts';
import { MIGRATIONS } from '../../src/ledger/store/schema.ts';
import { NO_PASSPORTS, openLedger } from '../support/ledger.ts';

let folder: string;
let file: string;

/** A ledger of the first version, in which the guard held the last read of one stream, and the last but one of another. */
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dpp-migration-'));
  file = join(folder, 'ledger.db');
  const db = new Database(file);
  db.exec(MIGRATIONS[0] ?? '');
  db.pragma('user_version = 1');
  db.exec(`
    INSERT INTO streams (id, source, name, mapping_revision) VALUES (1, 'erp', 'products', 'r'), (2, 'erp', 'boms', 'r');
    INSERT INTO runs (id, source, cause, started_at, ended_at, result) VALUES
      (1, 'erp', 'cli', 1000, 1001, 'complete'), (2, 'erp', 'cli', 2000, 2001, 'complete');
    INSERT INTO run_streams (run_id, stream_id, read, missing, guarded) VALUES
      (1, 2, 1, 9, 'Nine are missing.'), (2, 1, 3, 7, 'Seven are missing.'), (2, 2, 10, 0, NULL);`);
  db.close();
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('a ledger of an older version', () => {
  it('is not read before it was brought up to date, and every reader says how', () => {
    const look = (): unknown => openLedgerViews({ file, passportRules: NO_PASSPORTS });
    for (const read of [look, () => verifyLedger(file, () => {})]) {
      expect(read).toThrow(expect.objectContaining({ code: 'ledger.older', exitCode: 3 }));
    }
  });

  it('is brought up to date by whoever writes, with what the guard held last', async () => {
    const ledger = openLedger(file);
    expect(ledger.views.guardedReads()).toEqual([
      { source: 'erp', stream: 'products', runId: 2, since: 2000, missing: 7, read: 3, message: 'Seven are missing.' },
    ]);
    await ledger.close();
    expect(verifyLedger(file, () => {})?.findings).toEqual([]);
  });
});
