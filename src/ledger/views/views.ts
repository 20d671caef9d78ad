import type { Place } from '../../domain/place.ts';
import type { LedgerViews } from '../../domain/ports/ledger/ledger-views.ts';
import type { StreamIdentity } from '../../domain/stream-identity.ts';
import { readApiWait } from '../deliveries/api-notes.ts';
import { readImportProofs } from '../deliveries/imports.ts';
import { HAS_UNMAPPED } from '../records/streams.ts';
import { sqliteVersion, versionOf } from '../store/database.ts';
import { readDaemonNote } from '../store/meta.ts';
import { column, statement } from '../store/statement.ts';
import { parseJson, parseJsonOrNull } from '../store/tx.ts';
import { advisedItem } from './advice-views.ts';
import { type ItemTotals, itemCounts } from './counts.ts';
import { itemsInOtherForm, listItems, rowsNaming } from './item-views.ts';
import { passportBlockers, passportOf, passportsOf } from './passport-views.ts';
import { guardedReads, quarantined, quarantinedCount } from './record-views.ts';
import { lastRuns, runsOf } from './run-views.ts';
import { attention, sourceRuns, standing } from './standing.ts';
import {
  adoptedChanges,
  deferredDeliveries,
  deliveryOf,
  openDeliveries,
  stuckCauses,
  stuckDeliveries,
  suspendedKinds,
  unansweredParts,
  unprovenWrites,
  waitingFor,
} from './undelivered-views.ts';
import type { ViewReads } from './view-reads.ts';

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
    openDeliveries: () => openDeliveries(reads),
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
    unmappedSources: () => STREAMS.unmapped(reads).all(),
    productsInQuarantine: () => STREAMS.unmade(reads).get() ?? 0,
    guardedReads: (sources) => guardedReads(reads, sources),
    quarantinedCount: (sources) => quarantinedCount(reads, sources),
    quarantined: (request) => quarantined(reads, request),
    quarantinedRow(name) {
      const row = rowsNaming(reads, name).find(({ state, missing }) => state === 'quarantined' && missing === 0);
      return row ? { source: row.source, stream: row.stream, place: parseJson<Place>(row.place) } : null;
    },
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
