import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Profile } from '../../../src/domain/profile.ts';
import { backUpLedger } from '../../../src/ledger/backup/backup.ts';
import { restoreLedger } from '../../../src/ledger/backup/restore.ts';
import { verifyLedger } from '../../../src/ledger/backup/verify.ts';
import { assertPresentSchema, openDatabase, openDatabaseReadOnly } from '../../../src/ledger/upgrade/open.ts';
import { FIRST_VERSION, type UpgradeStep } from '../../../src/ledger/upgrade-steps.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import {
  contentOf,
  createFrozenLedger,
  LATER_STEPS,
  LATER_VERSION,
  versionOf,
  write,
} from '../../support/ledger/frozen-ledger.ts';
import { openLedger, TARGET } from '../../support/ledger/ledger.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';

let folder: string;
let file: string;
/** The messages of the upgrade of a ledger. */
let reported: string[];
const report = (_fields: object, message: string) => void reported.push(message);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dpp-upgrade-'));
  file = join(folder, 'ledger.db');
  reported = [];
  createFrozenLedger(file);
});
afterEach(() => removeFolder(folder));

function bringUpToDate(): void {
  openDatabase(file, { report, steps: LATER_STEPS }).close();
}

/** The rows of a ledger, where the later step has undone nothing but its own column. */
function withoutLater(content: Record<string, unknown[]>): Record<string, unknown[]> {
  const items = content['items']?.map((row) => {
    const { later: _, ...rest } = row as Record<string, unknown>;
    return rest;
  });
  return { ...content, ...(items === undefined ? {} : { items }) };
}

function backups(): string[] {
  return readdirSync(folder)
    .filter((name) => name.includes('backup'))
    .map((name) => join(folder, name));
}

const soundness = (of = file) => verifyLedger(of, () => {}, LATER_STEPS)?.findings;

describe('a ledger of an older version that is brought up to date', () => {
  it('the frozen ledger is sound, and has an item and a record in each state', () => {
    expect(verifyLedger(file, () => {})?.findings).toEqual([]);
    const states = (table: string) =>
      new Set(contentOf(file)[table]?.map((row) => (row as { state: string | null }).state));
    expect(states('records')).toEqual(new Set(['stale', 'pending', 'mapped', 'excluded', 'quarantined']));
    expect(states('items').size).toBe(10);
    const empty = Object.entries(contentOf(file)).filter(([, rows]) => rows.length === 0);
    expect(empty).toEqual([]);
  });

  it('an upgraded ledger is sound and keeps every row, and never gives a number a second time', () => {
    const before = contentOf(file);
    bringUpToDate();
    expect(versionOf(file)).toBe(LATER_VERSION);
    expect(soundness()).toEqual([]);
    // It has the numbers that were given, too: `sqlite_sequence`.
    expect(withoutLater(contentOf(file))).toMatchObject(before);
  });

  it('an export that the guard holds because of its age is moved, and what it holds for missing records stays', () => {
    write(
      file,
      `DELETE FROM guarded_reads; INSERT INTO guarded_reads (stream_id, run_id, since, missing, read, message)
         VALUES (1, 1, 5, 0, 0, 'older'), (2, 2, 6, 7, 8, 'missing')`,
    );
    openDatabase(file).close();
    const { older_exports: older, guarded_reads: guarded } = contentOf(file);
    expect(older).toEqual([expect.objectContaining({ stream_id: 1, since: 5, as_of: null, message: 'older' })]);
    expect(guarded).toEqual([expect.objectContaining({ stream_id: 2, missing: 7 })]);
  });

  it('an upgraded ledger has its views for people again', () => {
    write(file, 'DROP VIEW v_items; DROP VIEW v_runs; CREATE VIEW v_runs AS SELECT 1 AS of_a_former_version');
    bringUpToDate();
    const db = new Database(file, { readonly: true });
    expect(db.prepare("SELECT count(*) FROM v_items WHERE kind = 'product'").pluck().get()).toBeGreaterThan(20);
    expect(db.prepare('SELECT started_by FROM v_runs WHERE run = 14').pluck().get()).toBe('file');
    db.close();
  });

  it('an upgraded ledger removes the rows of an item with the item', () => {
    const db = openDatabase(file, { steps: LATER_STEPS });
    db.prepare("DELETE FROM items WHERE key = 'long-lived'").run();
    for (const table of ['history', 'events', 'refs']) {
      expect(
        db.prepare(`SELECT count(*) FROM ${table} WHERE item_id NOT IN (SELECT id FROM items)`).pluck().get(),
      ).toBe(0);
    }
    db.close();
  });

  it('an older ledger is not changed where a step fails', () => {
    const before = contentOf(file);
    const failing: UpgradeStep = (db) => {
      db.exec("DELETE FROM items; UPDATE meta SET value = '99'");
      throw new Error('The step cannot convert a row.');
    };
    expect(() => openDatabase(file, { steps: [failing] })).toThrow('The step cannot convert a row.');
    expect([contentOf(file), versionOf(file)]).toEqual([before, FIRST_VERSION]);
  });

  it('an older ledger is not read before its upgrade, and the reader says how to upgrade it', () => {
    const db = openDatabaseReadOnly(file, LATER_STEPS);
    if (db === null) throw new Error('There is no ledger.');
    expect(() => assertPresentSchema(db, file, LATER_STEPS)).toThrow(
      expect.objectContaining({
        code: 'ledger.older',
        exitCode: 3,
        suggestion: expect.stringContaining('brings the ledger up to date'),
      }),
    );
  });
});

