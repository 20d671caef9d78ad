import type { PassportStatus } from '../../domain/passport.ts';
import type { PassportCounts, PassportState } from '../../domain/ports/ledger/ledger-views.ts';
import type { Sqlite } from '../store/database.ts';
import type { ItemTotals } from '../views/item-totals.ts';
import type { Catalog } from './catalog/catalog.ts';
import { type Presence, passportState, STANDING, standingOf } from './standing.ts';

interface StandingCount {
  standing: number | null;
  n: number;
}

/** A count that took 1 ms is used again for this many milliseconds, so that counting takes at most a fiftieth of all time. */
const KEPT_TIMES = 50;

/** How many passports are in each state. `now` gives milliseconds of a clock that is never set back. */
export function createPassportCounts(
  db: Sqlite,
  { catalog, totals }: { catalog: Catalog; totals: () => ReturnType<ItemTotals> },
  now: () => number,
): (source: string | undefined, wanted: PassportStatus | null) => PassportCounts {
  const ofSource = (of: string) => `(@source IS NULL OR ${of}.source = @source)`;
  type Query = { source: string | null };
  const sql = {
    passports: db.prepare<[Query], StandingCount>(
      `SELECT ${STANDING} AS standing, count(*) AS n FROM items q INDEXED BY passports_by_standing
       WHERE q.kind = 'passport' AND ${ofSource('q')} GROUP BY 1`,
    ),
    // These products are missing or released. They are few, so they are counted without the index.
    gone: db.prepare<[Query], StandingCount>(
      `SELECT iif(q.id IS NULL, NULL, ${STANDING}) AS standing, count(*) AS n FROM (
         SELECT p.key, p.source FROM items p INDEXED BY items_missing
         WHERE p.kind = 'product' AND p.missing_since IS NOT NULL
         UNION ALL SELECT p.key, p.source FROM released l CROSS JOIN items p ON p.id = l.item_id
         WHERE p.kind = 'product' AND p.missing_since IS NULL AND p.record_id IS NULL) gone
       LEFT JOIN items q ON q.kind = 'passport' AND q.key = gone.key WHERE ${ofSource('gone')} GROUP BY 1`,
    ),
  };
  const kept = new Map<string, { version: number; until: number; counts: PassportCounts }>();

  function withoutPassport(source: string | undefined): number {
    if (source === undefined) {
      const { product = 0, passport = 0 } = totals();
      return product - passport;
    }
    catalog.refresh();
    return catalog.count({ kind: 'product', source, withoutPassport: true });
  }

  const count = db.transaction((source: string | undefined, wanted: PassportStatus | null): PassportCounts => {
    const counts: Partial<Record<PassportState, number>> = {};
    const add = (standing: number | null, presence: Presence, n: number) => {
      const state = passportState(standing === null ? null : standingOf(standing), presence, wanted);
      counts[state] = (counts[state] ?? 0) + n;
    };
    const query = { source: source ?? null };
    for (const { standing, n } of sql.passports.all(query)) add(standing, 'present', n);
    add(null, 'present', withoutPassport(source));
    for (const { standing, n } of sql.gone.all(query)) {
      add(standing, 'present', -n);
      add(standing, 'gone', n);
    }
    return Object.fromEntries(Object.entries(counts).filter(([, n]) => n > 0));
  });

  return (source, wanted) => {
    const name = JSON.stringify([source ?? null, wanted]);
    const version = Number(db.pragma('data_version', { simple: true }));
    const before = kept.get(name);
    const began = now();
    if (before !== undefined && (before.version === version || began < before.until)) return before.counts;
    const counts = count(source, wanted);
    const ended = now();
    kept.set(name, { version, until: ended + KEPT_TIMES * (ended - began), counts });
    return counts;
  };
}
