// Bulk imports: several deliveries that are sent as one request.
//
// Each changed product has a delivery of its own. A request ties some of them together from their claim until it is known what became
// of it. While nobody knows whether an import arrived it is kept, to be sent again with the same bytes and key; otherwise its request
// is released, and its members are put into other imports at their next claim. The members change state together or not at all: bytes
// of an import that one of them has left would bring back what that one was before (I3).

import { idempotencyKey } from '../../domain/delivery.ts';
import { naturalKeyOf } from '../../domain/natural-key.ts';
import type { ClaimedDelivery, EncodeImport } from '../../domain/ports/claim.ts';
import { wholePayload } from '../../domain/reconcile.ts';
import { sha256Url } from '../../lib/hash.ts';
import type { JsonObject } from '../../lib/json.ts';
import { acknowledgedContent, revisionContent } from '../items/item-row.ts';
import { type LedgerContext, parseJson } from '../store/context.ts';
import { claimedDelivery, type DeliveryRow, SELECT_DELIVERIES } from './delivery-row.ts';
import type { RequestRow, Requests } from './requests.ts';

/** An import that is about to be sent, with its members in the order of its body. */
export interface GatheredImport {
  request: RequestRow;
  /** Whether it was sent before. */
  isKept: boolean;
  rows: readonly DeliveryRow[];
}

/** For use inside a transaction. */
export interface Imports {
  /**
   * The import to be sent for these due deliveries: the one that the first of them is kept in, with all its members, or else a new
   * one of as many of them as fit. Neither is stored here. Null where a kept import has a member that is due later: then all of
   * its members are due at that time.
   */
  gather(due: readonly DeliveryRow[], newId: number): GatheredImport | null;
  /** What is claimed of a member. */
  claimedMember(row: DeliveryRow, isKept: boolean): ClaimedDelivery;
  /** The members of an import, in the order of its body. */
  members(requestId: number): number[];
  /** Limits how many may share an import with each of its members from now on. */
  limitGroup(requestId: number, groupMax: number): void;
}

const IS_MEMBER = "i.request_id IS NOT NULL AND i.operation = 'product.import' AND i.request_id = +?";

export function createImports(
  { db, clock, profile, epoch, target }: Pick<LedgerContext, 'db' | 'clock' | 'profile' | 'epoch' | 'target'>,
  requests: Requests,
  encode: EncodeImport,
): Imports {
  const sql = {
    members: db.prepare<[number], DeliveryRow>(`${SELECT_DELIVERIES} WHERE ${IS_MEMBER} ORDER BY i.request_place`),
    memberIds: db
      .prepare<[number], number>(`SELECT i.id FROM items i WHERE ${IS_MEMBER} ORDER BY i.request_place`)
      .pluck(),
    limitGroup: db.prepare<[number, number]>(`UPDATE items AS i SET group_max = ? WHERE ${IS_MEMBER}`),
    putOff: db.prepare<[number, number]>(`UPDATE items AS i SET due_at = ? WHERE ${IS_MEMBER}`),
  };

  /** The import that a delivery is kept in, with all its members; null where there is none, or one of its members is not due. */
  function kept(first: DeliveryRow): GatheredImport | null {
    const request = first.requestId === null ? undefined : requests.find(first.requestId);
    if (request === undefined) return null;
    const rows = sql.members.all(request.id);
    if (rows.every(({ state }) => state === 'due')) return { request, isKept: true, rows };
    requests.release(first);
    return null;
  }

  /** Each member may have a wait of its own. As they are sent together, the longest one holds for all. */
  function putOff({ request, rows }: GatheredImport): boolean {
    const dueAt = Math.max(...rows.map((row) => row.dueAt));
    if (dueAt <= clock.now()) return false;
    sql.putOff.run(dueAt, request.id);
    return true;
  }

  /** A new import of as many deliveries as fit. */
  function assembled(due: readonly DeliveryRow[], id: number): GatheredImport {
    const candidates = due.slice(0, Math.min(profile.imports.membersMax, due[0]?.groupMax ?? due.length));
    const { path, body, memberCount } = encode(candidates.map(payloadOf));
    const rows = candidates.slice(0, memberCount);
    const key = idempotencyKey({
      epoch,
      target,
      operation: 'product.import',
      // An import that was released had its answer: the same members in a new one are a new request.
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

  return {
    gather(due, newId) {
      const [first] = due;
      if (first === undefined) return null;
      const found = kept(first);
      if (found !== null) return putOff(found) ? null : found;
      // What a refused import left behind is sent among its own kind: others must not pay for what is wrong with it.
      const members = due.filter((row) => row.groupMax === first.groupMax && row.requestId === first.requestId);
      return assembled(members, newId);
    },
    claimedMember(row, isKept) {
      const payload = parseJson<JsonObject>(revisionContent(row).text);
      const naturalKey = naturalKeyOf(profile, 'product', payload)?.value ?? null;
      return { ...claimedDelivery(row), naturalKey, uncertain: isKept, busySince: null };
    },
    members: (requestId) => sql.memberIds.all(requestId),
    limitGroup: (requestId, groupMax) => void sql.limitGroup.run(groupMax, requestId),
  };
}

function payloadOf(row: DeliveryRow): JsonObject {
  const baseline = acknowledgedContent(row)?.text ?? '{}';
  return wholePayload(parseJson<JsonObject>(revisionContent(row).text), parseJson<JsonObject>(baseline));
}
