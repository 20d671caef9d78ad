import type { DeliveryState, Operation } from '../domain/delivery.ts';
import type { RefRole, SubjectKind } from '../domain/item.ts';
import type { DueDelivery } from '../domain/ports/ledger.ts';

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
  baseline: string | null;
  baselineHash: string | null;
  uncertain: number;
  importId: number | null;
  settledAt: number | null;
}

export const DELIVERY_COLUMNS = `d.id, d.item_id AS itemId, i.kind, i.key, i.source,
  d.operation, d.revision, d.state, d.idempotency_key AS idempotencyKey, d.desired, d.desired_hash AS desiredHash,
  d.path, d.body, d.attempts, d.reason, i.natural_key AS naturalKey, i.remote_id AS remoteId, i.baseline,
  i.baseline_hash AS baselineHash, d.uncertain, d.import_id AS importId, d.settled_at AS settledAt
  FROM deliveries d JOIN items i ON i.id = d.item_id`;

/** The items that an item points to, with their remote ids. */
export interface RefRow {
  role: RefRole;
  remoteId: string | null;
}

export const SELECT_REFS = `SELECT refs.role, items.remote_id AS remoteId FROM refs
  LEFT JOIN items ON items.kind = refs.kind AND items.key = refs.key WHERE refs.item_id = ?`;

export function dueDelivery(row: DeliveryRow): DueDelivery {
  return { id: row.id, kind: row.kind, key: row.key, operation: row.operation, source: row.source };
}
