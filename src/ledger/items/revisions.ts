// The revisions of items, each the life of one delivery: they begin, end and move to the history.

import { type DeliveryState, transition } from '../../domain/delivery/delivery.ts';
import type { Operation } from '../../domain/delivery/operation.ts';
import type { Reason } from '../../domain/delivery/reason.ts';
import { visibleText } from '../../lib/text/odd-character.ts';
import { shellValue } from '../../lib/text/shell-word.ts';
import { column, statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import { KEPT_KEY } from './content.ts';
import {
  ITEM_COLUMNS,
  type ItemRow,
  isOpen,
  isOpenState,
  itemColumns,
  mayHaveArrived,
  REVISIONS_MAX,
  reasonText,
  revisionContent,
} from './item-row.ts';
import { needsNothing } from './missing.ts';
import { leaveRequest } from './requests.ts';
import { type WhyUnconfirmed, whyUnconfirmed } from './restored.ts';

/** The write that would bring the desired payload to the API, and the baseline after it. */
export interface WantedWrite {
  operation: Operation;
  desired: string;
  desiredHash: string;
  /** True if a person has asked for this write. */
  byHand: boolean;
}

/** A delivery that may have been sent before the ledger was restored. */
type ToMark = Pick<ItemRow, 'id' | 'revision'> & { state: DeliveryState };

const SQL = {
  keep: statement<[HistoryRow]>(
    `INSERT INTO history (item_id, revision, operation, state, desired_hash, attempts, reason, staged_at, sent_at, settled_at)
     VALUES (@id, @revision, @operation, @state, @hash, @attempts, @reason, @stagedAt, @sentAt, @settledAt)`,
  ),
  forget: statement<[{ id: number }]>(
    `DELETE FROM history WHERE item_id = @id AND revision <= (SELECT revision FROM history WHERE item_id = @id
     ORDER BY revision DESC LIMIT 1 OFFSET ${REVISIONS_MAX - 1})`,
  ),
  begin: statement<
    [{ id: number; state: string; operation: string; reason: string | null; byHand: 0 | 1; now: number }]
  >(
    `UPDATE items SET revision = revision + 1, state = @state, operation = @operation, reason = @reason, by_hand = @byHand,
       sent = NULL, sent_hash = NULL, request_id = NULL, request_place = NULL, group_max = NULL, due_at = 0, attempts = 0,
       uncertain = 0, staged_at = @now, sent_at = NULL, settled_at = iif(@state = 'blocked', @now, NULL),
       ignored_hash = NULL WHERE id = @id`,
  ),
  // The desired payload may change before the next revision begins, so `sent_hash` stores the hash of the payload of
  // this revision.
  supersede: statement<[{ id: number; state: string; reason: string | null; now: number }]>(
    `UPDATE items SET state = @state, settled_at = @now, reason = coalesce(@reason, reason), sent = NULL, due_at = 0,
       uncertain = 0 WHERE id = @id`,
  ),
  // The time is stored too, so that the read-back is not delayed if the clock is set back.
  markUnconfirmed: statement<[string, string, number, number, number]>(
    'UPDATE items SET state = ?, reason = ?, due_at = ?, settled_at = ?, uncertain = 1 WHERE id = ?',
  ),
  disown: statement<[number]>('UPDATE items SET record_id = NULL WHERE id = ?'),
  addReleased: statement<[number, number]>(
    'INSERT INTO released (item_id, stream_id) SELECT +?, stream_id FROM records WHERE id = +?',
  ),
  removeReleased: statement<[number]>('DELETE FROM released WHERE item_id = ?'),
  byId: statement<[number], ItemRow>(`SELECT ${ITEM_COLUMNS} FROM items WHERE id = ?`),
  gone: statement<[string], ItemRow>(
    `SELECT ${itemColumns('i')} FROM items i WHERE i.source = +? AND ${isOpen('i')} AND ${needsNothing('i')}`,
  ),
  remove: statement<[number]>('DELETE FROM items WHERE id = ?'),
  setIgnored: statement<[string | null, number]>('UPDATE items SET ignored_hash = ? WHERE id = ?'),
  hasten: statement<[number]>('UPDATE items SET by_hand = 1 WHERE id = ?'),
  haveEvent: column<[string, string], number>(
    'SELECT item_id FROM events WHERE item_id IN (SELECT value FROM json_each(?)) AND type = ?',
  ),
  insertEvent: statement<[number, number | null, number, string, string | null]>(
    'INSERT INTO events (item_id, revision, at, type, detail) VALUES (?, ?, ?, ?, ?)',
  ),
};

/** Begins the next revision. The present one moves to the history; an open revision is superseded. */
export function beginRevision(
  tx: Tx,
  item: ItemRow,
  { operation, byHand }: WantedWrite,
  { state, reason }: { state: DeliveryState; reason: Reason | null },
): void {
  const now = tx.clock.now();
  keepRevision(tx, item, now);
  if (isOpenState(item.state)) leaveRequest(tx, item);
  const why = reason === null ? null : reasonText(reason);
  SQL.begin(tx).run({ id: item.id, state, operation, reason: why, byHand: byHand ? 1 : 0, now });
}

/**
 * Supersedes the open revision, which the API has not received or has refused. `reason` is given if a person ends it.
 */
export function supersedeRevision(tx: Tx, item: ItemRow, reason?: Reason): void {
  if (!isOpenState(item.state)) return;
  leaveRequest(tx, item);
  const why = reason === undefined ? null : reasonText(reason);
  SQL.supersede(tx).run({ id: item.id, state: transition(item.state, 'supersede'), reason: why, now: tx.clock.now() });
}

export function markUnconfirmed(tx: Tx, { id, revision, state }: ToMark, { reason, lookAt }: WhyUnconfirmed): void {
  SQL.markUnconfirmed(tx).run(transition(state, 'look_up'), reasonText(reason), lookAt ?? 0, tx.clock.now(), id);
  noteEvent(tx, id, revision, 'suspect', reason);
}

/** I6: in a restored ledger, a write that may have been sent since the backup is looked up before it is sent. */
export function markUnconfirmedIfRestored(
  tx: Tx,
  { id, revision, operation }: { id: number; revision: number; operation: Operation },
): boolean {
  const why = whyUnconfirmed(tx, id, operation);
  if (why) markUnconfirmed(tx, { id, revision, state: 'due' }, why);
  return why !== null;
}

/** Adds an event to the item's history. The revision is null for an event of the item as a whole. */
export function noteEvent(tx: Tx, itemId: number, revision: number | null, type: string, detail: object | null): void {
  SQL.insertEvent(tx).run(itemId, revision, tx.clock.now(), type, detail === null ? null : JSON.stringify(detail));
}

/** An item that keeps a natural key which the source does not give any more. */
export interface KeptKey {
  item: Pick<ItemRow, 'id' | 'kind' | 'key'>;
  naturalKey: string;
}

/** Notes once in the history of items that they keep the natural keys of the platform. */
export function noteKeptKeys(tx: Tx, kept: readonly KeptKey[]): void {
  if (kept.length === 0) return;
  const noted = new Set(SQL.haveEvent(tx).all(JSON.stringify(kept.map(({ item }) => item.id)), KEPT_KEY));
  for (const { item, naturalKey } of kept)
    if (!noted.has(item.id)) noteEvent(tx, item.id, null, KEPT_KEY, keptReason(item, naturalKey));
}

function keptReason({ kind, key }: KeptKey['item'], naturalKey: string): object {
  return {
    message: `The platform knows this ${kind} as "${visibleText(naturalKey)}", with characters around its key that nobody can see. It keeps this key, because another key may make a second ${kind}. To change it, change it at the platform by hand, and run \`dpp-sync replay --key ${shellValue(key)}\`.`,
  };
}

/** Marks the open delivery of an item, or the delivery that follows it, as urgent, because a person waits for it. */
export function hastenDelivery(tx: Tx, itemId: number): void {
  const item = SQL.byId(tx).get(itemId);
  if (item && isOpenState(item.state)) SQL.hasten(tx).run(itemId);
}

/** Ends a delivery by a manual resolution. The same payload is not staged again until it changes. */
export function ignoreDelivery(tx: Tx, itemId: number, reason: Reason): void {
  const item = SQL.byId(tx).get(itemId);
  if (item === undefined) return;
  supersedeRevision(tx, item, reason);
  SQL.setIgnored(tx).run(revisionContent(item).hash, itemId);
  noteEvent(tx, itemId, item.revision, 'ignored', reason);
}

/** Takes back the staged delivery of an item, unless the API may have received it. */
export function takeBackDelivery(tx: Tx, itemId: number): void {
  const item = SQL.byId(tx).get(itemId);
  if (item && !mayHaveArrived(item)) supersedeRevision(tx, item);
}

/**
 * Ends the deliveries of items of a source that its last complete reads did not have and that never reached the API.
 * Nothing has to be done about such an item.
 */
export function endGoneDeliveries(tx: Tx, source: string): void {
  for (const item of SQL.gone(tx).all(source)) supersedeRevision(tx, item);
}

/**
 * Releases an item from the record that made it. An item that never reached the API is deleted. An item at the
 * platform is kept, and the guard decides whether it is missing.
 */
export function disownItems(tx: Tx, items: readonly (ItemRow & { recordId: number })[]): void {
  for (const item of items) disownItem(tx, item);
}

function disownItem(tx: Tx, item: ItemRow & { recordId: number }): void {
  if (item.acknowledged === 0 && !mayHaveArrived(item)) {
    leaveRequest(tx, item);
    SQL.remove(tx).run(item.id);
    return;
  }
  addReleased(tx, item);
  if (!mayHaveArrived(item)) supersedeRevision(tx, item);
}

/** Takes an item from the record that made it last. */
function addReleased(
  tx: Tx,
  { id, recordId, missingSince }: Pick<ItemRow, 'id' | 'missingSince'> & { recordId: number },
): void {
  SQL.disown(tx).run(id);
  // The item of a missing record is missing already.
  if (missingSince === null) SQL.addReleased(tx).run(id, recordId);
}

/** Call it when an item that had no record is made by a record again. */
export function removeReleased(tx: Tx, itemId: number): void {
  SQL.removeReleased(tx).run(itemId);
}

/** Copies the present revision to the history. An open revision is copied as superseded. */
function keepRevision(tx: Tx, item: ItemRow, now: number): void {
  const { id, revision, operation, state, attempts, reason, stagedAt, sentAt } = item;
  if (state === null || operation === null || stagedAt === null) return;
  const ended = isOpenState(state)
    ? { state: transition(state, 'supersede'), settledAt: now }
    : { state, settledAt: item.settledAt };
  const { hash } = revisionContent(item);
  SQL.keep(tx).run({ id, revision, operation, hash, attempts, reason, stagedAt, sentAt, ...ended });
  if (revision >= REVISIONS_MAX) SQL.forget(tx).run({ id });
}

interface HistoryRow {
  id: number;
  revision: number;
  operation: string;
  state: string;
  hash: string;
  attempts: number;
  reason: string | null;
  stagedAt: number;
  sentAt: number | null;
  settledAt: number | null;
}
