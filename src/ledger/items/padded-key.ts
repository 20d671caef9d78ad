import type { LedgerViews, PaddedKeys } from '../../domain/ports/ledger/ledger-views.ts';
import type { Sqlite } from '../store/database.ts';
import { HAS_PADDED_KEY } from '../upgrade/steps/warnings-of-reads.ts';

/** Counts items that the platform has under a key with padding. Reads nothing but these items, in an index. */
export function createPaddedKeys(db: Sqlite): LedgerViews['paddedKeys'] {
  const counts = db.prepare<[{ sources: string }], PaddedKeys>(
    `SELECT kind, count(*) AS count, min(key) AS example FROM items WHERE ${HAS_PADDED_KEY} AND acknowledged > 0
       AND (@sources = '[]' OR source IN (SELECT value FROM json_each(@sources))) GROUP BY kind`,
  );
  return (sources = []) => counts.all({ sources: JSON.stringify(sources) });
}
