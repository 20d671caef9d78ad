import type { SubjectKind } from '../domain/item.ts';
import type { Sqlite } from './database.ts';

/** How many items there are of each kind, whatever their state; of some sources, or with an empty list of all. */
export type ItemTotals = (sources: readonly string[]) => Partial<Record<SubjectKind, number>>;

/** Items of all sources are counted in an index, which takes a tenth of the time that a look at each of them does. */
export function createItemTotals(db: Sqlite): ItemTotals {
  // An item belongs to the source of its record, and every source of records has a stream.
  const others = db
    .prepare<[string], number>('SELECT count(*) FROM streams WHERE source NOT IN (SELECT value FROM json_each(?))')
    .pluck();
  const ofAll = db.prepare<[], Total>('SELECT kind, count(*) AS n FROM items GROUP BY kind');
  const ofSome = db.prepare<[string], Total>(
    'SELECT kind, count(*) AS n FROM items WHERE source IN (SELECT value FROM json_each(?)) GROUP BY kind',
  );
  return (sources) => {
    const listed = JSON.stringify(sources);
    const isAll = sources.length === 0 || others.get(listed) === 0;
    const rows = isAll ? ofAll.all() : ofSome.all(listed);
    return Object.fromEntries(rows.map(({ kind, n }) => [kind, n]));
  };
}

interface Total {
  kind: SubjectKind;
  n: number;
}
