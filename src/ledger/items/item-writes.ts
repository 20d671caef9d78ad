// The writes of items, except of their state (revisions.ts), of what is desired of records' items (desire.ts) and of their requests
// (requests.ts). Each takes a list and is one statement.
import type { FormId } from '../../domain/delivery/wire-form.ts';
import type { JsonValue } from '../../lib/json.ts';
import { shellValue, visibleText } from '../../lib/text/safe-text.ts';
import { column, insertMany, statement, type Tx } from '../store/tx.ts';
import type { ItemRow } from './item-row.ts';

// The events in the history of items.

/** The type of the event that notes once that an item keeps the natural key of the platform. */
export const KEPT_KEY = 'kept_key';

/** What happened to an item. The revision is null for an event of the item as a whole. */
interface ItemEvent {
  id: number;
  revision: number | null;
  type: string;
  detail: object | null;
}

const haveEvent = column<[string, string], number>(
  'SELECT item_id FROM events WHERE item_id IN (SELECT value FROM json_each(?)) AND type = ?',
);

const insertEvents = insertMany({ into: 'events', columns: ['item_id', 'revision', 'at', 'type', 'detail'] });

/** Adds events to the history of items. */
export function noteEvents(tx: Tx, events: readonly ItemEvent[]): void {
  if (events.length === 0) return;
  const now = tx.clock.now();
  insertEvents(
    tx,
    events.map(({ id, revision, type, detail }) => [id, revision, now, type, detail && JSON.stringify(detail)]),
  );
}

/** An item that keeps a natural key which the source does not give any more. */
export interface KeptKey {
  item: Pick<ItemRow, 'id' | 'kind' | 'key'>;
  naturalKey: string;
}

/** Notes once in the history of items that they keep the natural keys of the platform. */
export function noteKeptKeys(tx: Tx, kept: readonly KeptKey[]): void {
  if (kept.length === 0) return;
  const noted = new Set(haveEvent(tx).all(JSON.stringify(kept.map(({ item }) => item.id)), KEPT_KEY));
  noteEvents(
    tx,
    kept
      .filter(({ item }) => !noted.has(item.id))
      .map(({ item, naturalKey }) => ({
        id: item.id,
        revision: null,
        type: KEPT_KEY,
        detail: keptReason(item, naturalKey),
      })),
  );
}

function keptReason({ kind, key }: KeptKey['item'], naturalKey: string): object {
  return {
    message: `The platform knows this ${kind} as "${visibleText(naturalKey)}", with characters around its key that nobody can see. It keeps this key, because another key may make a second ${kind}. To change it, change it at the platform by hand, and run \`dpp-sync replay --key ${shellValue(key)}\`.`,
  };
}

/** SQL expression for the number at this place of a row, which is a list in JSON. `of` is the name of the rows. */
export function numberIn(of: string, place: number): string {
  return `CAST(${of}.value ->> ${place} AS INTEGER)`;
}

/** An update of the items of a list of ids. */
const ofItems = <P extends object>(set: string) =>
  statement<[P & { ids: string }]>(`UPDATE items SET ${set} WHERE id IN (SELECT value FROM json_each(@ids))`);

