// The deliveries that have not ended: those that need a person, and what the others wait for.

import type { UnprovenWrites } from '../../domain/attention.ts';
import type { Operation } from '../../domain/delivery/operation.ts';
import { hasTrait, NO_REASON, type Reason, storedReason } from '../../domain/delivery/stored-reason.ts';
import type { ItemKind } from '../../domain/item.ts';
import { wantedByPolicy } from '../../domain/passport.ts';
import type { AdoptedChanges, Suspended } from '../../domain/ports/ledger/contact-ledger.ts';
import type {
  Deferred,
  OpenDeliveries,
  RefusedWork,
  StuckDelivery,
  WaitingGroup,
} from '../../domain/ports/ledger/ledger-standing.ts';
import type { ItemSummary } from '../../domain/ports/ledger/ledger-views.ts';
import { isStuck, reasonHas } from '../items/item-row.ts';
import { itemState } from '../items/missing.ts';
import { NEEDS_PERSON as IS_IN_GROUP, SHAPE } from '../items/stuck-groups.ts';
import { countByStanding, isFollowed, passportState } from '../passports/passport-standing.ts';
import { column, statement } from '../store/tx.ts';
import { type ItemTotals, itemTotals } from './counts.ts';
import { type Db, type Listed, listed, ofSources, type ViewReads } from './view-reads.ts';

// Each count is one of a partial index.
const COUNT_OPEN = statement<[], Pick<OpenDeliveries, 'due' | 'sending' | 'waiting' | 'unconfirmed'>>(
  `SELECT (SELECT count(*) FROM items WHERE state = 'due') AS due, (SELECT count(*) FROM items WHERE state = 'sending') AS sending,
     (SELECT count(*) FROM items WHERE state = 'waiting') AS waiting,
     (SELECT count(*) FROM items i WHERE ${isStuck('i')} AND i.state = 'in_doubt') AS unconfirmed`,
);

export function openDeliveries(reads: ViewReads, totals: () => ItemTotals = () => itemTotals(reads)): OpenDeliveries {
  const staged = COUNT_OPEN(reads).get() ?? { due: 0, sending: 0, waiting: 0, unconfirmed: 0 };
  const open = { ...staged, following: 0, incomplete: 0 };
  const wanted = wantedByPolicy(reads.passportRules);
  const { product = 0, passport = 0 } = wanted === null ? {} : totals();
  for (const { standing, presence, count } of countByStanding(reads, product - passport)) {
    if (isFollowed(standing, wanted)) open.following += count;
    else if (passportState(standing, presence, wanted) === 'incomplete') open.incomplete += count;
  }
  return open;
}

interface StuckRow extends Omit<StuckDelivery, 'reason'> {
  reason: string | null;
  needsPerson: number;
}

const NEEDS_PERSON = "(i.state IN ('blocked', 'rejected', 'parked') OR (i.state = 'in_doubt' AND i.due_at = 0))";
const STUCK = `i.id, i.kind, i.key, i.revision, i.natural_key AS naturalKey, i.operation, i.source, i.state, i.reason,
  ${NEEDS_PERSON} AS needsPerson`;
const STUCK_SQL = {
  some: statement<[Listed & { limit: number }], StuckRow>(
    `SELECT ${STUCK} FROM items i WHERE ${isStuck('i')} AND ${NEEDS_PERSON} AND ${ofSources('i')}
     ORDER BY i.staged_at DESC, i.id DESC LIMIT @limit`,
  ),
  causes: statement<[Listed & { limit: number }], StuckRow & { count: number }>(
    `SELECT g.count, ${STUCK} FROM items i JOIN (
       SELECT max(i.id) AS id, count(*) AS count FROM items i INDEXED BY items_by_reason WHERE ${IS_IN_GROUP}
         AND ${ofSources('i')} GROUP BY i.state, ${SHAPE}, i.kind ORDER BY 1 DESC LIMIT @limit) g ON g.id = i.id
     ORDER BY i.id DESC`,
  ),
  one: statement<[number], StuckRow>(`SELECT ${STUCK} FROM items i WHERE i.id = ? AND i.state IS NOT NULL`),
};

/** Deliveries that need a person, newest first. */
export function stuckDeliveries(reads: Db, limit: number, sources?: readonly string[]): StuckDelivery[] {
  return STUCK_SQL.some(reads)
    .all({ limit, ...listed(sources) })
    .map(stuckDelivery);
}

/** The same deliveries, of those with the same kind, state and reason only the newest one, and how many they are. */
export function stuckCauses(reads: Db, limit: number, sources?: readonly string[]) {
  return STUCK_SQL.causes(reads)
    .all({ limit, ...listed(sources) })
    .map((row) => ({ ...stuckDelivery(row), count: row.count }));
}

export function deliveryOf(reads: Db, id: number): (StuckDelivery & { needsPerson: boolean }) | null {
  const row = STUCK_SQL.one(reads).get(id);
  return row ? { ...stuckDelivery(row), needsPerson: row.needsPerson === 1 } : null;
}

