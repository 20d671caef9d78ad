import type { PGlite } from '@electric-sql/pglite';

const STATEMENTS_BETWEEN_LOOKS = 500;
const WRITTEN_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Does what background processes do in a PostgreSQL server and nobody does in PGlite: frees dead rows, cuts the
 * write-ahead log, which would otherwise grow by several KB per job in memory, and keeps transaction ids from running out
 * (I9).
 *
 * @returns to be called after each statement. The bytes written since the last time decide, so an idle queue does nothing.
 */
export function createHousekeeping(database: PGlite): () => Promise<void> {
  let statements = 0;
  let cleanedAt = '0/0';
  let busy = false;

  async function cleanIfDue(): Promise<void> {
    const { rows } = await database.query<{ position: string; written: string }>(
      'SELECT pg_current_wal_lsn()::text AS position, pg_wal_lsn_diff(pg_current_wal_lsn(), $1::pg_lsn)::text AS written',
      [cleanedAt],
    );
    const look = rows[0];
    if (look === undefined || Number(look.written) < WRITTEN_BYTES_MAX) return;
    // Two calls: VACUUM refuses to run together with another statement.
    await database.exec('VACUUM');
    await database.exec('CHECKPOINT');
    cleanedAt = look.position;
  }

  return async () => {
    statements += 1;
    if (busy || statements % STATEMENTS_BETWEEN_LOOKS !== 0) return;
    busy = true;
    try {
      await cleanIfDue();
    } finally {
      busy = false;
    }
  };
}
