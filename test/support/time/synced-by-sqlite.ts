import type { LogSync } from '../../../src/ledger/file/log-sync.ts';
import type { Sqlite } from '../../../src/ledger/store/database.ts';
import { unordered } from '../ledger/unordered.ts';

/**
 * Lets SQLite sync the disk within each commit, and wait for it. If a separate thread waited for the disk, virtual time
 * would continue meanwhile.
 */
export function syncedBySqlite(db: Sqlite): LogSync {
  unordered(db);
  return { sync: () => Promise.resolve(), close: () => undefined };
}