function stuckDelivery(row: StuckRow): StuckDelivery {
  const { id, kind, key, revision, naturalKey, operation, source, state } = row;
  const reason = storedReason(row.reason) ?? { ...NO_REASON, message: 'No reason was kept.' };
  return { id, kind, key, revision, naturalKey, operation, source, state, reason };
}

const AWAY = `items i WHERE i.state IN ('due', 'in_doubt') AND i.due_at > 0 AND i.state = 'due' AND ${reasonHas('i', 'api_away')}`;
const WAITS = {
  // This condition repeats the words of the index `items_scheduled`.
  readBack: statement<[Listed & { passports: 0 | 1 }], { count: number; nextLookAt: number | null }>(
    `SELECT count(*) AS count, min(i.due_at) AS nextLookAt FROM items i
     WHERE i.state IN ('due', 'in_doubt') AND i.due_at > 0 AND i.state = 'in_doubt'
       AND (i.kind = 'passport') = (@passports = 1) AND ${ofSources('i')}`,
  ),
  unproven: statement<[Listed], UnprovenWrites>(
    `SELECT i.kind, i.unproven AS because, count(*) AS count FROM items i WHERE i.unproven IS NOT NULL AND ${ofSources('i')}
     GROUP BY 1, 2 ORDER BY 1 DESC, 2`,
  ),
  deferred: statement<[], Omit<Deferred, 'since'> & { since: number | null }>(
    `SELECT (SELECT count(*) FROM ${AWAY}) AS count, i.reason ->> '$.since' AS since, i.reason ->> '$.message' AS message
     FROM ${AWAY} ORDER BY i.reason ->> '$.since' IS NULL, i.reason ->> '$.since', i.id LIMIT 1`,
  ),
  // Waiting items are few and refs are many, so the statement begins with the waiting items.
  groups: statement<[Listed & { limit: number }], Omit<WaitingGroup, 'either'> & { either: 0 | 1 }>(
    `SELECT f.kind, f.key, CASE WHEN i.id IS NULL THEN NULL ELSE ${itemState('i')} END AS state, f.count, f.either FROM (
       SELECT refs.kind, refs.key, count(*) AS count, max(refs.either) AS either
       FROM items w CROSS JOIN refs ON refs.item_id = w.id
       WHERE w.state = 'waiting' AND ${ofSources('w')} GROUP BY 1, 2) f
     LEFT JOIN items i ON i.kind = f.kind AND i.key = f.key
     WHERE nullif(i.remote_id, 'null') IS NULL ORDER BY f.count DESC, f.key, f.kind LIMIT @limit`,
  ),
};

export function awaitingReadBack(reads: Db, sources?: readonly string[]) {
  return WAITS.readBack(reads).get({ ...listed(sources), passports: 0 }) ?? { count: 0, nextLookAt: null };
}

/** How many unconfirmed writes of passports are looked up without a person. */
export function unconfirmedPassports(reads: Db, sources?: readonly string[]): number {
  return WAITS.readBack(reads).get({ ...listed(sources), passports: 1 })?.count ?? 0;
}

export function unprovenWrites(reads: Db, sources?: readonly string[]): UnprovenWrites[] {
  return WAITS.unproven(reads).all(listed(sources));
}

/** Due deliveries at whose last attempt the API was away; null if there are none. */
export function deferredDeliveries(reads: Db): Deferred | null {
  const { count, since = null, message } = WAITS.deferred(reads).get() ?? { count: 0, message: '' };
  return since === null ? null : { count, since, message };
}

/** The items that deliveries wait for. The item with the most deliveries comes first. */
export function waitingFor(reads: Db, limit: number, sources?: readonly string[]): WaitingGroup[] {
  const groups = WAITS.groups(reads).all({ limit, ...listed(sources) });
  return groups.map(({ either, ...group }) => (either === 1 ? { ...group, either: true } : group));
}

/** How many deliveries are searched for those that the API has refused. */
const SCHEDULED_MAX = 1000;

interface Refusal {
  operation: Operation;
  reason: Reason;
}

const REFUSED = {
  // The latest refusal of each operation and kind. What the API has refused is due again at once, so it is among the first of
  // the scheduled deliveries.
  refusals: statement<[], { operation: Operation; reason: string }>(
    `SELECT l.operation, l.reason FROM (
       SELECT d.operation, d.reason, d.due_at,
         row_number() OVER (PARTITION BY d.operation, d.reason ->> '$.code' ORDER BY d.due_at DESC, d.id DESC) AS place
       FROM (SELECT i.id, i.reason, i.operation, i.due_at FROM items i
         WHERE i.state IN ('due', 'in_doubt') AND i.due_at > 0 AND i.state = 'due' ORDER BY i.due_at, i.id LIMIT ${SCHEDULED_MAX}) d
       WHERE ${reasonHas('d', 'access_denied')}) l
     WHERE l.place = 1 ORDER BY l.due_at DESC, l.operation, l.reason`,
  ),
  operation: column<[string, string], Operation>('SELECT operation FROM items WHERE kind = ? AND key = ?'),
  due: statement<[Listed], { operation: Operation; count: number }>(
    `SELECT i.operation, count(*) AS count FROM items i WHERE i.state = 'due' AND ${ofSources('i')}
     GROUP BY i.operation ORDER BY i.operation`,
  ),
};

