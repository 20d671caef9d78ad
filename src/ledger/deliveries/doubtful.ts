import { transition } from '../../domain/delivery.ts';
import { type NaturalKey, naturalKeyOf } from '../../domain/natural-key.ts';
import type { SuspendedWork } from '../../domain/ports/due.ts';
import type { Ledger } from '../../domain/ports/ledger.ts';
import type { UnconfirmedDelivery } from '../../domain/ports/unconfirmed.ts';
import { NO_REASON, type Reason, storedReason } from '../../domain/reason.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import type { Items } from '../items/items.ts';
import { sentProduct } from '../items/known-content.ts';
import { type LedgerContext, parseJson, parseJsonOrNull } from '../store/context.ts';
import { DELIVERY_COLUMNS, type DeliveryRow, dueDelivery, type RefRow, SELECT_REFS } from './delivery-row.ts';
import { heldDoubts, IS_HELD_DOUBT } from './due.ts';

/** Deliveries of which nobody knows whether they arrived. */
export interface Doubtful {
  /**
   * Puts in doubt what an earlier process was sending when it ended. For use inside a transaction.
   *
   * @returns how many those were
   */
  voidLeases(settlingDelayMs: number): number;
  /** Those that may be looked at by now. One read. */
  list(request: { limit: number; held?: SuspendedWork }): UnconfirmedDelivery[];
  /** Creates that were sent after a time and acknowledged, among the deliveries around one. One read. */
  acknowledgedCreates(request: Parameters<Ledger['acknowledgedCreates']>[0]): { remoteId: JsonValue; sentAt: number }[];
}

/** So many deliveries around a doubt are looked through for later ones; they are sent about in the order of their ids. */
const BEFORE_MAX = 2_000;
const AROUND_MAX = 20_000;

export function createDoubtful({ db, clock, profile }: LedgerContext, items: Items): Doubtful {
  const sql = {
    list: db.prepare<[ReturnType<typeof heldDoubts> & { now: number; limit: number }], DeliveryRow>(
      `SELECT ${DELIVERY_COLUMNS} WHERE d.state IN ('due', 'in_doubt') AND d.due_at > 0 AND d.state = 'in_doubt'
       AND d.due_at <= +@now AND ${IS_HELD_DOUBT} IS NOT TRUE ORDER BY d.due_at LIMIT +@limit`,
    ),
    creates: db.prepare<
      [{ operation: string; afterId: number; sentAfter: number }],
      { remoteId: string; sentAt: number }
    >(
      `SELECT i.remote_id AS remoteId, d.sent_at AS sentAt FROM (
         SELECT item_id, operation, state, sent_at FROM deliveries WHERE id > @afterId ORDER BY id LIMIT ${AROUND_MAX}) d
       JOIN items i ON i.id = d.item_id
       WHERE d.operation = @operation AND d.state = 'delivered' AND d.sent_at > @sentAfter AND i.remote_id IS NOT NULL`,
    ),
    sending: db.prepare<[], { id: number; itemId: number }>(
      "SELECT id, item_id AS itemId FROM deliveries WHERE state = 'sending'",
    ),
    doubt: db.prepare<[string, number, string, number, number]>(
      'UPDATE deliveries SET state = ?, due_at = ?, uncertain = 1, reason = ?, settled_at = ? WHERE id = ?',
    ),
    refs: db.prepare<[number], RefRow>(SELECT_REFS),
  };

  /** What was sent counts, not what the item is called by now. */
  function sentKeyOf({ kind, desired }: DeliveryRow): NaturalKey | null {
    return naturalKeyOf(profile, kind, parseJson<JsonObject>(desired ?? '{}'));
  }

  function productIdOf(itemId: number): JsonValue {
    const product = sql.refs.all(itemId).find(({ role }) => role === 'product');
    return parseJsonOrNull<JsonValue>(product?.remoteId ?? null);
  }

  return {
    voidLeases(settlingDelayMs) {
      const now = clock.now();
      const reason: Reason = {
        code: 'crash',
        message: 'The process ended between sending this and hearing the answer.',
      };
      const rows = sql.sending.all();
      for (const { id, itemId } of rows) {
        sql.doubt.run(transition('sending', 'unconfirmed'), now + settlingDelayMs, JSON.stringify(reason), now, id);
        items.note(itemId, id, 'unconfirmed', reason);
      }
      return rows.length;
    },

    acknowledgedCreates({ kind, sentAfter, besideId }) {
      const around = { operation: `${kind}.create`, afterId: besideId - BEFORE_MAX, sentAfter };
      return sql.creates
        .all(around)
        .map(({ remoteId, sentAt }) => ({ remoteId: parseJson<JsonValue>(remoteId), sentAt }));
    },

    list({ limit, held }) {
      return sql.list.all({ ...heldDoubts(held), now: clock.now(), limit }).map((row) => ({
        ...dueDelivery(row),
        path: row.path ?? '',
        body: row.body,
        naturalKey: row.naturalKey,
        sentKey: sentKeyOf(row),
        productId: row.kind === 'passport' ? productIdOf(row.itemId) : null,
        reason: storedReason(row.reason) ?? NO_REASON,
        since: row.settledAt ?? 0,
        attempts: row.attempts,
        importId: row.importId,
        sent: sentProduct(row),
      }));
    },
  };
}
