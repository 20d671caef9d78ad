import { type DeliveryState, type Operation, transition } from '../../domain/delivery.ts';
import { hasRefs, type SubjectKind } from '../../domain/item.ts';
import type { Reason } from '../../domain/reason.ts';
import type { Restored, WhyUnconfirmed } from '../backup/restored.ts';
import { ADOPTED_BOM, type AdoptedBom } from '../contact/adopted-bom.ts';
import { type Contact, kindCreatedBy } from '../contact/contact.ts';
import { hasReason } from '../deliveries/reason-conditions.ts';
import type { Requests } from '../deliveries/requests.ts';
import type { LedgerContext } from '../store/context.ts';
import { createDesire, type Desire, type Staged } from './desire.ts';
import { type ItemName, nameOf } from './item-name.ts';
import { ITEM_COLUMNS, type ItemRow, isOpenState, mayHaveArrived, revisionContent } from './item-row.ts';
import { createRevisions } from './revisions.ts';
import { type Wanted, type WantedWrite, wantedOf } from './wanted.ts';

export interface OpenDelivery {
  state: DeliveryState;
  operation: Operation;
  /** JSON. */
  reason: string | null;
}

/** The items, each with at most one open delivery. Call each function inside a transaction. */
export interface Items extends Desire {
  find(kind: SubjectKind, key: string): ItemRow | undefined;
  /** The stored items with these names, by `nameOf`. Unknown names are left out. One statement for each kind. */
  findAll(names: readonly ItemName[]): Map<string, ItemRow>;
  byId(id: number): ItemRow | undefined;
  ownedBy(recordId: number): ItemRow[];
  openDelivery(itemId: number): OpenDelivery | undefined;
  /** Adds an event to the item's history. The revision is null for an event of the item as a whole. */
  note(itemId: number, revision: number | null, type: string, detail: object | null): void;
  /**
   * Stages the difference between the desired payload and the baseline (I4). An open delivery with the same payload
   * stays as it is. With `again`, a stuck delivery is replaced by a new revision.
   */
  reconcile(itemId: number, again?: boolean): Staged;
  refsArrived(itemId: number): boolean;
  markUnconfirmed(delivery: ToMark, why: WhyUnconfirmed): void;
  /** I6: in a restored ledger, a write that may have been sent since the backup is looked up before it is sent. */
  markUnconfirmedIfRestored(delivery: { id: number; revision: number; operation: Operation }): boolean;
  /** Blocks the staged delivery of an item until a person decides. */
  block(itemId: number, reason: Reason): void;
  /** Marks the open delivery of an item, or the one that follows it, as urgent: a person waits for it. */
  hasten(itemId: number): void;
  /** Ends a delivery by a manual resolution. The same payload is not staged again until it changes. */
  ignore(itemId: number, reason: Reason): void;
  /** Takes back the staged delivery of an item, unless the API may have received it. */
  takeBack(itemId: number): void;
  /**
   * Releases an item from the record that made it. An item that never reached the API is deleted. An item at the
   * platform is kept and marked as missing.
   */
  disown(item: ItemRow): void;
}

/** A delivery that may have been sent before the ledger was restored. */
type ToMark = Pick<ItemRow, 'id' | 'revision'> & { state: DeliveryState };

