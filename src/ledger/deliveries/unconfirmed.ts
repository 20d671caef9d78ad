// The unconfirmed deliveries: it is unknown whether they arrived. And the deliveries that a manual resolution names.

import { SETTLE_STATES, type SettleState } from '../../domain/delivery/delivery.ts';
import type { Operation } from '../../domain/delivery/operation.ts';
import { NO_REASON, type Reason, storedReason } from '../../domain/delivery/stored-reason.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../../domain/item.ts';
import { type NaturalKey, naturalKeyOf } from '../../domain/natural-key.ts';
import type {
  NamedDelivery,
  NamedSelection,
  SuspendedWork,
  UnconfirmedDelivery,
} from '../../domain/ports/deliveries.ts';
import type { UnconfirmedLedger } from '../../domain/ports/ledger/delivery-ledger.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { sentContent } from '../items/content.ts';
import { type ItemRow, isStuck, itemColumns, revisionContent } from '../items/item-row.ts';
import { noteEvents, setDueAt } from '../items/item-writes.ts';
import { move } from '../items/revisions.ts';
import { column, parseJson, parseJsonOrNull, type Reads, statement, type Tx } from '../store/tx.ts';
import {
  type DeliveryRow,
  dueDelivery,
  isImportedCreate,
  type RefRow,
  SELECT_DELIVERIES,
  SELECT_LISTED_REFS,
} from './delivery-row.ts';
import { IS_SUSPENDED_UNCONFIRMED, suspendedUnconfirmed } from './due.ts';

/**
 * How many items before an unconfirmed one are searched for later creates. Creates are sent roughly in the order of
 * their ids.
 */
const BEFORE_MAX = 2_000;
const AROUND_MAX = 20_000;

/** SQL condition: true for an unconfirmed delivery that waits for the end of the run's other writes. */
const RESTS = `i.state IN ('due', 'in_doubt') AND i.due_at > 0 AND i.state = 'in_doubt' AND i.due_at > +@now
  AND i.operation IN (SELECT value FROM json_each(@operations)) AND CAST(i.reason ->> '$.atRest' AS INTEGER) = 1`;

interface Row extends ItemRow {
  operation: Operation;
  state: SettleState;
}

const IS_SETTLEABLE = `i.state IN (${SETTLE_STATES.map((state) => `'${state}'`).join(', ')})`;
const IS_SELECTED = `i.state = @state AND (@kind IS NULL OR i.kind = @kind) AND (@source IS NULL OR i.source = @source)`;
/** Open deliveries are few, so each condition uses the index of its state. */
const SELECTED = [`${isStuck('i')} AND ${IS_SELECTED}`, `i.state = 'waiting' AND ${IS_SELECTED}`];

const named = (by: 'key' | 'natural_key') =>
  statement<[{ kind: SubjectKind; name: string }], Row>(
    `SELECT ${itemColumns('i')} FROM items i WHERE i.kind = @kind AND i.${by} = @name AND ${IS_SETTLEABLE} ORDER BY i.id`,
  );

