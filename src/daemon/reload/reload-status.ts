import type { ReloadStatus } from '../../domain/ports/daemon-notes.ts';

/** The answer to a reload. */
export interface Reloaded extends ReloadStatus {
  /** What was replaced, as places in the config: `sources.erp`, `passports`, `target.maxRate`. */
  changed: string[];
  /** Sources whose run is under way. It ends with the settings that it began with, and the new ones follow. */
  after: string[];
}