describe('the backup before an upgrade', () => {
  it('the backup before an upgrade has the ledger as it was, is marked as a backup, and only its owner can read it', () => {
    const before = contentOf(file);
    bringUpToDate();
    const [backup = '', ...others] = backups();
    expect(others).toEqual([]);
    expect(contentOf(backup)).toEqual(before);
    expect(verifyLedger(backup, () => {})?.backupAt).not.toBeNull();
    expect(statSync(backup).mode & 0o777).toBe(0o600);
    expect(reported.join('\n')).toContain(backup);
    expect(existsSync(`${backup}-wal`)).toBe(false);
  });

  it('a backup before an upgrade is not made for a new or an empty ledger, nor a second time', () => {
    for (const name of ['new.db', 'empty.db']) {
      const other = join(folder, name);
      if (name === 'empty.db') openDatabase(other).close();
      openDatabase(other, { report, steps: name === 'empty.db' ? LATER_STEPS : [] }).close();
    }
    expect(versionOf(join(folder, 'empty.db'))).toBe(LATER_VERSION);
    expect([backups(), reported]).toEqual([[], []]);
    bringUpToDate();
    bringUpToDate();
    expect(backups()).toHaveLength(1);
  });

  it('the backup before an upgrade is used again by an upgrade that was interrupted after it', () => {
    interruptAfterBackup();
    const made = backups();
    expect(made).toHaveLength(1);
    bringUpToDate();
    expect(backups()).toEqual(made);
    expect(reported.join('\n')).toContain(`The interrupted upgrade has made a backup of the ledger: ${made[0]}`);
  });

  it('the backup before an upgrade is made once where a reading process keeps a part of the ledger in the log', () => {
    const reader = new Database(file, { readonly: true });
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM items').get();
    write(file, "UPDATE meta SET value = '8' WHERE name = 'generation'");
    for (let attempt = 0; attempt < 2; attempt += 1) interruptAfterBackup();
    const made = backups();
    expect(made).toHaveLength(1);
    expect(contentOf(made[0] ?? '')).toEqual(contentOf(file));
    // The later writes of the older version are only in the log, and the time of the file does not change.
    write(file, 'DELETE FROM events WHERE id = (SELECT max(id) FROM events)');
    const before = contentOf(file);
    interruptAfterBackup();
    reader.close();
    bringUpToDate();
    expect(backups()).toHaveLength(2);
    expect(backups().map(contentOf)).toContainEqual(before);
  });

  it('the backup before an upgrade is made again of a ledger that the older version has written to since', () => {
    const events = contentOf(file)['events'];
    interruptAfterBackup();
    const [made = ''] = backups();
    const { atime, mtime } = statSync(file);
    write(file, "UPDATE meta SET value = '8' WHERE name = 'generation'; DELETE FROM events");
    // Even where the time of the file says otherwise.
    utimesSync(file, atime, mtime);
    const before = contentOf(file);
    bringUpToDate();
    expect(backups().map(contentOf)).toContainEqual(before);
    expect(backups()).toHaveLength(2);
    expect(contentOf(made)['events']).toEqual(events);
  });

  /** Ends an upgrade between its backup and its commit. */
  function interruptAfterBackup(): void {
    const stop = (_fields: object, message: string) => {
      if (message.includes('backup')) throw new Error('interrupted');
    };
    expect(() => openDatabase(file, { report: stop, steps: LATER_STEPS })).toThrow('interrupted');
    expect(versionOf(file)).toBe(FIRST_VERSION);
  }
});

