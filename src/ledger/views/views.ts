import { storedReason } from '../../domain/delivery/reason.ts';
import type { WireForms } from '../../domain/delivery/wire-form.ts';
import type { Issue } from '../../domain/issue.ts';
import type { ItemKind } from '../../domain/item.ts';
import type { PassportRules } from '../../domain/passport.ts';
import type { Place } from '../../domain/place.ts';
import type {
  Duplicates,
  LedgerViews,
  OpenDeliveries,
  QuarantinedRecord,
  RunView,
  StuckDelivery,
  WaitingGroup,
} from '../../domain/ports/ledger/ledger-views.ts';
import type { StreamIdentity } from '../../domain/stream-identity.ts';
import type { UnprovenWrites } from '../../domain/unproven-words.ts';
import type { JsonObject } from '../../lib/json.ts';
import { readApiWait } from '../deliveries/api-notes.ts';
import { readImportProofs } from '../deliveries/imports.ts';
import { NEEDS_PERSON as IS_STUCK, SHAPE } from '../deliveries/stuck-groups.ts';
import { createPaddedKeys } from '../items/content.ts';
import { isStuck, reasonHas } from '../items/item-row.ts';
import { createMissingViews, itemState } from '../items/missing.ts';
import { guardedReadOf, OPEN_GUARDED_READS, type OpenGuardedRead } from '../records/guarded-reads.ts';
import { createStreamAccounts, HAS_UNMAPPED } from '../records/streams.ts';
import { type Sqlite, sqliteVersion, versionOf } from '../store/database.ts';
import { readDaemonNote } from '../store/meta.ts';
import { parseJson, parseJsonOrNull } from '../store/tx.ts';
import { createItemCounts, createItemTotals, createPassportCounts } from './counts.ts';
import { createFormViews, createItemViews, createNamedRows } from './item-views.ts';
import { createPassportViews } from './passport-views.ts';
import { createAccessRefusal, createContactViews } from './undelivered-views.ts';

const NEEDS_PERSON = "(i.state IN ('blocked', 'rejected', 'parked') OR (i.state = 'in_doubt' AND i.due_at = 0))";

interface StuckRow extends Omit<StuckDelivery, 'reason'> {
  reason: string | null;
  needsPerson: number;
}

/** Source ids as a JSON list. An empty list stands for all sources. */
interface Listed {
  sources: string;
}

type RunRow = Omit<RunView, 'streams'>;

/**
 * The views over one connection: a read-only one beside a writing process, or the connection of the writing process.
 */
