import type { DeliveryState, Operation } from '../../domain/delivery.ts';
import type { RefRole, SubjectKind } from '../../domain/item.ts';
import type { DueDelivery } from '../../domain/ports/due.ts';

/** A delivery with what it is about, as a statement over `DELIVERY_COLUMNS` gives it. */
export interface DeliveryRow {
  id: number;
  itemId: number;
  kind: SubjectKind;
  key: string;
  source: string;
  operation: Operation;
  revision: number;
  state: DeliveryState;
  idempotencyKey: string;
  desired: string | null;
  desiredHash: string;
  path: string | null;
  body: string | null;
  attempts: number;
  reason: string | null;
  naturalKey: string | null;
  remoteId: string | null;
  /** Of what the item is to be by now. */
  itemHash: string;
  baseline: string | null;
  baselineHash: string | null;
  uncertain: number;
  importId: number | null;
  sentAt: number | null;
  settledAt: number | null;
}

/** Columns of a `DeliveryRow`, and where they come from. */
export const DELIVERY_COLUMNS = `d.id, d.item_id AS itemId, i.kind, i.key, i.source,
  d.operation, d.revision, d.state, d.idempotency_key AS idempotencyKey, d.desired, d.desired_hash AS desiredHash,
  d.path, d.body, d.attempts, d.reason, i.natural_key AS naturalKey, i.remote_id AS remoteId,
  i.desired_hash AS itemHash, i.baseline,
  i.baseline_hash AS baselineHash, d.uncertain, d.import_id AS importId,
  d.sent_at AS sentAt, d.settled_at AS settledAt
  FROM deliveries d JOIN items i ON i.id = d.item_id`;

export const SELECT_DELIVERY = `SELECT ${DELIVERY_COLUMNS} WHERE d.id = +?`;

/** The items that an item points to, with their remote ids. */
export interface RefRow {
  role: RefRole;
  remoteId: string | null;
}

export const SELECT_REFS = `SELECT refs.role, nullif(items.remote_id, 'null') AS remoteId FROM refs
  LEFT JOIN items ON items.kind = refs.kind AND items.key = refs.key WHERE refs.item_id = +?`;

export function dueDelivery(row: DeliveryRow): DueDelivery {
  const { id, kind, key, revision, operation, source } = row;
  return { id, kind, key, revision, operation, source };
}
