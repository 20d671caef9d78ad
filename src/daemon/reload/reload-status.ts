import type { ReloadStatus } from '../../domain/ports/daemon-notes.ts';

/** The answer to a reload. */
export interface Reloaded extends ReloadStatus {
  /** The settings that were replaced, as paths in the config: `sources.erp`, `passports`, `target.maxRate`. */
  changed: string[];
  /**
   * Sources whose run is under way. The run ends with the settings with which it began; the new settings are used after
   * that.
   */
  after: string[];
}
