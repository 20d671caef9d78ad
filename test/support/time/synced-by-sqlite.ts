import type { LogSync } from '../../../src/ledger/file/file.ts';

/**
 * Lets SQLite sync the disk within each commit, and wait for it. If a separate thread waited for the disk, virtual time
 * would continue meanwhile.
 */
export const syncedBySqlite = (): LogSync => ({ sync: () => Promise.resolve(), close: () => undefined });
