import type { AlertNote } from './alerts.ts';

/** What came of the last reload of the config. */
export interface ReloadStatus {
  at: number;
  /** False where the new config was refused: the former settings stay in use. */
  ok: boolean;
  /** Why it was refused, each a full sentence with its place in the config. */
  errors: string[];
}

/** What became of the scheduled backups of the ledger. */
export interface BackupStatus {
  /** The last try, successful or not. */
  at: number;
  ok: boolean;
  /** Why it failed; null where it has not. */
  error: string | null;
  /** The newest backup that was verified; null before the first. */
  last: { file: string; madeAt: number; bytes: number } | null;
}

/** What a daemon notes in the ledger for other processes and for the daemon after it, by name. */
export interface DaemonNotes {
  alerts: AlertNote;
  reload: ReloadStatus;
  backup: BackupStatus;
  /** The sources whose scheduled run has not begun, each with the time at which it was due. */
  dueRuns: Record<string, number>;
  /** The hash of the export that has last started a run, for each source with `watch`. */
  watched: Record<string, string>;
}
