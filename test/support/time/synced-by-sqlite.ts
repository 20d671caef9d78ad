import type { LogSync } from '../../../src/ledger/store/log-sync.ts';

/**
 * Leaves the disk to SQLite, which waits for it within each commit: virtual time would go on while a thread waits for a
 * real disk.
 */
export const syncedBySqlite = (): LogSync => ({ sync: () => Promise.resolve(), close: () => undefined });
