import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { covers, ORACLE } from '../support/docs/reliability.ts';
import { REVISIONS } from '../support/ledger/ledger-revisions.ts';
import { chaosSeed, scaled, seededRandom } from '../support/runner/chaos.ts';
import { TEST_MS } from '../support/runner/limits.ts';
import { type CutWorld, createCutWorld } from './support/cut-world.ts';
import { type DiskEvent, readDiskRecording } from './support/disk-recording.ts';
import { createLossyDisk, writeFiles } from './support/lossy-disk.ts';
import { type DiskCall, describeStrace, runTraced } from './support/strace.ts';
import { callsOfOpening, reachCall } from './support/sync-calls.ts';

// A power cut ends the process and may lose everything that was not fsynced. The calls of a sync on the files of its ledger
// are recorded with all their bytes. So a test can make the disk as it would be after a cut at any of these calls.

const CHILD = join(import.meta.dirname, 'support/settled-sync-child.ts');
/** The number of calls from one power cut to the next one in a whole sync. With 1, the power is cut after each call. */
const STRIDE = scaled(12, 1);
/** How often each cut is repeated with a random part of the unsynced data kept. The first time all of it is dropped. */
const SUBSETS = scaled(1, 4);
/** How many syncs are interrupted by a power cut and finished by another sync. */
const KILLED = scaled(1, 60);

/** The result of a delivery that the ledger has reported as settled. */
interface Settled {
  kind: string;
  key: string;
  operation: string;
  state: string;
}

function settledIn(event: DiskEvent): Settled[] {
  if (event.type !== 'append') return [];
  return event.bytes
    .toString()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Settled);
}

/**
 * Returns which settled results the ledger does not have, and what SQLite reports about the file. For each item only the
 * last result counts. A delivery that was due may be claimed by now.
 */
function lookInto(file: string, settled: readonly Settled[]): { integrity: unknown; lost: Settled[] } {
  if (!existsSync(file)) return { integrity: 'ok', lost: [...settled] };
  const db = new Database(file);
  try {
    const integrity = db.pragma('integrity_check', { simple: true });
    if (settled.length === 0) return { integrity, lost: [] };
    const find = db
      .prepare<[string, string, string, string], number>(
        `SELECT 1 FROM ${REVISIONS} d JOIN items i ON i.id = d.item_id
         WHERE i.kind = ? AND i.key = ? AND d.operation = ? AND iif(d.state = 'sending', 'due', d.state) = ?`,
      )
      .pluck();
    const last = new Map(settled.map((one) => [`${one.kind} ${one.key} ${one.operation}`, one]));
    const isLost = ({ kind, key, operation, state }: Settled) => find.get(kind, key, operation, state) === undefined;
    return { integrity, lost: [...last.values()].filter(isLost) };
  } finally {
    db.close();
  }
}

async function recordedSync(world: CutWorld): Promise<DiskEvent[]> {
  const recording = join(world.folder, 'recording');
  const log = join(world.folder, 'settled');
  const { exitCode } = await runTraced([CHILD, world.configFile, log], { paths: [...world.paths, log], recording });
  expect(exitCode).toBe(0);
  return readDiskRecording(recording);
}

/** The number of calls after the ledger was opened from which the test draws one. */
const AMID = [
  { call: 'fdatasync', count: 16 },
  { call: 'pwrite64', count: 200 },
] as const;

/**
 * Kills a sync just before a call, drops the data that were not fsynced by then, and lets the next sync finish. Returns
 * whether the sync got as far as the call.
 */
async function cutAt(
  { call, when }: { call: DiskCall; when: number },
  { honoured, kept }: { honoured: boolean; kept: () => boolean },
): Promise<boolean> {
  const world = await createCutWorld({ honoured, queue: 'embedded' });
  try {
    const recording = join(world.folder, 'recording');
    const { signal, exitCode } = await runTraced(world.syncCommand, {
      paths: world.paths,
      recording,
      inject: [{ call, when, effect: 'SIGKILL' }],
    });
    expect(signal ?? exitCode).toBeOneOf(['SIGKILL', 0, 4]);
    const disk = createLossyDisk([world.folder]);
    for (const event of readDiskRecording(recording)) disk.apply(event);
    rmSync(world.data, { recursive: true, force: true });
    writeFiles(disk.afterPowerCut(kept));
    await world.finish();
    return signal !== null;
  } catch (error) {
    throw new Error(`The power was cut before ${call} number ${when}, and things were not right in the end.`, {
      cause: error,
    });
  } finally {
    await world.remove();
  }
}

interface FailedSync {
  /** The number of `fsync` calls until the ledger is open. */
  opening: number;
  /** The number of the first `fdatasync` call that fails. */
  failing: number;
  /** The next sync kills itself after it has reported this many results as settled. It may have fewer results to report. */
  killing: number;
}

/**
 * Lets all fsyncs of a sync fail from a given one on, so that its last writes are only in the memory of the system. The
 * next sync is killed. The power is cut after each result that the next sync has reported as settled.
 */
