import type { AlertNote } from './alerts.ts';

/** The result of the last reload of the config. */
export interface ReloadStatus {
  at: number;
  /** False if the new config was refused: the former settings stay in use. */
  ok: boolean;
  /** Why the new config was refused. Each error is a full sentence with its place in the config. */
  errors: string[];
}

/** A backup that a daemon has made in the folder that the config names. */
export interface BackupFile {
  /** The absolute path. */
  file: string;
  madeAt: number;
  bytes: number;
}

/** The state of the scheduled backups of the ledger. */
export interface BackupStatus {
  /** When a backup was last tried, with or without success. */
  at: number;
  ok: boolean;
  /** Why the last try failed; null if it has not failed. */
  error: string | null;
  /** The newest backup that was verified; null before the first one. */
  last: BackupFile | null;
}

/** The notes that a daemon stores in the ledger for other processes and for the next daemon, by name. */
export interface DaemonNotes {
  alerts: AlertNote;
  reload: ReloadStatus;
  backup: BackupStatus;
  /** The sources whose scheduled run has not begun, each with the time at which it was due. */
  dueRuns: Record<string, number>;
  /** The hash of the export that has last started a run, for each source with `watch`. */
  watched: Record<string, string>;
}
