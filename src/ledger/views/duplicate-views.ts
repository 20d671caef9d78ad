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
 * Rows that make an item as another row makes it already. A row that makes it with other content is in quarantine and
 * counts there.
 */
export function createDuplicateViews(db: Sqlite): Pick<LedgerViews, 'duplicates'> {
  // Contenders are few, so the query begins with them.
  const from = `FROM contenders c CROSS JOIN records r ON r.id = c.record_id CROSS JOIN streams s ON s.id = r.stream_id
    CROSS JOIN items i ON i.kind = c.kind AND i.key = c.key
    WHERE r.state = 'mapped' AND r.missing_since IS NULL AND i.record_id IS NOT NULL AND i.record_id <> r.id
      AND (@sources = '[]' OR s.source IN (SELECT value FROM json_each(@sources)))`;
  const count = db.prepare<[{ sources: string }], number>(`SELECT count(DISTINCT r.id) ${from}`).pluck();
  const some = db.prepare<[{ sources: string; limit: number }], DuplicateRow>(
    `SELECT c.kind, c.key, s.source, s.name AS stream, r.place,
       (SELECT place FROM records WHERE records.id = i.record_id) AS firstPlace ${from}
     ORDER BY r.id LIMIT @limit`,
  );
  return {
    duplicates(limit, sources = []): Duplicates {
      const listed = JSON.stringify(sources);
      const examples = some.all({ sources: listed, limit }).map(({ place, firstPlace, ...row }) => ({
        ...row,
        place: parseJson<Place>(place),
        first: parseJson<Place>(firstPlace ?? '{}'),
      }));
      return { count: count.get({ sources: listed }) ?? 0, examples };
    },
  };
}
