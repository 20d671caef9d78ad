import type { SubjectKind } from '../../domain/item.ts';
import type { PassportRules } from '../../domain/passport.ts';
import type { DashboardViews } from '../../domain/ports/ledger/dashboard-views.ts';
import type { SourceCounts } from '../../domain/ports/ledger/ledger-views.ts';
import { isOpen, isStuck } from '../deliveries/delivery-states.ts';
import { IS_MISSING } from '../items/missing-items.ts';
import { needsNothing } from '../items/never-arrived.ts';
import type { Sqlite } from '../store/database.ts';
import { createItemTotals } from './item-totals.ts';
import { createPassportsBySource } from './passport-views.ts';

/** Each condition has an index. The `+` prevents SQLite from grouping by another index. */
const IS_OPEN = ["i.state = 'waiting'", "i.state = 'due'", "i.state = 'sending'", isStuck('i')];

type ItemCount = SourceCounts['items'][number];

/**
 * Counts by source, for the metrics. Delivered items are not counted one by one: their number is that of all items
 * minus the open and the ended ones. A passport counts from its first write on.
 */
export function createSourceCounts(db: Sqlite, rules: PassportRules): DashboardViews['sourceCounts'] {
  const withdrawing = JSON.stringify(rules.withdrawMissingOf);
  const sql = {
    open: db.prepare<[], ItemCount>(
      IS_OPEN.map(
        (isInState) =>
          `SELECT i.source, i.kind, i.state, count(*) AS count FROM items i WHERE ${isInState} GROUP BY +i.source, +i.kind, +i.state`,
      ).join(' UNION ALL '),
    ),
    ended: db.prepare<[], ItemCount>(
      `SELECT i.source, i.kind, 'superseded' AS state, count(*) AS count FROM items i
       WHERE i.ignored_hash IS NOT NULL AND NOT ${needsNothing('i')} GROUP BY +i.source, +i.kind`,
    ),
    // They are part of the totals, and are not counted.
    nothing: db.prepare<[], { source: string; kind: SubjectKind; count: number }>(
      `SELECT i.source, i.kind, count(*) AS count FROM items i WHERE ${needsNothing('i')} AND NOT ${isOpen('i')}
       GROUP BY +i.source, +i.kind`,
    ),
    quarantined: db.prepare<[], SourceCounts['quarantined'][number]>(
      `SELECT s.source, s.name AS stream, (SELECT count(*) FROM records r
         WHERE r.stream_id = s.id AND r.state = 'quarantined' AND r.missing_since IS NULL) AS count FROM streams s`,
    ),
    missing: db.prepare<[{ withdrawing: string }], SourceCounts['missing'][number]>(
      `SELECT i.source, i.kind, count(*) AS count FROM items i WHERE ${IS_MISSING} GROUP BY +i.source, +i.kind`,
    ),
    dueSince: db.prepare<[{ now: number }], SourceCounts['dueSince'][number]>(
      `SELECT i.source, min(max(i.due_at, i.staged_at)) AS at FROM items i
       WHERE i.state = 'due' AND max(i.due_at, i.staged_at) <= @now GROUP BY +i.source`,
    ),
  };
  const totals = createTotals(db);
  const passportsBySource = createPassportsBySource(db, rules);

  // All queries run in one transaction, so that they see the same moment.
  return db.transaction((now: number) => {
    const delivered = totals();
    const take = ({ source, kind, count }: { source: string; kind: SubjectKind; count: number }) => {
      const row = delivered.find((one) => one.source === source && one.kind === kind);
      if (row) row.count -= count;
    };
    const products = delivered.filter(({ kind }) => kind === 'product');
    const passports = passportsBySource(new Map(products.map(({ source, count }) => [source, count])));
    const others = [...sql.open.all(), ...sql.ended.all()];
    for (const row of [...others, ...sql.nothing.all()]) take(row);
    return {
      items: [...others, ...delivered.map((row) => ({ ...row, state: 'delivered' as const }))].filter(
        ({ count }) => count > 0,
      ),
      passports,
      quarantined: sql.quarantined.all().filter(({ count }) => count > 0),
      missing: sql.missing.all({ withdrawing }),
      dueSince: sql.dueSince.all({ now }),
    };
  });
}

/** All items by source and kind. With one source the kinds are counted in an index, which is far quicker. */
function createTotals(db: Sqlite): () => { source: string; kind: SubjectKind; count: number }[] {
  const sources = db.prepare<[], string>('SELECT DISTINCT source FROM streams').pluck();
  // Reading in the order of an index would fetch each row separately, which takes several times as long.
  const grouped = db.prepare<[], { source: string; kind: SubjectKind; count: number }>(
    `SELECT source, kind, sum(kind <> 'passport' OR revision > 0) AS count FROM items NOT INDEXED GROUP BY source, kind`,
  );
  const unwritten = db
    .prepare<[], number>(`SELECT count(*) FROM items i WHERE i.kind = 'passport' AND i.revision = 0`)
    .pluck();
  const ofAll = createItemTotals(db);
  return () => {
    const [only, ...more] = sources.all();
    if (only === undefined) return [];
    if (more.length > 0) return grouped.all();
    return (Object.entries(ofAll([])) as [SubjectKind, number][]).map(([kind, count]) => ({
      source: only,
      kind,
      count: kind === 'passport' ? count - (unwritten.get() ?? 0) : count,
    }));
  };
}
