// The items as they are stored, each with the delivery of its present revision: reading them, their names, their payloads, and
// conditions on their state.

import { type DeliveryState, IN_FLIGHT_STATES } from '../../domain/delivery/delivery.ts';
import type { Operation } from '../../domain/delivery/operation.ts';
import { codesWith, hasTrait, type Reason, reasonShape, storedReason } from '../../domain/delivery/stored-reason.ts';
import type { FormId } from '../../domain/delivery/wire-form.ts';
import type { SubjectKind } from '../../domain/item.ts';
import { statusAfter, statusText } from '../../domain/passport.ts';
import type { ReasonTrait } from '../../domain/words/reasons.ts';
import { sha256Url } from '../../lib/hash.ts';
import { statement, type Tx } from '../store/tx.ts';

/**
 * An item with the delivery of its present revision, as a statement over `ITEM_COLUMNS` reads it. `schema.sql` has the other columns
 * of the table.
 */
export interface ItemRow {
  id: number;
  kind: SubjectKind;
  key: string;
  naturalKey: string | null;
  recordId: number | null;
  source: string;
  missingSince: number | null;
  desired: string;
  desiredHash: string;
  /**
   * What the API has acknowledged: 0 for nothing, 1 for the desired payload, 2 for the payload in `baseline`. See
   * `acknowledgedContent`.
   */
  acknowledged: 0 | 1 | 2;
  baseline: string | null;
  baselineHash: string | null;
  remoteId: string | null;
  revision: number;
  /** Null before the first revision, like `operation` and `stagedAt`. */
  state: DeliveryState | null;
  operation: Operation | null;
  /** The payload of the open revision, if it differs from the desired one. See `revisionContent`. */
  sent: string | null;
  sentHash: string | null;
  requestId: number | null;
  /** The place in the body of its import; null if the delivery is in no import. */
  requestPlace: number | null;
  groupMax: number | null;
  attempts: number;
  uncertain: 0 | 1;
  reason: string | null;
  stagedAt: number | null;
  sentAt: number | null;
  settledAt: number | null;
  /** The hash of a write that a person has ended although the platform does not have it; null for all other items. */
  ignoredHash: string | null;
  /**
   * 1 for an item that was at the platform before and differs from the desired payload, until a person accepts the
   * change.
   */
  adopted: 0 | 1;
  /** The form in which the API has acknowledged the item, and the form of the bytes that were claimed last. */
  form: FormId;
  sentForm: FormId;
}

const COLUMN_NAMES: Record<keyof ItemRow, string> = {
  id: 'id',
  kind: 'kind',
  key: 'key',
  naturalKey: 'natural_key',
  recordId: 'record_id',
  source: 'source',
  missingSince: 'missing_since',
  desired: 'desired',
  desiredHash: 'desired_hash',
  acknowledged: 'acknowledged',
  baseline: 'baseline',
  baselineHash: 'baseline_hash',
  remoteId: 'remote_id',
  revision: 'revision',
  state: 'state',
  operation: 'operation',
  sent: 'sent',
  sentHash: 'sent_hash',
  requestId: 'request_id',
  requestPlace: 'request_place',
  groupMax: 'group_max',
  attempts: 'attempts',
  uncertain: 'uncertain',
  reason: 'reason',
  stagedAt: 'staged_at',
  sentAt: 'sent_at',
  settledAt: 'settled_at',
  ignoredHash: 'ignored_hash',
  adopted: 'adopted',
  form: 'form',
  sentForm: 'sent_form',
};

/** The columns of an `ItemRow`. The parameter is the name of the items table in the SQL statement. */
export function itemColumns(of: string): string {
  return Object.entries(COLUMN_NAMES)
    .map(([field, column]) => `${of}.${column} AS ${field}`)
    .join(', ');
}

export const ITEM_COLUMNS = itemColumns('items');

/** This many revisions of an item are kept, the present one included (I9). */
export const REVISIONS_MAX = 20;

const SQL = {
  byIds: statement<[string], ItemRow>(
    `SELECT ${itemColumns('i')} FROM json_each(?) listed CROSS JOIN items i ON i.id = listed.value ORDER BY listed.key`,
  ),
  byKeys: statement<[string, string], ItemRow>(
    `SELECT ${ITEM_COLUMNS} FROM items WHERE kind = +? AND key IN (SELECT value FROM json_each(+?))`,
  ),
  byRecords: statement<[string], ItemRow & { recordId: number }>(
    `SELECT ${ITEM_COLUMNS} FROM json_each(?) k CROSS JOIN items ON items.record_id = k.value ORDER BY k.key, items.id`,
  ),
};

/** The stored items with these names, by `nameOf`. Unknown names are left out. One statement for each kind. */
export function findItems(tx: Tx, names: readonly ItemName[]): Map<string, ItemRow> {
  const found = new Map<string, ItemRow>();
  for (const [kind, ofKind] of Map.groupBy(names, (name) => name.kind)) {
    const keys = JSON.stringify(ofKind.map(({ key }) => key));
    for (const row of SQL.byKeys(tx).all(kind, keys)) found.set(nameOf(row), row);
  }
  return found;
}