async function cutAfterFailedSync({ opening, failing, killing }: FailedSync): Promise<void> {
  const world = await createCutWorld({ honoured: false, queue: 'embedded' });
  try {
    const first = join(world.folder, 'first');
    const { exitCode } = await runTraced([...world.syncCommand, '--wait', '1'], {
      paths: world.paths,
      recording: first,
      // Commits use `fdatasync`. After the ledger was opened, every `fsync` of it fails too.
      inject: [
        { call: 'fdatasync', when: [failing, 60_000], effect: 'EIO' },
        { call: 'fsync', when: [opening + 1, 60_000], effect: 'EIO' },
      ],
    });
    expect(exitCode).toBe(3);
    const disk = createLossyDisk([world.folder]);
    for (const event of readDiskRecording(first)) disk.apply(event);
    // The next sync finds commits in the log that the disk does not have.
    const wal = join(world.data, 'ledger.db-wal');
    expect(disk.afterPowerCut(() => false).get(wal)).not.toEqual(readFileSync(wal));
    const second = join(world.folder, 'second');
    const log = join(world.folder, 'settled');
    await runTraced([CHILD, world.configFile, log, String(killing)], {
      paths: [...world.paths, log],
      recording: second,
    });
    const settled: Settled[] = [];
    for (const event of readDiskRecording(second)) {
      if (event.path !== log) {
        disk.apply(event);
        continue;
      }
      settled.push(...settledIn(event));
      if (event.type !== 'append') continue;
      rmSync(world.data, { recursive: true, force: true });
      writeFiles(disk.afterPowerCut(() => false));
      const seen = lookInto(join(world.data, 'ledger.db'), settled);
      expect(seen, `cut after ${settled.length} results`).toEqual({ integrity: 'ok', lost: [] });
    }
    // A sync that was killed before it reported a result proves nothing.
    expect(settled).not.toEqual([]);
    await world.finish();
  } catch (error) {
    throw new Error(
      `With fdatasync ${failing} failing and a cut after ${killing} results, things were not right in the end.`,
      { cause: error },
    );
  } finally {
    await world.remove();
  }
}

describeStrace('a power cut', () => {
  it('a power cut takes no acknowledged decision back, wherever it comes and whatever else has reached the disk', {
    ...covers('power-cut', 'I8'),
    timeout: TEST_MS,
  }, async () => {
    const random = seededRandom(chaosSeed());
    const world = await createCutWorld({ honoured: false, queue: 'embedded' });
    const events = await recordedSync(world);
    const disk = createLossyDisk([world.folder]);
    const settled: Settled[] = [];
    let cuts = 0;
    const offset = Math.floor(random() * STRIDE);
    for (const [at, event] of events.entries()) {
      if (event.type === 'append') settled.push(...settledIn(event));
      else if (!event.path.endsWith('/settled')) disk.apply(event);
      if ((at + offset) % STRIDE !== 0 && at < events.length - 1) continue;
      for (let subset = 0; subset <= SUBSETS; subset += 1) {
        rmSync(world.data, { recursive: true, force: true });
        writeFiles(disk.afterPowerCut(() => subset > 0 && random() < 0.5));
        const seen = lookInto(join(world.data, 'ledger.db'), settled);
        expect(seen, `cut after call ${at} of ${events.length}, subset ${subset}`).toEqual({
          integrity: 'ok',
          lost: [],
        });
        cuts += 1;
      }
    }
    expect(settled).toHaveLength(15);
    expect(cuts).toBeGreaterThan(scaled(50, 2000));
    await world.remove();
  });

  it.each([
    ['nothing is lost and nothing doubled where the API ignores keys', false],
    ['no delivery stays unconfirmed where keys are honoured', true],
  ])(
    'a power cut amid the work is made up for by the next sync: %s',
    { ...covers('power-cut', ...ORACLE), timeout: TEST_MS },
    async (_, honoured) => {
      const random = seededRandom(chaosSeed());
      const opening = await callsOfOpening();
      for (let cut = 0; cut < KILLED; cut += 1) {
        const { call, count } = AMID[Math.floor(random() * AMID.length)] ?? AMID[0];
        // Every other cut loses all data that were not fsynced, and the other cuts lose some of them.
        const kept = () => cut % 2 === 1 && random() < 0.5;
        await reachCall(1 + Math.floor(random() * count), (nth) =>
          cutAt({ call, when: opening[call] + nth }, { honoured, kept }),
        );
      }
    },
  );

  it('a power cut takes back nothing that a process has stored after one to which the disk had failed an fsync', {
    ...covers(['power-cut', 'disk-error'], ...ORACLE),
    timeout: TEST_MS,
  }, async () => {
    const random = seededRandom(chaosSeed());
    const { fsync: opening } = await callsOfOpening();
    for (let cut = 0; cut < KILLED; cut += 1) {
      // At least seven commits of a sync depend on each other: pages, claims of products, results, claims of BOM items, ...
      const failing = 2 + Math.floor(random() * 6);
      await cutAfterFailedSync({ opening, failing, killing: 1 + Math.floor(random() * 12) });
    }
  });
});
