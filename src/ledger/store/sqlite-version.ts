import type Database from 'better-sqlite3';
import { fault } from '../../domain/faults.ts';

/**
 * The first version in which a commit and a copy of the log at the same moment cannot damage the database:
 * https://sqlite.org/wal.html#walresetbug. The ledger is used in this way: the process that writes copies the log, and
 * reads come from other threads and processes.
 */
const FIXED = [3, 51, 3] as const;

/**
 * Refuses to write a ledger with an older SQLite, such as one from a copy of better-sqlite3 that was built otherwise.
 *
 * @throws Fault `ledger.sqlite`
 */
export function assertFixedSqlite(db: Database.Database): void {
  const version = String(db.prepare('SELECT sqlite_version()').pluck().get());
  const parts = version.split('.').map(Number);
  const at = FIXED.findIndex((part, index) => parts[index] !== part);
  if (at === -1 || (parts[at] ?? 0) > (FIXED[at] ?? 0)) return;
  throw fault(
    'ledger.sqlite',
    `SQLite ${version} can damage the ledger. The first fixed version is ${FIXED.join('.')}.`,
    {
      path: 'ledger',
      suggestion:
        'Install dpp-sync again with its own better-sqlite3, which brings a fixed SQLite: `npm ls better-sqlite3` shows which one is installed.',
    },
  );
}
