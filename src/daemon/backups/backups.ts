// Backups of the ledger by schedule. A backup is verified before it appears under its name. After that the old backups
// are removed. The ledger stores the result of the last try, and `status` shows it.

import { lstat, readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fault } from '../../domain/faults.ts';
import type { BackupFile, BackupStatus, CareLedger } from '../../domain/ports/ledger/care-ledger.ts';
import type { Emit } from '../../domain/ports/progress.ts';
import { runBackup } from '../../ledger/backup/backup.ts';
import type { Clock } from '../../lib/clock.ts';
import { Fault, messageOf, systemCodeOf } from '../../lib/errors.ts';
import { makeFolder, syncFolder } from '../../lib/files.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import { createScheduler, type Schedule } from '../scheduler.ts';
import type { RuntimeConfig } from '../sources/open-source.ts';

/** The name of the only schedule, because the scheduler needs a name. */
const NAME = 'backups';

export function createBackups(options: {
  /** Read at each use, because a reload may replace it. */
  config: RuntimeConfig;
  ledgerId: string;
  ledger: CareLedger;
  /** The result of the last backup, as the last daemon has left it. */
  last: BackupStatus | null;
  emit: Emit;
  clock: Clock;
  log: Logger;
}) {
  const { config, ledgerId, ledger, emit, clock, log } = options;
  const abort = new AbortController();
  let status = options.last;
  let running: Promise<BackupFile> | null = null;
  const scheduler = createScheduler({
    schedules: schedulesIn(config),
    startRun: async () => {
      // `backUpNow` itself logs and stores the failure.
      await backUpNow().catch(() => undefined);
    },
    clock,
    log,
  });

  function settings(): { folder: BackupFolder; keep: number } {
    if (config.backups === null) {
      throw fault('usage', 'The config has no section `backups`.', {
        suggestion: 'Add the section with a folder, or make a single backup with `dpp-sync ledger backup FILE`.',
      });
    }
    return { folder: createBackupFolder({ folder: config.backups.folder, ledgerId }), keep: config.backups.keep };
  }

  async function note(result: Pick<BackupStatus, 'ok' | 'error'>, last: BackupFile | null): Promise<void> {
    status = { at: clock.now(), ...result, last };
    emit({ type: 'backup', ok: result.ok });
    try {
      await ledger.noteDaemon('backup', status);
    } catch (error) {
      log.warn({ error: messageOf(error) }, `\`status\` does not show this backup: ${messageOf(error)}`);
    }
  }

  async function make(): Promise<BackupFile> {
    const { folder, keep } = settings();
    // The name of the file contains the time in whole seconds.
    const madeAt = Math.floor(clock.now() / 1000) * 1000;
    try {
      await folder.prepare();
      const made = await runBackup({ file: config.ledger, to: folder.pathFor(madeAt), now: madeAt }, abort.signal);
      const backup = { file: made.file, madeAt, bytes: made.bytes };
      await note({ ok: true, error: null }, backup);
      log.info({ ...backup }, `The ledger is backed up to ${backup.file}.`);
      await removeOld(folder, { keep, lastAt: madeAt });
      return backup;
    } catch (error) {
      if (abort.signal.aborted) throw error;
      const reason = messageOf(error);
      log.error({ error: reason }, `The backup of the ledger has failed: ${reason}`);
      await note({ ok: false, error: reason }, status?.last ?? null);
      throw error instanceof Fault ? error : fault('ledger.unwritable', reason, { path: 'backups', cause: error });
    }
  }

  /** If an old backup cannot be removed, the new backup is complete nevertheless. */
  async function removeOld(folder: BackupFolder, { keep, lastAt }: { keep: number; lastAt: number }): Promise<void> {
    try {
      const removed = await folder.removeOld(keep, lastAt);
      if (removed.length > 0) log.info({ removed }, `Removed old backups: ${removed.join(', ')}.`);
    } catch (error) {
      log.warn({ error: messageOf(error) }, `An old backup could not be removed: ${messageOf(error)}`);
    }
  }

  function backUpNow(): Promise<BackupFile> {
    running ??= make().finally(() => {
      running = null;
    });
    return running;
  }

  return {
    /** False if the config has no `backups`: then no backups are made, and `backUpNow` throws. */
    get configured(): boolean {
      return config.backups !== null;
    },
    /** The backups of this ledger in the folder, the newest first; empty if the folder cannot be read. */
    async list(): Promise<BackupFile[]> {
      if (config.backups === null) return [];
      return await settings()
        .folder.list()
        .catch(() => []);
    },
    /** The newest backup that was verified; null before the first one. */
    last: (): BackupFile | null => status?.last ?? null,
    /** The last try, with or without success; null before the first one. */
    lastTry: (): BackupStatus | null => status,
    /** When the next backup is due by the schedule; null without a schedule. */
    nextAt: () => scheduler.nextRun(NAME),
    /**
     * Makes a backup, verifies it and then removes the old ones.
     *
     * @throws Fault `usage` without `backups` in the config, or the fault of the failed backup
     */
    async backUpNow(): Promise<BackupFile> {
      settings();
      return await backUpNow();
    },
    start(): void {
      scheduler.start();
      const last = status?.last?.madeAt ?? null;
      if (config.backups !== null && last !== null && scheduler.missed(NAME, last)) scheduler.request(NAME);
    },
    /** Call it after the config was replaced. */
    renew: () => scheduler.replace(schedulesIn(config)),
    /** Ends a backup that is being made. */
    async stop(): Promise<void> {
      abort.abort();
      await scheduler.stop();
      await running?.catch(() => undefined);
    },
  };
}

