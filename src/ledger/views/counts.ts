// How many items and passports there are in each state.
//
// Nearly all items are delivered, so delivered items are not counted one by one: their number is the total minus the
// number of all others. Open deliveries are few, and each condition on them has an index. The `+` prevents SQLite from
// grouping by another index.

import { kindOf, type Operation } from '../../domain/delivery/operation.ts';
import { ITEM_KINDS, type ItemKind, SUBJECT_KINDS, type SubjectKind } from '../../domain/item.ts';
import { type PassportCounts, type PassportState, type PassportStatus, wantedByPolicy } from '../../domain/passport.ts';
import type { ItemCounts, ItemState } from '../../domain/ports/ledger/ledger-standing.ts';
import type { SourceCounts } from '../../domain/ports/ledger/ledger-views.ts';
import { isOpen, isStuck } from '../items/item-row.ts';
import { IS_MISSING, needsNothing } from '../items/missing.ts';
import { column, statement } from '../store/tx.ts';
import { FROM_PRODUCTS, PASSPORT_STATE } from './passport-views.ts';
import { type Db, inOneMoment, type Listed, listed, ofSources, type ViewReads, withdrawing } from './view-reads.ts';

/** How many items of each kind there are, in whatever state. */
export type ItemTotals = Partial<Record<SubjectKind, number>>;

const TOTALS = {
  // An item belongs to the source of its record, and every source with records has a stream.
  otherSources: column<[string], number>(
    'SELECT count(*) FROM streams WHERE source NOT IN (SELECT value FROM json_each(?))',
  ),
  // SQLite counts a whole table without reading its rows. So the number of products is the table's count minus the number
  // of all other kinds.
  ofAll: statement<[], { kind: SubjectKind; n: number }>(
    `${SUBJECT_KINDS.filter((kind) => kind !== 'product')
      .map((kind) => `SELECT '${kind}' AS kind, count(*) AS n FROM items WHERE kind = '${kind}'`)
      .join(' UNION ALL ')} UNION ALL SELECT 'product', count(*) FROM items`,
  ),
  ofSome: statement<[string], { kind: SubjectKind; n: number }>(
    'SELECT kind, count(*) AS n FROM items WHERE source IN (SELECT value FROM json_each(?)) GROUP BY kind',
  ),
};

/**
 * Counts the items of some sources; an empty list stands for all. The items of all sources are counted in an index, which
 * takes a tenth of the time of reading each row.
 */
export function itemTotals(reads: Db, sources: readonly string[] = []): ItemTotals {
  const { sources: names } = listed(sources);
  const isAll = sources.length === 0 || TOTALS.otherSources(reads).get(names) === 0;
  if (!isAll)
    return Object.fromEntries(
      TOTALS.ofSome(reads)
        .all(names)
        .map(({ kind, n }) => [kind, n]),
    );
  const rows = TOTALS.ofAll(reads).all();
  const others = rows.reduce((sum, { kind, n }) => (kind === 'product' ? sum : sum + n), 0);
  return Object.fromEntries(rows.map(({ kind, n }) => [kind, kind === 'product' ? n - others : n]));
}

const ITEMS = {
  open: statement<[Listed], { kind: ItemKind; state: ItemState; n: number }>(
    ["i.state = 'waiting'", "i.state = 'sending'", isStuck('i')]
      .map(
        (isInState) =>
          `SELECT i.kind, i.state, count(*) AS n FROM items i WHERE ${isInState} AND i.kind <> 'passport'
           AND ${ofSources('i')} GROUP BY +i.kind, +i.state`,
      )
      .join(' UNION ALL '),
  ),
  // During a large sync many items are due, so they are counted in the order of their index.
  due: statement<[Listed], { operation: Operation; n: number }>(
    `SELECT i.operation, count(*) AS n FROM items i WHERE i.state = 'due' AND ${ofSources('i')} GROUP BY i.operation`,
  ),
  ended: statement<[Listed], { kind: ItemKind; n: number }>(
    `SELECT i.kind, count(*) AS n FROM items i WHERE i.ignored_hash IS NOT NULL AND ${ofSources('i')} GROUP BY i.kind`,
  ),
  // An open one counts in its state until its deliveries are ended.
  nothing: statement<[Listed], { kind: ItemKind; isIgnored: 0 | 1; n: number }>(
    `SELECT i.kind, i.ignored_hash IS NOT NULL AS isIgnored, count(*) AS n FROM items i
     WHERE ${needsNothing('i')} AND NOT ${isOpen('i')} AND ${ofSources('i')} GROUP BY 1, 2`,
  ),
};

