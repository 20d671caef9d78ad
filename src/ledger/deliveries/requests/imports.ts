// Bulk imports: several deliveries that are sent as one request. The products of one import are all new or all changed.
//
// Each product has its own delivery. A claim puts several of these deliveries into one request. While it is unknown
// whether an import of changed products arrived, the request is kept and sent again with the same bytes and key.
// Otherwise the request is released, and its members are put into other imports when they are claimed next. All these
// members change their state together: if one member left the import, the same bytes would restore that member's older
// content (I3).
//
// An import of new products is sent once. A member that is unconfirmed belongs to it until it is known whether that
// product was made, and then leaves it alone: delivered, or with a new revision.

import { idempotencyKey } from '../../../domain/delivery/delivery.ts';
import { wholePayload } from '../../../domain/delivery/reconcile.ts';
import { naturalKeyOf } from '../../../domain/natural-key.ts';
import type { ClaimedDelivery } from '../../../domain/ports/claim.ts';
import { sha256Url } from '../../../lib/hash.ts';
import type { JsonObject } from '../../../lib/json.ts';
import { acknowledgedContent, revisionContent } from '../../items/item-row.ts';
import { parseJson } from '../../store/context.ts';
import { column, statement } from '../../store/statement.ts';
import type { Tx } from '../../store/tx.ts';
import { claimedDelivery, type DeliveryRow, SELECT_DELIVERIES } from '../delivery-row.ts';
import { findRequest, leaveRequest, type RequestRow } from './requests.ts';

/** An import that is sent next, with its members in the order of its body. */
export interface GatheredImport {
  request: RequestRow;
  /** True if this import was sent before. */
  isKept: boolean;
  rows: readonly DeliveryRow[];
}

const IS_MEMBER = 'i.request_place IS NOT NULL AND i.request_id = +?';

const SQL = {
  members: statement<[number], DeliveryRow>(`${SELECT_DELIVERIES} WHERE ${IS_MEMBER} ORDER BY i.request_place`),
  memberIds: column<[number], number>(`SELECT i.id FROM items i WHERE ${IS_MEMBER} ORDER BY i.request_place`),
  limitGroup: statement<[number, number]>(`UPDATE items AS i SET group_max = ? WHERE ${IS_MEMBER}`),
  putOff: statement<[number, number]>(`UPDATE items AS i SET due_at = ? WHERE ${IS_MEMBER}`),
};

/**
 * Chooses the import to send: the kept import of the first delivery with all its members, or a new one of as many due
 * deliveries as fit. Stores no import. Returns null if a member of a kept import is due later. All of its members are then
 * due at that time. A new import has at most `countMax` members.
 */
export function gatherImport(
  tx: Tx,
  due: readonly DeliveryRow[],
  newId: number,
  countMax: number,
): GatheredImport | null {
  const [first] = due;
  if (first === undefined) return null;
  const found = kept(tx, first);
  if (found !== null) return putOff(tx, found) ? null : found;
  // Members of an import that was refused as a whole may share an import only with each other. Otherwise they could
  // cause the refusal of other deliveries.
  const members = due.filter((row) => row.groupMax === first.groupMax && row.requestId === first.requestId);
  return assembled(tx, members.slice(0, countMax), newId);
}

/**
 * Makes one import of these new products, with as many of them as it can hold. Returns null if the first has to be sent alone.
 * A product that was sent alone keeps its request, and with it the key of its revision (I2). Stores nothing.
 */
export function gatherNewImport(
  tx: Tx,
  due: readonly [DeliveryRow, ...DeliveryRow[]],
  newId: number,
): GatheredImport | null {
  const [{ groupMax, requestId }] = due;
  if (groupMax === 1 || requestId !== null) return null;
  return assembled(
    tx,
    due.filter((row) => row.groupMax === groupMax && row.requestId === null),
    newId,
  );
}

/** A member as the claim returns it. */
export function claimedMember(tx: Tx, row: DeliveryRow, isKept: boolean): ClaimedDelivery {
  const payload = parseJson<JsonObject>(revisionContent(row).text);
  const naturalKey = naturalKeyOf(tx.profile, 'product', payload)?.value ?? null;
  return { ...claimedDelivery(row), naturalKey, uncertain: isKept, busySince: null };
}

/** The members of an import, in the order of its body. */
export function importMembers(tx: Tx, requestId: number): number[] {
  return SQL.memberIds(tx).all(requestId);
}

/** Limits the size of the imports that the members of this request may share later. */
export function limitImport(tx: Tx, requestId: number, groupMax: number): void {
  SQL.limitGroup(tx).run(groupMax, requestId);
}

/** The kept import of a delivery; null if there is none, or if a member of it is not due. */
function kept(tx: Tx, first: DeliveryRow): GatheredImport | null {
  const request = first.requestId === null ? undefined : findRequest(tx, first.requestId);
  if (request === undefined) return null;
  const rows = SQL.members(tx).all(request.id);
  if (rows.every(({ state }) => state === 'due')) return { request, isKept: true, rows };
  leaveRequest(tx, first);
  return null;
}

/** Each member may have its own wait. The members are sent together, so all wait for the longest time. */
function putOff(tx: Tx, { request, rows }: GatheredImport): boolean {
  const dueAt = Math.max(...rows.map((row) => row.dueAt));
  if (dueAt <= tx.clock.now()) return false;
  SQL.putOff(tx).run(dueAt, request.id);
  return true;
}

/** Makes a new import of as many deliveries as fit. */
function assembled(tx: Tx, due: readonly DeliveryRow[], id: number): GatheredImport {
  const candidates = due.slice(0, Math.min(tx.profile.imports.membersMax, due[0]?.groupMax ?? due.length));
  const { path, body, memberCount } = tx.encodeImport(candidates.map(payloadOf));
  const rows = candidates.slice(0, memberCount);
  const key = idempotencyKey({
    epoch: tx.epoch,
    target: tx.target,
    operation: 'product.import',
    // After a released import the same members make a new request, with a new key.
    subject: id,
    naturalKey: rows.map((row) => `${row.id}.${row.revision}`).join(' '),
    payloadHash: sha256Url(body ?? ''),
    revision: 1,
  });
  return {
    request: { id, operation: 'product.import', idempotencyKey: key, path, body, sends: 0 },
    isKept: false,
    rows,
  };
}

function payloadOf(row: DeliveryRow): JsonObject {
  const baseline = acknowledgedContent(row)?.text ?? '{}';
  return wholePayload(parseJson<JsonObject>(revisionContent(row).text), parseJson<JsonObject>(baseline));
}