export function createViews(db: Sqlite, rules: PassportRules, forms: WireForms): LedgerViews {
  const stuckColumns = `SELECT i.id, i.kind, i.key, i.revision, i.natural_key AS naturalKey, i.operation, i.source, i.state, i.reason,
    ${NEEDS_PERSON} AS needsPerson FROM items i`;
  const runColumns = `SELECT id, source, cause AS "trigger", started_at AS startedAt, ended_at AS endedAt, result, error FROM runs`;
  const accounts = createStreamAccounts(db);
  const sql = {
    // Each count is one of a partial index.
    open: db.prepare<[], OpenDeliveries>(
      `SELECT (SELECT count(*) FROM items WHERE state = 'due') + (SELECT count(*) FROM items WHERE state = 'sending') AS left,
         (SELECT count(*) FROM items WHERE state = 'waiting') AS waiting`,
    ),
    runs: db.prepare<[{ source: string | null; limit: number }], RunRow>(
      `${runColumns} WHERE cause <> 'upload' AND (@source IS NULL OR source = @source) ORDER BY id DESC LIMIT @limit`,
    ),
    run: db.prepare<[number], RunRow>(`${runColumns} WHERE id = ?`),
    completeAt: db
      .prepare<[string], number | null>(
        `SELECT ended_at FROM runs WHERE source = ? AND result = 'complete' AND cause <> 'upload' ORDER BY id DESC LIMIT 1`,
      )
      .pluck(),
    identity: db
      .prepare<[string, string], string | null>('SELECT identity FROM streams WHERE source = ? AND name = ?')
      .pluck(),
    guardedReads: db.prepare<[Listed], OpenGuardedRead>(OPEN_GUARDED_READS),
    pendingSources: db
      .prepare<[], string>(
        `SELECT DISTINCT source FROM streams s
         WHERE EXISTS (SELECT 1 FROM records r WHERE r.stream_id = s.id AND r.state = 'pending')`,
      )
      .pluck(),
    unmappedSources: db.prepare<[], string>(`SELECT DISTINCT source FROM streams s WHERE ${HAS_UNMAPPED}`).pluck(),
    quarantinedCount: db.prepare<[Listed], { n: number }>(
      `SELECT count(*) AS n FROM records r WHERE r.state = 'quarantined' AND r.missing_since IS NULL AND
       (@sources = '[]' OR r.stream_id IN (SELECT id FROM streams WHERE source IN (SELECT value FROM json_each(@sources))))`,
    ),
    quarantined: db.prepare<[{ source: string | null; afterId: number; limit: number }], QuarantineRow>(
      `SELECT r.id, s.source, s.name AS stream, r.key, r.place, r.raw, r.issues FROM records r JOIN streams s ON s.id = r.stream_id
       WHERE r.state = 'quarantined' AND r.missing_since IS NULL AND (@source IS NULL OR s.source = @source) AND r.id > @afterId
       ORDER BY r.id LIMIT @limit`,
    ),
    stuck: db.prepare<[Listed & { limit: number }], StuckRow>(`${stuckColumns} WHERE ${isStuck('i')} AND ${NEEDS_PERSON}
       AND (@sources = '[]' OR i.source IN (SELECT value FROM json_each(@sources))) ORDER BY i.staged_at DESC, i.id DESC LIMIT @limit`),
    stuckCauses: db.prepare<[Listed & { limit: number }], StuckRow & { count: number }>(
      `${stuckColumns.replace('SELECT', 'SELECT g.count,')} JOIN (
         SELECT max(i.id) AS id, count(*) AS count FROM items i INDEXED BY items_by_reason WHERE ${IS_STUCK}
           AND (@sources = '[]' OR i.source IN (SELECT value FROM json_each(@sources))) GROUP BY i.state, ${SHAPE}, i.kind
         ORDER BY 1 DESC LIMIT @limit) g ON g.id = i.id ORDER BY i.id DESC`,
    ),
    // This condition repeats the words of the index `items_scheduled`.
    awaitingReadBack: db.prepare<[Listed], { count: number; nextLookAt: number | null }>(
      `SELECT count(*) AS count, min(i.due_at) AS nextLookAt FROM items i
         WHERE i.state IN ('due', 'in_doubt') AND i.due_at > 0 AND i.state = 'in_doubt' AND i.kind <> 'passport'
         AND (@sources = '[]' OR i.source IN (SELECT value FROM json_each(@sources)))`,
    ),
    unproven: db.prepare<[Listed], UnprovenWrites>(
      `SELECT kind, unproven AS because, count(*) AS count FROM items
       WHERE unproven IS NOT NULL AND (@sources = '[]' OR source IN (SELECT value FROM json_each(@sources)))
       GROUP BY 1, 2 ORDER BY 1 DESC, 2`,
    ),
    // SQLite takes the other columns from the row with the minimum.
    deferred: db.prepare<[], { count: number; since: number | null; message: string }>(
      `SELECT count(*) AS count, min(i.reason ->> '$.since') AS since, i.reason ->> '$.message' AS message FROM items i
       WHERE i.state IN ('due', 'in_doubt') AND i.due_at > 0 AND i.state = 'due'
         AND ${reasonHas('i', 'api_away')}`,
    ),
    delivery: db.prepare<[number], StuckRow>(`${stuckColumns} WHERE i.id = ? AND i.state IS NOT NULL`),
    // Waiting items are few and refs are many, so the query begins with the waiting items.
    waitingFor: db.prepare<[Listed & { limit: number }], Omit<WaitingGroup, 'either'> & { either: 0 | 1 }>(
      `SELECT refs.kind, refs.key,
         CASE WHEN i.id IS NULL THEN NULL ELSE ${itemState('i')} END AS state, count(*) AS count,
         max(refs.either) AS either
       FROM items w CROSS JOIN refs ON refs.item_id = w.id
       LEFT JOIN items i ON i.kind = refs.kind AND i.key = refs.key
       WHERE w.state = 'waiting' AND nullif(i.remote_id, 'null') IS NULL
         AND (@sources = '[]' OR w.source IN (SELECT value FROM json_each(@sources)))
       GROUP BY 1, 2 ORDER BY count DESC, refs.key LIMIT @limit`,
    ),
    bomEdges: db.prepare<[], { parent: string; component: string }>(
      `SELECT p.key AS parent, c.key AS component FROM refs p JOIN refs c ON c.item_id = p.item_id AND c.role = 'component'
       WHERE p.role = 'product'`,
    ),
  };

  const listed = (sources?: readonly string[]): Listed => ({ sources: JSON.stringify(sources ?? []) });
  const withStreams = (row: RunRow): RunView => ({ ...row, streams: accounts(row.id) });

  const rowsNaming = createNamedRows(db);
  return {
    ...createItemViews(db, rules, forms),
    ...createFormViews(db, forms),
    ...createPassportViews(db, rules),
    passportCounts: createPassportCounts(db, rules),
    ...createContactViews(db),
    ...createDuplicateViews(db),
    ...createAccessRefusal(db),
    apiWait: () => readApiWait({ db }),
    daemonNote: (name) => readDaemonNote({ db }, name),
    importProofs: () => readImportProofs({ db }),
    itemCounts: createItemCounts(db, createItemTotals(db)),
    openDeliveries: () => sql.open.get() ?? { left: 0, waiting: 0 },
    ...createMissingViews(db, rules),
    paddedKeys: createPaddedKeys(db),
    versions: () => ({
      ledger: String(versionOf(db)),
      sqlite: sqliteVersion(db),
    }),
    runs: ({ source, limit }) => sql.runs.all({ source: source ?? null, limit }).map(withStreams),
    run(id) {
      const row = sql.run.get(id);
      return row ? withStreams(row) : null;
    },
    streamIdentity: (source, stream) => parseJsonOrNull<StreamIdentity>(sql.identity.get(source, stream) ?? null),
    completeAt: (source) => sql.completeAt.get(source) ?? null,
    guardedReads: (sources) => sql.guardedReads.all(listed(sources)).map(guardedReadOf),
    pendingSources: () => sql.pendingSources.all(),
    unmappedSources: () => sql.unmappedSources.all(),
    quarantinedCount: (sources) => sql.quarantinedCount.get(listed(sources))?.n ?? 0,
    quarantined: ({ source, afterId, limit }) =>
      sql.quarantined.all({ source: source ?? null, afterId, limit }).map(quarantinedRecord),
    quarantinedRow(name) {
      const row = rowsNaming(name).find(({ state, missing }) => state === 'quarantined' && missing === 0);
      return row ? { source: row.source, stream: row.stream, place: parseJson<Place>(row.place) } : null;
    },
    stuck: (limit, sources) => sql.stuck.all({ limit, ...listed(sources) }).map(stuckDelivery),
    stuckCauses: (limit, sources) =>
      sql.stuckCauses.all({ limit, ...listed(sources) }).map((row) => ({ ...stuckDelivery(row), count: row.count })),
    awaitingReadBack: (sources) => sql.awaitingReadBack.get(listed(sources)) ?? { count: 0, nextLookAt: null },
    unproven: (sources) => sql.unproven.all(listed(sources)),
    deferred() {
      const { count, since, message } = sql.deferred.get() ?? { count: 0, since: null, message: '' };
      return since === null ? null : { count, since, message };
    },
    delivery(id) {
      const row = sql.delivery.get(id);
      return row ? { ...stuckDelivery(row), needsPerson: row.needsPerson === 1 } : null;
    },
    waitingFor: (limit, sources) => sql.waitingFor.all({ limit, ...listed(sources) }).map(waitingGroup),
    bomCycles: (limit) => findCycles(sql.bomEdges.iterate(), limit),
  };
}