export type Backups = ReturnType<typeof createBackups>;

function schedulesIn({ backups }: RuntimeConfig): Schedule[] {
  return backups === null ? [] : [{ source: NAME, cron: backups.schedule, timezone: backups.timezone }];
}

/**
 * The backups of one ledger in a folder. Their names contain the ledger's id and the time of the backup. No file with
 * another name is read, replaced or removed, so that several ledgers and other people can use the same folder.
 */
export interface BackupFolder {
  /** The path for a backup of this time. */
  pathFor(at: number): string;
  /** The newest first; empty if there is no such folder. */
  list(): Promise<BackupFile[]>;
  /** Makes the folder if it is missing, and removes the files of a killed attempt. */
  prepare(): Promise<void>;
  /**
   * Keeps this many backups and removes the older ones. A backup with a later time than the last one is from before the
   * clock was set back, and counts as older than the last one.
   *
   * @param lastAt the time of the backup that was made last, which is always kept
   * @returns the removed files
   */
  removeOld(keep: number, lastAt: number): Promise<string[]>;
}

const ID_CHARS = 12;
/** A backup that is not complete, or a file that SQLite makes beside it. */
const PARTIAL = /^\.(.+)\.part(?:-journal|-wal|-shm)?$/;

function createBackupFolder({ folder, ledgerId }: { folder: string; ledgerId: string }): BackupFolder {
  const prefix = `dpp-sync-${ledgerId.replaceAll(/[^A-Za-z0-9]/g, '').slice(0, ID_CHARS)}-`;

  /** When a backup of this name was made; null if the name is not that of a backup. */
  function madeAt(name: string): number | null {
    if (!name.startsWith(prefix) || !name.endsWith('.db')) return null;
    const [, year, month, day, hour, minute, second] =
      /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(name.slice(prefix.length, -'.db'.length)) ?? [];
    if (year === undefined) return null;
    const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
    return Number.isNaN(at) ? null : at;
  }

  async function names(): Promise<string[]> {
    try {
      return await readdir(folder);
    } catch (error) {
      if (systemCodeOf(error) === 'ENOENT') return [];
      throw error;
    }
  }

  async function list(): Promise<BackupFile[]> {
    const files: BackupFile[] = [];
    for (const name of await names()) {
      const at = madeAt(name);
      if (at === null) continue;
      const file = join(folder, name);
      const stats = await lstat(file).catch(() => null);
      // A link or a folder with this name is not a backup of this daemon.
      if (stats?.isFile()) files.push({ file, madeAt: at, bytes: stats.size });
    }
    return files.sort((a, b) => b.madeAt - a.madeAt);
  }

  return {
    pathFor: (at) =>
      join(folder, `${prefix}${new Date(at).toISOString().replaceAll(/[-:]/g, '').replace(/\.\d+/, '')}.db`),
    list,
    async prepare() {
      await makeFolder(folder, 0o700);
      for (const name of await names()) {
        const [, of] = PARTIAL.exec(name) ?? [];
        if (of !== undefined && madeAt(of) !== null) await unlink(join(folder, name));
      }
    },
    async removeOld(keep, lastAt) {
      const files = await list();
      const [later, others] = [
        files.filter((file) => file.madeAt > lastAt),
        files.filter((file) => file.madeAt <= lastAt),
      ];
      const old = [...others, ...later].slice(keep);
      for (const { file } of old) await unlink(file);
      if (old.length > 0) await syncFolder(folder);
      return old.map(({ file }) => file);
    },
  };
}
