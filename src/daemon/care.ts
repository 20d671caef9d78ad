// The work that only a daemon does besides runs and deliveries: it replaces its settings, makes backups of its ledger,
// and observes the pauses of its sources. The dashboard, the admin API, the metrics and the alerts show this work.

import type { ReloadStatus } from '../domain/ports/daemon-notes.ts';
import type { Reloaded } from './reload/reload-status.ts';
import type { RuntimeConfig } from './sources/open-source.ts';

/** The cause of a reload. */
export type ReloadCause = 'file' | 'signal' | 'person';

/** A backup that a daemon has made in the folder that the config names. */
export interface BackupFile {
  /** The absolute path. */
  file: string;
  madeAt: number;
  bytes: number;
}

/** The result of the last try to make a backup. */
export interface BackupTry {
  at: number;
  ok: boolean;
  /** Why the backup failed; null if it succeeded. */
  error: string | null;
}

export interface Backups {
  /** False if the config has no `backups`: then no backups are made, and `backUpNow` throws. */
  configured: boolean;
  /** The backups of this ledger in the folder, the newest first; empty if the folder cannot be read. */
  list(): Promise<BackupFile[]>;
  /** The newest backup that was verified; null before the first one. */
  last(): BackupFile | null;
  /** The last try, with or without success; null before the first one. */
  lastTry(): BackupTry | null;
  /** When the next backup is due by the schedule; null without a schedule. */
  nextAt(): number | null;
  /**
   * Makes a backup, verifies it and then removes the old ones.
   *
   * @throws Fault `usage` without `backups` in the config, or the fault of the failed backup
   */
  backUpNow(): Promise<BackupFile>;
}

export interface DaemonCare {
  /** The last reload; null before the first one. */
  lastReload(): ReloadStatus | null;
  /** Reads the config and all files that it names again. Replaces either all settings or none. */
  reload(cause: ReloadCause): Promise<Reloaded>;
  /** Calls the listener after each reload that replaced settings. Returns the function that ends the subscription. */
  onReload(listener: (config: RuntimeConfig) => void): () => void;
  backups: Backups;
  /** The end of the present pause of a source, in milliseconds since the epoch; null if the source is not paused. */
  pausedUntil(source: string): number | null;
}