const SQL = {
  list: statement<[ReturnType<typeof suspendedUnconfirmed> & { now: number; limit: number }], DeliveryRow>(
    `${SELECT_DELIVERIES} WHERE i.state IN ('due', 'in_doubt') AND i.due_at > 0 AND i.state = 'in_doubt'
     AND i.due_at <= +@now AND ${IS_SUSPENDED_UNCONFIRMED} IS NOT TRUE ORDER BY i.due_at, i.id LIMIT +@limit`,
  ),
  creates: statement<
    [{ operation: string; afterId: number; sentAfter: number; now: number }],
    { remoteId: string; sentAt: number }
  >(
    // An item that was created and then changed has its create in the history. A time in the future is from before the
    // clock was set back, and proves nothing.
    `WITH i AS (SELECT id, remote_id, operation, state, sent_at FROM items WHERE id > @afterId ORDER BY id LIMIT ${AROUND_MAX})
     SELECT i.remote_id AS remoteId, i.sent_at AS sentAt FROM i
     WHERE i.operation = @operation AND i.state = 'delivered' AND i.sent_at > @sentAfter AND i.sent_at <= @now AND i.remote_id IS NOT NULL
     UNION ALL SELECT i.remote_id, h.sent_at FROM i CROSS JOIN history h ON h.item_id = i.id
     WHERE h.operation = @operation AND h.state = 'delivered' AND h.sent_at > @sentAfter AND h.sent_at <= @now AND i.remote_id IS NOT NULL`,
  ),
  // These statements use the indexes of due, of sending and of scheduled items.
  isMoving: column<[{ operations: string }], number>(
    `SELECT EXISTS (SELECT 1 FROM json_each(@operations) o CROSS JOIN items i ON i.state = 'due' AND i.operation = o.value)
       OR EXISTS (SELECT 1 FROM items i WHERE i.state = 'sending'
         AND i.operation IN (SELECT value FROM json_each(@operations)))`,
  ),
  hasResting: column<[{ operations: string; now: number }], number>(`SELECT 1 FROM items i WHERE ${RESTS} LIMIT 1`),
  resting: column<[{ operations: string; now: number }], number>(
    `SELECT i.id FROM items i WHERE ${RESTS} ORDER BY +i.id`,
  ),
  sending: statement<[], { id: number; revision: number }>(
    "SELECT id, revision FROM items WHERE state = 'sending' ORDER BY id",
  ),
  refs: statement<[string], RefRow>(SELECT_LISTED_REFS),
  byKey: named('key'),
  byNaturalKey: named('natural_key'),
  count: SELECTED.map((selected) => column<[NamedSelection], number>(`SELECT count(*) FROM items i WHERE ${selected}`)),
  selected: SELECTED.map((selected) =>
    statement<[NamedSelection & { afterId: number; limit: number }], Row>(
      `SELECT ${itemColumns('i')} FROM items i WHERE ${selected} AND i.id > @afterId ORDER BY i.id LIMIT @limit`,
    ),
  ),
  bound: column<[string, string], string>(
    "SELECT key FROM items WHERE kind = +? AND remote_id = +? AND remote_id <> 'null' LIMIT 1",
  ),
};

/**
 * Marks as unconfirmed the deliveries that an earlier process was sending when it ended.
 *
 * @returns their number
 */
export function voidLeases(tx: Tx, settlingDelayMs: number): number {
  const now = tx.clock.now();
  const reason: Reason = {
    code: 'crash',
    message: 'The process ended after it had sent this request and before it received the answer.',
    since: now,
  };
  const rows = SQL.sending(tx)
    .all()
    .map((row) => ({ ...row, state: 'sending' as const }));
  move(tx, rows, 'unconfirmed', { dueAt: now + settlingDelayMs, uncertain: 1, reason });
  noteEvents(
    tx,
    rows.map(({ id, revision }) => ({ id, revision, type: 'unconfirmed', detail: reason })),
  );
  return rows.length;
}

/**
 * True if unconfirmed deliveries of these operations wait for the end of the run's other writes, and no write of the
 * operations is due or being sent.
 */
export function mayEndRest(reads: Reads, operations: readonly Operation[]): boolean {
  const request = { operations: JSON.stringify(operations), now: reads.clock.now() };
  return SQL.hasResting(reads).get(request) !== undefined && SQL.isMoving(reads).get(request) === 0;
}

/** Makes the deliveries due that wait for the end of the run's other writes. */
export function endRest(tx: Tx, operations: readonly Operation[]): void {
  const now = tx.clock.now();
  setDueAt(tx, SQL.resting(tx).all({ operations: JSON.stringify(operations), now }), now);
}

