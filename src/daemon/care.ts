// What only a daemon does beside runs and deliveries: it replaces its settings, backs its ledger up, and keeps to the pauses of
// its sources. The dashboard, the admin API, the metrics and the alerts read it.

import type { ReloadStatus } from '../domain/ports/daemon-notes.ts';
import type { Reloaded } from './reload/reload-status.ts';
import type { RuntimeConfig } from './sources/open-source.ts';

/** What asked for a reload. */
export type ReloadCause = 'file' | 'signal' | 'person';

/** A backup that a daemon has made, in the folder of the config. */
export interface BackupFile {
  /** Absolute. */
  file: string;
  madeAt: number;
  bytes: number;
}

/** The result of the last try to make a backup. */
export interface BackupTry {
  at: number;
  ok: boolean;
  /** Why it failed; null where it has not. */
  error: string | null;
}

export interface Backups {
  /** False where the config has no `backups`: then there are none, and `backUpNow` refuses. */
  configured: boolean;
  /** The files of the folder that this daemon's config has made, the newest first; empty where the folder cannot be read. */
  list(): Promise<BackupFile[]>;
  /** The newest backup that was verified; null before the first. */
  last(): BackupFile | null;
  /** The last try, successful or not; null before the first. */
  lastTry(): BackupTry | null;
  /** When the next one is due by the schedule; null without a schedule. */
  nextAt(): number | null;
  /**
   * Makes a backup, verifies it and then removes the old ones.
   *
   * @throws Fault `usage` without `backups` in the config, or the fault of the failed backup
   */
  backUpNow(): Promise<BackupFile>;
}

export interface DaemonCare {
  /** The last reload; null before the first. */
  lastReload(): ReloadStatus | null;
  /** Reads the config and all that it names again. The settings are replaced as a whole, or all stay as they are. */
  reload(cause: ReloadCause): Promise<Reloaded>;
  /** Calls the listener after each reload that replaced settings. Returns the function that ends the subscription. */
  onReload(listener: (config: RuntimeConfig) => void): () => void;
  backups: Backups;
  /** When the pause of a source ends that is on now, in milliseconds since the epoch; null where there is none. */
  pausedUntil(source: string): number | null;
}