const SQL = {
  dueAt: ofItems<{ dueAt: number }>('due_at = @dueAt'),
  groupMax: ofItems<{ groupMax: number }>('group_max = @groupMax'),
  byHand: ofItems('by_hand = 1'),
  ignored: ofItems('ignored_hash = NULL'),
  adopted: ofItems('adopted = 0'),
  partsUnknown: ofItems<{ unknown: 0 | 1 }>('parts_unknown = @unknown'),
  absent: statement<[string]>(
    `UPDATE items SET was_absent = 1 WHERE id IN (SELECT value FROM json_each(?))
       AND operation IN ('product.create', 'material.create', 'bom_item.create')`,
  ),
  dirty: ofItems<{ dirty: 0 | 1 }>('dirty = @dirty'),
  accepted: ofItems('missing_accepted = missing_since'),
  unowned: ofItems('record_id = NULL'),
  idGivenAway: ofItems("remote_id = 'null'"),
  forgotten: ofItems(
    `acknowledged = 0, baseline = NULL, baseline_hash = NULL, remote_id = NULL, adopted = 0, parts_unknown = 0, ignored_hash = NULL,
       dirty = CASE kind WHEN 'passport' THEN 1 ELSE dirty END`,
  ),
  desiredAcknowledged: ofItems<{ form: FormId }>(
    "acknowledged = 1, baseline = NULL, baseline_hash = NULL, remote_id = 'null', form = @form",
  ),
  ignoredHash: statement<[string]>(
    `UPDATE items SET ignored_hash = r.value ->> 1 FROM json_each(?) r WHERE items.id = ${numberIn('r', 0)}`,
  ),
  baselines: statement<[string]>(
    `UPDATE items SET acknowledged = 2, baseline = r.value ->> 1, baseline_hash = r.value ->> 2
     FROM json_each(?) r WHERE items.id = ${numberIn('r', 0)}`,
  ),
  bind: statement<[string]>(
    `UPDATE items SET acknowledged = 2, baseline = r.value ->> 1, baseline_hash = r.value ->> 2, remote_id = r.value ->> 3,
       form = ${numberIn('r', 4)}, adopted = ${numberIn('r', 5)}
     FROM json_each(?) r WHERE items.id = ${numberIn('r', 0)}`,
  ),
  missing: statement<[number | null, string]>(
    'UPDATE items SET missing_since = ? WHERE record_id IN (SELECT value FROM json_each(?))',
  ),
  releasedMissing: statement<[number, number]>(
    'UPDATE items SET missing_since = ? WHERE id IN (SELECT item_id FROM released WHERE stream_id = ?)',
  ),
  heldReason: statement<[number]>(
    `UPDATE items SET reason = NULL WHERE state = 'waiting' AND id IN (SELECT item_id FROM held_creates WHERE stream_id = ?)`,
  ),
  sendLater: statement<[string]>(
    `UPDATE items SET due_at = ${numberIn('r', 1)}, group_max = ${numberIn('r', 2)} FROM json_each(?) r
     WHERE items.id = ${numberIn('r', 0)} AND items.state = 'due'`,
  ),
  nothingAbsent: statement('UPDATE items SET was_absent = 0 WHERE was_absent = 1'),
  dirtyOfProducts: statement<[string]>(
    "UPDATE items SET dirty = 1 WHERE kind = 'passport' AND key IN (SELECT value FROM json_each(?))",
  ),
  dirtyOfBomItems: statement<[string]>(
    `UPDATE items SET dirty = 1 WHERE kind = 'passport' AND key IN (
       SELECT f.key FROM json_each(?) b CROSS JOIN refs f ON f.item_id = b.value AND f.role = 'product')`,
  ),
  dirtyOfMaterials: statement<[string]>(
    `UPDATE items SET dirty = 1 WHERE kind = 'passport' AND key IN (
       SELECT p.key FROM json_each(?) k CROSS JOIN refs m ON m.kind = 'material' AND m.key = k.value
       JOIN refs p ON p.item_id = m.item_id AND p.role = 'product')`,
  ),
  putPassports: statement<[number, string], { id: number; key: string }>(
    `INSERT INTO items (kind, key, natural_key, source, appeared_at, desired, desired_hash)
     SELECT 'passport', value ->> 0, value ->> 1, value ->> 2, ?, value ->> 3, value ->> 4 FROM json_each(?) WHERE true
     ON CONFLICT (kind, key) DO UPDATE SET natural_key = excluded.natural_key, source = excluded.source, desired = excluded.desired,
       desired_hash = excluded.desired_hash
     RETURNING id, key`,
  ),
  remove: statement<[string]>('DELETE FROM items WHERE id IN (SELECT value FROM json_each(?))'),
};

/** The content that the API is known to have of an item. */
interface Baseline {
  id: number;
  baseline: string;
  hash: string;
}

/** An item that is bound to an item of the platform. */
type Binding = Baseline & { remoteId: string; form: FormId; adopted: 0 | 1 };

type Ids = readonly number[];

/** Sets when deliveries are sent or looked up at the earliest. */
export function setDueAt(tx: Tx, ids: Ids, dueAt: number): void {
  if (ids.length > 0) SQL.dueAt(tx).run({ ids: JSON.stringify(ids), dueAt });
}

/** Sets how many deliveries may share an import with these. */
export function setGroupMax(tx: Tx, ids: Ids, groupMax: number): void {
  if (ids.length > 0) SQL.groupMax(tx).run({ ids: JSON.stringify(ids), groupMax });
}

/** Sets both for deliveries that are due. */
export function sendLater(tx: Tx, later: readonly { id: number; dueAt: number; groupMax: number | null }[]): void {
  runRows(
    tx,
    SQL.sendLater,
    later.map(({ id, dueAt, groupMax }) => [id, dueAt, groupMax]),
  );
}

/** Marks deliveries as urgent, because a person waits for them. */
export function markByHand(tx: Tx, ids: Ids): void {
  if (ids.length > 0) SQL.byHand(tx).run({ ids: JSON.stringify(ids) });
}

/** Stores the hashes of the writes that a person has ended. */
export function setIgnoredHashes(tx: Tx, ended: readonly { id: number; hash: string }[]): void {
  runRows(
    tx,
    SQL.ignoredHash,
    ended.map(({ id, hash }) => [id, hash]),
  );
}

export function clearIgnoredHashes(tx: Tx, ids: Ids): void {
  if (ids.length > 0) SQL.ignored(tx).run({ ids: JSON.stringify(ids) });
}

/** Ends the wait of adopted items for a person. */
export function endAdoptions(tx: Tx, ids: Ids): void {
  if (ids.length > 0) SQL.adopted(tx).run({ ids: JSON.stringify(ids) });
}

