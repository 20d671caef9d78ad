import type { LogSync } from '../../../src/ledger/store/log-sync.ts';

/**
 * Leaves the sync of the disk to SQLite, which waits for it within each commit. With a thread that waits for the disk,
 * virtual time would go on meanwhile.
 */
export const syncedBySqlite = (): LogSync => ({ sync: () => Promise.resolve(), close: () => undefined });
