import { transition } from '../../domain/delivery/delivery.ts';
import type { Operation } from '../../domain/delivery/operation.ts';
import { NO_REASON, type Reason, storedReason } from '../../domain/delivery/reason.ts';
import { type NaturalKey, naturalKeyOf } from '../../domain/natural-key.ts';
import type { SuspendedWork } from '../../domain/ports/due.ts';
import type { UnconfirmedLedger } from '../../domain/ports/ledger/unconfirmed-ledger.ts';
import type { UnconfirmedDelivery } from '../../domain/ports/unconfirmed.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { revisionContent } from '../items/item-row.ts';
import type { Items } from '../items/items.ts';
import { sentContent } from '../items/known-content.ts';
import { type LedgerContext, parseJson, parseJsonOrNull } from '../store/context.ts';
import {
  type DeliveryRow,
  dueDelivery,
  isImportedCreate,
  type RefRow,
  SELECT_DELIVERIES,
  SELECT_LISTED_REFS,
} from './delivery-row.ts';
import { IS_SUSPENDED_UNCONFIRMED, suspendedUnconfirmed } from './due.ts';
import { reasonText } from './stored-reason.ts';

/** The unconfirmed deliveries: it is unknown whether they arrived. */
export interface Unconfirmed {
  /**
   * Marks as unconfirmed the deliveries that an earlier process was sending when it ended. Call it inside a
   * transaction.
   *
   * @returns their number
   */
  voidLeases(settlingDelayMs: number): number;
  /** The unconfirmed deliveries whose read-back may begin now. One read. */
  list(request: { limit: number; suspended?: SuspendedWork }): UnconfirmedDelivery[];
  /**
   * True if unconfirmed deliveries of these operations wait for the end of the run's other writes, and no write of the
   * operations is due or being sent. One read.
   */
  restsAt(operations: readonly Operation[]): boolean;
  /** Makes the deliveries due that wait for the end of the run's other writes. Call it inside a transaction. */
  endRest(operations: readonly Operation[]): void;
  /** Acknowledged creates that were sent after a time, among the items near one item. One read. */
  acknowledgedCreates(
    request: Parameters<UnconfirmedLedger['acknowledgedCreates']>[0],
  ): { remoteId: JsonValue; sentAt: number }[];
}

/**
 * How many items before an unconfirmed one are searched for later creates. Creates are sent roughly in the order of
 * their ids.
 */
const BEFORE_MAX = 2_000;
const AROUND_MAX = 20_000;

/** SQL condition: true for an unconfirmed delivery that waits for the end of the run's other writes. */
const RESTS = `i.state IN ('due', 'in_doubt') AND i.due_at > 0 AND i.state = 'in_doubt' AND i.due_at > +@now
  AND i.operation IN (SELECT value FROM json_each(@operations)) AND i.reason ->> '$.atRest' = 1`;

