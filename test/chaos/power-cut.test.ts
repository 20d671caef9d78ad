import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { covers, ORACLE } from '../support/docs/reliability.ts';
import { REVISIONS } from '../support/ledger/ledger-revisions.ts';
import { type DiskEvent, readDiskRecording } from '../support/machine/disk-recording.ts';
import { createLossyDisk, writeFiles } from '../support/machine/lossy-disk.ts';
import { type DiskCall, describeStrace, runTraced } from '../support/machine/strace.ts';
import { chaosSeed, scaled, seededRandom } from '../support/runner/chaos.ts';
import { type CutWorld, createCutWorld } from '../support/worlds/cut-world.ts';

// A power cut takes the process and whatever was not fsynced. The calls of a sync on the files of its ledger are recorded
// with all their bytes, so that the disk can be made as it would have been after a cut at any of them.

const CHILD = join(import.meta.dirname, '../support/children/settled-sync-child.ts');
/** Of the calls of a whole sync, at how many the power is cut: at each, or at every how many-th. */
const STRIDE = scaled(12, 1);
/** Besides the cut that drops everything: how often some of it is kept at random. */
const SUBSETS = scaled(1, 4);
/** How many syncs are cut off and finished. */
const KILLED = scaled(1, 60);

/** A decision of the API that the ledger has said to be stored. */
interface Told {
  kind: string;
  key: string;
  operation: string;
  state: string;
}

function toldIn(event: DiskEvent): Told[] {
  if (event.type !== 'append') return [];
  return event.bytes
    .toString()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Told);
}

/**
 * Which of the decisions a ledger does not know, and what SQLite says of the file. Of each item the last one counts, and what was
 * to be sent again may be on its way.
 */
