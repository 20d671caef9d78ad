import type { Issue } from '../../domain/issue.ts';
import type { Place } from '../../domain/place.ts';
import type { GuardedRead } from '../../domain/ports/guarded-read.ts';
import type {
  Duplicates,
  LedgerViews,
  QuarantinedRecord,
  RunView,
  StreamAccount,
} from '../../domain/ports/ledger/ledger-views.ts';
import type { StreamIdentity } from '../../domain/stream-identity.ts';
import type { JsonObject } from '../../lib/json.ts';
import { readApiWait } from '../deliveries/api-notes.ts';
import { readImportProofs } from '../deliveries/imports.ts';
import { paddedKeys } from '../items/content.ts';
import { ignoredMissing, missingOutcomes } from '../items/missing.ts';
import { guardedReadOf, OPEN_GUARDED_READS, type OpenGuardedRead } from '../records/guarded-reads.ts';
import { HAS_UNMAPPED } from '../records/streams.ts';
import { sqliteVersion, versionOf } from '../store/database.ts';
import { readDaemonNote } from '../store/meta.ts';
import { column, statement } from '../store/statement.ts';
import { parseJson, parseJsonOrNull } from '../store/tx.ts';
import { itemCounts, passportCounts } from './counts.ts';
import { itemOf, itemsInOtherForm, listItems, rowsNaming } from './item-views.ts';
import { passportBlockers, passportOf, passportsOf } from './passport-views.ts';
import {
  accessRefusal,
  adoptedChanges,
  awaitingReadBack,
  deferredDeliveries,
  deliveryOf,
  openDeliveries,
  refusedWork,
  stuckCauses,
  stuckDeliveries,
  suspendedKinds,
  unansweredParts,
  unprovenWrites,
  waitingFor,
} from './undelivered-views.ts';
import { type Db, type Listed, listed, ofSources, type ViewReads } from './view-reads.ts';

/**
 * The views over one connection: a read-only one beside a writing process, or the connection of the writing process.
 */
export function createViews(reads: ViewReads): LedgerViews {
  return {
    items: (request) => listItems(reads, request),
    item: (kind, key) => itemOf(reads, kind, key),
    itemCounts: (sources) => itemCounts(reads, sources),
    otherForms: () => itemsInOtherForm(reads),
    missingOutcomes: (sources) => missingOutcomes(reads, sources),
    ignoredMissing: (sources) => ignoredMissing(reads, sources),
    paddedKeys: (sources) => paddedKeys(reads, sources),
    passport: (product) => passportOf(reads, product),
    passports: (products) => passportsOf(reads, products),
    passportBlockers: () => passportBlockers(reads),
    passportCounts: (sources) => passportCounts(reads, sources),
    openDeliveries: () => openDeliveries(reads),
    stuck: (limit, sources) => stuckDeliveries(reads, limit, sources),
    stuckCauses: (limit, sources) => stuckCauses(reads, limit, sources),
    delivery: (id) => deliveryOf(reads, id),
    awaitingReadBack: (sources) => awaitingReadBack(reads, sources),
    unproven: (sources) => unprovenWrites(reads, sources),
    deferred: () => deferredDeliveries(reads),
    waitingFor: (limit, sources) => waitingFor(reads, limit, sources),
    accessRefusal: (item) => accessRefusal(reads, item),
    refused: (sources) => refusedWork(reads, sources),
    suspended: (sources) => suspendedKinds(reads, sources),
    adoptedChanges: (sources) => adoptedChanges(reads, sources),
    unansweredParts: (sources) => unansweredParts(reads, sources),
    runs: ({ source = null, limit }) => withStreams(reads, RUNS.all(reads).all({ source, limit })),
    run: (id) => withStreams(reads, RUNS.one(reads).all(id))[0] ?? null,
    completeAt: (source) => RUNS.completeAt(reads).get(source) ?? null,
    streamIdentity: (source, stream) =>
      parseJsonOrNull<StreamIdentity>(STREAMS.identity(reads).get(source, stream) ?? null),
    pendingSources: () => STREAMS.pending(reads).all(),
    unmappedSources: () => STREAMS.unmapped(reads).all(),
    guardedReads: (sources) => guardedReads(reads, sources),
    quarantinedCount: (sources) => ROWS.count(reads).get(listed(sources)) ?? 0,
    quarantined: ({ source = null, afterId, limit }) =>
      ROWS.quarantined(reads).all({ source, afterId, limit }).map(quarantinedRecord),
    quarantinedRow(name) {
      const row = rowsNaming(reads, name).find(({ state, missing }) => state === 'quarantined' && missing === 0);
      return row ? { source: row.source, stream: row.stream, place: parseJson<Place>(row.place) } : null;
    },
    duplicates: (limit, sources) => duplicates(reads, limit, sources),
    bomCycles: (limit) => findCycles(BOM_EDGES(reads).iterate(), limit),
    apiWait: () => readApiWait(reads),
    daemonNote: (name) => readDaemonNote(reads, name),
    importProofs: () => readImportProofs(reads),
    versions: () => ({
      ledger: String(versionOf(reads.db)),
      sqlite: sqliteVersion(reads.db),
    }),
  };
}

