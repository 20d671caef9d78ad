import { kindOf, type Operation } from '../../domain/delivery/operation.ts';
import { ITEM_KINDS, type ItemKind, SUBJECT_KINDS, type SubjectKind } from '../../domain/item.ts';
import { type PassportRules, type PassportStatus, wantedByPolicy } from '../../domain/passport.ts';
import type { DashboardViews } from '../../domain/ports/ledger/dashboard-views.ts';
import type {
  ItemCounts,
  ItemState,
  LedgerViews,
  PassportCounts,
  PassportState,
  SourceCounts,
} from '../../domain/ports/ledger/ledger-views.ts';
import { isOpen, isStuck } from '../items/item-row.ts';
import { IS_MISSING, needsNothing } from '../items/missing.ts';
import type { Sqlite } from '../store/database.ts';
import { FROM_PRODUCTS, PASSPORT_STATE } from './passport-views.ts';

/**
 * Open deliveries are few, and each of these conditions has an index. The `+` prevents SQLite from grouping by another
 * index.
 */
const IS_OPEN = ["i.state = 'waiting'", "i.state = 'sending'", isStuck('i')];

/**
 * Counts items by kind and state, without passports. Nearly all items are delivered, so delivered items are not counted
 * one by one: their number is the total minus the open and the ended ones. Items that the platform never got and that
 * their source no longer has are not counted.
 */