function lookInto(file: string, told: readonly Told[]): { integrity: unknown; lost: Told[] } {
  if (!existsSync(file)) return { integrity: 'ok', lost: [...told] };
  const db = new Database(file);
  try {
    const integrity = db.pragma('integrity_check', { simple: true });
    if (told.length === 0) return { integrity, lost: [] };
    const find = db
      .prepare<[string, string, string, string], number>(
        `SELECT 1 FROM ${REVISIONS} d JOIN items i ON i.id = d.item_id
         WHERE i.kind = ? AND i.key = ? AND d.operation = ? AND iif(d.state = 'sending', 'due', d.state) = ?`,
      )
      .pluck();
    const last = new Map(told.map((one) => [`${one.kind} ${one.key} ${one.operation}`, one]));
    const isLost = ({ kind, key, operation, state }: Told) => find.get(kind, key, operation, state) === undefined;
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

/** Calls that every sync gets to. */
const AMID = [
  { call: 'fdatasync', count: 16 },
  { call: 'pwrite64', count: 200 },
] as const;

/** How often a new ledger is synced before it is open. */
const OPENING = 18;

/** Kills a sync just before a call, drops what was not fsynced by then, and lets the next sync finish. */
async function cutAt(
  { call, when }: { call: DiskCall; when: number },
  { honoured, kept }: { honoured: boolean; kept: () => boolean },
): Promise<void> {
  const world = await createCutWorld({ honoured, queue: 'embedded' });
  try {
    const recording = join(world.folder, 'recording');
    const { signal } = await runTraced(world.syncCommand, {
      paths: world.paths,
      recording,
      inject: [{ call, when, effect: 'SIGKILL' }],
    });
    expect(signal).toBe('SIGKILL');
    const disk = createLossyDisk([world.folder]);
    for (const event of readDiskRecording(recording)) disk.apply(event);
    rmSync(world.data, { recursive: true, force: true });
    writeFiles(disk.afterPowerCut(kept));
    await world.finish();
  } catch (error) {
    throw new Error(`The power was cut before ${call} number ${when}, and things were not right in the end.`, {
      cause: error,
    });
  } finally {
    await world.remove();
  }
}

/**
 * Fails a sync all its fsyncs from one on, so that what it wrote last is in the memory of the system alone. The next sync is
 * killed before one of its own, and then the power is cut.
 *
 * @returns how many decisions that one had told of by then
 */
async function cutAfterFailedSync(failing: number, killing: number): Promise<number> {
  const world = await createCutWorld({ honoured: false, queue: 'embedded' });
  try {
    const first = join(world.folder, 'first');
    await runTraced([...world.syncCommand, '--wait', '1'], {
      paths: world.paths,
      recording: first,
      // Commits are brought to the disk with `fdatasync`. Once it is open, all that the ledger syncs fails.
      inject: [
        { call: 'fdatasync', when: [failing, 60_000], effect: 'EIO' },
        { call: 'fsync', when: [OPENING + 1, 60_000], effect: 'EIO' },
      ],
    });
    const second = join(world.folder, 'second');
    const log = join(world.folder, 'settled');
    await runTraced([CHILD, world.configFile, log], {
      paths: [...world.paths, log],
      recording: second,
      inject: [{ call: 'fdatasync', when: killing, effect: 'SIGKILL' }],
    });
    const disk = createLossyDisk([world.folder]);
    const events = [first, second].flatMap(readDiskRecording);
    for (const event of events) if (event.path !== log) disk.apply(event);
    rmSync(world.data, { recursive: true, force: true });
    writeFiles(disk.afterPowerCut(() => false));
    const told = events.flatMap(toldIn);
    expect(lookInto(join(world.data, 'ledger.db'), told)).toEqual({ integrity: 'ok', lost: [] });
    await world.finish();
    return told.length;
  } catch (error) {
    throw new Error(
      `With fdatasync ${failing} failing and a cut before ${killing}, things were not right in the end.`,
      {
        cause: error,
      },
    );
  } finally {
    await world.remove();
  }
}

describeStrace('a power cut', () => {
  it('a power cut takes no acknowledged decision back, wherever it comes and whatever else has reached the disk', {
    ...covers('power-cut', 'I8'),
    timeout: scaled(90_000, 1_800_000),
  }, async () => {
    const random = seededRandom(chaosSeed());
    const world = await createCutWorld({ honoured: false, queue: 'embedded' });
    const events = await recordedSync(world);
    const disk = createLossyDisk([world.folder]);
    const told: Told[] = [];
    let cuts = 0;
    const offset = Math.floor(random() * STRIDE);
    for (const [at, event] of events.entries()) {
      if (event.type === 'append') told.push(...toldIn(event));
      else if (!event.path.endsWith('/settled')) disk.apply(event);
      if ((at + offset) % STRIDE !== 0 && at < events.length - 1) continue;
      for (let subset = 0; subset <= SUBSETS; subset += 1) {
        rmSync(world.data, { recursive: true, force: true });
        writeFiles(disk.afterPowerCut(() => subset > 0 && random() < 0.5));
        const seen = lookInto(join(world.data, 'ledger.db'), told);
        expect(seen, `cut after call ${at} of ${events.length}, subset ${subset}`).toEqual({
          integrity: 'ok',
          lost: [],
        });
        cuts += 1;
      }
    }
    expect(told).toHaveLength(15);
    expect(cuts).toBeGreaterThan(scaled(50, 2000));
    await world.remove();
  });

  it.each([
    ['nothing is lost and nothing doubled where the API ignores keys', false],
    ['there is no doubt left where keys are honoured', true],
  ])(
    'a power cut amid the work is made up for by the next sync: %s',
    { ...covers('power-cut', ...ORACLE), timeout: scaled(90_000, 1_800_000) },
    async (_, honoured) => {
      const random = seededRandom(chaosSeed());
      for (let cut = 0; cut < KILLED; cut += 1) {
        const { call, count } = AMID[Math.floor(random() * AMID.length)] ?? AMID[0];
        const point = { call, when: 1 + Math.floor(random() * count) };
        // Every other time all that was not fsynced is gone, else some of it.
        await cutAt(point, { honoured, kept: () => cut % 2 === 1 && random() < 0.5 });
      }
    },
  );

  it('a power cut takes back nothing that a process has stored after one to which the disk had failed an fsync', {
    ...covers(['power-cut', 'disk-error'], ...ORACLE),
    timeout: scaled(90_000, 1_800_000),
  }, async () => {
    const random = seededRandom(chaosSeed());
    // A process that was killed before it told of anything shows nothing.
    let shown = 0;
    for (let cut = 0; cut < 4 * KILLED && shown < KILLED; cut += 1) {
      if ((await cutAfterFailedSync(2 + Math.floor(random() * 6), 12 + Math.floor(random() * 4))) > 0) shown += 1;
    }
    expect(shown).toBe(KILLED);
  });
});
