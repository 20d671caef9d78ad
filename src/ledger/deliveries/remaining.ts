// What is left to deliver, and when it is due, for a process that waits for the end of the work.

import type { Operation } from '../../domain/delivery/operation.ts';
import { NO_REASON, storedReason } from '../../domain/delivery/reason.ts';
import type { DueDelivery, LeftAway, SuspendedWork, WorkOf } from '../../domain/ports/due.ts';
import type { DeliveryLedger } from '../../domain/ports/ledger/delivery-ledger.ts';
import { suspendedCreates } from '../contact/contact.ts';
import { column, statement } from '../store/statement.ts';
import type { Reads } from '../store/tx.ts';
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

const SQL = {
  // The search begins with the latest delivery, because people mostly ask about the latest changes.
  dueNow: statement<[Of & { operation: Operation }], { id: number }>(
    `SELECT i.id FROM items i WHERE i.state = 'due' AND i.operation = +@operation AND i.due_at = 0 AND ${IS_OF}
     ORDER BY i.id DESC LIMIT 1`,
  ),
  suspended: statement<[Of & { operation: Operation }], { id: number }>(
    `SELECT i.id FROM items i WHERE i.state = 'due' AND i.operation = +@operation AND ${IS_OF}
     ORDER BY i.id DESC LIMIT 1`,
  ),
  sending: column<[Of], number>(`SELECT count(*) FROM items i WHERE i.state = 'sending' AND ${IS_OF}`),
  next: statement<[Scheduled & { after: number }], { at: number }>(
    `SELECT i.due_at AS at FROM items i WHERE ${IS_SCHEDULED} AND i.due_at > @after AND ${IS_OF}
     ORDER BY i.due_at LIMIT 1`,
  ),
  countAway: statement<[Scheduled & { before: number }], { away: number; all: number }>(
    `SELECT count(*) FILTER (WHERE ${IS_LEFT_AWAY}) AS away, count(*) AS "all" FROM items i WHERE ${IS_SCHEDULED} AND ${IS_OF}`,
  ),
  firstAway: statement<[Scheduled & { before: number }], DueDelivery & { reason: string; dueAt: number }>(
    `SELECT ${DUE_COLUMNS}, i.reason, i.due_at AS dueAt
     FROM items i WHERE ${IS_SCHEDULED} AND ${IS_LEFT_AWAY} AND ${IS_OF} ORDER BY i.reason ->> '$.since', i.id LIMIT 1`,
  ),
  countDue: statement<[Operation], { count: number }>(
    "SELECT count(*) AS count FROM items WHERE state = 'due' AND operation = ?",
  ),
  countUnconfirmed: statement<[SuspendedUnconfirmed], { count: number }>(
    `SELECT count(*) AS count FROM items i
     WHERE i.state IN ('due', 'in_doubt') AND i.due_at > 0 AND i.state = 'in_doubt' AND ${IS_SUSPENDED_UNCONFIRMED}`,
  ),
};

export function nextDueAt(
  reads: Reads,
  { after, suspended = NOTHING_SUSPENDED, of }: Parameters<DeliveryLedger['nextDueAt']>[0] = {},
): number | null {
  if (after === undefined && isDueNow(reads, suspended, of)) return 0;
  return SQL.next(reads).get({ ...scheduled(reads, suspended, of), after: after ?? 0 })?.at ?? null;
}

export function leftAway(
  reads: Reads,
  { before, suspended = NOTHING_SUSPENDED, of }: Parameters<DeliveryLedger['leftAway']>[0],
): LeftAway | null {
  if (isDueNow(reads, suspended, of)) return null;
  const parameters = { ...scheduled(reads, suspended, of), before };
  const { away, all } = SQL.countAway(reads).get(parameters) ?? { away: 0, all: 0 };
  const first = away > 0 && away === all ? SQL.firstAway(reads).get(parameters) : undefined;
  return first ? { count: away, first: { ...first, reason: storedReason(first.reason) ?? NO_REASON } } : null;
}

export function countSending(reads: Reads, of: WorkOf): number {
  return SQL.sending(reads).get(ofWork(of)) ?? 0;
}

export function hasSuspended(reads: Reads, of: WorkOf): boolean {
  return suspendedCreates(reads).some((operation) => SQL.suspended(reads).get({ operation, ...ofWork(of) }));
}

export function countSuspended(reads: Reads, suspended: SuspendedWork): { due: number; unconfirmed: number } {
  const due = suspended.operations.reduce(
    (sum, operation) => sum + (SQL.countDue(reads).get(operation)?.count ?? 0),
    0,
  );
  return { due, unconfirmed: SQL.countUnconfirmed(reads).get(suspendedUnconfirmed(suspended))?.count ?? 0 };
}

function scheduled(reads: Reads, suspended: SuspendedWork, of: WorkOf | undefined): Scheduled {
  return {
    ...suspendedUnconfirmed(suspended),
    ...ofWork(of),
    operations: JSON.stringify(suspendedOperations(reads, suspended)),
  };
}

function isDueNow(reads: Reads, suspended: SuspendedWork, of: WorkOf | undefined): boolean {
  return freeOperations(reads, suspended).some((operation) => SQL.dueNow(reads).get({ operation, ...ofWork(of) }));
}
