import { type DeliveryState, IN_FLIGHT_STATES, type Operation, transition } from '../../domain/delivery.ts';
import { hasRefs, type Item, type ItemContent, type ItemRef, type SubjectKind } from '../../domain/item.ts';
import type { NaturalKey } from '../../domain/natural-key.ts';
import type { Reason } from '../../domain/reason.ts';
import type { Restored, Suspicion } from '../backup/restored.ts';
import { type Contact, kindCreatedBy } from '../contact/contact.ts';
import { ADOPTED_BOM, type Parts } from '../contact/parts.ts';
import { isOpen } from '../deliveries/delivery-states.ts';
import { hasReason } from '../deliveries/reasons.ts';
import type { LedgerContext } from '../store/context.ts';
import { createInsertDelivery, type ReconciledItem } from './insert-delivery.ts';
import { ITEM_COLUMNS, type ItemRow } from './item-row.ts';
import { type Wanted, wantedOf } from './wanted.ts';

export interface OpenDelivery {
  id: number;
  state: DeliveryState;
  operation: Operation;
  desiredHash: string;
  /** 1 while it is not known whether the write took effect, whatever the state. */
  uncertain: number;
  /** Why it is in its state, as JSON. */
  reason: string | null;
}

/** What reconciling an item led to: the state of the delivery that it staged, if it staged one. */
export type Staged = 'due' | 'waiting' | 'blocked' | null;

/** True while bytes of this delivery may be at the API: it has to come to an end before anything follows it. */
function mayHaveArrived(delivery: OpenDelivery): boolean {
  return IN_FLIGHT_STATES.includes(delivery.state) || delivery.uncertain === 1;
}

/** A delivery that a person ends. */
type Ended = Pick<OpenDelivery, 'id' | 'state' | 'desiredHash'> & { itemId: number };

/** What a record asks of an item, and the item as it is, if there is one. */
export interface DesiredItem {
  item: Item;
  content: ItemContent;
  naturalKey: NaturalKey | null;
  known: ItemRow | undefined;
}

/** Items and the one open delivery that each may have. For use inside a transaction. */
export type Items = ReturnType<typeof createItems>;