/**
 * What the API has refused and no delivery has shown to be granted since. Only the deliveries that were refused have the
 * reason; the other deliveries of the operation were not sent.
 */
export function refusals(reads: Db): Refusal[] {
  const rows = REFUSED.refusals(reads).all();
  return rows.map(({ operation, reason }) => ({ operation, reason: storedReason(reason) ?? NO_REASON }));
}

/** Why deliveries of this operation are not sent; null if none of the refusals is about it. */
export function reasonFor(operation: Operation | null, all: readonly Refusal[]): Reason | null {
  // A refused key or plan stops every operation, and a 403 only its own.
  const found = all.find(({ reason, ...one }) => !hasTrait(reason, 'scope_denied') || one.operation === operation);
  return found?.reason ?? null;
}

/** Why the API refuses other deliveries of the same kind, so that this item is not sent; null if it refuses none. */
export function accessRefusal(reads: Db, { kind, key }: Pick<ItemSummary, 'kind' | 'key'>): Reason | null {
  const all = refusals(reads);
  return all.length === 0 ? null : reasonFor(REFUSED.operation(reads).get(kind, key) ?? null, all);
}

/** Due deliveries that are not sent because the API refuses them, by operation. */
export function refusedWork(reads: Db, sources: readonly string[]): RefusedWork[] {
  const all = refusals(reads);
  if (all.length === 0) return [];
  const due = REFUSED.due(reads).all(listed(sources));
  return due.flatMap(({ operation, count }) => {
    const reason = reasonFor(operation, all);
    return reason === null ? [] : [{ operation, count, reason }];
  });
}

const BLOCKED = `items i WHERE ${isStuck('i')} AND i.state = 'blocked' AND ${ofSources('i')}`;
const IS_ADOPTED = `i.adopted = 1 AND ${reasonHas('i', 'adopted_change')}`;
const CONTACT = {
  suspended: statement<[Listed], Omit<Suspended, 'reason'> & { failure: string | null }>(
    `SELECT l.kind, l.failure, (SELECT count(*) FROM listed e WHERE e.kind = l.kind) AS listed,
       (SELECT count(*) FROM items i
        WHERE i.state = 'due' AND i.operation = l.kind || '.create' AND ${ofSources('i')}) AS creates
     FROM listings l WHERE l.needed > 0 ORDER BY l.kind DESC`,
  ),
  adopted: statement<[Listed], { source: string; kind: ItemKind; items: number }>(
    `SELECT i.source, i.kind, count(*) AS items FROM ${BLOCKED} AND ${IS_ADOPTED} GROUP BY 1, 2 ORDER BY 1, 2 DESC`,
  ),
  fields: statement<[Listed], { source: string; kind: ItemKind; field: string; items: number }>(
    `SELECT s.source, s.kind, f.key AS field, count(*) AS items
     FROM (SELECT i.source, i.kind, i.reason FROM ${BLOCKED} AND ${IS_ADOPTED}) s
     CROSS JOIN json_each(s.reason, '$.fields') f GROUP BY +s.source, +s.kind, +f.key
     ORDER BY items DESC, field, s.source, s.kind`,
  ),
  parts: statement<[Listed], { products: number; bomItems: number }>(
    `SELECT count(DISTINCT f.key) AS products, count(*) AS bomItems FROM items i
     CROSS JOIN refs f ON f.item_id = i.id AND f.role = 'product'
     WHERE ${isStuck('i')} AND i.state = 'blocked' AND ${ofSources('i')} AND ${reasonHas('i', 'parts_unknown')}`,
  ),
};

/** Kinds of which creates are suspended until the platform's list was read. */
export function suspendedKinds(reads: Db, sources: readonly string[] = []): Suspended[] {
  return CONTACT.suspended(reads)
    .all(listed(sources))
    .filter(({ creates }) => creates > 0 || sources.length === 0)
    .map(({ failure, ...row }) => ({ ...row, reason: storedReason(failure) }));
}

/** Changes of adopted items that wait for a person. */
export function adoptedChanges(reads: Db, sources?: readonly string[]): AdoptedChanges[] {
  const all: AdoptedChanges[] = CONTACT.adopted(reads)
    .all(listed(sources))
    .map((row) => ({ ...row, fields: {} }));
  for (const { source, kind, field, items } of all.length === 0 ? [] : CONTACT.fields(reads).all(listed(sources))) {
    const group = all.find((one) => one.source === source && one.kind === kind);
    if (group !== undefined) group.fields[field] = items;
  }
  return all;
}

/** BOM items of adopted products for which a person has to answer whether the platform has them. */
export function unansweredParts(reads: Db, sources?: readonly string[]): { products: number; bomItems: number } {
  return CONTACT.parts(reads).get(listed(sources)) ?? { products: 0, bomItems: 0 };
}
