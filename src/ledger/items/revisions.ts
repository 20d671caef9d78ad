// The revisions of items, each the life of one delivery. This is the only file that writes the state of an item: a new item is
// inserted with its first revision, `beginRevisions` begins the next one, and `move` follows the transition table.

import { type DeliveryEvent, type DeliveryState, transition } from '../../domain/delivery/delivery.ts';
import type { Operation } from '../../domain/delivery/operation.ts';
import type { UnprovenCause } from '../../domain/delivery/outcome.ts';
import type { Reason } from '../../domain/delivery/stored-reason.ts';
import type { FormId } from '../../domain/delivery/wire-form.ts';
import { fault } from '../../domain/faults.ts';
import { insertMany, type StoreMany, statement, type Tx, updateMany } from '../store/tx.ts';
import {
  type ItemRow,
  idsOf,
  isOpenState,
  itemsById,
  mayHaveArrived,
  REVISIONS_MAX,
  reasonText,
  revisionContent,
} from './item-row.ts';
import { markByHand, noteEvents, numberIn, removeItems, removeOwners, setIgnoredHashes } from './item-writes.ts';
import { type GoneItems, openGoneItems } from './missing.ts';
import { leaveRequests } from './requests.ts';
import { type WhyUnconfirmed, whyUnconfirmed } from './restored.ts';

/** The write that would bring the desired payload to the API, and the baseline after it. */
export interface WantedWrite {
  operation: Operation;
  desired: string;
  desiredHash: string;
  /** True if a person has asked for this write. */
  byHand: boolean;
}

/** The next revision of an item. */
interface NextRevision {
  item: ItemRow;
  wanted: WantedWrite;
  state: 'due' | 'waiting' | 'blocked';
  reason: Reason | null;
}

/** An item whose delivery changes its state. */
interface Moving {
  id: number;
  state: DeliveryState | null;
}

/** What a change of the state changes besides. What is left out stays as it is. */
interface Change {
  dueAt?: number;
  reason?: Reason;
  /** How many attempts are added. */
  spent?: -1 | 0 | 1;
  uncertain?: 0 | 1;
}

/** The request in which a delivery is sent, and the form of its bytes. */
interface Claim {
  request: number;
  /** The place in the body of an import; null for a delivery that is sent alone. */
  place: number | null;
  form: FormId;
}

/** What the API has acknowledged. */
interface Acceptance {
  /** How many attempts are added. It is 0 if a read-back has shown the write: it was counted when it became unconfirmed. */
  spent: 0 | 1;
  acknowledged: 1 | 2;
  baseline: string | null;
  baselineHash: string | null;
  /** The id as JSON; null if the item keeps its id. */
  remoteId: string | null;
  form: FormId;
  unproven: UnprovenCause | null;
  /** False keeps the cause for which the id was taken without proof. */
  showsId: boolean;
}

interface Changes extends Record<Exclude<DeliveryEvent, 'claim' | 'accept'>, Change> {
  claim: Claim;
  accept: Acceptance;
}

/** A delivery that may have been sent, and why that is unknown. */
type ToMark = Moving & Pick<ItemRow, 'revision'> & { why: WhyUnconfirmed };

const SQL = {
  forget: statement<[string]>(
    `DELETE FROM history WHERE item_id IN (SELECT value FROM json_each(?)) AND revision <= (
       SELECT h.revision FROM history h WHERE h.item_id = history.item_id ORDER BY h.revision DESC LIMIT 1 OFFSET ${REVISIONS_MAX - 1})`,
  ),
  addReleased: statement<[string]>(
    `INSERT INTO released (item_id, stream_id)
     SELECT ${numberIn('o', 0)}, r.stream_id FROM json_each(?) o CROSS JOIN records r ON r.id = ${numberIn('o', 1)}`,
  ),
  removeReleased: statement<[string]>('DELETE FROM released WHERE item_id IN (SELECT value FROM json_each(?))'),
};