/** Acknowledged creates that were sent after a time, among the items near one item. */
export function acknowledgedCreates(
  reads: Reads,
  { kind, sentAfter, besideId }: Parameters<UnconfirmedLedger['acknowledgedCreates']>[0],
): { remoteId: JsonValue; sentAt: number }[] {
  const around = { operation: `${kind}.create`, afterId: besideId - BEFORE_MAX, sentAfter, now: reads.clock.now() };
  return SQL.creates(reads)
    .all(around)
    .map(({ remoteId, sentAt }) => ({ remoteId: parseJson<JsonValue>(remoteId), sentAt }));
}

/** The unconfirmed deliveries whose read-back may begin now. */
export function unconfirmedDeliveries(
  reads: Reads,
  { limit, suspended }: { limit: number; suspended?: SuspendedWork },
): UnconfirmedDelivery[] {
  // The rows have the content of the items and of their requests, so they are read one by one.
  const rows = SQL.list(reads).iterate({ ...suspendedUnconfirmed(suspended), now: reads.clock.now(), limit });
  return Array.from(rows, (row) => ({
    ...dueDelivery(row),
    naturalKey: row.naturalKey,
    sentKey: sentKeyOf(reads, row),
    productId: row.kind === 'passport' ? productIdOf(reads, row.id) : null,
    reason: storedReason(row.reason) ?? NO_REASON,
    since: row.settledAt ?? 0,
    sentAt: row.sentAt ?? 0,
    attempts: row.attempts,
    importId: row.operation === 'product.import' ? row.requestId : null,
    isImportedCreate: isImportedCreate(row),
    sent: sentContent(row),
  }));
}

/** The natural key that was sent; it may differ from the present one. */
function sentKeyOf(reads: Reads, row: DeliveryRow): NaturalKey | null {
  return naturalKeyOf(reads.profile, row.kind, parseJson<JsonObject>(revisionContent(row).text));
}

function productIdOf(reads: Reads, itemId: number): JsonValue {
  const product = SQL.refs(reads)
    .all(JSON.stringify([itemId]))
    .find(({ role }) => role === 'product');
  return parseJsonOrNull<JsonValue>(product?.remoteId ?? null);
}

export function deliveriesNamed(reads: Reads, name: string): NamedDelivery[] {
  const byKey = SUBJECT_KINDS.flatMap((kind) => SQL.byKey(reads).all({ kind, name }));
  const found = byKey.length > 0 ? byKey : SUBJECT_KINDS.flatMap((kind) => SQL.byNaturalKey(reads).all({ kind, name }));
  return found.map((row) => namedDelivery(reads, row));
}

export function countSelected(reads: Reads, selection: NamedSelection): number {
  return SQL.count.reduce((sum, count) => sum + (count(reads).get(selection) ?? 0), 0);
}

export function selectedDeliveries(
  reads: Reads,
  request: NamedSelection & { afterId: number; limit: number },
): NamedDelivery[] {
  // A selection has one state, so only one of the two statements finds rows.
  return SQL.selected.flatMap((selected) => selected(reads).all(request)).map((row) => namedDelivery(reads, row));
}

export function boundTo(reads: Reads, kind: ListableKind, remoteId: JsonValue): string | null {
  return SQL.bound(reads).get(kind, JSON.stringify(remoteId)) ?? null;
}

function namedDelivery(reads: Reads, row: Row): NamedDelivery {
  const { id, kind, key, revision, operation, source, state, sentAt } = row;
  // The comparison uses the natural key that was sent, not the present one.
  const sent =
    kind === 'passport' ? null : naturalKeyOf(reads.profile, kind, parseJson<JsonObject>(revisionContent(row).text));
  return {
    id,
    kind,
    key,
    revision,
    operation,
    source,
    state,
    sentAt,
    uncertain: row.uncertain === 1,
    naturalKey: kind === 'passport' ? row.naturalKey : (sent?.value ?? null),
    reason: storedReason(row.reason) ?? NO_REASON,
  };
}
