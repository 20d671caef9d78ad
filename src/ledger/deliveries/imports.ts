// Bulk imports: several deliveries on their way as one request.
//
// Each changed product has a delivery of its own, which stays what the rest of the ledger knows. An import ties some of them

// together from their claim until it is known what became of the request. While nobody knows whether it arrived it is kept,
// to go out again with the same bytes and key; otherwise it is dissolved, and its members find new company at their next
// claim. Its members move together or not at all: bytes of an import that one of them has left would bring back what that
// one was before (I3).

import { type DeliveryState, idempotencyKey, transition } from '../../domain/delivery.ts';
import { naturalKeyOf } from '../../domain/natural-key.ts';
import type { ClaimedDelivery, ClaimedRequest, EncodeImport } from '../../domain/ports/claim.ts';
import { awaySince, storedReason } from '../../domain/reason.ts';
import { wholePayload } from '../../domain/reconcile.ts';
import { sha256Url } from '../../lib/hash.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { type LedgerContext, parseJson, parseJsonOrNull } from '../store/context.ts';

interface MemberRow {
  id: number;
  key: string;
  source: string;
  revision: number;
  state: DeliveryState;
  idempotencyKey: string;
  desired: string | null;
  attempts: number;
  importId: number | null;
  groupMax: number | null;
  remoteId: string | null;
  baseline: string | null;
  reason: string | null;
}

interface ImportRow {
  id: number;
  idempotencyKey: string;
  path: string;
  body: string | null;
  sends: number;
}

const MEMBER_COLUMNS = `d.id, i.key, i.source, d.revision, d.state, d.idempotency_key AS idempotencyKey, d.desired,
  d.attempts, d.import_id AS importId, d.group_max AS groupMax, i.remote_id AS remoteId, i.baseline, d.reason
  FROM deliveries d JOIN items i ON i.id = d.item_id`;

/** For use inside a transaction. */
export interface Imports {
  /**
   * Claims a due `product.import` together with all that is sent in the same request: the members of the import that it is
   * kept in, or else as many other due ones as one import takes.
   */
  claim(deliveryId: number): ClaimedRequest[];
  /** The deliveries that an import ties together, in the order of its body. */
  members(importId: number): number[];
  /** Lets the members of an import go their own ways, and forgets it. */
  dissolve(importId: number): void;
  /** Limits the company in which the members of an import may go out from now on. */
  limitGroup(importId: number, groupMax: number): void;
}