/** Inserts new items, each with its first revision or without one. The values are those of the columns. */
export const insertItems = insertMany({
  into: 'items',
  columns: [
    'id',
    'kind',
    'key',
    'natural_key',
    'record_id',
    'source',
    'appeared_at',
    'missing_since',
    'desired_hash',
    'revision',
    'state',
    'operation',
    'staged_at',
    'reason',
    'desired',
  ],
});

const insertHistory = insertMany({
  into: 'history',
  columns: [
    'item_id',
    'revision',
    'operation',
    'state',
    'desired_hash',
    'attempts',
    'reason',
    'staged_at',
    'sent_at',
    'settled_at',
  ],
});

/** Updates the items whose state changes, by values beside it. */
const moveBy = (values: Parameters<typeof updateMany>[0]['values'], set: string): StoreMany =>
  updateMany({ table: 'items', values: { state: 'TEXT', now: 'INTEGER', ...values }, set: `state = v.state, ${set}` });

const beginMany = moveBy(
  { operation: 'TEXT', reason: 'TEXT', by_hand: 'INTEGER' },
  `revision = items.revision + 1, operation = v.operation, reason = v.reason, by_hand = v.by_hand, sent = NULL, sent_hash = NULL,
    request_id = NULL, request_place = NULL, group_max = NULL, due_at = 0, attempts = 0, uncertain = 0, staged_at = v.now,
    sent_at = NULL, settled_at = CASE WHEN v.state = 'blocked' THEN v.now END, ignored_hash = NULL`,
);

const CHANGED = { due_at: 'INTEGER', reason: 'TEXT', spent: 'INTEGER', uncertain: 'INTEGER' } as const;
const waited = ({ dueAt, reason, spent, uncertain }: Change): (string | number | null)[] => [
  dueAt ?? null,
  reason === undefined ? null : reasonText(reason),
  spent ?? 0,
  uncertain ?? null,
];
const WAITED = {
  store: moveBy(
    CHANGED,
    `due_at = coalesce(v.due_at, items.due_at), reason = coalesce(v.reason, items.reason), attempts = max(0, items.attempts + v.spent),
      uncertain = coalesce(v.uncertain, items.uncertain), settled_at = v.now`,
  ),
  values: waited,
};
// A delivery that waits for refs, or stops waiting for them, keeps all but its state.
const FOLLOWED = {
  store: updateMany({ table: 'items', values: { state: 'TEXT', now: 'INTEGER' }, set: 'state = v.state' }),
  values: () => [],
};

/** The statement of each event, and the values that it takes behind the id. */
const MOVES: {
  readonly [E in DeliveryEvent]: {
    store: StoreMany;
    values: (change: Changes[E]) => (string | number | null)[];
  };
} = {
  refs_arrived: FOLLOWED,
  refs_missing: FOLLOWED,
  claim: {
    store: moveBy(
      { request_id: 'INTEGER', request_place: 'INTEGER', form: 'INTEGER' },
      'sent_at = v.now, due_at = 0, request_id = v.request_id, request_place = v.request_place, sent_form = v.form',
    ),
    values: ({ request, place, form }) => [request, place, form],
  },
  accept: {
    store: moveBy(
      {
        spent: 'INTEGER',
        form: 'INTEGER',
        remote_id: 'TEXT',
        unproven: 'TEXT',
        shows_id: 'INTEGER',
        acknowledged: 'INTEGER',
        baseline: 'TEXT',
        baseline_hash: 'TEXT',
      },
      `settled_at = v.now, due_at = 0, uncertain = 0, reason = NULL, sent = NULL, request_id = NULL, request_place = NULL,
        attempts = max(1, items.attempts + v.spent), form = v.form, remote_id = coalesce(v.remote_id, items.remote_id, 'null'),
        unproven = coalesce(v.unproven, CASE v.shows_id WHEN 1 THEN NULL ELSE nullif(items.unproven, 'accepted') END),
        acknowledged = v.acknowledged, baseline = v.baseline, baseline_hash = v.baseline_hash`,
    ),
    values: (of) => [
      of.spent,
      of.form,
      of.remoteId,
      of.unproven,
      of.showsId ? 1 : 0,
      of.acknowledged,
      of.baseline,
      of.baselineHash,
    ],
  },
  retry: WAITED,
  unconfirmed: WAITED,
  look_up: WAITED,
  resend: WAITED,
  block: WAITED,
  reject: WAITED,
  exhaust: WAITED,
  // The desired payload may change before the next revision begins, so `sent_hash` stores the hash of the payload of this revision.
  supersede: {
    store: moveBy(
      CHANGED,
      'settled_at = v.now, reason = coalesce(v.reason, items.reason), sent = NULL, due_at = 0, uncertain = 0',
    ),
    values: waited,
  },
};