/** A record in quarantine as it is stored. */
export interface QuarantineRow {
  id: number;
  source: string;
  stream: string;
  key: string;
  place: string;
  raw: string;
  issues: string | null;
}

function quarantinedRecord({ place, raw, issues, ...row }: QuarantineRow): QuarantinedRecord {
  return {
    ...row,
    place: parseJson<Place>(place),
    fields: parseJson<JsonObject>(raw),
    issues: parseJsonOrNull<Issue[]>(issues) ?? [],
  };
}

function waitingGroup({ either, ...group }: Omit<WaitingGroup, 'either'> & { either: 0 | 1 }): WaitingGroup {
  return either === 1 ? { ...group, either: true } : group;
}

function stuckDelivery(row: StuckRow): StuckDelivery {
  const { id, kind, key, revision, naturalKey, operation, source, state } = row;
  const reason = storedReason(row.reason) ?? { code: 'unknown', message: 'No reason was kept.' };
  return { id, kind, key, revision, naturalKey, operation, source, state, reason };
}

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
function createDuplicateViews(db: Sqlite): Pick<LedgerViews, 'duplicates'> {
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

/**
 * Finds products that contain themselves through their components.
 *
 * @returns at most `limit` paths of keys; each path ends with its first key
 */
function findCycles(edges: Iterable<{ parent: string; component: string }>, limit: number): string[][] {
  const components = new Map<string, string[]>();
  for (const { parent, component } of edges) {
    const known = components.get(parent);
    if (known) known.push(component);
    else components.set(parent, [component]);
  }
  const cycles: string[][] = [];
  const done = new Set<string>();
  for (const start of components.keys()) {
    if (cycles.length >= limit) break;
    if (!done.has(start)) search(start, components, done, cycles, limit);
  }
  return cycles;
}

/** Searches depth first without recursion, because an export can be deeper than the call stack. */
function search(
  start: string,
  components: Map<string, string[]>,
  done: Set<string>,
  cycles: string[][],
  limit: number,
): void {
  const path: { key: string; next: number }[] = [{ key: start, next: 0 }];
  const onPath = new Map<string, number>([[start, 0]]);
  while (path.length > 0) {
    const top = path[path.length - 1] as { key: string; next: number };
    const component = components.get(top.key)?.[top.next];
    top.next += 1;
    if (component === undefined) {
      path.pop();
      onPath.delete(top.key);
      done.add(top.key);
      continue;
    }
    const position = onPath.get(component);
    if (position !== undefined) {
      if (cycles.length < limit) cycles.push([...path.slice(position).map(({ key }) => key), component]);
    } else if (!done.has(component)) {
      onPath.set(component, path.length);
      path.push({ key: component, next: 0 });
    }
  }
}
