/** What came of the last reload. It is stored in the ledger, so that `status` shows it from another process. */
export interface ReloadStatus {
  at: number;
  /** False where the new config was refused: the settings before it go on. */
  ok: boolean;
  /** Why it was refused, each a full sentence with its place in the config. */
  errors: string[];
}

/** The answer to a reload. */
export interface Reloaded extends ReloadStatus {
  /** What was replaced, as names of config keys: `sources.erp`, `passports`, `target.maxRate`. */
  changed: string[];
  /** Sources whose run is under way. It ends with the settings that it began with, and the new ones follow. */
  after: string[];
}
