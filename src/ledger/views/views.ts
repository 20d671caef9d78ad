import { adviceOnItem, isGuardedChange } from '../../domain/advice.ts';
import { undecidedCounts } from '../../domain/attention.ts';
import type { Reason } from '../../domain/delivery/stored-reason.ts';
import type { Place } from '../../domain/issue.ts';
import type { SubjectKind } from '../../domain/item.ts';
import { unmappedCure } from '../../domain/passport.ts';
import type {
  Attention,
  EmptyStream,
  LedgerStanding,
  StandingAsked,
  StuckItems,
  StuckState,
  WaitingGroup,
} from '../../domain/ports/ledger/ledger-standing.ts';
import type { ItemView, LedgerViews, SourceRuns } from '../../domain/ports/ledger/ledger-views.ts';
import type { StreamIdentity } from '../../domain/record.ts';
import { readImportProofs } from '../deliveries/imports.ts';
import { paddedKeys } from '../items/content.ts';
import { ignoredMissing, missingOutcomes } from '../items/missing.ts';
import { findLookups } from '../records/lookups.ts';
import { HAS_UNMAPPED } from '../records/streams.ts';
import { sqliteVersion, versionOf } from '../store/database.ts';
import { readApiWait, readDaemonNote } from '../store/meta.ts';
import { column, parseJson, parseJsonOrNull, statement } from '../store/tx.ts';
import { type ItemTotals, itemCounts, passportCounts } from './counts.ts';
import { itemOf, itemsInOtherForm, listItems, rowsNaming, type StoredItem } from './item-views.ts';
import { passportBlockers, passportOf, passportsOf } from './passport-views.ts';
import {
  completeAt,
  duplicates,
  guardedReads,
  heldRuns,
  lastEndedRun,
  lastRuns,
  quarantined,
  quarantinedCount,
  recordsNamed,
  refusedReads,
  runsOf,
} from './source-views.ts';
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
  unconfirmedPassports,
  unprovenWrites,
  waitingFor,
} from './undelivered-views.ts';
import { type Db, inOneMoment, type ViewReads } from './view-reads.ts';

const SQL = {
  // Alerts ask for these three every ten seconds, so each of them uses an index.
  // Each part repeats one of the conditions of the index, and no other column than those of the index.
  stuck: statement<[], { source: string; state: StuckState; count: number }>(
    `SELECT source, state, count(*) AS count FROM (${["i.state IN ('blocked', 'rejected')", "i.state = 'parked'"]
      .map(
        (state) => `SELECT i.source, i.state FROM items i INDEXED BY items_by_reason
          WHERE ${state} AND i.kind <> 'passport'`,
      )
      .join(' UNION ALL ')}) AS found GROUP BY source, state`,
  ),
  // Each part repeats the condition of an index.
  sending: column<[string], string>(
    `SELECT s.value FROM json_each(?) s WHERE ${[
      "i.state = 'due'",
      "i.state = 'sending'",
      "i.state IN ('due', 'in_doubt') AND i.due_at > 0",
    ]
      .map((state) => `EXISTS (SELECT 1 FROM items i WHERE ${state} AND i.kind <> 'passport' AND +i.source = s.value)`)
      .join(' OR ')}`,
  ),
  // The streams of a source that was ended are empty.
  formerSources: column<[string], string>(
    `SELECT DISTINCT s.source FROM streams s WHERE s.source NOT IN (SELECT value FROM json_each(?)) AND s.emptied IS NULL
       AND EXISTS (SELECT 1 FROM items i WHERE i.source = s.source AND i.missing_since IS NULL AND i.acknowledged > 0)
     ORDER BY s.source`,
  ),
  notConfigured: column<[string], string>(
    'SELECT DISTINCT s.source FROM streams s WHERE s.source NOT IN (SELECT value FROM json_each(?)) ORDER BY s.source',
  ),
  // A stream that the last complete run did not have is no longer in the config.
  empty: statement<[], { source: string; stream: string; isNew: 0 | 1 }>(
    `SELECT s.source, s.name AS stream, s.emptied AS isNew FROM streams s WHERE s.emptied IS NOT NULL
       AND EXISTS (SELECT 1 FROM run_streams a WHERE a.stream_id = s.id AND a.run_id =
         (SELECT max(r.id) FROM runs r WHERE r.source = s.source AND r.result = 'complete' AND r.cause <> 'upload'))
     ORDER BY s.id`,
  ),
};

