import { fork } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { backUpLedger } from '../../../src/ledger/backup/backup.ts';
import { copyLedger } from '../../../src/ledger/backup/private-copy.ts';
import { copyFiles } from '../../../src/ledger/store/copy-files.ts';
import { openLedger, TARGET } from '../../support/ledger/ledger.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'dpp-copy-'));
  file = join(folder, 'ledger.db');
  await openLedger(file).close();
});
afterEach(() => removeFolder(folder));

/** What a copy has: its damage, the number of values, and whether their sum is that of the same commit. */
function contentOf(copy: string) {
  const db = new Database(copy);
  try {
    const damage = db.pragma('integrity_check', { simple: true });
    const sum = Number(db.prepare("SELECT value FROM meta WHERE name = 'sum'").pluck().get());
    const values = db.prepare<[], string>("SELECT value FROM meta WHERE name LIKE 'value %'").pluck().all();
    return { damage, values: values.length, difference: values.reduce((left, value) => left - Number(value), sum) };
  } finally {
    db.close();
  }
}

/** Does the work beside a process that writes to the ledger, and copies its log into the database after each so many pages. */
async function besideWriter(pages: number, work: () => Promise<void>): Promise<void> {
  const writer = fork(join(import.meta.dirname, 'scattered-writer-child.ts'), [file, String(pages)]);
  await once(writer, 'message');
  try {
    await work();
  } finally {
    writer.disconnect();
    await once(writer, 'exit');
  }
}

const WHOLE = { damage: 'ok', values: 2000, difference: 0 };

describe('a private copy', () => {
  it.each([4, 1000])('is the ledger at one moment, beside a process with a log of %d pages', async (pages) => {
    await besideWriter(pages, async () => {
      for (let time = 0; time < 8; time += 1) {
        const copy = await copyLedger(file, TARGET);
        expect(contentOf(copy.file)).toEqual(WHOLE);
        await copy.remove();
      }
    });
    expect(readdirSync(folder).filter((name) => name.startsWith('dpp-sync-'))).toEqual([]);
  });

  // Without a reader, the log is begun again at any moment, and the database is written at any moment.
  it.each([50, 400])('of files is whole or does not exist, beside a process with a log of %d pages', async (pages) => {
    const to = join(folder, 'copy.db');
    let copies = 0;
    await besideWriter(pages, async () => {
      while (copies < 100) {
        if (copyFiles(file, to)) {
          expect(contentOf(to)).toEqual(WHOLE);
          copies += 1;
        } else expect(existsSync(to)).toBe(false);
        for (const one of ['', '-wal', '-shm']) rmSync(`${to}${one}`, { force: true });
      }
    });
  });

  it('a private copy of a backup that nobody may write can be written, and is no backup', async () => {
    const backup = join(folder, 'backup.db');
    backUpLedger({ file, to: backup, force: false, now: Date.now(), onStep: () => undefined });
    chmodSync(backup, 0o400);
    const copy = await copyLedger(backup, TARGET);
    await openLedger(copy.file).close();
    await copy.remove();
  });
});
