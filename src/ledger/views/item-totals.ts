import { SUBJECT_KINDS, type SubjectKind } from '../../domain/item.ts';
import type { Sqlite } from '../store/database.ts';

/** How many items of each kind these sources have, in whatever state. An empty list stands for all sources. */
export type ItemTotals = (sources: readonly string[]) => Partial<Record<SubjectKind, number>>;

const OTHERS = SUBJECT_KINDS.filter((kind) => kind !== 'product');

/**
 * Counts the items of all sources in an index, which takes a tenth of the time of reading each row. Call it inside a
 * transaction, because it makes several reads.
 */
export function createItemTotals(db: Sqlite): ItemTotals {
  // An item belongs to the source of its record, and every source with records has a stream.
  const otherSources = db
    .prepare<[string], number>('SELECT count(*) FROM streams WHERE source NOT IN (SELECT value FROM json_each(?))')
    .pluck();
  const all = db.prepare<[], number>('SELECT count(*) FROM items').pluck();
  const ofKind = db.prepare<[SubjectKind], number>('SELECT count(*) FROM items WHERE kind = ?').pluck();
  const ofSome = db.prepare<[string], Total>(
    'SELECT kind, count(*) AS n FROM items WHERE source IN (SELECT value FROM json_each(?)) GROUP BY kind',
  );

  /**
   * SQLite counts a whole table without reading its rows. So the number of products is the table's count minus the
   * number of all other kinds.
   */
  function ofAll(): Total[] {
    const others = OTHERS.map((kind) => ({ kind, n: ofKind.get(kind) ?? 0 }));
    const n = others.reduce((left, other) => left - other.n, all.get() ?? 0);
    return [...others, { kind: 'product', n }];
  }

  return (sources) => {
    const listed = JSON.stringify(sources);
    const isAll = sources.length === 0 || otherSources.get(listed) === 0;
    const rows = isAll ? ofAll() : ofSome.all(listed);
    return Object.fromEntries(rows.map(({ kind, n }) => [kind, n]));
  };
}

interface Total {
  kind: SubjectKind;
  n: number;
}