export function createItems(
  context: Omit<LedgerContext, 'passportRules' | 'contactRules'>,
  { restored, contact, parts }: { restored: Restored; contact: Pick<Contact, 'noticeCreate'>; parts: Parts },
) {
  const { db, clock, profile } = context;
  const insertDelivery = createInsertDelivery(context);
  const sql = {
    byId: db.prepare<[number], ItemRow>(`SELECT ${ITEM_COLUMNS} FROM items WHERE id = ?`),
    byKey: db.prepare<[string, string], ItemRow>(`SELECT ${ITEM_COLUMNS} FROM items WHERE kind = ? AND key = ?`),
    byRecord: db.prepare<[number], ItemRow>(`SELECT ${ITEM_COLUMNS} FROM items WHERE record_id = ?`),
    // Mapping goes on after a run was read, so the time of staging would tell less than that of the run. And with its first
    // revision: a new item is written to the API in any case.
    insert: db.prepare<[string, string, string | null, number, string, string, number, string, string, number | null]>(
      `INSERT INTO items
         (kind, key, natural_key, record_id, source, appeared_at, desired, desired_hash, missing_since, revision)
       VALUES (?, ?, ?, ?, ?, coalesce((SELECT started_at FROM runs WHERE source = +? ORDER BY id DESC LIMIT 1), ?), ?, ?, ?, 1)`,
    ),
    update: db.prepare<[string | null, number, string, string, string, number | null, number]>(
      `UPDATE items SET natural_key = ?, record_id = ?, source = ?, desired = ?, desired_hash = ?, missing_since = ?
       WHERE id = ?`,
    ),
    remove: db.prepare<[number]>('DELETE FROM items WHERE id = ?'),
    disown: db.prepare<[number, number]>('UPDATE items SET record_id = NULL, missing_since = ? WHERE id = ?'),
    deleteRefs: db.prepare<[number]>('DELETE FROM refs WHERE item_id = ?'),
    insertRef: db.prepare<[number, string, string, string]>(
      'INSERT INTO refs (item_id, role, kind, key) VALUES (?, ?, ?, ?)',
    ),
    missingRefs: db.prepare<[number], { n: number }>(
      `SELECT count(*) AS n FROM refs LEFT JOIN items ON items.kind = refs.kind AND items.key = refs.key
       WHERE refs.item_id = +? AND nullif(items.remote_id, 'null') IS NULL`,
    ),
    openDelivery: db.prepare<[number], OpenDelivery>(
      `SELECT id, state, operation, desired_hash AS desiredHash, uncertain, reason FROM deliveries
       WHERE item_id = ? AND ${isOpen('deliveries')}`,
    ),
    supersede: db.prepare<[string, number, number]>(
      'UPDATE deliveries SET state = ?, settled_at = ?, desired = NULL, body = NULL, due_at = 0 WHERE id = ?',
    ),
    end: db.prepare<[string, number, string, number]>(
      'UPDATE deliveries SET state = ?, settled_at = ?, reason = ?, desired = NULL, body = NULL, due_at = 0 WHERE id = ?',
    ),
    setIgnored: db.prepare<[string | null, number]>('UPDATE items SET ignored_hash = ? WHERE id = ?'),
    hasten: db.prepare<[number]>(`UPDATE deliveries SET by_hand = 1 WHERE item_id = ? AND ${isOpen('deliveries')}`),
    unadopt: db.prepare<[number]>('UPDATE items SET adopted = 0 WHERE id = ?'),
    // The time goes with it, so that a clock that is set back does not put off the look.
    suspect: db.prepare<[string, string, number, number, number]>(
      'UPDATE deliveries SET state = ?, reason = ?, due_at = ?, settled_at = ?, uncertain = 1 WHERE id = ?',
    ),
    insertEvent: db.prepare<[number, number | null, number, string, string | null]>(
      'INSERT INTO events (item_id, delivery_id, at, type, detail) VALUES (?, ?, ?, ?, ?)',
    ),
  };

  function find(kind: SubjectKind, key: string): ItemRow | undefined {
    return sql.byKey.get(kind, key);
  }

  function note(itemId: number, deliveryId: number | null, type: string, detail: object | null): void {
    sql.insertEvent.run(itemId, deliveryId, clock.now(), type, detail === null ? null : JSON.stringify(detail));
  }

  function supersede(delivery: OpenDelivery): void {
    sql.supersede.run(transition(delivery.state, 'supersede'), clock.now(), delivery.id);
  }

  /**
   * Stages the difference between what is desired and what the API acknowledged (I4). Unless `again` is set, an open
   * delivery that asks for the same payload is left as it is; with it, what is stuck is asked again as a new revision.
   */
  function reconcile(itemId: number, again = false): Staged {
    const item = sql.byId.get(itemId);
    return item ? reconcileItem(item, sql.openDelivery.get(itemId), again) : null;
  }

  function reconcileItem(item: ReconciledItem, open: OpenDelivery | undefined, again: boolean): Staged {
    const itemId = item.id;
    // I3: never superseded, only followed; settling it ends here again.
    if (open && mayHaveArrived(open)) return null;
    const wanted = wantedWith(item, wantedOf(item, profile));
    if (wanted.need === 'none') {
      if (item.adopted === 1) sql.unadopt.run(itemId);
      if (open) supersede(open);
      if (item.ignoredHash !== null) sql.setIgnored.run(null, itemId);
      return null;
    }
    // I4: the delivery that a person has ended says why the two differ.
    if (!open && !again && item.ignoredHash === wanted.desiredHash) return null;
    if (open) {
      // Each further import would make one more product: only a person's word sends another.
      if (hasReason(open, 'made_second') && wanted.need === 'write' && !again) return null;
      const same = open.operation === wanted.operation && open.desiredHash === wanted.desiredHash;
      const moving = open.state === 'due' || open.state === 'waiting';
      const stays = wanted.need === 'blocked' ? open.state === 'blocked' || !(moving || again) : moving || !again;
      if (same && stays) return null;
      supersede(open);
    }
    if (wanted.need === 'blocked') {
      insertDelivery(item, wanted, 'blocked', wanted.reason);
      return 'blocked';
    }
    const state = !hasRefs(item.kind) || refsArrived(itemId) ? 'due' : 'waiting';
    const id = insertDelivery(item, wanted, state, null);
    const created = kindCreatedBy(wanted.operation);
    if (created !== undefined) contact.noticeCreate(created, wanted.desired);
    if (state === 'due') suspectWhereRestored({ id, itemId, operation: wanted.operation });
    return state;
  }

  /** Of an adopted product nobody knows which BOM items are at the platform. */
  function wantedWith(item: ReconciledItem, wanted: Wanted): Wanted {
    if (wanted.need !== 'write' || wanted.operation !== 'bom_item.create') return wanted;
    const standing = parts.standingOf(item.id);
    if (standing === 'create') return wanted;
    if (standing === 'ask') return { ...wanted, need: 'blocked', reason: ADOPTED_BOM };
    parts.acknowledge(item.id);
    note(item.id, null, 'adopted', {
      message: 'It is taken to be at the platform, as `target.bom: assume-present` says.',
    });
    return { need: 'none' };
  }

  /** I6: what may have been written in the time that a restored ledger lost is not sent before that is known. */
  function suspectWhereRestored(delivery: { id: number; itemId: number; operation: Operation }): boolean {
    const suspicion = restored.suspicionOf(delivery.itemId, delivery.operation);
    if (suspicion) suspect({ ...delivery, state: 'due' }, suspicion);
    return suspicion !== null;
  }

  function suspect(
    { id, itemId, state }: { id: number; itemId: number; state: DeliveryState },
    { reason, lookAt }: Suspicion,
  ): void {
    sql.suspect.run(transition(state, 'look_up'), JSON.stringify(reason), lookAt ?? 0, clock.now(), id);
    note(itemId, id, 'suspect', reason);
  }

  function refsArrived(itemId: number): boolean {
    return (sql.missingRefs.get(itemId)?.n ?? 0) === 0;
  }

  return {
    find,
    note,
    reconcile,
    refsArrived,
    suspect,
    suspectWhereRestored,
    byId: (id: number) => sql.byId.get(id),
    ownedBy: (recordId: number) => sql.byRecord.all(recordId),
    openDelivery: (itemId: number) => sql.openDelivery.get(itemId),

    /** Writes what a record now asks of an item, and stages the difference. */
    desire(
      { item, content, naturalKey: natural, known }: DesiredItem,
      { id: recordId, source, missingSince }: { id: number; source: string; missingSince: number | null },
      again: boolean,
    ): Staged {
      const { kind, key, refs } = item;
      const { payload: desired, hash: desiredHash } = content;
      const naturalKey = natural?.value ?? null;
      const asked = { naturalKey, recordId, desired, desiredHash, missingSince };
      if (known) {
        if (!isSameAsk(known, asked))
          sql.update.run(naturalKey, recordId, source, desired, desiredHash, missingSince, known.id);
        if (known.desiredHash !== desiredHash) {
          sql.deleteRefs.run(known.id);
          insertRefs(known.id, refs);
        }
        return reconcileItem({ ...known, ...asked }, sql.openDelivery.get(known.id), again);
      }
      const owner = [recordId, source, source, clock.now()] as const;
      const inserted = sql.insert.run(kind, key, naturalKey, ...owner, desired, desiredHash, missingSince);
      const id = Number(inserted.lastInsertRowid);
      insertRefs(id, refs);
      const unwritten = {
        baseline: null,
        baselineHash: null,
        remoteId: null,
        revision: 0,
        ignoredHash: null,
        adopted: 0 as const,
        source,
      };
      return reconcileItem({ id, kind, key, ...asked, ...unwritten, isNew: true }, undefined, again);
    },

    /** Leaves what is staged for an item to a person. */
    block(itemId: number, reason: Reason): void {
      const item = sql.byId.get(itemId);
      const wanted = item === undefined ? null : wantedOf(item, profile);
      if (item === undefined || wanted === null || wanted.need === 'none') return;
      const open = sql.openDelivery.get(itemId);
      if (open && mayHaveArrived(open)) return;
      if (open) supersede(open);
      note(itemId, insertDelivery(item, wanted, 'blocked', reason), 'blocked', reason);
    },

    /** A person waits for what is under way of an item, or for what follows it. */
    hasten: (itemId: number) => void sql.hasten.run(itemId),

    /** Ends a delivery by a manual resolution. Its desired content is not staged again until it changes. */
    ignore({ id, itemId, state, desiredHash }: Ended, reason: Reason): void {
      sql.end.run(transition(state, 'supersede'), clock.now(), JSON.stringify(reason), id);
      sql.setIgnored.run(desiredHash, itemId);
      note(itemId, id, 'ignored', reason);
    },

    /** Takes back what is staged for an item, unless it may have arrived. */
    takeBack(itemId: number): void {
      const open = sql.openDelivery.get(itemId);
      if (open && !mayHaveArrived(open)) supersede(open);
    },

    /**
     * Takes an item from the record that made it. What never reached the API is dropped; what is there stays, marked as
     * missing.
     */
    disown(item: ItemRow): void {
      const open = sql.openDelivery.get(item.id);
      const inFlight = open !== undefined && mayHaveArrived(open);
      if (item.baselineHash === null && !inFlight) {
        sql.remove.run(item.id);
        return;
      }
      sql.disown.run(clock.now(), item.id);
      if (open && !inFlight) supersede(open);
    },
  };

  function insertRefs(itemId: number, refs: readonly ItemRef[]): void {
    for (const ref of refs) sql.insertRef.run(itemId, ref.role, ref.kind, ref.key);
  }
}

/** Whether nothing changes for the item: its owner makes it as before. An owner's source stays the same. */
function isSameAsk(known: Ask, asked: Ask): boolean {
  return (
    known.desiredHash === asked.desiredHash &&
    known.naturalKey === asked.naturalKey &&
    known.recordId === asked.recordId &&
    known.missingSince === asked.missingSince
  );
}

type Ask = Pick<ItemRow, 'desiredHash' | 'naturalKey' | 'recordId' | 'missingSince'>;
