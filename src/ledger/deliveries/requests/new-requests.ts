// Makes the requests of deliveries that have none yet, except bulk imports. Stores nothing.

import { idempotencyKey } from '../../../domain/delivery/delivery.ts';
import { changedFields, wholePayload } from '../../../domain/delivery/reconcile.ts';
import { hasRefs, type RefRole } from '../../../domain/item.ts';
import type { EncodedWrite, Write } from '../../../domain/ports/target.ts';
import type { JsonObject, JsonValue } from '../../../lib/json.ts';
import { acknowledgedContent, revisionContent } from '../../items/item-row.ts';
import { parseJson, parseJsonOrNull } from '../../store/context.ts';
import { statement } from '../../store/statement.ts';
import type { Tx } from '../../store/tx.ts';
import { type DeliveryRow, type RefRow, SELECT_LISTED_REFS } from '../delivery-row.ts';
import type { RequestRow } from './requests.ts';

/** The remote ids of the items that one item refers to. */
type Refs = Partial<Record<RefRole, JsonValue>>;

const refsOfItems = statement<[string], RefRow>(SELECT_LISTED_REFS);

/**
 * Reads the references of many rows at once. The returned function gives null for a row while a remote id is missing.
 */
export function readRefs(tx: Tx, rows: readonly DeliveryRow[]): (row: DeliveryRow) => Refs | null {
  const pointing = rows.filter(({ kind, requestId }) => requestId === null && hasRefs(kind)).map(({ id }) => id);
  const found = new Map<number, Refs | null>();
  for (const { itemId, role, remoteId } of pointing.length === 0 ? [] : refsOfItems(tx).all(JSON.stringify(pointing))) {
    const refs = found.get(itemId) ?? (found.has(itemId) ? null : {});
    if (refs !== null && remoteId !== null) refs[role] = parseJson<JsonValue>(remoteId);
    found.set(itemId, remoteId === null ? null : refs);
  }
  return ({ id, kind }) => (hasRefs(kind) ? (found.get(id) ?? null) : {});
}

/** Makes the path, the bytes and the key of the request that is stored under this id. */
export function makeRequest(tx: Tx, row: DeliveryRow, refs: Refs, id: number): RequestRow {
  const { operation, revision } = row;
  const content = revisionContent(row);
  const { path, body } = encodeWrite(tx, row, content.text, refs);
  const key = idempotencyKey({
    epoch: tx.epoch,
    target: tx.target,
    operation,
    subject: row.id,
    naturalKey: row.naturalKey ?? row.key,
    payloadHash: content.hash,
    revision,
  });
  return { id, operation, idempotencyKey: key, path, body, sends: 0 };
}

function encodeWrite(tx: Tx, row: DeliveryRow, text: string, refs: Refs): EncodedWrite {
  const { operation, kind } = row;
  const desired = parseJson<JsonObject>(text);
  const payload = operation.endsWith('.update') ? updateOf(tx, row, desired) : desired;
  // The API knows a passport by its product's id.
  const remoteId = kind === 'passport' ? (refs.product ?? null) : parseJsonOrNull<JsonValue>(row.remoteId);
  return tx.encode({ operation, payload, refs, remoteId } satisfies Write);
}

/** The body of an update: the fields that differ, or all fields if the platform has them in another form. */
function updateOf(tx: Tx, row: DeliveryRow, desired: JsonObject): JsonObject {
  const known = acknowledgedContent(row);
  const before = parseJsonOrNull<JsonObject>(known?.text ?? null) ?? {};
  const isPartial = tx.forms.isPresent(row.kind, row.form) && known?.hash !== revisionContent(row).hash;
  return isPartial ? changedFields(desired, before) : wholePayload(desired, before);
}
