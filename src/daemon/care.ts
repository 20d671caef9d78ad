// The work that only a daemon does besides runs and deliveries: it replaces its settings, makes backups of its ledger,
// and observes the pauses of its sources. The dashboard, the admin API, the metrics and the alerts show this work.

import type { ReloadStatus } from '../domain/ports/ledger/care-ledger.ts';
import type { Reloaded } from '../operations/runtime.ts';
import type { Backups } from './backups/backups.ts';

/** The cause of a reload. */
export type ReloadCause = 'file' | 'signal' | 'person';

export interface DaemonCare {
  /** The last reload; null before the first one. */
  lastReload(): ReloadStatus | null;
  /** Reads the config and all files that it names again. Replaces either all settings or none. */
  reload(cause: ReloadCause): Promise<Reloaded>;
  /** Calls the listener after each reload that replaced settings. */
  onReload(listener: () => void): void;
  backups: Backups;
  /** The end of the present pause of a source, in milliseconds since the epoch; null if the source is not paused. */
  pausedUntil(source: string): number | null;
}
