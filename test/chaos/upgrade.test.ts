import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { verifyLedger } from '../../src/ledger/backup/verify.ts';
import { FIRST_VERSION } from '../../src/ledger/upgrade-steps.ts';
import { covers } from '../support/docs/reliability.ts';
import {
  addDueProducts,
  contentOf,
  createFrozenLedger,
  LATER_STEPS,
  versionOf,
} from '../support/ledger/frozen-ledger.ts';
import { removeFolder } from '../support/machine/remove-folder.ts';
import { chaosSeed, IS_FULL, seededRandom } from '../support/runner/chaos.ts';
import { type DiskCall, describeStrace, runTraced } from './support/strace.ts';

// An upgrade of a ledger is killed just before each call that writes to its files, and is then repeated.

const CHILD = join(import.meta.dirname, 'support/upgrading-child.ts');
const CALLS: readonly DiskCall[] = ['pwrite64', 'fsync', 'ftruncate', 'unlink'];
/** When the older version wrote to the ledger last. The name of the backup contains this time. */
const WRITTEN = new Date(Date.UTC(2027, 0, 15, 2, 30));
const BACKUP = 'ledger.db.backup-before-upgrade-20270115T023000Z';
/** The number of additional rows. With them the upgrade writes more than fits into the log at once. */
const MORE = 300;
/** The least number of calls of each kind in every upgrade. */
const LEAST: Partial<Record<DiskCall, number>> = { pwrite64: 300, fsync: 14, ftruncate: 4 };
/** `npm run test:slow` draws this many calls of each kind. */
const DRAWN = 2;

let folder: string;
let pattern: string;
let before: string;
let after: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'dpp-upgrade-'));
  pattern = join(folder, 'pattern.db');
  createFrozenLedger(pattern);
  addDueProducts(pattern, MORE, 'x'.repeat(300));
  before = soundContentOf(pattern);
  const file = newLedger('whole');
  await runTraced([CHILD, file], { paths: pathsOf(file) });
  after = soundContentOf(file);
});
afterAll(() => removeFolder(folder));

function newLedger(name: string): string {
  mkdirSync(join(folder, name));
  const file = join(folder, name, 'ledger.db');
  copyFileSync(pattern, file);
  utimesSync(file, WRITTEN, WRITTEN);
  return file;
}

function pathsOf(file: string): string[] {
  const partial = `${file}.backup-before-upgrade.part`;
  const backup = join(file, '..', BACKUP);
  return [file, `${file}-wal`, `${file}-shm`, partial, `${partial}-journal`, backup, join(file, '..')];
}

/** Everything in a file, which SQLite finds to be sound. */
function soundContentOf(file: string): string {
  const db = new Database(file, { readonly: true });
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
  db.close();
  return JSON.stringify(contentOf(file));
}

/** Returns whether the upgrade got as far as the call and was killed there. */
async function killedAt(call: DiskCall, when: number): Promise<boolean> {
  const file = newLedger(`${call}-${when}`);
  const place = join(file, '..');
  try {
    const { signal, exitCode, stderr } = await runTraced([CHILD, file], {
      paths: pathsOf(file),
      inject: [{ call, when, effect: 'SIGKILL' }],
    });
    expect(signal ?? exitCode, stderr).toBe(signal === null ? 0 : 'SIGKILL');
    // At every moment the ledger is the former one or the present one. The former one has a backup before anything changes.
    const isDone = versionOf(file) > FIRST_VERSION;
    expect(soundContentOf(file)).toBe(isDone ? after : before);
    const backup = join(place, BACKUP);
    if (existsSync(backup)) expect(soundContentOf(backup)).toBe(before);
    else expect(isDone).toBe(false);

    const again = await runTraced([CHILD, file], { paths: pathsOf(file) });
    expect(again.exitCode, again.stderr).toBe(0);
    expect(soundContentOf(file)).toBe(after);
    expect(soundContentOf(backup)).toBe(before);
    // Reading the files above leaves empty logs behind.
    const files = readdirSync(place).filter((name) => !/-(?:wal|shm)$/.test(name));
    expect(files.toSorted()).toEqual(['ledger.db', BACKUP]);
    expect(verifyLedger(file, () => {}, LATER_STEPS)?.findings).toEqual([]);
    return signal !== null;
  } catch (error) {
    throw new Error(`Killed before ${call} number ${when}, things were not right in the end.`, { cause: error });
  } finally {
    await removeFolder(place);
  }
}

/** Kills an upgrade at each of its calls, one after the other. Returns the number of calls of each kind. */
async function walkAll(): Promise<Record<string, number>> {
  const reached: Record<string, number> = {};
  for (const call of CALLS) {
    let when = 1;
    while (await killedAt(call, when)) when += 1;
    reached[call] = when - 1;
  }
  return reached;
}

/** Draws some of the calls that every upgrade makes. */
function drawn(): { call: DiskCall; when: number }[] {
  const random = seededRandom(chaosSeed());
  return Object.entries(LEAST).flatMap(([call, least]) =>
    Array.from({ length: DRAWN }, () => ({ call: call as DiskCall, when: 1 + Math.floor(random() * least) })),
  );
}

describeStrace('an upgrade of a ledger that is killed at a write or an fsync', () => {
  it(
    'a killed upgrade leaves the former ledger or the present one, one backup, and nothing else once repeated',
    covers('write-cut', 'I1', 'I2', 'I8'),
    async () => {
      if (!IS_FULL) {
        for (const { call, when } of drawn()) expect(await killedAt(call, when), `${call} ${when}`).toBe(true);
        return;
      }
      const reached = await walkAll();
      process.stderr.write(`Killed at ${JSON.stringify(reached)}\n`);
      for (const [call, least] of Object.entries(LEAST)) expect(reached[call]).toBeGreaterThanOrEqual(least);
    },
  );
});
