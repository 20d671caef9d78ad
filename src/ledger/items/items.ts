import type { DeliveryState } from '../../domain/delivery/delivery.ts';
import type { Operation } from '../../domain/delivery/operation.ts';
import type { Reason } from '../../domain/delivery/reason.ts';
import type { SubjectKind } from '../../domain/item.ts';
import type { Restored } from '../backup/restored.ts';
import type { AdoptedBom } from '../contact/adopted-bom.ts';
import type { Contact } from '../contact/contact.ts';
import { isOpen } from '../deliveries/delivery-states.ts';
import type { Requests } from '../deliveries/requests/requests.ts';
import type { LedgerContext } from '../store/context.ts';
import { createDesire, type Desire } from './desire.ts';
import { createGivenIds, type GivenIds } from './given-ids.ts';
import { createHeldCreates } from './held-creates.ts';
import { type ItemName, nameOf } from './item-name.ts';
import { ITEM_COLUMNS, type ItemRow, isOpenState, itemColumns, mayHaveArrived, revisionContent } from './item-row.ts';
import { needsNothing } from './never-arrived.ts';
import { createPartRefs, type PartRefs } from './part-refs.ts';
import { createReconcile, type Reconcile, type Staged } from './reconcile.ts';
import { createReleased } from './released.ts';
import { createRevisions } from './revisions.ts';
import { wantedOf } from './wanted.ts';

export interface OpenDelivery {
  state: DeliveryState;
  operation: Operation;
  /** The reason as JSON. */
  reason: string | null;
}

/** The items, each with at most one open delivery. Call each function inside a transaction. */
export interface Items extends Desire, Reconcile {
  find(kind: SubjectKind, key: string): ItemRow | undefined;
  /** The stored items with these names, by `nameOf`. Unknown names are left out. One statement for each kind. */
  findAll(names: readonly ItemName[]): Map<string, ItemRow>;
  /**
   * The products and materials whose remote ids other items have taken over and that still count as acknowledged. Reads
   * all items.
   */
  idsGivenAway: GivenIds['all'];
  byId(id: number): ItemRow | undefined;
  ownedBy(recordId: number): (ItemRow & { recordId: number })[];
  resolveParts: PartRefs['resolve'];
  openDelivery(itemId: number): OpenDelivery | undefined;
  /** Adds an event to the item's history. The revision is null for an event of the item as a whole. */
  note(itemId: number, revision: number | null, type: string, detail: object | null): void;
  /** Blocks the staged delivery of an item until a person decides. */
  block(itemId: number, reason: Reason): void;
  /** Marks the open delivery of an item, or the delivery that follows it, as urgent, because a person waits for it. */
  hasten(itemId: number): void;
  /** Ends a delivery by a manual resolution. The same payload is not staged again until it changes. */
  ignore(itemId: number, reason: Reason): void;
  /** Takes back the staged delivery of an item, unless the API may have received it. */
  takeBack(itemId: number): void;
  /**
   * Ends the deliveries of items of a source that its last complete reads did not have and that never reached the API.
   * Nothing has to be done about such an item.
   */
  endGone(source: string): void;
  /**
   * Releases an item from the record that made it. An item that never reached the API is deleted. An item at the
   * platform is kept, and the guard decides whether it is missing.
   */
  disown(item: ItemRow & { recordId: number }): void;
}

export function createItems(
  context: Omit<LedgerContext, 'passportRules' | 'contactRules' | 'guardOf'>,
  {
    restored,
    contact,
    adoptedBom,
    requests,
  }: { restored: Restored; contact: Pick<Contact, 'noticeCreates'>; adoptedBom: AdoptedBom; requests: Requests },
): Items {
  const { db, clock } = context;
  const revisions = createRevisions(context, requests);
  const givenIds = createGivenIds(context, revisions);
  const partRefs = createPartRefs(context);
  const released = createReleased(db);
  const heldCreates = createHeldCreates(db);
  const sql = {
    byId: db.prepare<[number], ItemRow>(`SELECT ${ITEM_COLUMNS} FROM items WHERE id = ?`),
    byKey: db.prepare<[string, string], ItemRow>(`SELECT ${ITEM_COLUMNS} FROM items WHERE kind = ? AND key = ?`),
    byKeys: db.prepare<[string, string], ItemRow>(
      `SELECT ${ITEM_COLUMNS} FROM items WHERE kind = +? AND key IN (SELECT value FROM json_each(+?))`,
    ),
    byRecord: db.prepare<[number], ItemRow & { recordId: number }>(
      `SELECT ${ITEM_COLUMNS} FROM items WHERE record_id = ?`,
    ),
    gone: db.prepare<[string], ItemRow>(
      `SELECT ${itemColumns('i')} FROM items i WHERE i.source = +? AND ${isOpen('i')} AND ${needsNothing('i')}`,
    ),
    remove: db.prepare<[number]>('DELETE FROM items WHERE id = ?'),
    setIgnored: db.prepare<[string | null, number]>('UPDATE items SET ignored_hash = ? WHERE id = ?'),
    hasten: db.prepare<[number]>('UPDATE items SET by_hand = 1 WHERE id = ?'),
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

  const find = (kind: SubjectKind, key: string): ItemRow | undefined => sql.byKey.get(kind, key);
  const reconciling = createReconcile(context, {
    restored,
    contact,
    adoptedBom,
    revisions,
    givenIds,
    heldCreates,
    note,
  });
  const reconcileItem = (item: ItemRow, again: boolean): Staged => reconciling.reconcileItem(item, again);

  return {
    ...reconciling,
    ...createDesire(context, { contact, adoptedBom, restored, partRefs, released, heldCreates, find, reconcileItem }),
    find,
    findAll,
    note,
    idsGivenAway: () => givenIds.all(),
    byId: (id) => sql.byId.get(id),
    ownedBy: (recordId) => sql.byRecord.all(recordId),
    resolveParts: (item, of) => partRefs.resolve(item, of),

    openDelivery(itemId) {
      const item = sql.byId.get(itemId);
      if (item === undefined || item.operation === null || !isOpenState(item.state)) return undefined;
      return { state: item.state, operation: item.operation, reason: item.reason };
    },

    block(itemId, reason) {
      const item = sql.byId.get(itemId);
      const wanted = item === undefined ? null : wantedOf(item, context);
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

    endGone(source) {
      for (const item of sql.gone.all(source)) revisions.supersede(item);
    },

    disown(item) {
      if (item.acknowledged === 0 && !mayHaveArrived(item)) {
        requests.release(item);
        sql.remove.run(item.id);
        return;
      }
      released.add(item);
      if (!mayHaveArrived(item)) revisions.supersede(item);
    },
  };
}