function stuckItems(reads: Db, sources: readonly string[]): StuckItems {
  return inOneMoment(reads, () => ({
    counts: SQL.stuck(reads).all(),
    sending: sources.length === 0 ? [] : SQL.sending(reads).all(JSON.stringify(sources)),
  }));
}

function emptyStreams(reads: Db): EmptyStream[] {
  return SQL.empty(reads)
    .all()
    .map((row) => ({ ...row, isNew: row.isNew === 1 }));
}

/**
 * The views over one connection: a read-only one beside a writing process, or the connection of the writing process.
 *
 * @param totals how many items the ledger has, if that is known already
 */
export function createViews(reads: ViewReads, totals?: () => ItemTotals): LedgerViews {
  return {
    standing: (asked) => standing(reads, asked, totals),
    sourceRuns: (sources) => sourceRuns(reads, sources),
    attention: (sources) => attention(reads, sources),
    itemsAfter: (request) => listItems(reads, request),
    item: (kind, key) => advisedItem(reads, kind, key),
    itemCounts: (sources) => itemCounts(reads, sources),
    otherForms: () => itemsInOtherForm(reads),
    passport: (product) => passportOf(reads, product),
    passportsOf: (products) => passportsOf(reads, products),
    passportBlockers: () => passportBlockers(reads),
    openDeliveries: () => openDeliveries(reads, totals),
    stuck: (limit, sources) => stuckDeliveries(reads, limit, sources),
    stuckCauses: (limit, sources) => stuckCauses(reads, limit, sources),
    delivery: (id) => deliveryOf(reads, id),
    unproven: (sources) => unprovenWrites(reads, sources),
    deferred: () => deferredDeliveries(reads),
    waitingFor: (limit, sources) => waitingFor(reads, limit, sources),
    suspended: (sources) => suspendedKinds(reads, sources),
    adoptedChanges: (sources) => adoptedChanges(reads, sources),
    unansweredParts: (sources) => unansweredParts(reads, sources),
    lastRuns: (request) => lastRuns(reads, request),
    run: (id) => runsOf(reads, [id])[0] ?? null,
    streamIdentity: (source, stream) =>
      parseJsonOrNull<StreamIdentity>(STREAMS.identity(reads).get(source, stream) ?? null),
    stuckItems: (sources) => stuckItems(reads, sources),
    emptyStreams: () => emptyStreams(reads),
    unmappedSources: () => STREAMS.unmapped(reads).all(),
    productsInQuarantine: () => STREAMS.unmade(reads).get() ?? 0,
    guardedReads: (sources) => guardedReads(reads, sources),
    heldRuns: (sources) => heldRuns(reads, sources),
    refusedReads: (source) => refusedReads(reads, source),
    quarantinedCount: (sources) => quarantinedCount(reads, sources),
    quarantined: (request) => quarantined(reads, request),
    quarantinedRow(name) {
      const row = rowsNaming(reads, name).find(({ state, missing }) => state === 'quarantined' && missing === 0);
      return row ? { source: row.source, stream: row.stream, place: parseJson<Place>(row.place) } : null;
    },
    recordsNamed: (asked) => recordsNamed(reads, asked),
    lookupEntries: (keys) => findLookups(reads, keys),
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

const STREAMS = {
  identity: column<[string, string], string | null>('SELECT identity FROM streams WHERE source = ? AND name = ?'),
  // A partial row gives its product nevertheless.
  unmade: column<[], number>(
    `SELECT count(DISTINCT h.product_key) FROM records r INDEXED BY records_quarantined CROSS JOIN holds h ON h.record_id = r.id
     WHERE r.state = 'quarantined' AND r.missing_since IS NULL AND h.product_key IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM items p WHERE p.kind = 'product' AND p.key = h.product_key)`,
  ),
  unmapped: column<[], string>(`SELECT DISTINCT source FROM streams s WHERE ${HAS_UNMAPPED} ORDER BY source`),
};

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

// How the ledger stands, and what needs a person.

/** @param totals how many items the ledger has, if that is known already */
function standing(reads: ViewReads, asked: StandingAsked, totals?: () => ItemTotals): LedgerStanding {
  const { sources, watched, configured } = asked;
  // Nothing else names the missing items of a source that was ended and taken out of the config.
  const isOfAll = configured.every((id) => sources.includes(id));
  const ended = isOfAll ? SQL.notConfigured(reads).all(JSON.stringify(configured)) : [];
  // An empty list of sources would select all sources.
  const missing = watched.length + ended.length === 0 ? [] : missingOutcomes(reads, [...watched, ...ended]);
  const others = sources.filter((id) => !watched.includes(id));
  return {
    items: itemCounts(reads, [], totals),
    passports: passportCounts(reads, sources),
    unconfirmedPassports: unconfirmedPassports(reads, sources),
    quarantined: quarantinedCount(reads, sources),
    guarded: guardedReads(reads, sources),
    held: heldRuns(reads, sources),
    failedRuns: sourceRuns(reads, sources).flatMap(({ failed }) => failed ?? []),
    missing: undecidedCounts(missing),
    missingOutcomes: [...missing, ...ignoredMissing(reads, others)],
    suspended: suspendedKinds(reads, sources),
    refused: refusedWork(reads, sources),
    otherForms: itemsInOtherForm(reads),
    paddedKeys: paddedKeys(reads, sources),
    formerSources: SQL.formerSources(reads).all(JSON.stringify(configured)),
  };
}

/** The runs of these sources. A run that has not ended does not count as failed. */
function sourceRuns(reads: ViewReads, sources: readonly string[]): SourceRuns[] {
  return sources.map((source) => {
    const [lastRun = null] = lastRuns(reads, { source, limit: 1 });
    const lastEnded = lastEndedRun(reads, source);
    const failed = lastEnded?.result === 'failed' ? { source, error: lastEnded.error ?? 'No reason was kept.' } : null;
    return { source, lastRun, lastEnded, completeAt: completeAt(reads, source), failed };
  });
}

const GROUPS_MAX = 200;
const STUCK_MAX = 5;
const DUPLICATES_MAX = 3;

function attention(reads: ViewReads, sources: readonly string[]): Attention {
  const onTheWay = (state: WaitingGroup['state']) => state === 'due' || state === 'sending';
  return {
    waitingFor: waitingFor(reads, GROUPS_MAX, sources).filter(({ state }) => !onTheWay(state)),
    stuck: stuckCauses(reads, STUCK_MAX, sources),
    awaitingReadBack: awaitingReadBack(reads, sources),
    duplicates: duplicates(reads, DUPLICATES_MAX, sources),
    adopted: adoptedChanges(reads, sources),
    parts: unansweredParts(reads, sources),
    unproven: unprovenWrites(reads, sources),
  };
}

// What is said about the items of the ledger.

/** An item by its key or natural key, with what is said about it. */
export function advisedItem(reads: ViewReads, kind: SubjectKind, key: string): ItemView | null {
  const item = itemOf(reads, kind, key);
  if (item === null) return null;
  const heldBy = heldReason(reads, item);
  const reason = item.reason ?? heldBy;
  const advice = adviceOnItem(
    { ...item, reason },
    {
      isPublic: item.kind === 'product' && item.missing && isPublic(reads, item),
      isGuarded: isGuardedChange({ ...item, reason }, (source) => guardedReads(reads, [source])),
      unmapped: unmappedOf(reads, item),
    },
  );
  return { ...item, heldBy, advice };
}

function isPublic(reads: ViewReads, { key }: StoredItem): boolean {
  return passportOf(reads, key)?.acknowledged === 'published';
}

/** Why a due item without a reason is not sent: its kind has no list, or the API refuses other items. */
function heldReason(reads: ViewReads, { kind, key, state, reason, remoteId, source }: StoredItem): Reason | null {
  if (state !== 'due' || reason !== null) return null;
  const suspended = remoteId === null && source !== null ? suspendedKinds(reads, [source]) : [];
  return suspended.find((one) => one.kind === kind)?.reason ?? accessRefusal(reads, { kind, key });
}

function unmappedOf(reads: ViewReads, { kind, key, state, reason }: StoredItem): string | null {
  if (kind !== 'passport' || state !== 'blocked' || reason === null) return null;
  return unmappedCure(reason, itemOf(reads, 'product', key)?.record ?? null, reads.passportRules.mappedFields);
}