/** The items with these ids, in the same order. */
export function itemsById(tx: Tx, ids: readonly number[]): ItemRow[] {
  return ids.length === 0 ? [] : SQL.byIds(tx).all(JSON.stringify(ids));
}

/** The items that these records make, in the order of the records. */
export function itemsOfRecords(tx: Tx, recordIds: readonly number[]): (ItemRow & { recordId: number })[] {
  return recordIds.length === 0 ? [] : SQL.byRecords(tx).all(JSON.stringify(recordIds));
}

/** The name of an item: its kind and key. */
export interface ItemName {
  kind: SubjectKind;
  key: string;
}

/** The name of an item as a key of a map. */
export function nameOf({ kind, key }: ItemName): string {
  return `${kind}/${key}`;
}

/** Names of items. */
interface NameSet {
  has(name: ItemName): boolean;
  /** False if the set has the name already. */
  add(name: ItemName): boolean;
}

/**
 * A set for the names of many items: looking up the kind and then the key is faster than joining both into one text.
 */
export function createNameSet(): NameSet {
  const byKind = new Map<string, Set<string>>();
  return {
    has: ({ kind, key }) => byKind.get(kind)?.has(key) === true,
    add({ kind, key }) {
      const keys = byKind.get(kind);
      if (keys === undefined) byKind.set(kind, new Set([key]));
      else if (keys.has(key)) return false;
      else keys.add(key);
      return true;
    },
  };
}

/** A payload as canonical JSON, with its hash. */
export interface Content {
  text: string;
  hash: string;
}

/** The payload that the API has acknowledged; null if it has acknowledged none. */
export function acknowledgedContent(
  item: Pick<ItemRow, 'acknowledged' | 'desired' | 'desiredHash' | 'baseline' | 'baselineHash'>,
): Content | null {
  if (item.acknowledged === 0) return null;
  if (item.acknowledged === 1) return { text: item.desired, hash: item.desiredHash };
  return { text: item.baseline ?? '{}', hash: item.baselineHash ?? '' };
}

type Asked = Pick<ItemRow, 'kind' | 'operation' | 'desired' | 'desiredHash' | 'sent' | 'sentHash'>;

/**
 * The payload that the present revision asks for: the desired one, or an earlier one if the item has changed since.
 * `text` is correct only while the revision is open.
 */
export function revisionContent({ kind, operation, desired, desiredHash, sent, sentHash }: Asked): Content {
  if (kind === 'passport') {
    const text = statusText(statusAfter(operation));
    return { text, hash: sha256Url(text) };
  }
  return { text: sent ?? desired, hash: sentHash ?? desiredHash };
}

/** True if the item's present delivery is open. */
export function isOpenState(state: DeliveryState | null): state is DeliveryState {
  return state !== null && state !== 'delivered' && state !== 'superseded';
}

/**
 * True while the API may have received the present revision. The present revision then has to be settled before a newer
 * one is staged.
 */
export function mayHaveArrived({ state, uncertain }: Pick<ItemRow, 'state' | 'uncertain'>): boolean {
  return isOpenState(state) && (IN_FLIGHT_STATES.includes(state) || uncertain === 1);
}

/**
 * True for an item whose remote id another item has taken over. The API always has an id for products and materials
 * that it has acknowledged.
 */
export function gaveIdAway({ kind, remoteId }: Pick<ItemRow, 'kind' | 'remoteId'>): boolean {
  return remoteId === 'null' && (kind === 'product' || kind === 'material');
}

/** The stored text of a reason. It contains the shape of the reason, by which an index groups stuck items. */
export function reasonText(reason: Reason): string {
  return JSON.stringify({ ...reason, shape: reasonShape(reason) });
}

/**
 * SQL condition: true if the reason of the delivery has this trait. The parameter is the name of the items table in the
 * SQL statement.
 */
export function reasonHas(of: string, trait: ReasonTrait): string {
  const codes = codesWith(trait).map((code) => `'${code}'`);
  return `${of}.reason ->> '$.code' IN (${codes.join(', ')})`;
}

/** The same condition for a delivery that was read from the ledger: true if its reason has this trait. */
export function hasReason({ reason }: { reason: string | null }, trait: ReasonTrait): boolean {
  const stored = storedReason(reason);
  return stored !== null && hasTrait(stored, trait);
}

/**
 * SQL condition: true if the item has an open delivery. The parameter is the name of the items table in the SQL
 * statement.
 */
export function isOpen(of: string): string {
  return `${of}.state NOT IN ('delivered', 'superseded')`;
}

/**
 * SQL condition: true if the item's delivery may need a person. The parameter is the name of the items table in the SQL
 * statement.
 */
export function isStuck(of: string): string {
  return `(${of}.state IN ('blocked', 'rejected') OR ${of}.state IN ('parked', 'in_doubt'))`;
}

export function idsOf(items: readonly { id: number }[]): number[] {
  return items.map(({ id }) => id);
}