describe('a backup of an older version', () => {
  let backup: string;
  let before: Record<string, unknown[]>;
  beforeEach(() => {
    backup = join(folder, 'older.db');
    const made = backUpLedger({ file, to: backup, force: false, now: 0, steps: LATER_STEPS, onStep: () => {} });
    expect(made.items.material).toMatchObject({ delivered: 11, due: 2, waiting: 5 });
    before = contentOf(backup);
  });

  const restore = (from: string | null) =>
    restoreLedger({
      file,
      from,
      target: TARGET,
      profile: Profile.parse({}),
      clock: systemClock,
      report,
      steps: LATER_STEPS,
    });

  it('a backup of an older version is checked without being changed, and its damage is found', () => {
    expect(verifyLedger(backup, () => {}, LATER_STEPS)).toMatchObject({
      findings: [],
      backupAt: '1970-01-01T00:00:00.000Z',
    });
    expect([contentOf(backup), versionOf(backup)]).toEqual([before, FIRST_VERSION]);
    write(backup, "UPDATE items SET uncertain = 0 WHERE state = 'in_doubt'");
    expect(soundness(backup)?.map(({ check }) => check)).toEqual(['delivery.doubt']);
  });

  it('a backup of an older version is restored as a copy, and stays as it is', () => {
    const { kept } = restore(backup);
    expect([kept === null ? null : versionOf(kept), versionOf(backup)]).toEqual([FIRST_VERSION, FIRST_VERSION]);
    expect(contentOf(backup)).toEqual(before);
    expect(backups()).toEqual([]);
    expect([soundness(), versionOf(file)]).toEqual([[], LATER_VERSION]);
    expect(verifyLedger(file, () => {}, LATER_STEPS)?.backupAt).toBeNull();
  });

  it('a backup of an older version is copied before it is restored where it lies in the place of the ledger', () => {
    for (const name of readdirSync(folder).filter((one) => one !== 'older.db')) rmSync(join(folder, name));
    copyFileSync(backup, file);
    restore(null);
    expect(backups().map(contentOf)).toEqual([before]);
    expect(soundness()).toEqual([]);
  });

  it('a backup of an older version in the place of the ledger is refused before anything of it is changed', () => {
    copyFileSync(backup, file);
    expect(() => openLedger(file, { report, steps: LATER_STEPS })).toThrow(
      expect.objectContaining({ code: 'ledger.restored' }),
    );
    expect([contentOf(file), versionOf(file)]).toEqual([before, FIRST_VERSION]);
    expect([backups(), reported]).toEqual([[], []]);
  });
});