/** Stores whether it is unknown if the BOM items of these products are at the platform. */
export function setPartsUnknown(tx: Tx, ids: Ids, unknown: 0 | 1): void {
  if (ids.length > 0) SQL.partsUnknown(tx).run({ ids: JSON.stringify(ids), unknown });
}

/** Stores that these items were not at the platform when the ledger was restored. Only those count whose delivery is a create. */
export function storeAbsence(tx: Tx, ids: Ids): void {
  if (ids.length > 0) SQL.absent(tx).run(JSON.stringify(ids));
}

/** Forgets for all items that they were not at the platform at an earlier restore. */
export function forgetAbsence(tx: Tx): void {
  SQL.nothingAbsent(tx).run();
}

/** Marks passports as dirty, so that they are evaluated, or as evaluated. */
export function setDirty(tx: Tx, passportIds: Ids, dirty: 0 | 1): void {
  if (passportIds.length > 0) SQL.dirty(tx).run({ ids: JSON.stringify(passportIds), dirty });
}

/** Marks the passports of these products, of the products of these BOM items, and of the products that have these materials. */
export function markDirtyPassports(
  tx: Tx,
  of: { products: readonly string[]; bomItems: Ids; materials: readonly string[] },
): void {
  if (of.products.length > 0) SQL.dirtyOfProducts(tx).run(JSON.stringify(of.products));
  if (of.bomItems.length > 0) SQL.dirtyOfBomItems(tx).run(JSON.stringify(of.bomItems));
  if (of.materials.length > 0) SQL.dirtyOfMaterials(tx).run(JSON.stringify(of.materials));
}

/** Stores what is desired of passports. Returns their ids by the keys of their products. */
export function putPassports(
  tx: Tx,
  passports: readonly { key: string; naturalKey: string | null; source: string; desired: string; hash: string }[],
): ReadonlyMap<string, number> {
  if (passports.length === 0) return new Map();
  const rows = passports.map(({ key, naturalKey, source, desired, hash }) => [key, naturalKey, source, desired, hash]);
  const put = SQL.putPassports(tx).all(tx.clock.now(), JSON.stringify(rows));
  return new Map(put.map(({ id, key }) => [key, id]));
}

/** Marks the items of these records as missing from their source, or as present again. */
export function setItemsMissing(tx: Tx, recordIds: Ids, since: number | null): void {
  if (recordIds.length > 0) SQL.missing(tx).run(since, JSON.stringify(recordIds));
}

/** Marks the released items of a stream as missing from their source. */
export function setReleasedMissing(tx: Tx, streamId: number, since: number): void {
  SQL.releasedMissing(tx).run(since, streamId);
}

/** Stores that a person has accepted that these items are missing. */
export function storeMissingAccepted(tx: Tx, ids: Ids): void {
  if (ids.length > 0) SQL.accepted(tx).run({ ids: JSON.stringify(ids) });
}

/** Removes the reason of the held creates of a stream. */
export function clearHeldReasons(tx: Tx, streamId: number): void {
  SQL.heldReason(tx).run(streamId);
}

/** Replaces what the API has acknowledged of items that it has. */
export function storeBaselines(tx: Tx, known: readonly Baseline[]): void {
  runRows(
    tx,
    SQL.baselines,
    known.map(({ id, baseline, hash }) => [id, baseline, hash]),
  );
}

/** Binds items to items of the platform. */
export function bindItems(tx: Tx, bindings: readonly Binding[]): void {
  runRows(
    tx,
    SQL.bind,
    bindings.map(({ id, baseline, hash, remoteId, form, adopted }) => [id, baseline, hash, remoteId, form, adopted]),
  );
}

/** Stores that the API has what is desired of these items, without an id. */
export function acknowledgeDesired(tx: Tx, ids: Ids, form: FormId): void {
  if (ids.length > 0) SQL.desiredAcknowledged(tx).run({ ids: JSON.stringify(ids), form });
}

/** Forgets all that the API has acknowledged of these items. */
export function forgetAcknowledged(tx: Tx, ids: Ids): void {
  if (ids.length > 0) SQL.forgotten(tx).run({ ids: JSON.stringify(ids) });
}

/** Takes the remote ids from these items, because other items have them. */
export function takeRemoteIds(tx: Tx, ids: Ids): void {
  if (ids.length > 0) SQL.idGivenAway(tx).run({ ids: JSON.stringify(ids) });
}

/** Takes these items from the records that made them. */
export function removeOwners(tx: Tx, ids: Ids): void {
  if (ids.length > 0) SQL.unowned(tx).run({ ids: JSON.stringify(ids) });
}

/** Deletes items that never reached the API. */
export function removeItems(tx: Tx, ids: Ids): void {
  if (ids.length > 0) SQL.remove(tx).run(JSON.stringify(ids));
}

function runRows(tx: Tx, of: ReturnType<typeof statement<[string]>>, rows: readonly JsonValue[][]): void {
  if (rows.length > 0) of(tx).run(JSON.stringify(rows));
}
