import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { verifyLedger } from '../../../src/ledger/backup/verify.ts';
import { type OpenOptions, openDatabase } from '../../../src/ledger/upgrade/open.ts';
import { FIRST_VERSION } from '../../../src/ledger/upgrade-steps.ts';
import { type Clock, systemClock } from '../../../src/lib/clock.ts';
import { covers } from '../../support/docs/reliability.ts';
import {
  addDueProducts,
  createFrozenLedger,
  LATER_STEPS,
  versionOf,
  write,
} from '../../support/ledger/frozen-ledger.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';
import { describeSmallDisk, mountSmallDisk, type SmallDisk } from '../../support/machine/small-disk.ts';

const DISK_MB = 32;
const PRODUCTS = 4000;

describeSmallDisk('an upgrade of a ledger on a disk without room', () => {
  let folder: string;
  let disk: SmallDisk;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'dpp-full-'));
    disk = mountSmallDisk(folder, DISK_MB);
    file = join(folder, 'ledger.db');
    createFrozenLedger(file);
    addDueProducts(file, PRODUCTS, 'x'.repeat(1000));
  });
  afterEach(async () => {
    disk.remove();
    await removeFolder(folder);
  });

  const openLater = (options: Partial<OpenOptions> = {}) => openDatabase(file, { ...options, steps: LATER_STEPS });

  const needsRoom = expect.objectContaining({
    code: 'ledger.unwritable',
    exitCode: 3,
    message: expect.stringMatching(
      /its folder needs about \d+ MB of free room, and \d MB are free\. The ledger was not changed\.$/,
    ),
  });

  /** Checks that the older version can still use its ledger. */
  function expectUsableByOlderVersion(): void {
    const db = new Database(file);
    try {
      expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
      expect(db.prepare("SELECT count(*) FROM items WHERE key GLOB 'more-*' AND state = 'due'").pluck().get()).toBe(
        PRODUCTS,
      );
    } finally {
      db.close();
    }
    expect(versionOf(file)).toBe(FIRST_VERSION);
    disk.clear();
    write(file, "UPDATE items SET by_hand = 1 WHERE key = 'more-1'; UPDATE items SET by_hand = 0 WHERE key = 'more-1'");
  }

  function expectDone(backups: number): void {
    openLater().close();
    expect(verifyLedger(file, () => {}, LATER_STEPS)?.findings).toEqual([]);
    const files = readdirSync(folder).filter((name) => !/-(?:wal|shm)$/.test(name));
    expect(files).toHaveLength(1 + backups);
  }

  it(
    'an upgrade without enough room is refused before anything is written, names the room that it needs, and works with it',
    covers('disk-full', 'I1', 'I8'),
    () => {
      disk.fill((DISK_MB - 12) * 1_000_000);
      expect(() => openLater()).toThrow(needsRoom);
      expect(readdirSync(folder).filter((name) => name.includes('backup'))).toEqual([]);
      expectUsableByOlderVersion();
      expectDone(1);
    },
  );

  it('an upgrade leaves no half of a backup when the disk fills up meanwhile', covers('disk-full', 'I1', 'I8'), () => {
    // The time of the backup is asked for just before the copy.
    const clock: Clock = {
      ...systemClock,
      now() {
        disk.fill();
        return systemClock.now();
      },
    };
    expect(() => openLater({ clock })).toThrow(needsRoom);
    expect(readdirSync(folder).filter((name) => name.includes('backup'))).toEqual([]);
    expectUsableByOlderVersion();
    expectDone(1);
  });

  it(
    'an upgrade leaves the ledger and its backup as they were where the disk becomes full after the backup',
    covers('disk-full', 'I1', 'I8'),
    () => {
      const report = (_fields: object, message: string): void => {
        if (message.includes('backup')) disk.fill();
      };
      expect(() => openLater({ report })).toThrow(needsRoom);
      expect(readdirSync(folder).filter((name) => name.includes('backup'))).toHaveLength(1);
      disk.clear();
      expectDone(1);
    },
  );

  it('a failed upgrade gives back the room that it has taken', covers('disk-full', 'I8'), () => {
    const report = (_fields: object, message: string): void => {
      if (message.includes('backup')) disk.fill();
    };
    expect(() => openLater({ report })).toThrow(needsRoom);
    expect(readdirSync(folder).filter((name) => name.endsWith('-wal'))).toEqual([]);
    expectUsableByOlderVersion();
  });
});