/**
 * Changes the state of deliveries after an event, as the transition table says.
 *
 * @param change what changes besides the state, for all of the deliveries or for each
 */
export function move<E extends DeliveryEvent, R extends Moving>(
  tx: Tx,
  rows: readonly R[],
  event: E,
  change: Changes[E] | ((row: R) => Changes[E]),
): void {
  const { store, values } = MOVES[event];
  const changeOf = typeof change === 'function' ? (change as (row: R) => Changes[E]) : () => change as Changes[E];
  const now = tx.clock.now();
  store(
    tx,
    rows.map((row) => [row.id, transition(stateOf(row), event), now, ...values(changeOf(row))]),
  );
}

/** The state of an item whose delivery is open. */
function stateOf({ id, state }: Moving): DeliveryState {
  if (state === null) throw fault('internal', `The item ${id} has no delivery.`);
  return state;
}

/** Begins the next revisions. The present ones move to the history; an open revision is superseded. */
export function beginRevisions(tx: Tx, begun: readonly NextRevision[]): void {
  if (begun.length === 0) return;
  const now = tx.clock.now();
  const items = begun.map(({ item }) => item);
  keepRevisions(tx, items, now);
  const open = items.filter(({ state }) => isOpenState(state));
  leaveRequests(tx, open);
  beginMany(
    tx,
    begun.map(({ item, wanted: { operation, byHand }, state, reason }) => [
      item.id,
      state,
      now,
      operation,
      reason === null ? null : reasonText(reason),
      byHand ? 1 : 0,
    ]),
  );
}

/** Supersedes the open revisions, which the API has not received or has refused. */
export function supersedeRevisions(tx: Tx, items: readonly ItemRow[]): void {
  const ended = items.map((item) => ({ item }));
  endRevisions(tx, ended);
}

/** Supersedes open revisions. A reason is given if a person ends them. */
function endRevisions(tx: Tx, ended: readonly { item: ItemRow; reason?: Reason }[]): void {
  const open = ended.filter(({ item }) => isOpenState(item.state));
  const items = open.map(({ item }) => item);
  leaveRequests(tx, items);
  const rows = open.map(({ item: { id, state }, reason }) => ({ id, state, reason }));
  move(tx, rows, 'supersede', ({ reason }) => (reason === undefined ? {} : { reason }));
}

/** Makes deliveries unconfirmed that have to be looked up. */
export function markUnconfirmed(tx: Tx, rows: readonly ToMark[]): void {
  // The time of the decision is stored too, so that the read-back is not delayed if the clock is set back.
  move(tx, rows, 'look_up', ({ why: { reason, lookAt } }) => ({ reason, dueAt: lookAt ?? 0, uncertain: 1 }));
  noteEvents(
    tx,
    rows.map(({ id, revision, why: { reason } }) => ({ id, revision, type: 'suspect', detail: reason })),
  );
}

/**
 * I6: in a restored ledger, writes that may have been sent since the backup are looked up before they are sent. Returns the ids of
 * these items.
 */
