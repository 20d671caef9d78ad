import type { Sqlite } from '../../../src/ledger/store/database.ts';

/**
 * Has SQLite give rows in reverse where a statement does not name an order, so that no test passes because of an order
 * that no database promises.
 */
export function unordered(db: Sqlite): void {
  db.pragma('reverse_unordered_selects = ON');
}