export function createItemCounts(db: Sqlite, totals: ItemTotals): LedgerViews['itemCounts'] {
  const open = db.prepare<[{ sources: string }], { kind: ItemKind; state: ItemState; n: number }>(
    IS_OPEN.map(
      (isInState) =>
        `SELECT i.kind, i.state, count(*) AS n FROM items i WHERE ${isInState} AND i.kind <> 'passport'
         AND (@sources = '[]' OR i.source IN (SELECT value FROM json_each(@sources))) GROUP BY +i.kind, +i.state`,
    ).join(' UNION ALL '),
  );
  // During a large sync many items are due, so they are counted in the order of their index.
  const due = db.prepare<[{ sources: string }], { operation: Operation; n: number }>(
    `SELECT i.operation, count(*) AS n FROM items i WHERE i.state = 'due'
       AND (@sources = '[]' OR i.source IN (SELECT value FROM json_each(@sources))) GROUP BY i.operation`,
  );
  const ended = db.prepare<[{ sources: string }], { kind: ItemKind; n: number }>(
    `SELECT i.kind, count(*) AS n FROM items i WHERE i.ignored_hash IS NOT NULL
       AND (@sources = '[]' OR i.source IN (SELECT value FROM json_each(@sources))) GROUP BY i.kind`,
  );
  // An open one counts in its state until its deliveries are ended.
  const nothing = db.prepare<[{ sources: string }], { kind: ItemKind; isIgnored: 0 | 1; n: number }>(
    `SELECT i.kind, i.ignored_hash IS NOT NULL AS isIgnored, count(*) AS n FROM items i WHERE ${needsNothing('i')} AND NOT ${isOpen('i')}
       AND (@sources = '[]' OR i.source IN (SELECT value FROM json_each(@sources))) GROUP BY 1, 2`,
  );
  // All queries run in one transaction, so that they see the same moment.
  return db.transaction((sources: readonly string[] = []) => {
    const counts: ItemCounts = { product: {}, material: {}, bom_item: {} };
    const delivered = { ...totals(sources) };
    const listed = { sources: JSON.stringify(sources) };
    const superseded = ended.all(listed).map((row) => ({ ...row, state: 'superseded' as const }));
    const dueItems = due
      .all(listed)
      .filter(({ operation }) => !operation.startsWith('passport.'))
      .map(({ operation, n }) => ({ kind: kindOf(operation), state: 'due' as const, n }));
    for (const { kind, state, n } of [...open.all(listed), ...dueItems, ...superseded]) {
      counts[kind][state] = (counts[kind][state] ?? 0) + n;
      delivered[kind] = (delivered[kind] ?? 0) - n;
    }
    for (const { kind, isIgnored, n } of nothing.all(listed)) {
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

/** Each condition has an index. The `+` prevents SQLite from grouping by another index. */
const OPEN_BY_SOURCE = ["i.state = 'waiting'", "i.state = 'due'", "i.state = 'sending'", isStuck('i')];

type ItemCount = SourceCounts['items'][number];

/**
 * Counts by source, for the metrics. Delivered items are not counted one by one: their number is that of all items
 * minus the open and the ended ones. A passport counts from its first write on.
 */
export function createSourceCounts(db: Sqlite, rules: PassportRules): DashboardViews['sourceCounts'] {
  const withdrawing = JSON.stringify(rules.withdrawMissingOf);
  const sql = {
    open: db.prepare<[], ItemCount>(
      OPEN_BY_SOURCE.map(
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

const FROM_PASSPORTS = `FROM items q CROSS JOIN items p ON q.kind = 'passport' AND p.key = q.key`;
const IS_PRODUCT = `p.kind = 'product' AND (@sources = '[]' OR p.source IN (SELECT value FROM json_each(@sources)))`;

interface CountQuery {
  sources: string;
  wanted: PassportStatus | null;
}

interface CountRow {
  state: PassportState;
  n: number;
}

function countsFrom(from: string): string {
  return `SELECT ${PASSPORT_STATE} AS state, count(*) AS n ${from} WHERE ${IS_PRODUCT} GROUP BY 1`;
}

/** How many passports are in each state. */
export function createPassportCounts(db: Sqlite, rules: PassportRules): LedgerViews['passportCounts'] {
  const totals = createItemTotals(db);
  const sql = {
    countsOfProducts: db.prepare<[CountQuery], CountRow>(countsFrom(FROM_PRODUCTS)),
    countsOfPassports: db.prepare<[CountQuery], CountRow>(countsFrom(FROM_PASSPORTS)),
  };
  // All counts are made in one transaction, so that they are of the same moment.
  return db.transaction((sources: readonly string[] = []) => {
    const counts: PassportCounts = {};
    const wanted = wantedByPolicy(rules);
    const query = wanted === null ? sql.countsOfPassports : sql.countsOfProducts;
    const rows = query.all({ sources: JSON.stringify(sources), wanted });
    for (const { state, n } of rows) counts[state] = n;
    // Without a policy the query above reads only products that have a passport. All other products have the state
    // `none`.
    const others = wanted === null ? (totals(sources).product ?? 0) - sum(rows) : 0;
    if (others > 0) counts.none = (counts.none ?? 0) + others;
    return counts;
  });
}

function sum(rows: readonly { n: number }[]): number {
  return rows.reduce((total, { n }) => total + n, 0);
}

/**
 * Counts the passports of each source. Without a policy it reads only products that have a passport: all other products
 * have the state `none`, and are counted without reading them.
 */
function createPassportsBySource(
  db: Sqlite,
  rules: PassportRules,
): (products: ReadonlyMap<string, number>) => SourceCounts['passports'] {
  const [ofProducts, ofPassports] = [FROM_PRODUCTS, FROM_PASSPORTS].map((from) =>
    db.prepare<[CountQuery], SourceCounts['passports'][number]>(
      `SELECT p.source, ${PASSPORT_STATE} AS state, count(*) AS count ${from} WHERE ${IS_PRODUCT} GROUP BY 1, 2`,
    ),
  );
  return (products) => {
    const wanted = wantedByPolicy(rules);
    const found = (wanted === null ? ofPassports : ofProducts)?.all({ sources: '[]', wanted }) ?? [];
    const rest = new Map(products);
    for (const { source, count } of found) rest.set(source, (rest.get(source) ?? 0) - count);
    for (const [source, count] of rest) {
      if (count <= 0) continue;
      const none = found.find((row) => row.source === source && row.state === 'none');
      if (none) none.count += count;
      else found.push({ source, state: 'none', count });
    }
    return found;
  };
}
