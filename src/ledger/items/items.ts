// The items, each with at most one open delivery.

import type { DeliveryState } from '../../domain/delivery/delivery.ts';
import type { Operation } from '../../domain/delivery/operation.ts';
import type { Reason } from '../../domain/delivery/reason.ts';
import type { SubjectKind } from '../../domain/item.ts';
import { isOpen } from '../deliveries/delivery-states.ts';
import { leaveRequest } from '../deliveries/requests/requests.ts';
import { statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import { type ItemName, nameOf } from './item-name.ts';
import { ITEM_COLUMNS, type ItemRow, isOpenState, itemColumns, mayHaveArrived, revisionContent } from './item-row.ts';
import { needsNothing } from './never-arrived.ts';
import { addReleased } from './released.ts';
import { beginRevision, supersedeRevision } from './revisions.ts';
import { wantedOf } from './wanted.ts';

export interface OpenDelivery {
  state: DeliveryState;
  operation: Operation;
  /** The reason as JSON. */
  reason: string | null;
}

const SQL = {
  byId: statement<[number], ItemRow>(`SELECT ${ITEM_COLUMNS} FROM items WHERE id = ?`),
  byKey: statement<[string, string], ItemRow>(`SELECT ${ITEM_COLUMNS} FROM items WHERE kind = ? AND key = ?`),
  byKeys: statement<[string, string], ItemRow>(
    `SELECT ${ITEM_COLUMNS} FROM items WHERE kind = +? AND key IN (SELECT value FROM json_each(+?))`,
  ),
  byRecord: statement<[number], ItemRow & { recordId: number }>(
    `SELECT ${ITEM_COLUMNS} FROM items WHERE record_id = ?`,
  ),
  gone: statement<[string], ItemRow>(
    `SELECT ${itemColumns('i')} FROM items i WHERE i.source = +? AND ${isOpen('i')} AND ${needsNothing('i')}`,
  ),
  remove: statement<[number]>('DELETE FROM items WHERE id = ?'),
  setIgnored: statement<[string | null, number]>('UPDATE items SET ignored_hash = ? WHERE id = ?'),
  hasten: statement<[number]>('UPDATE items SET by_hand = 1 WHERE id = ?'),
  insertEvent: statement<[number, number | null, number, string, string | null]>(
    'INSERT INTO events (item_id, revision, at, type, detail) VALUES (?, ?, ?, ?, ?)',
  ),
};

export function findItem(tx: Tx, kind: SubjectKind, key: string): ItemRow | undefined {
  return SQL.byKey(tx).get(kind, key);
}

/** The stored items with these names, by `nameOf`. Unknown names are left out. One statement for each kind. */
export function findItems(tx: Tx, names: readonly ItemName[]): Map<string, ItemRow> {
  const found = new Map<string, ItemRow>();
  for (const [kind, ofKind] of Map.groupBy(names, (name) => name.kind)) {
    const keys = JSON.stringify(ofKind.map(({ key }) => key));
    for (const row of SQL.byKeys(tx).all(kind, keys)) found.set(nameOf(row), row);
  }
  return found;
}

/** Adds an event to the item's history. The revision is null for an event of the item as a whole. */
export function noteEvent(tx: Tx, itemId: number, revision: number | null, type: string, detail: object | null): void {
  SQL.insertEvent(tx).run(itemId, revision, tx.clock.now(), type, detail === null ? null : JSON.stringify(detail));
}

export function itemById(tx: Tx, id: number): ItemRow | undefined {
  return SQL.byId(tx).get(id);
}

export function itemsOfRecord(tx: Tx, recordId: number): (ItemRow & { recordId: number })[] {
  return SQL.byRecord(tx).all(recordId);
}

export function openDeliveryOf(tx: Tx, itemId: number): OpenDelivery | undefined {
  const item = SQL.byId(tx).get(itemId);
  if (item === undefined || item.operation === null || !isOpenState(item.state)) return undefined;
  return { state: item.state, operation: item.operation, reason: item.reason };
}

/** Blocks the staged delivery of an item until a person decides. */
export function blockItem(tx: Tx, itemId: number, reason: Reason): void {
  const item = SQL.byId(tx).get(itemId);
  const wanted = item === undefined ? null : wantedOf(item, tx);
  if (item === undefined || wanted === null || wanted.need === 'none' || mayHaveArrived(item)) return;
  beginRevision(tx, item, wanted, { state: 'blocked', reason });
  noteEvent(tx, itemId, item.revision + 1, 'blocked', reason);
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
export function disownItem(tx: Tx, item: ItemRow & { recordId: number }): void {
  if (item.acknowledged === 0 && !mayHaveArrived(item)) {
    leaveRequest(tx, item);
    SQL.remove(tx).run(item.id);
    return;
  }
  addReleased(tx, item);
  if (!mayHaveArrived(item)) supersedeRevision(tx, item);
}