type RunRow = Omit<RunView, 'streams'>;

const RUN = `SELECT id, source, cause AS "trigger", started_at AS startedAt, ended_at AS endedAt, result, error FROM runs`;
const RUNS = {
  all: statement<[{ source: string | null; limit: number }], RunRow>(
    `${RUN} WHERE cause <> 'upload' AND (@source IS NULL OR source = @source) ORDER BY id DESC LIMIT @limit`,
  ),
  one: statement<[number], RunRow>(`${RUN} WHERE id = ?`),
  completeAt: column<[string], number | null>(
    `SELECT ended_at FROM runs WHERE source = ? AND result = 'complete' AND cause <> 'upload' ORDER BY id DESC LIMIT 1`,
  ),
};

interface AccountRow extends Omit<StreamAccount, 'warnings'> {
  runId: number;
  warnings: string | null;
}

function accountOf({ warnings, ...row }: AccountRow): StreamAccount {
  const { source, stream, read, unchanged, changed, quarantined, excluded, missing, guarded, missedByChanges } = row;
  const counts = { read, unchanged, changed, quarantined, excluded, missing };
  return { source, stream, ...counts, guarded, missedByChanges, warnings: parseJsonOrNull<string[]>(warnings) ?? [] };
}

const ACCOUNTS = statement<[string], AccountRow>(
  `SELECT a.run_id AS runId, s.source, s.name AS stream, a.read, a.unchanged, a.changed, a.quarantined, a.excluded, a.missing,
     a.guarded, a.missed_by_changes AS missedByChanges, a.warnings
   FROM json_each(?) e CROSS JOIN run_streams a ON a.run_id = e.value JOIN streams s ON s.id = a.stream_id
   ORDER BY a.run_id, s.id`,
);

/** Adds to runs the accounts of their streams. */
export function withStreams<Run extends { id: number }>(
  reads: Db,
  runs: readonly Run[],
): (Run & { streams: StreamAccount[] })[] {
  const rows = ACCOUNTS(reads).all(JSON.stringify(runs.map(({ id }) => id)));
  const accounts = Map.groupBy(rows, ({ runId }) => runId);
  return runs.map((run) => ({ ...run, streams: (accounts.get(run.id) ?? []).map(accountOf) }));
}

const STREAMS = {
  identity: column<[string, string], string | null>('SELECT identity FROM streams WHERE source = ? AND name = ?'),
  pending: column<[], string>(
    `SELECT DISTINCT source FROM streams s
     WHERE EXISTS (SELECT 1 FROM records r WHERE r.stream_id = s.id AND r.state = 'pending') ORDER BY source`,
  ),
  unmapped: column<[], string>(`SELECT DISTINCT source FROM streams s WHERE ${HAS_UNMAPPED} ORDER BY source`),
  guarded: statement<[Listed], OpenGuardedRead>(OPEN_GUARDED_READS),
};