export function createImports({ db, clock, profile, epoch, target }: LedgerContext, encode: EncodeImport): Imports {
  const sql = {
    byId: db.prepare<[number], MemberRow>(`SELECT ${MEMBER_COLUMNS} WHERE d.id = ?`),
    byImport: db.prepare<[number], MemberRow>(`SELECT ${MEMBER_COLUMNS} WHERE d.import_id = ? ORDER BY d.import_place`),
    // What a refused import left behind is sent among its own kind: others must not pay for what is wrong with it.
    company: db.prepare<[{ id: number; now: number; groupMax: number | null; limit: number }], MemberRow>(
      `SELECT ${MEMBER_COLUMNS}
       WHERE d.state = 'due' AND d.operation = 'product.import' AND d.import_id IS NULL
         AND d.due_at <= @now AND d.group_max IS @groupMax AND d.id <> @id ORDER BY d.id LIMIT @limit`,
    ),
    find: db.prepare<[number], ImportRow>(
      'SELECT id, idempotency_key AS idempotencyKey, path, body, sends FROM imports WHERE id = ?',
    ),
    insert: db.prepare<[string, string | null, number]>(
      "INSERT INTO imports (idempotency_key, path, body, sends, created_at) VALUES ('', ?, ?, 0, ?)",
    ),
    setKey: db.prepare<[string, number]>('UPDATE imports SET idempotency_key = ? WHERE id = ?'),
    countSend: db.prepare<[number]>('UPDATE imports SET sends = sends + 1 WHERE id = ?'),
    remove: db.prepare<[number]>('DELETE FROM imports WHERE id = ?'),
    send: db.prepare<[string, number, number, number, number]>(
      'UPDATE deliveries SET state = ?, import_id = ?, import_place = ?, sent_at = ?, due_at = 0 WHERE id = ?',
    ),
    release: db.prepare<[number]>('UPDATE deliveries SET import_id = NULL, import_place = NULL WHERE import_id = ?'),
    limitGroup: db.prepare<[number, number]>('UPDATE deliveries SET group_max = ? WHERE import_id = ?'),
  };

  function claim(deliveryId: number): ClaimedRequest[] {
    const first = sql.byId.get(deliveryId);
    if (first?.state !== 'due') return [];
    const { sent, rows } = kept(first) ?? gathered(first);
    sql.countSend.run(sent.id);
    for (const [place, row] of rows.entries()) {
      sql.send.run(transition(row.state, 'claim'), sent.id, place, clock.now(), row.id);
    }
    const { id: request, path, body, idempotencyKey: key } = sent;
    const members = rows.map((row) => memberOf(row, sent.sends > 0));
    return [{ request, sends: sent.sends + 1, operation: 'product.import', path, body, idempotencyKey: key, members }];
  }

  /** The import that a delivery is kept in, with all its members; null where there is none, or one of them is not due. */
  function kept(first: MemberRow): { sent: ImportRow; rows: MemberRow[] } | null {
    if (first.importId === null) return null;
    const sent = sql.find.get(first.importId);
    const rows = sql.byImport.all(first.importId);
    if (sent && rows.every(({ state }) => state === 'due')) return { sent, rows };
    dissolve(first.importId);
    return null;
  }

  /** A new import of as many deliveries as fit. */
  function gathered(first: MemberRow): { sent: ImportRow; rows: MemberRow[] } {
    const candidates = [first, ...companyOf(first)];
    const { path, body, memberCount } = encode(candidates.map(payloadOf));
    const rows = candidates.slice(0, memberCount);
    const id = Number(sql.insert.run(path, body, clock.now()).lastInsertRowid);
    const key = idempotencyKey({
      epoch,
      target,
      operation: 'product.import',
      // An import that was dissolved had its answer: the same members in a new one are a new request.
      subject: id,
      naturalKey: rows.map((row) => row.idempotencyKey).join(''),
      payloadHash: sha256Url(body ?? ''),
      revision: 1,
    });
    // I2: path, bytes and key are durable before the first byte goes out, and never change afterwards.
    sql.setKey.run(key, id);
    return { sent: { id, idempotencyKey: key, path, body, sends: 0 }, rows };
  }

  function companyOf(first: MemberRow): MemberRow[] {
    const { membersMax, bytesMax } = profile.imports;
    const limit = Math.min(membersMax, first.groupMax ?? membersMax) - 1;
    const company: MemberRow[] = [];
    let bytes = 0;
    for (const row of sql.company.iterate({ id: first.id, now: clock.now(), groupMax: first.groupMax, limit })) {
      company.push(row);
      // No more than can fit is read; the encoding says how much really does.
      bytes += row.desired?.length ?? 0;
      if (bytes > bytesMax) break;
    }
    return company;
  }

  function memberOf(row: MemberRow, again: boolean): ClaimedDelivery {
    const { id, key, source, revision, desired, attempts } = row;
    const payload = parseJson<JsonObject>(desired ?? '{}');
    return {
      id,
      kind: 'product',
      operation: 'product.import',
      key,
      source,
      revision,
      naturalKey: naturalKeyOf(profile, 'product', payload)?.value ?? null,
      remoteId: parseJsonOrNull<JsonValue>(row.remoteId),
      attempts,
      uncertain: again,
      busySince: null,
      awaySince: awaySince(storedReason(row.reason)),
    };
  }

  function dissolve(importId: number): void {
    sql.release.run(importId);
    sql.remove.run(importId);
  }

  return {
    claim,
    dissolve,
    members: (importId) => sql.byImport.all(importId).map(({ id }) => id),
    limitGroup: (importId, groupMax) => void sql.limitGroup.run(groupMax, importId),
  };
}

function payloadOf({ desired, baseline }: MemberRow): JsonObject {
  return wholePayload(parseJson<JsonObject>(desired ?? '{}'), parseJsonOrNull<JsonObject>(baseline) ?? {});
}
