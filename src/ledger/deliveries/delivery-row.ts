import { type DeliveryState, isSettleState, mayBeSettled } from '../../domain/delivery/delivery.ts';
import type { Operation } from '../../domain/delivery/operation.ts';
import { awaySince, busySince, NO_REASON, storedReason } from '../../domain/delivery/stored-reason.ts';
import type { RefRole } from '../../domain/item.ts';
import type {
  ClaimedDelivery,
  Decision,
  DueDelivery,
  RequestSettlement,
  Settlement,
} from '../../domain/ports/deliveries.ts';
import type { JsonValue } from '../../lib/json.ts';
import { type ItemRow, itemColumns } from '../items/item-row.ts';
import type { RequestRow } from '../items/requests.ts';
import { parseJsonOrNull } from '../store/tx.ts';

/** An item with the delivery of its present revision, and its request. */
export interface DeliveryRow extends ItemRow {
  state: DeliveryState;
  operation: Operation;
  /**
   * The earliest time to send the delivery or to look it up. It is 0 if this may happen at once, and also if the
   * delivery waits for something other than a time.
   */
  dueAt: number;
  /** Null without a request, like the next three columns. */
  sends: number | null;
  idempotencyKey: string | null;
  path: string | null;
  body: string | null;
}

const COLUMNS = `${itemColumns('i')}, i.due_at AS dueAt, r.sends, r.idempotency_key AS idempotencyKey, r.path, r.body`;

/** Selects the deliveries of the items `i`. The caller adds the condition. */
export const SELECT_DELIVERIES = `SELECT ${COLUMNS} FROM items i LEFT JOIN requests r ON r.id = i.request_id`;

/** Selects the deliveries of a JSON list of items, in no order, without items that have no revision. */
export const SELECT_LISTED_DELIVERIES = `SELECT ${COLUMNS} FROM json_each(+?) listed
  CROSS JOIN items i ON i.id = listed.value AND i.state IS NOT NULL LEFT JOIN requests r ON r.id = i.request_id`;

/** The columns that are needed to settle a delivery whose write was simply acknowledged. */
export type SettleRow = Pick<
  DeliveryRow,
  | 'id'
  | 'kind'
  | 'key'
  | 'remoteId'
  | 'revision'
  | 'state'
  | 'operation'
  | 'sentHash'
  | 'requestId'
  | 'requestPlace'
  | 'uncertain'
  | 'sentForm'
  | 'sends'
>;

/** Selects deliveries as `SettleRow`, without the long texts of the items. */
export const SELECT_SETTLE_ROWS = `SELECT i.id, i.kind, i.key, i.remote_id AS remoteId, i.revision, i.state, i.operation,
  i.sent_hash AS sentHash, i.request_id AS requestId, i.request_place AS requestPlace, i.uncertain, i.sent_form AS sentForm, r.sends
  FROM json_each(+?) listed
  CROSS JOIN items i ON i.id = listed.value AND i.state IS NOT NULL LEFT JOIN requests r ON r.id = i.request_id`;

/** An item that another item refers to, with its remote id. */
export interface RefRow {
  itemId: number;
  role: RefRole;
  remoteId: string | null;
}

/**
 * True for a new product that was sent in an import. Such a product may leave the import without the other members, but
 * a changed product may not.
 */
export function isImportedCreate({ operation, requestPlace }: Pick<ItemRow, 'operation' | 'requestPlace'>): boolean {
  return operation === 'product.create' && requestPlace !== null;
}

/** True if a delivery has not changed since the decision. */
export function isAsDecided(
  row: DeliveryRow,
  { revision, decision, seen }: Settlement,
  claim: RequestSettlement['claim'],
): boolean {
  if (row.revision !== revision) return false;
  if (seen !== undefined) return maySay(row, decision) && isAsSeen(row, seen);
  if (claim === null) return row.state === 'in_doubt';
  const isClaimed = row.requestId === claim.request && row.sends === claim.sends;
  return isClaimed && (row.state === 'sending' || row.state === 'in_doubt');
}

/** True if a person may resolve a delivery of this kind and state with this decision. */
function maySay({ kind, state, uncertain }: DeliveryRow, decision: Decision): boolean {
  const said = decision.kind;
  if (said !== 'delivered' && said !== 'rejected' && said !== 'ignored') return false;
  return isSettleState(state) && mayBeSettled({ kind, state, uncertain: uncertain === 1 }, said);
}

/** True if a delivery has not changed since a person looked it up. */
function isAsSeen({ state, sentAt, reason }: DeliveryRow, seen: NonNullable<Settlement['seen']>): boolean {
  const { code } = storedReason(reason) ?? NO_REASON;
  return state === seen.state && sentAt === seen.sentAt && code === seen.reason.code;
}

/** Selects the refs of a JSON list of items. */
export const SELECT_LISTED_REFS = `SELECT refs.item_id AS itemId, refs.role, nullif(items.remote_id, 'null') AS remoteId
  FROM json_each(+?) listed CROSS JOIN refs ON refs.item_id = listed.value
  LEFT JOIN items ON items.kind = refs.kind AND items.key = refs.key ORDER BY refs.item_id, refs.role`;

export function dueDelivery(row: Pick<DeliveryRow, keyof DueDelivery>): DueDelivery {
  const { id, kind, key, revision, operation, source } = row;
  return { id, kind, key, revision, operation, source };
}

export function claimedDelivery(row: DeliveryRow): ClaimedDelivery {
  const reason = storedReason(row.reason);
  return {
    ...dueDelivery(row),
    naturalKey: row.naturalKey,
    remoteId: parseJsonOrNull<JsonValue>(row.remoteId),
    attempts: row.attempts,
    groupMax: row.groupMax,
    uncertain: row.uncertain === 1,
    busySince: busySince(reason),
    awaySince: awaySince(reason),
  };
}

/** The earlier request of a delivery, whose bytes are sent again; null if there is none. */
export function keptRequest({
  requestId,
  operation,
  idempotencyKey: key,
  path,
  body,
  sends,
}: DeliveryRow): RequestRow | null {
  if (requestId === null || key === null || path === null || sends === null) return null;
  return { id: requestId, operation, idempotencyKey: key, path, body, sends };
}