/**
 * Counts items by kind and state, without passports. Items that the platform never got and that their source no longer
 * has are not counted.
 *
 * @param totals how many items these sources have
 */
export function itemCounts(
  reads: Db,
  sources: readonly string[] = [],
  totals: () => ItemTotals = () => itemTotals(reads, sources),
): ItemCounts {
  return inOneMoment(reads, () => {
    const counts: ItemCounts = { product: {}, material: {}, bom_item: {} };
    const delivered = { ...totals() };
    const of = listed(sources);
    const superseded = ITEMS.ended(reads)
      .all(of)
      .map((row) => ({ ...row, state: 'superseded' as const }));
    const due = ITEMS.due(reads)
      .all(of)
      .filter(({ operation }) => !operation.startsWith('passport.'))
      .map(({ operation, n }) => ({ kind: kindOf(operation), state: 'due' as const, n }));
    for (const { kind, state, n } of [...ITEMS.open(reads).all(of), ...due, ...superseded]) {
      counts[kind][state] = (counts[kind][state] ?? 0) + n;
      delivered[kind] = (delivered[kind] ?? 0) - n;
    }
    for (const { kind, isIgnored, n } of ITEMS.nothing(reads).all(of)) {
      if (isIgnored === 1) counts[kind].superseded = (counts[kind].superseded ?? 0) - n;
      else delivered[kind] = (delivered[kind] ?? 0) - n;
      if (counts[kind].superseded === 0) delete counts[kind].superseded;
    }
    for (const kind of ITEM_KINDS) {
      const n = delivered[kind] ?? 0;
      if (n > 0) counts[kind].delivered = n;
    }
    return counts;
  });
}

interface PassportQuery extends Listed {
  wanted: PassportStatus | null;
}

const FROM_PASSPORTS = `FROM items q CROSS JOIN items p ON q.kind = 'passport' AND p.key = q.key`;

const passportsBySource = (from: string) =>
  statement<[PassportQuery], SourceCounts['passports'][number]>(
    `SELECT p.source, ${PASSPORT_STATE} AS state, count(*) AS count ${from}
     WHERE p.kind = 'product' AND ${ofSources('p')} GROUP BY 1, 2 ORDER BY 1, 2`,
  );
const PASSPORTS = { ofProducts: passportsBySource(FROM_PRODUCTS), ofPassports: passportsBySource(FROM_PASSPORTS) };

/**
 * Counts the passports of each source. Without a policy it reads only products that have a passport: all other products
 * have the state `none`, and are not among the counts.
 */
function countPassports(reads: Pick<ViewReads, 'db' | 'passportRules'>, sources: readonly string[] = []) {
  const wanted = wantedByPolicy(reads.passportRules);
  const counts = wanted === null ? PASSPORTS.ofPassports : PASSPORTS.ofProducts;
  return { rows: counts(reads).all({ ...listed(sources), wanted }), isAll: wanted !== null };
}

/** How many passports of the products of some sources are in each state. */
export function passportCounts(reads: ViewReads, sources: readonly string[] = []): PassportCounts {
  return inOneMoment(reads, () => {
    const counts: PassportCounts = {};
    const add = (state: PassportState, n: number) => {
      if (n > 0) counts[state] = (counts[state] ?? 0) + n;
    };
    const { rows, isAll } = countPassports(reads, sources);
    for (const { state, count } of rows) add(state, count);
    if (!isAll) add('none', (itemTotals(reads, sources).product ?? 0) - sumOf(rows));
    return counts;
  });
}

function sumOf(rows: readonly { count: number }[]): number {
  return rows.reduce((sum, { count }) => sum + count, 0);
}

type ItemCount = SourceCounts['items'][number];
type KindCount = Omit<ItemCount, 'state'>;

