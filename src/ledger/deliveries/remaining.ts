import type { Operation } from '../../domain/delivery/operation.ts';
import { NO_REASON, storedReason } from '../../domain/delivery/reason.ts';
import type { DueDelivery, LeftAway, SuspendedWork, WorkOf } from '../../domain/ports/due.ts';
import type { DeliveryLedger } from '../../domain/ports/ledger/delivery-ledger.ts';
import type { Contact } from '../contact/contact.ts';
import type { LedgerContext } from '../store/context.ts';
import {
  DUE_COLUMNS,
  freeOperations,
  IS_SUSPENDED_UNCONFIRMED,
  NOTHING_SUSPENDED,
  type SuspendedUnconfirmed,
  suspendedOperations,
  suspendedUnconfirmed,
} from './due.ts';
import { reasonHas } from './reason-conditions.ts';

/**
 * What is left to deliver, and when it is due, for a process that waits for the end of the work. Each function is one
 * read.
 */
export interface Remaining {
  nextAt(request?: Parameters<DeliveryLedger['nextDueAt']>[0]): number | null;
  leftAway(request: Parameters<DeliveryLedger['leftAway']>[0]): LeftAway | null;
  countSending(of: WorkOf): number;
  hasSuspended(of: WorkOf): boolean;
  countSuspended(suspended: SuspendedWork): { due: number; unconfirmed: number };
}

/** SQL condition: true if the delivery of the item `i` is due at some time without a person, and is not suspended. */
const IS_SCHEDULED = `i.state IN ('due', 'in_doubt') AND i.due_at > 0
  AND CASE i.state WHEN 'due' THEN i.operation NOT IN (SELECT value FROM json_each(@operations))
      ELSE ${IS_SUSPENDED_UNCONFIRMED} IS NOT TRUE END`;

/** SQL condition: true if the API could not accept the delivery of the item `i` since a time before `@before`. */
const IS_LEFT_AWAY = `i.state = 'due' AND ${reasonHas('i', 'api_away')} AND i.reason ->> '$.since' <= @before`;

type Scheduled = SuspendedUnconfirmed & Of & { operations: string };

/** SQL condition: true if a `WorkOf` selects the item `i`. Takes the parameters of `ofWork`. */
const IS_OF = `(@sources = '[]' OR i.source IN (SELECT value FROM json_each(@sources)))
  AND (@products = '[]' OR (i.kind = 'passport' AND i.key IN (SELECT value FROM json_each(@products))))`;
interface Of {
  sources: string;
  products: string;
}

function ofWork(of: WorkOf | undefined): Of {
  const sources = of !== undefined && 'sources' in of ? of.sources : [];
  const products = of !== undefined && 'passportsOf' in of ? of.passportsOf : [];
  return { sources: JSON.stringify(sources), products: JSON.stringify(products) };
}

export function createRemaining(
  { db }: Pick<LedgerContext, 'db'>,
  contact: Pick<Contact, 'suspendedCreates'>,
): Remaining {
  const sql = {
    // The search begins with the latest delivery, because people mostly ask about the latest changes.
    dueNow: db.prepare<[Of & { operation: Operation }], { id: number }>(
      `SELECT i.id FROM items i WHERE i.state = 'due' AND i.operation = +@operation AND i.due_at = 0 AND ${IS_OF}
       ORDER BY i.id DESC LIMIT 1`,
    ),
    suspended: db.prepare<[Of & { operation: Operation }], { id: number }>(
      `SELECT i.id FROM items i WHERE i.state = 'due' AND i.operation = +@operation AND ${IS_OF}
       ORDER BY i.id DESC LIMIT 1`,
    ),
    sending: db.prepare<[Of], number>(`SELECT count(*) FROM items i WHERE i.state = 'sending' AND ${IS_OF}`).pluck(),
    next: db.prepare<[Scheduled & { after: number }], { at: number }>(
      `SELECT i.due_at AS at FROM items i WHERE ${IS_SCHEDULED} AND i.due_at > @after AND ${IS_OF}
       ORDER BY i.due_at LIMIT 1`,
    ),
    countAway: db.prepare<[Scheduled & { before: number }], { away: number; all: number }>(
      `SELECT count(*) FILTER (WHERE ${IS_LEFT_AWAY}) AS away, count(*) AS "all" FROM items i WHERE ${IS_SCHEDULED} AND ${IS_OF}`,
    ),
    firstAway: db.prepare<[Scheduled & { before: number }], DueDelivery & { reason: string; dueAt: number }>(
      `SELECT ${DUE_COLUMNS}, i.reason, i.due_at AS dueAt
       FROM items i WHERE ${IS_SCHEDULED} AND ${IS_LEFT_AWAY} AND ${IS_OF} ORDER BY i.reason ->> '$.since', i.id LIMIT 1`,
    ),
    countDue: db.prepare<[Operation], { count: number }>(
      "SELECT count(*) AS count FROM items WHERE state = 'due' AND operation = ?",
    ),
    countUnconfirmed: db.prepare<[SuspendedUnconfirmed], { count: number }>(
      `SELECT count(*) AS count FROM items i
       WHERE i.state IN ('due', 'in_doubt') AND i.due_at > 0 AND i.state = 'in_doubt' AND ${IS_SUSPENDED_UNCONFIRMED}`,
    ),
  };

  const scheduled = (suspended: SuspendedWork, of: WorkOf | undefined): Scheduled => ({
    ...suspendedUnconfirmed(suspended),
    ...ofWork(of),
    operations: JSON.stringify(suspendedOperations(suspended, contact)),
  });

  const isDueNow = (suspended: SuspendedWork, of: WorkOf | undefined): boolean =>
    freeOperations(suspended, contact).some((operation) => sql.dueNow.get({ operation, ...ofWork(of) }));

  return {
    nextAt({ after, suspended = NOTHING_SUSPENDED, of } = {}) {
      if (after === undefined && isDueNow(suspended, of)) return 0;
      return sql.next.get({ ...scheduled(suspended, of), after: after ?? 0 })?.at ?? null;
    },

    leftAway({ before, suspended = NOTHING_SUSPENDED, of }) {
      if (isDueNow(suspended, of)) return null;
      const parameters = { ...scheduled(suspended, of), before };
      const { away, all } = sql.countAway.get(parameters) ?? { away: 0, all: 0 };
      const first = away > 0 && away === all ? sql.firstAway.get(parameters) : undefined;
      return first ? { count: away, first: { ...first, reason: storedReason(first.reason) ?? NO_REASON } } : null;
    },

    countSending: (of) => sql.sending.get(ofWork(of)) ?? 0,
    hasSuspended: (of) =>
      contact.suspendedCreates().some((operation) => sql.suspended.get({ operation, ...ofWork(of) })),

    countSuspended(suspended) {
      const due = suspended.operations.reduce((sum, operation) => sum + (sql.countDue.get(operation)?.count ?? 0), 0);
      return { due, unconfirmed: sql.countUnconfirmed.get(suspendedUnconfirmed(suspended))?.count ?? 0 };
    },
  };
}