export function markUnconfirmedIfRestored(
  tx: Tx,
  due: readonly { id: number; revision: number; operation: Operation }[],
): Set<number> {
  const reasons = whyUnconfirmed(tx, due);
  const rows = due.flatMap(({ id, revision }) => {
    const why = reasons.get(id);
    return why === undefined ? [] : [{ id, revision, state: 'due' as const, why }];
  });
  markUnconfirmed(tx, rows);
  return new Set(idsOf(rows));
}

/** Marks the open deliveries of items as urgent, because a person waits for them. */
export function hastenDeliveries(tx: Tx, itemIds: readonly number[]): void {
  markByHand(tx, idsOf(itemsById(tx, itemIds).filter(({ state }) => isOpenState(state))));
}

/** Ends deliveries by a manual resolution. The same payload is not staged again until it changes. */
export function ignoreDeliveries(tx: Tx, ended: readonly { item: ItemRow; reason: Reason }[]): void {
  endRevisions(tx, ended);
  setIgnoredHashes(
    tx,
    ended.map(({ item }) => ({ id: item.id, hash: revisionContent(item).hash })),
  );
  noteEvents(
    tx,
    ended.map(({ item: { id, revision }, reason }) => ({ id, revision, type: 'ignored', detail: reason })),
  );
}

/** Takes back the staged deliveries of items, unless the API may have received them. */
export function takeBackDeliveries(tx: Tx, itemIds: readonly number[]): void {
  const free = itemsById(tx, itemIds).filter((item) => !mayHaveArrived(item));
  supersedeRevisions(tx, free);
}

/**
 * Ends the deliveries of items that their source no longer has and that never reached the API: those of a source, or those
 * of some records. Nothing has to be done about such an item.
 */
export function endGoneDeliveries(tx: Tx, of: GoneItems): void {
  supersedeRevisions(tx, openGoneItems(tx, of));
}

/**
 * Releases items from the records that made them. An item that never reached the API is deleted. An item at the platform is
 * kept, and counts as present until the guard has decided whether it is missing.
 */
export function disownItems(tx: Tx, items: readonly (ItemRow & { recordId: number })[]): void {
  const isKept = (item: ItemRow): boolean => item.acknowledged !== 0 || mayHaveArrived(item);
  const kept = items.filter(isKept);
  const unsent = items.filter((item) => !isKept(item));
  leaveRequests(tx, unsent);
  removeItems(tx, idsOf(unsent));
  removeOwners(tx, idsOf(kept));
  // The item of a missing record is missing already.
  const present = kept.filter(({ missingSince }) => missingSince === null);
  if (present.length > 0) SQL.addReleased(tx).run(JSON.stringify(present.map(({ id, recordId }) => [id, recordId])));
  const free = kept.filter((item) => !mayHaveArrived(item));
  supersedeRevisions(tx, free);
}

/** Call it when items that had no record are made by a record again. */
export function removeReleased(tx: Tx, itemIds: readonly number[]): void {
  if (itemIds.length > 0) SQL.removeReleased(tx).run(JSON.stringify(itemIds));
}

/** Copies the present revisions to the history. An open revision is copied as superseded. */
function keepRevisions(tx: Tx, items: readonly ItemRow[], now: number): void {
  const rows = items.flatMap((item) => {
    const { id, revision, operation, state, attempts, reason, stagedAt, sentAt, settledAt } = item;
    if (state === null || operation === null || stagedAt === null) return [];
    const [ended, endedAt] = isOpenState(state) ? [transition(state, 'supersede'), now] : [state, settledAt];
    const { hash } = revisionContent(item);
    return [[id, revision, operation, ended, hash, attempts, reason, stagedAt, sentAt, endedAt]];
  });
  insertHistory(tx, rows);
  const long = items.filter(({ revision }) => revision >= REVISIONS_MAX);
  if (long.length > 0) SQL.forget(tx).run(JSON.stringify(idsOf(long)));
}
