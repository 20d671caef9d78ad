import { type Operation, transition } from '../../domain/delivery.ts';
import { hasRefs, type RefRole } from '../../domain/item.ts';
import type { ClaimedDelivery, ClaimedRequest, DeliveryName, Encode } from '../../domain/ports/claim.ts';
import type { Write } from '../../domain/ports/target.ts';
import { awaySince, busySince, storedReason } from '../../domain/reason.ts';
import { changedFields } from '../../domain/reconcile.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import type { Contact } from '../contact/contact.ts';
import type { Passports } from '../passports/passports.ts';
import { type LedgerContext, parseJson, parseJsonOrNull } from '../store/context.ts';
import { type DeliveryRow, dueDelivery, type RefRow, SELECT_DELIVERY, SELECT_REFS } from './delivery-row.ts';
import type { Imports } from './imports.ts';

/** Steps of a passport that are taken for complete products alone. */
const ASKS_FOR_COMPLETENESS: ReadonlySet<Operation> = new Set(['passport.init', 'passport.publish']);

/** Marks due deliveries as sending. The body of one transaction. */
export function createClaims(
  { db, clock }: LedgerContext,
  { imports, passports, contact }: { imports: Imports; passports: Passports; contact: Pick<Contact, 'isSuspended'> },
  encode: Encode,
): { claim(requests: readonly (readonly DeliveryName[])[]): ClaimedRequest[] } {
  const sql = {
    byId: db.prepare<[number], DeliveryRow>(SELECT_DELIVERY),
    setState: db.prepare<[string, number]>('UPDATE deliveries SET state = ? WHERE id = ?'),
    send: db.prepare<[string, string, string | null, number, number]>(
      'UPDATE deliveries SET state = ?, path = ?, body = ?, sent_at = ?, due_at = 0 WHERE id = ?',
    ),
    refs: db.prepare<[number], RefRow>(SELECT_REFS),
  };

  function mayGo(row: DeliveryRow | undefined, { revision }: DeliveryName): row is DeliveryRow {
    if (row?.state !== 'due' || row.revision !== revision) return false;
    // A create is compared with the platform's list before it is sent for the first time.
    if (contact.isSuspended(row.operation)) return false;
    // A withdrawal is sent whatever the product is like, and so is a write that has to be followed to its end.
    const needsCompleteness = ASKS_FOR_COMPLETENESS.has(row.operation) && row.uncertain === 0;
    return !needsCompleteness || !passports.holdBack(row.itemId);
  }

  function claimAlone(row: DeliveryRow): ClaimedRequest[] {
    let { path, body } = row;
    if (path === null) {
      const write = writeOf(row);
      if (!write) {
        sql.setState.run(transition(row.state, 'refs_missing'), row.id);
        return [];
      }
      ({ path, body } = encode(write));
    }
    // I2: path, bytes and key are durable before the first byte is sent, and never change afterwards.
    sql.send.run(transition(row.state, 'claim'), path, body, clock.now(), row.id);
    const { operation, idempotencyKey } = row;
    const claim = { request: row.id, sends: row.path === null ? 1 : 2 };
    return [{ ...claim, operation, path, body, idempotencyKey, members: [claimedDelivery(row)] }];
  }

  function claim(names: readonly DeliveryName[]): ClaimedRequest[] {
    const rows = names.flatMap((name) => {
      const row = sql.byId.get(name.id);
      return mayGo(row, name) ? [row] : [];
    });
    const [first] = rows;
    if (first === undefined) return [];
    return first.operation === 'product.import' ? imports.claim(first.id) : rows.flatMap(claimAlone);
  }

  /** The write in canonical terms, or null while a ref has no remote id. */
  function writeOf(row: DeliveryRow): Write | null {
    const refs: Partial<Record<RefRole, JsonValue>> = {};
    for (const { role, remoteId } of hasRefs(row.kind) ? sql.refs.all(row.itemId) : []) {
      if (remoteId === null) return null;
      refs[role] = parseJson<JsonValue>(remoteId);
    }
    const desired = parseJson<JsonObject>(row.desired ?? '{}');
    const updates = row.operation.endsWith('.update');
    const payload = updates ? changedFields(desired, parseJsonOrNull<JsonObject>(row.baseline) ?? {}) : desired;
    // The API knows a passport by its product's id.
    const remoteId = row.kind === 'passport' ? (refs.product ?? null) : parseJsonOrNull<JsonValue>(row.remoteId);
    return { operation: row.operation, payload, refs, remoteId };
  }

  return { claim: (requests) => requests.flatMap(claim) };
}

function claimedDelivery(row: DeliveryRow): ClaimedDelivery {
  return {
    ...dueDelivery(row),
    naturalKey: row.naturalKey,
    remoteId: parseJsonOrNull<JsonValue>(row.remoteId),
    attempts: row.attempts,
    uncertain: row.uncertain === 1,
    busySince: busySince(storedReason(row.reason)),
    awaySince: awaySince(storedReason(row.reason)),
  };
}
