import { OPERATIONS, type Operation } from '../domain/delivery.ts';
import type { DueDelivery, Held } from '../domain/ports/ledger.ts';
import type { LedgerContext } from './context.ts';

/** What can go on by itself, now or later. Each function is one read. */
export interface Due {
  list(request: { afterId: number; limit: number; held?: Held }): DueDelivery[];
  nextAt(request?: { after?: number; held?: Held }): number | null;
  operationOf(deliveryId: number): Operation | null;
  countHeld(held: Held): { due: number; inDoubt: number };
}

const NOTHING_HELD: Held = { operations: [], doubts: { operations: [], reasons: [] } };

/** True of a doubt `d` that is held; takes the parameters of `heldDoubts`. */
export const IS_HELD_DOUBT = `(d.operation IN (SELECT value FROM json_each(@doubtOperations))
  OR d.reason ->> '$.code' IN (SELECT value FROM json_each(@doubtReasons)))`;

interface HeldDoubts {
  doubtOperations: string;
  doubtReasons: string;
}

/** The parameters of `IS_HELD_DOUBT`. */
export function heldDoubts({ doubts }: Held = NOTHING_HELD): HeldDoubts {
  return { doubtOperations: JSON.stringify(doubts.operations), doubtReasons: JSON.stringify(doubts.reasons) };
}

/**
 * Due deliveries are looked for by operation: those of a scope that is refused may be a million, and are not walked
 * through to find the few that can go.
 */
export function createDue({ db, clock }: LedgerContext): Due {
  const sql = {
    due: db.prepare<[Operation, number, number, number], DueDelivery>(
      `SELECT d.id, i.kind, i.key, d.operation, i.source FROM deliveries d JOIN items i ON i.id = d.item_id
       WHERE d.state = 'due' AND d.operation = ? AND d.id > ? AND d.due_at <= ? ORDER BY d.id LIMIT ?`,
    ),
    dueNow: db.prepare<[Operation], { id: number }>(
      "SELECT id FROM deliveries WHERE state = 'due' AND operation = ? AND due_at = 0 LIMIT 1",
    ),
    next: db.prepare<[HeldDoubts & { operations: string; after: number }], { at: number }>(
      `SELECT d.due_at AS at FROM deliveries d
       WHERE d.state IN ('due', 'in_doubt') AND d.due_at > 0 AND d.due_at > @after
         AND CASE d.state WHEN 'due' THEN d.operation NOT IN (SELECT value FROM json_each(@operations))
             ELSE ${IS_HELD_DOUBT} IS NOT TRUE END
       ORDER BY d.due_at LIMIT 1`,
    ),
    operation: db.prepare<[number], { operation: Operation }>(
      "SELECT operation FROM deliveries WHERE id = ? AND state = 'due'",
    ),
    countDue: db.prepare<[Operation], { count: number }>(
      "SELECT count(*) AS count FROM deliveries WHERE state = 'due' AND operation = ?",
    ),
    countDoubts: db.prepare<[HeldDoubts], { count: number }>(
      `SELECT count(*) AS count FROM deliveries d
       WHERE d.state IN ('due', 'in_doubt') AND d.due_at > 0 AND d.state = 'in_doubt' AND ${IS_HELD_DOUBT}`,
    ),
  };

  const free = ({ operations }: Held): Operation[] => OPERATIONS.filter((operation) => !operations.includes(operation));

  return {
    list({ afterId, limit, held = NOTHING_HELD }) {
      const now = clock.now();
      const found = free(held).flatMap((operation) => sql.due.all(operation, afterId, now, limit));
      return found.toSorted((a, b) => a.id - b.id).slice(0, limit);
    },

    nextAt({ after, held = NOTHING_HELD } = {}) {
      if (after === undefined && free(held).some((operation) => sql.dueNow.get(operation))) return 0;
      const operations = JSON.stringify(held.operations);
      return sql.next.get({ ...heldDoubts(held), operations, after: after ?? 0 })?.at ?? null;
    },

    operationOf: (deliveryId) => sql.operation.get(deliveryId)?.operation ?? null,

    countHeld(held) {
      const due = held.operations.reduce((sum, operation) => sum + (sql.countDue.get(operation)?.count ?? 0), 0);
      return { due, inDoubt: sql.countDoubts.get(heldDoubts(held))?.count ?? 0 };
    },
  };
}