export function createItems(
  context: Omit<LedgerContext, 'passportRules' | 'contactRules'>,
  {
    restored,
    contact,
    adoptedBom,
    requests,
  }: { restored: Restored; contact: Pick<Contact, 'noticeCreates'>; adoptedBom: AdoptedBom; requests: Requests },
): Items {
  const { db, clock, profile } = context;
  const revisions = createRevisions(context, requests);
  const sql = {
    byId: db.prepare<[number], ItemRow>(`SELECT ${ITEM_COLUMNS} FROM items WHERE id = ?`),
    byKey: db.prepare<[string, string], ItemRow>(`SELECT ${ITEM_COLUMNS} FROM items WHERE kind = ? AND key = ?`),
    byKeys: db.prepare<[string, string], ItemRow>(
      `SELECT ${ITEM_COLUMNS} FROM items WHERE kind = +? AND key IN (SELECT value FROM json_each(+?))`,
    ),
    byRecord: db.prepare<[number], ItemRow>(`SELECT ${ITEM_COLUMNS} FROM items WHERE record_id = ?`),
    remove: db.prepare<[number]>('DELETE FROM items WHERE id = ?'),
    disown: db.prepare<[number, number]>('UPDATE items SET record_id = NULL, missing_since = ? WHERE id = ?'),
    missingRefs: db.prepare<[number], { n: number }>(
      `SELECT count(*) AS n FROM refs LEFT JOIN items ON items.kind = refs.kind AND items.key = refs.key
       WHERE refs.item_id = +? AND nullif(items.remote_id, 'null') IS NULL`,
    ),
    setIgnored: db.prepare<[string | null, number]>('UPDATE items SET ignored_hash = ? WHERE id = ?'),
    hasten: db.prepare<[number]>('UPDATE items SET by_hand = 1 WHERE id = ?'),
    unadopt: db.prepare<[number]>('UPDATE items SET adopted = 0 WHERE id = ?'),
    // The time is stored too, so that a clock that is set back does not delay the read-back.
    markUnconfirmed: db.prepare<[string, string, number, number, number]>(
      'UPDATE items SET state = ?, reason = ?, due_at = ?, settled_at = ?, uncertain = 1 WHERE id = ?',
    ),
    insertEvent: db.prepare<[number, number | null, number, string, string | null]>(
      'INSERT INTO events (item_id, revision, at, type, detail) VALUES (?, ?, ?, ?, ?)',
    ),
  };

  function findAll(names: readonly ItemName[]): Map<string, ItemRow> {
    const found = new Map<string, ItemRow>();
    for (const [kind, ofKind] of Map.groupBy(names, (name) => name.kind)) {
      const keys = JSON.stringify(ofKind.map(({ key }) => key));
      for (const row of sql.byKeys.all(kind, keys)) found.set(nameOf(row), row);
    }
    return found;
  }

  function note(itemId: number, revision: number | null, type: string, detail: object | null): void {
    sql.insertEvent.run(itemId, revision, clock.now(), type, detail === null ? null : JSON.stringify(detail));
  }

  function reconcile(itemId: number, again = false): Staged {
    const item = sql.byId.get(itemId);
    return item ? reconcileItem(item, again) : null;
  }

  function reconcileItem(item: ItemRow, again: boolean): Staged {
    // I3: a delivery that the API may have received is never superseded. Settling it reconciles the item again.
    if (mayHaveArrived(item)) return null;
    const isOpen = isOpenState(item.state);
    const wanted = wantedWith(item, wantedOf(item, profile));
    if (wanted.need === 'none') {
      if (item.adopted === 1) sql.unadopt.run(item.id);
      revisions.supersede(item);
      if (item.ignoredHash !== null) sql.setIgnored.run(null, item.id);
      return null;
    }
    // I4: the ended delivery explains the difference.
    if (!isOpen && !again && item.ignoredHash === wanted.desiredHash) return null;
    if (isOpen && staysOpen(item, wanted, again)) return null;
    if (wanted.need === 'blocked') {
      revisions.begin(item, wanted, { state: 'blocked', reason: wanted.reason });
      return 'blocked';
    }
    const state = !hasRefs(item.kind) || refsArrived(item.id) ? 'due' : 'waiting';
    revisions.begin(item, wanted, { state, reason: null });
    const created = kindCreatedBy(wanted.operation);
    if (created !== undefined) contact.noticeCreates(created, [{ itemId: item.id, desired: wanted.desired }]);
    const { operation } = wanted;
    if (state === 'due') markUnconfirmedIfRestored({ id: item.id, revision: item.revision + 1, operation });
    return state;
  }

  /** The write of a BOM item. For an adopted product nobody knows which BOM items are at the platform already. */
  function wantedWith(item: ItemRow, wanted: Wanted): Wanted {
    if (wanted.need !== 'write' || wanted.operation !== 'bom_item.create') return wanted;
    const standing = adoptedBom.standingOf(item.id);
    if (standing === 'create') return wanted;
    if (standing === 'ask') return { ...wanted, need: 'blocked', reason: ADOPTED_BOM };
    adoptedBom.acknowledge(item.id);
    note(item.id, null, 'adopted', {
      message: 'It is taken to be at the platform, as `target.bom: assume-present` says.',
    });
    return { need: 'none' };
  }

  function markUnconfirmedIfRestored({
    id,
    revision,
    operation,
  }: {
    id: number;
    revision: number;
    operation: Operation;
  }) {
    const why = restored.whyUnconfirmed(id, operation);
    if (why) markUnconfirmed({ id, revision, state: 'due' }, why);
    return why !== null;
  }

  function markUnconfirmed({ id, revision, state }: ToMark, { reason, lookAt }: WhyUnconfirmed): void {
    sql.markUnconfirmed.run(transition(state, 'look_up'), JSON.stringify(reason), lookAt ?? 0, clock.now(), id);
    note(id, revision, 'suspect', reason);
  }

  function refsArrived(itemId: number): boolean {
    return (sql.missingRefs.get(itemId)?.n ?? 0) === 0;
  }

  return {
    ...createDesire(context, {
      contact,
      adoptedBom,
      restored,
      find: (kind, key) => sql.byKey.get(kind, key),
      reconcileItem,
    }),
    find: (kind, key) => sql.byKey.get(kind, key),
    findAll,
    note,
    reconcile,
    refsArrived,
    markUnconfirmed,
    markUnconfirmedIfRestored,
    byId: (id) => sql.byId.get(id),
    ownedBy: (recordId) => sql.byRecord.all(recordId),

    openDelivery(itemId) {
      const item = sql.byId.get(itemId);
      if (item === undefined || item.operation === null || !isOpenState(item.state)) return undefined;
      return { state: item.state, operation: item.operation, reason: item.reason };
    },

    block(itemId, reason) {
      const item = sql.byId.get(itemId);
      const wanted = item === undefined ? null : wantedOf(item, profile);
      if (item === undefined || wanted === null || wanted.need === 'none' || mayHaveArrived(item)) return;
      revisions.begin(item, wanted, { state: 'blocked', reason });
      note(itemId, item.revision + 1, 'blocked', reason);
    },

    hasten(itemId) {
      const item = sql.byId.get(itemId);
      if (item && isOpenState(item.state)) sql.hasten.run(itemId);
    },

    ignore(itemId, reason) {
      const item = sql.byId.get(itemId);
      if (item === undefined) return;
      revisions.supersede(item, reason);
      sql.setIgnored.run(revisionContent(item).hash, itemId);
      note(itemId, item.revision, 'ignored', reason);
    },

    takeBack(itemId) {
      const item = sql.byId.get(itemId);
      if (item && !mayHaveArrived(item)) revisions.supersede(item);
    },

    disown(item) {
      if (item.acknowledged === 0 && !mayHaveArrived(item)) {
        requests.release(item);
        sql.remove.run(item.id);
        return;
      }
      sql.disown.run(clock.now(), item.id);
      if (!mayHaveArrived(item)) revisions.supersede(item);
    },
  };
}

/** True if an open delivery that never reached the API still asks for the right payload. */
function staysOpen(item: ItemRow, wanted: WantedWrite & { need: 'write' | 'blocked' }, again: boolean): boolean {
  // Each further import would make one more product, so only a manual resolution sends another one.
  if (hasReason(item, 'made_second') && wanted.need === 'write' && !again) return true;
  if (item.operation !== wanted.operation || revisionContent(item).hash !== wanted.desiredHash) return false;
  const isMoving = item.state === 'due' || item.state === 'waiting';
  return wanted.need === 'blocked' ? item.state === 'blocked' || !(isMoving || again) : isMoving || !again;
}