/** Streams whose last complete read the guard took for broken, and that no person has accepted. */
export function guardedReads(reads: Db, sources?: readonly string[]): GuardedRead[] {
  return STREAMS.guarded(reads).all(listed(sources)).map(guardedReadOf);
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

const ROWS = {
  count: column<[Listed], number>(
    `SELECT count(*) FROM records r WHERE r.state = 'quarantined' AND r.missing_since IS NULL
       AND (@sources = '[]' OR r.stream_id IN (SELECT s.id FROM streams s WHERE ${ofSources('s')}))`,
  ),
  quarantined: statement<[{ source: string | null; afterId: number; limit: number }], QuarantineRow>(
    `SELECT r.id, s.source, s.name AS stream, r.key, r.place, r.raw, r.issues FROM records r JOIN streams s ON s.id = r.stream_id
     WHERE r.state = 'quarantined' AND r.missing_since IS NULL AND (@source IS NULL OR s.source = @source) AND r.id > @afterId
     ORDER BY r.id LIMIT @limit`,
  ),
};

export function quarantinedRecord({ id, source, stream, key, place, raw, issues }: QuarantineRow): QuarantinedRecord {
  const stored = parseJsonOrNull<Issue[]>(issues) ?? [];
  return {
    id,
    source,
    stream,
    key,
    place: parseJson<Place>(place),
    fields: parseJson<JsonObject>(raw),
    issues: stored,
  };
}

interface DuplicateRow extends Omit<Duplicates['examples'][number], 'place' | 'first'> {
  place: string;
  firstPlace: string | null;
}

const MAKES_THE_SAME = `FROM contenders c CROSS JOIN records r ON r.id = c.record_id CROSS JOIN streams s ON s.id = r.stream_id
  CROSS JOIN items i ON i.kind = c.kind AND i.key = c.key
  WHERE r.state = 'mapped' AND r.missing_since IS NULL AND i.record_id IS NOT NULL AND i.record_id <> r.id AND ${ofSources('s')}`;
const OWNS_NOTHING = 'NOT EXISTS (SELECT 1 FROM items o WHERE o.record_id = r.id)';
const DUPLICATES = {
  counts: statement<[Listed], Pick<Duplicates, 'count' | 'whole'>>(
    `SELECT count(*) AS count, coalesce(sum(whole), 0) AS whole
     FROM (SELECT ${OWNS_NOTHING} AS whole ${MAKES_THE_SAME} GROUP BY r.id) AS found`,
  ),
  // Each row is shown with its product, or with its BOM item if it makes no product.
  examples: statement<[Listed & { limit: number }], DuplicateRow>(
    `SELECT d.kind, d.key, d.source, d.stream, d.place, (SELECT f.place FROM records f WHERE f.id = d.first) AS firstPlace FROM (
       SELECT r.id, c.kind, c.key, s.source, s.name AS stream, r.place, i.record_id AS first, row_number() OVER (
         PARTITION BY r.id ORDER BY CASE c.kind WHEN 'product' THEN 0 WHEN 'bom_item' THEN 1 ELSE 2 END, c.key) AS number
       ${MAKES_THE_SAME} AND ${OWNS_NOTHING}) d
     WHERE d.number = 1 ORDER BY d.id LIMIT @limit`,
  ),
};

/**
 * Finds rows that make the same item as another row, with the same content. A row that makes the item with other
 * content is in quarantine, and is counted there.
 */
function duplicates(reads: ViewReads, limit: number, sources?: readonly string[]): Duplicates {
  const counts = DUPLICATES.counts(reads).get(listed(sources)) ?? { count: 0, whole: 0 };
  const rows = DUPLICATES.examples(reads).all({ ...listed(sources), limit });
  const examples = rows.map(({ place, firstPlace, ...row }) => ({
    ...row,
    place: parseJson<Place>(place),
    first: parseJson<Place>(firstPlace ?? '{}'),
  }));
  return { ...counts, examples };
}

const BOM_EDGES = statement<[], { parent: string; component: string }>(
  `SELECT p.key AS parent, c.key AS component FROM refs p JOIN refs c ON c.item_id = p.item_id AND c.role = 'component'
   WHERE p.role = 'product' ORDER BY p.item_id`,
);

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