const BY_SOURCE = {
  sources: column<[], string>('SELECT DISTINCT source FROM streams ORDER BY source'),
  // Reading in the order of an index would fetch each row separately, which takes several times as long.
  totals: statement<[], KindCount>(
    `SELECT source, kind, sum(kind <> 'passport' OR revision > 0) AS count FROM items NOT INDEXED GROUP BY source, kind
     ORDER BY source, kind`,
  ),
  unwritten: column<[], number>(`SELECT count(*) FROM items i WHERE i.kind = 'passport' AND i.revision = 0`),
  open: statement<[], ItemCount>(
    `${["i.state = 'waiting'", "i.state = 'due'", "i.state = 'sending'", isStuck('i')]
      .map(
        (isInState) =>
          `SELECT i.source, i.kind, i.state, count(*) AS count FROM items i WHERE ${isInState} GROUP BY +i.source, +i.kind, +i.state`,
      )
      .join(' UNION ALL ')} ORDER BY 1, 2, 3`,
  ),
  ended: statement<[], ItemCount>(
    `SELECT i.source, i.kind, 'superseded' AS state, count(*) AS count FROM items i
     WHERE i.ignored_hash IS NOT NULL AND NOT ${needsNothing('i')} GROUP BY +i.source, +i.kind ORDER BY 1, 2`,
  ),
  // They are part of the totals, and are not counted.
  nothing: statement<[], KindCount>(
    `SELECT i.source, i.kind, count(*) AS count FROM items i WHERE ${needsNothing('i')} AND NOT ${isOpen('i')}
     GROUP BY +i.source, +i.kind`,
  ),
  quarantined: statement<[], SourceCounts['quarantined'][number]>(
    `SELECT s.source, s.name AS stream, (SELECT count(*) FROM records r
       WHERE r.stream_id = s.id AND r.state = 'quarantined' AND r.missing_since IS NULL) AS count FROM streams s ORDER BY s.id`,
  ),
  missing: statement<[{ withdrawing: string }], SourceCounts['missing'][number]>(
    `SELECT i.source, i.kind, count(*) AS count FROM items i WHERE ${IS_MISSING} GROUP BY +i.source, +i.kind ORDER BY 1, 2`,
  ),
  dueSince: statement<[{ now: number }], SourceCounts['dueSince'][number]>(
    `SELECT i.source, min(max(i.due_at, i.staged_at)) AS at FROM items i
     WHERE i.state = 'due' AND max(i.due_at, i.staged_at) <= @now GROUP BY +i.source ORDER BY 1`,
  ),
};

/** All items by source and kind. With one source the kinds are counted in an index, which is far quicker. */
function totalsBySource(reads: Db): KindCount[] {
  const [only, ...more] = BY_SOURCE.sources(reads).all();
  if (only === undefined) return [];
  if (more.length > 0) return BY_SOURCE.totals(reads).all();
  const totals = Object.entries(itemTotals(reads)) as [SubjectKind, number][];
  return totals.map(([kind, count]) => ({
    source: only,
    kind,
    count: kind === 'passport' ? count - (BY_SOURCE.unwritten(reads).get() ?? 0) : count,
  }));
}

/** Counts by source, for the metrics. A passport counts from its first write on. */
export function sourceCounts(reads: ViewReads, now: number): SourceCounts {
  return inOneMoment(reads, () => {
    const delivered = totalsBySource(reads);
    const products = delivered.filter(({ kind }) => kind === 'product').map((row) => ({ ...row }));
    const others = [...BY_SOURCE.open(reads).all(), ...BY_SOURCE.ended(reads).all()];
    for (const { source, kind, count } of [...others, ...BY_SOURCE.nothing(reads).all()]) {
      const row = delivered.find((one) => one.source === source && one.kind === kind);
      if (row) row.count -= count;
    }
    const items = [...others, ...delivered.map((row) => ({ ...row, state: 'delivered' as const }))];
    return {
      items: items.filter(({ count }) => count > 0),
      passports: passportsOf(reads, products),
      quarantined: BY_SOURCE.quarantined(reads)
        .all()
        .filter(({ count }) => count > 0),
      missing: BY_SOURCE.missing(reads).all(withdrawing(reads)),
      dueSince: BY_SOURCE.dueSince(reads).all({ now }),
    };
  });
}

/** The passports of all sources by state, of which it is known how many products they have. */
function passportsOf(reads: ViewReads, products: readonly KindCount[]): SourceCounts['passports'] {
  const { rows } = countPassports(reads);
  for (const { source, count } of products) {
    const none = count - sumOf(rows.filter((row) => row.source === source));
    const row = rows.find((one) => one.source === source && one.state === 'none');
    if (none > 0 && row) row.count += none;
    else if (none > 0) rows.push({ source, state: 'none', count: none });
  }
  return rows;
}
