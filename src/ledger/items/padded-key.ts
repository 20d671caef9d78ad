import type { LedgerViews, PaddedKeys } from '../../domain/ports/ledger/ledger-views.ts';
import type { Sqlite } from '../store/database.ts';

/** The code points that `trim` removes in JavaScript. `identifyingText` removes them around keys. */
export const PADDING: readonly number[] = [
  0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x20, 0xa0, 0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007,
  0x2008, 0x2009, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff,
];

/**
 * SQL condition on the items table: true if the natural key has white space or byte order marks around it, as earlier
 * releases have sent it. It repeats the words of the index `items_padded`, because SQLite uses the index only for the
 * same words. Most keys begin and end with plain ASCII, so they are not trimmed: SQLite evaluates it for each new item.
 */
const HAS_PADDED_KEY = `(unicode(natural_key) NOT BETWEEN 33 AND 126
    OR unicode(substr(natural_key, -1)) NOT BETWEEN 33 AND 126)
  AND natural_key <> trim(natural_key, char(${PADDING.join(', ')}))`;

/** Counts items that the platform has under a key with padding. Reads nothing but these items, in an index. */
export function createPaddedKeys(db: Sqlite): LedgerViews['paddedKeys'] {
  const counts = db.prepare<[{ sources: string }], PaddedKeys>(
    `SELECT kind, count(*) AS count, min(key) AS example FROM items INDEXED BY items_padded
     WHERE ${HAS_PADDED_KEY} AND acknowledged > 0
       AND (@sources = '[]' OR source IN (SELECT value FROM json_each(@sources))) GROUP BY kind`,
  );
  return (sources = []) => counts.all({ sources: JSON.stringify(sources) });
}
