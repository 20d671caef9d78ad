import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Daemon } from '../../../src/daemon/daemon.ts';
import { runBackup } from '../../../src/ledger/backup/backup.ts';
import { verifyLedger } from '../../../src/ledger/backup/verify.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { PRODUCTS, startDaemon } from '../../support/worlds/daemon-world.ts';
import type { RecordingLog } from '../../support/worlds/recording-log.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';
import { yearlyFarFromNow } from './far-schedule.ts';

describe('scheduled backups', () => {
  let world: World;
  let daemon: Daemon;
  let log: RecordingLog;
  let aheadMs: number;
  /** A time at which the clock stands still. */
  let stoppedAt: number | null;
  /** The machine's clock, set forward or stopped. */
  const clock: Clock = { ...systemClock, now: () => stoppedAt ?? systemClock.now() + aheadMs };

  beforeEach(async () => {
    aheadMs = 0;
    stoppedAt = null;
    world = await createWorld({
      config: { sources: [PRODUCTS.source], backups: { folder: './backups', keep: 2, schedule: yearlyFarFromNow() } },
      files: PRODUCTS.files,
    });
    await world.sync();
    ({ daemon, log } = await startDaemon(world, { clock }));
  });
  afterEach(async () => {
    await daemon.stop();
    await world.remove();
  });

  const folder = () => join(world.folder, 'backups');
  const backups = () => daemon.runtime.care?.backups ?? expect.fail('The daemon has no backups.');
  const inMinutes = async (minutes: number) => {
    aheadMs += minutes * 60_000;
    return await backups().backUpNow();
  };

  it('scheduled backups are stopped at once, also while the thread that makes them loads SQLite', async () => {
    for (let waitMs = 0; waitMs < 200; waitMs += 20) {
      const stop = new AbortController();
      const task = {
        file: join(world.folder, 'data/ledger.db'),
        to: join(world.folder, `stopped-${waitMs}.db`),
        now: Date.now(),
      };
      const made = runBackup(task, stop.signal);
      setTimeout(() => stop.abort(), waitMs);
      const outcome = await made.catch((error: unknown) => error);
      expect(outcome).toMatchObject(outcome instanceof Error ? { code: 'interrupted' } : { file: task.to });
    }
  });

  it('scheduled backups are sound copies that only their owner can read, and are known to the next daemon', async () => {
    const made = await backups().backUpNow();
    expect(statSync(made.file).mode & 0o777).toBe(0o600);
    expect(statSync(folder()).mode & 0o777).toBe(0o700);
    expect(verifyLedger(made.file, () => undefined)).toMatchObject({ findings: [], backupAt: expect.any(String) });
    expect(backups().last()).toEqual(made);
    expect(backups().lastTry()).toMatchObject({ ok: true, error: null });
    expect(await daemon.runtime.reads.daemonNote('backup')).toMatchObject({ ok: true, last: made });
    await daemon.stop();
    ({ daemon, log } = await startDaemon(world, { clock }));
    expect(backups().last()).toEqual(made);
    expect(backups().nextAt()).toBeGreaterThan(clock.now());
  });

  it('scheduled backups remove the oldest of their own beyond `keep`, and no file of anybody else', async () => {
    const first = await backups().backUpNow();
    const foreign = ['notes.txt', 'dpp-sync-othertledger-20260101T000000Z.db', first.file.replace('.db', '-copy.db')];
    for (const name of foreign) writeFileSync(join(folder(), name.split('/').at(-1) ?? ''), 'mine');
    mkdirSync(first.file.replace(/\d{8}T/, '20200101T'));
    const second = await inMinutes(1);
    const third = await inMinutes(1);
    expect((await backups().list()).map(({ file }) => file)).toEqual([third.file, second.file]);
    expect(readdirSync(folder())).toHaveLength(foreign.length + 1 + 2);
  });

  it('scheduled backups are kept although those from before the clock was set back have later times', async () => {
    const month = 30 * 24 * 60;
    await inMinutes(month);
    const ahead = await inMinutes(1);
    const next = await inMinutes(-month);
    expect((await backups().list()).map(({ file }) => file)).toEqual([ahead.file, next.file]);
    const last = await inMinutes(1);
    expect((await backups().list()).map(({ file }) => file)).toEqual([last.file, next.file]);
  });

  it('a scheduled backup that fails keeps the earlier ones, and is reported', async () => {
    const good = await backups().backUpNow();
    const events: boolean[] = [];
    daemon.runtime.bus.subscribe((event) => {
      if (event.type === 'backup') events.push(event.ok);
    });
    stoppedAt = clock.now() + 60_000;
    // A file of the name that the next backup would have.
    const at = new Date(stoppedAt).toISOString().replaceAll(/[-:]/g, '').replace(/\.\d+/, '');
    mkdirSync(join(folder(), (good.file.split('/').at(-1) ?? '').replace(/\d{8}T\d{6}Z/, at)));
    await expect(backups().backUpNow()).rejects.toMatchObject({ code: 'ledger.unwritable' });
    expect(events).toEqual([false]);
    expect(backups().last()).toEqual(good);
    expect(backups().lastTry()).toMatchObject({ ok: false, error: expect.stringContaining('could not be backed up') });
    expect(await backups().list()).toEqual([good]);
    expect(log.lines.filter(({ level }) => level === 'error')).toHaveLength(1);
  });

  it('a scheduled backup is made at the start where its time passed while no daemon ran', async () => {
    const old = await backups().backUpNow();
    await daemon.stop();
    aheadMs += 366 * 24 * 3_600_000;
    ({ daemon, log } = await startDaemon(world, { clock }));
    await expect.poll(() => backups().last()?.madeAt).toBeGreaterThan(old.madeAt);
  });

  it('a scheduled backup removes what a killed attempt has left', async () => {
    const made = await backups().backUpNow();
    const left = `.${(made.file.split('/').at(-1) ?? '').replace(/\d{8}T/, '20260101T')}.part`;
    const killed = [left, `${left}-journal`];
    for (const name of killed) writeFileSync(join(folder(), name), 'half');
    await inMinutes(1);
    expect(readdirSync(folder()).filter((name) => killed.includes(name))).toEqual([]);
  });
});