export function createUnconfirmed(
  { db, clock, profile }: Pick<LedgerContext, 'db' | 'clock' | 'profile'>,
  items: Pick<Items, 'note'>,
): Unconfirmed {
  const sql = {
    list: db.prepare<[ReturnType<typeof suspendedUnconfirmed> & { now: number; limit: number }], DeliveryRow>(
      `${SELECT_DELIVERIES} WHERE i.state IN ('due', 'in_doubt') AND i.due_at > 0 AND i.state = 'in_doubt'
       AND i.due_at <= +@now AND ${IS_SUSPENDED_UNCONFIRMED} IS NOT TRUE ORDER BY i.due_at LIMIT +@limit`,
    ),
    creates: db.prepare<
      [{ operation: string; afterId: number; sentAfter: number; now: number }],
      { remoteId: string; sentAt: number }
    >(
      // An item that was created and then changed has its create in the history. A time in the future is from before the
      // clock was set back, and proves nothing.
      `WITH i AS (SELECT id, remote_id, operation, state, sent_at FROM items WHERE id > @afterId ORDER BY id LIMIT ${AROUND_MAX})
       SELECT i.remote_id AS remoteId, i.sent_at AS sentAt FROM i
       WHERE i.operation = @operation AND i.state = 'delivered' AND i.sent_at > @sentAfter AND i.sent_at <= @now AND i.remote_id IS NOT NULL
       UNION ALL SELECT i.remote_id, h.sent_at FROM i CROSS JOIN history h ON h.item_id = i.id
       WHERE h.operation = @operation AND h.state = 'delivered' AND h.sent_at > @sentAfter AND h.sent_at <= @now AND i.remote_id IS NOT NULL`,
    ),
    // These statements use the indexes of due, of sending and of scheduled items.
    isMoving: db
      .prepare<[{ operations: string }], number>(
        `SELECT EXISTS (SELECT 1 FROM json_each(@operations) o CROSS JOIN items i ON i.state = 'due' AND i.operation = o.value)
           OR EXISTS (SELECT 1 FROM items i WHERE i.state = 'sending'
             AND i.operation IN (SELECT value FROM json_each(@operations)))`,
      )
      .pluck(),
    hasResting: db
      .prepare<[{ operations: string; now: number }], number>(`SELECT 1 FROM items i WHERE ${RESTS} LIMIT 1`)
      .pluck(),
    endRest: db.prepare<[{ operations: string; now: number }]>(`UPDATE items AS i SET due_at = @now WHERE ${RESTS}`),
    sending: db.prepare<[], { id: number; revision: number }>("SELECT id, revision FROM items WHERE state = 'sending'"),
    unconfirmed: db.prepare<[string, number, string, number, number]>(
      'UPDATE items SET state = ?, due_at = ?, uncertain = 1, reason = ?, settled_at = ? WHERE id = ?',
    ),
    refs: db.prepare<[string], RefRow>(SELECT_LISTED_REFS),
  };

  /** The natural key that was sent; it may differ from the present one. */
  function sentKeyOf(row: DeliveryRow): NaturalKey | null {
    return naturalKeyOf(profile, row.kind, parseJson<JsonObject>(revisionContent(row).text));
  }

  function productIdOf(itemId: number): JsonValue {
    const product = sql.refs.all(JSON.stringify([itemId])).find(({ role }) => role === 'product');
    return parseJsonOrNull<JsonValue>(product?.remoteId ?? null);
  }

  return {
    voidLeases(settlingDelayMs) {
      const now = clock.now();
      const reason: Reason = {
        code: 'crash',
        message: 'The process ended after it had sent this request and before it received the answer.',
        since: now,
      };
      const rows = sql.sending.all();
      for (const { id, revision } of rows) {
        sql.unconfirmed.run(transition('sending', 'unconfirmed'), now + settlingDelayMs, reasonText(reason), now, id);
        items.note(id, revision, 'unconfirmed', reason);
      }
      return rows.length;
    },

    restsAt(operations) {
      const request = { operations: JSON.stringify(operations), now: clock.now() };
      return sql.hasResting.get(request) !== undefined && sql.isMoving.get(request) === 0;
    },

    endRest(operations) {
      sql.endRest.run({ operations: JSON.stringify(operations), now: clock.now() });
    },

    acknowledgedCreates({ kind, sentAfter, besideId }) {
      const around = { operation: `${kind}.create`, afterId: besideId - BEFORE_MAX, sentAfter, now: clock.now() };
      return sql.creates
        .all(around)
        .map(({ remoteId, sentAt }) => ({ remoteId: parseJson<JsonValue>(remoteId), sentAt }));
    },

    list({ limit, suspended }) {
      // The rows have the content of the items and of their requests, so they are read one by one.
      const rows = sql.list.iterate({ ...suspendedUnconfirmed(suspended), now: clock.now(), limit });
      return Array.from(rows, (row) => ({
        ...dueDelivery(row),
        naturalKey: row.naturalKey,
        sentKey: sentKeyOf(row),
        productId: row.kind === 'passport' ? productIdOf(row.id) : null,
        reason: storedReason(row.reason) ?? NO_REASON,
        since: row.settledAt ?? 0,
        sentAt: row.sentAt ?? 0,
        attempts: row.attempts,
        importId: row.operation === 'product.import' ? row.requestId : null,
        isImportedCreate: isImportedCreate(row),
        sent: sentContent(row),
      }));
    },
  };
}
