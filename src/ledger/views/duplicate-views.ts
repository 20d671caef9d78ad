import type { ItemKind } from '../../domain/item.ts';
import type { Place } from '../../domain/place.ts';
import type { Duplicates, LedgerViews } from '../../domain/ports/ledger/ledger-views.ts';
import { parseJson } from '../store/context.ts';
import type { Sqlite } from '../store/database.ts';

interface DuplicateRow {
  kind: ItemKind;
  key: string;
  source: string;
  stream: string;
  place: string;
  firstPlace: string | null;
}

/**
 * Finds rows that make the same item as another row, with the same content. A row that makes the item with other
 * content is in quarantine, and is counted there.
 */
export function createDuplicateViews(db: Sqlite): Pick<LedgerViews, 'duplicates'> {
  const from = `FROM contenders c CROSS JOIN records r ON r.id = c.record_id CROSS JOIN streams s ON s.id = r.stream_id
    CROSS JOIN items i ON i.kind = c.kind AND i.key = c.key
    WHERE r.state = 'mapped' AND r.missing_since IS NULL AND i.record_id IS NOT NULL AND i.record_id <> r.id
      AND (@sources = '[]' OR s.source IN (SELECT value FROM json_each(@sources)))`;
  const ownsNothing = 'NOT EXISTS (SELECT 1 FROM items o WHERE o.record_id = r.id)';
  const counts = db.prepare<[{ sources: string }], Pick<Duplicates, 'count' | 'whole'>>(
    `SELECT count(*) AS count, coalesce(sum(whole), 0) AS whole FROM (SELECT ${ownsNothing} AS whole ${from} GROUP BY r.id)`,
  );
  // Each row is shown with its product, or with its BOM item if it makes no product. SQLite takes the other columns
  // from the row with the minimum.
  const some = db.prepare<[{ sources: string; limit: number }], DuplicateRow>(
    `SELECT min(CASE c.kind WHEN 'product' THEN 0 WHEN 'bom_item' THEN 1 ELSE 2 END), c.kind, c.key, s.source, s.name AS stream,
       r.place, (SELECT place FROM records WHERE records.id = i.record_id) AS firstPlace ${from} AND ${ownsNothing}
     GROUP BY r.id ORDER BY r.id LIMIT @limit`,
  );
  return {
    duplicates(limit, sources = []): Duplicates {
      const listed = JSON.stringify(sources);
      const examples = some.all({ sources: listed, limit }).map(({ kind, key, source, stream, place, firstPlace }) => ({
        kind,
        key,
        source,
        stream,
        place: parseJson<Place>(place),
        first: parseJson<Place>(firstPlace ?? '{}'),
      }));
      return { ...(counts.get({ sources: listed }) ?? { count: 0, whole: 0 }), examples };
    },
  };
}
