import { OPERATIONS, type Operation } from '../../domain/delivery.ts';
import type { DeliveryLedger } from '../../domain/ports/delivery-ledger.ts';
import type { Denials, DueDelivery, LeftAway, SuspendedWork, WorkOf } from '../../domain/ports/due.ts';
import { NO_REASON, storedReason } from '../../domain/reason.ts';
import type { Contact } from '../contact/contact.ts';
import type { LedgerContext } from '../store/context.ts';
import { reasonHas } from './reason-conditions.ts';

/** Finds deliveries that are due now or later. Each function is one read. */
export interface Due {
  list(request: Parameters<DeliveryLedger['dueDeliveries']>[0]): DueDelivery[];
  some(request: Parameters<DeliveryLedger['someDueDelivery']>[0]): DueDelivery | null;
  byHand(request: Parameters<DeliveryLedger['dueByHand']>[0]): DueDelivery[];
  nextAt(request?: Parameters<DeliveryLedger['nextDueAt']>[0]): number | null;
  leftAway(request: Parameters<DeliveryLedger['leftAway']>[0]): LeftAway | null;
  countSending(of: WorkOf): number;
  hasSuspended(of: WorkOf): boolean;
  isDue(itemId: number): boolean;
  denialsOf(itemId: number): Denials;
  countSuspended(suspended: SuspendedWork): { due: number; unconfirmed: number };
}

const NOTHING_SUSPENDED: SuspendedWork = { operations: [], unconfirmed: { operations: [], reasons: [] } };

/** True of an unconfirmed delivery of an item `i` that is suspended. It takes the parameters of `suspendedUnconfirmed`. */
export const IS_SUSPENDED_UNCONFIRMED = `(i.operation IN (SELECT value FROM json_each(@unconfirmedOperations))
  OR i.reason ->> '$.code' IN (SELECT value FROM json_each(@unconfirmedReasons)))`;

interface SuspendedUnconfirmed {
  unconfirmedOperations: string;
  unconfirmedReasons: string;
}

/** The parameters of `IS_SUSPENDED_UNCONFIRMED`. */
export function suspendedUnconfirmed({ unconfirmed }: SuspendedWork = NOTHING_SUSPENDED): SuspendedUnconfirmed {
  return {
    unconfirmedOperations: JSON.stringify(unconfirmed.operations),
    unconfirmedReasons: JSON.stringify(unconfirmed.reasons),
  };
}

/** True of an item `i` whose delivery is due at some time without a person, and is not suspended. */
const IS_SCHEDULED = `i.state IN ('due', 'in_doubt') AND i.due_at > 0
  AND CASE i.state WHEN 'due' THEN i.operation NOT IN (SELECT value FROM json_each(@operations))
      ELSE ${IS_SUSPENDED_UNCONFIRMED} IS NOT TRUE END`;

/** True of an item `i` whose delivery the API could not take since before `@before`. */
const IS_LEFT_AWAY = `i.state = 'due' AND ${reasonHas('i', 'api_away')} AND i.reason ->> '$.since' <= @before`;

type Scheduled = SuspendedUnconfirmed & Of & { operations: string };

/** True of the items `i` that a `WorkOf` selects. Takes the parameters of `ofWork`. */
const IS_OF = `(@sources = '[]' OR i.source IN (SELECT value FROM json_each(@sources)))
  AND (@products = '[]' OR (i.kind = 'passport' AND i.key IN (SELECT value FROM json_each(@products))))`;
const DUE_COLUMNS = 'i.id, i.kind, i.key, i.revision, i.operation, i.source';

interface Of {
  sources: string;
  products: string;
}

function ofWork(of: WorkOf | undefined): Of {
  const sources = of !== undefined && 'sources' in of ? of.sources : [];
  const products = of !== undefined && 'passportsOf' in of ? of.passportsOf : [];
  return { sources: JSON.stringify(sources), products: JSON.stringify(products) };
}

/**
 * Looks for due deliveries by operation. The deliveries of a refused scope may be a million, and must not be read to
 * find the few others.
 */
export function createDue({ db, clock }: LedgerContext, contact: Pick<Contact, 'suspendedCreates'>): Due {
  const sql = {
    due: db.prepare<[Operation, number, number, number], DueDelivery>(
      `SELECT ${DUE_COLUMNS} FROM items i
       WHERE i.state = 'due' AND i.operation = +? AND i.id > +? AND i.due_at <= +? ORDER BY i.id LIMIT +?`,
    ),
    span: db.prepare<[Operation], { least: number | null; most: number | null }>(
      "SELECT min(id) AS least, max(id) AS most FROM items WHERE state = 'due' AND operation = +?",
    ),
    byHand: db.prepare<[{ now: number; limit: number; operations: string }], DueDelivery>(
      `SELECT ${DUE_COLUMNS} FROM items i
       WHERE i.by_hand = 1 AND i.state = 'due' AND i.due_at <= @now
         AND i.operation NOT IN (SELECT value FROM json_each(@operations)) ORDER BY i.id LIMIT @limit`,
    ),
    // The latest is looked at first, because people mostly ask about what was staged last.
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
    isDue: db.prepare<[number, number], { id: number }>(
      "SELECT id FROM items WHERE id = ? AND state = 'due' AND due_at <= ?",
    ),
    denials: db.prepare<[number], { at: number | null; isAskedAgain: 0 | 1 }>(
      `SELECT iif(${reasonHas('i', 'scope_denied')}, i.settled_at, NULL) AS at,
         ifnull((SELECT h.operation = i.operation AND ${reasonHas('h', 'item_forbidden')} FROM history h
           WHERE h.item_id = i.id AND h.revision < i.revision ORDER BY h.revision DESC LIMIT 1), 0) AS isAskedAgain
       FROM items i WHERE i.id = ?`,
    ),
    countDue: db.prepare<[Operation], { count: number }>(
      "SELECT count(*) AS count FROM items WHERE state = 'due' AND operation = ?",
    ),
    countUnconfirmed: db.prepare<[SuspendedUnconfirmed], { count: number }>(
      `SELECT count(*) AS count FROM items i
       WHERE i.state IN ('due', 'in_doubt') AND i.due_at > 0 AND i.state = 'in_doubt' AND ${IS_SUSPENDED_UNCONFIRMED}`,
    ),
  };

  /** The operations that are not sent now: those of refused scopes, and creates that wait for a list. */
  const staying = ({ operations }: SuspendedWork): Operation[] => [...operations, ...contact.suspendedCreates()];
  const free = (suspended: SuspendedWork): Operation[] => {
    const stays = staying(suspended);
    return OPERATIONS.filter((operation) => !stays.includes(operation));
  };

  const scheduled = (suspended: SuspendedWork, of: WorkOf | undefined): Scheduled => ({
    ...suspendedUnconfirmed(suspended),
    ...ofWork(of),
    operations: JSON.stringify(staying(suspended)),
  });

  const isDueNow = (suspended: SuspendedWork, of: WorkOf | undefined): boolean =>
    free(suspended).some((operation) => sql.dueNow.get({ operation, ...ofWork(of) }));

  function list({
    afterId,
    limit,
    suspended = NOTHING_SUSPENDED,
  }: Parameters<DeliveryLedger['dueDeliveries']>[0]): DueDelivery[] {
    const now = clock.now();
    const found = free(suspended).flatMap((operation) => sql.due.all(operation, afterId, now, limit));
    return found.toSorted((a, b) => a.id - b.id).slice(0, limit);
  }

  return {
    list,

    some({ place, suspended = NOTHING_SUSPENDED }) {
      const ids = free(suspended).flatMap((operation) => {
        const { least = null, most = null } = sql.span.get(operation) ?? {};
        return least === null || most === null ? [] : [least, most];
      });
      if (ids.length === 0) return null;
      const least = Math.min(...ids);
      const afterId = least - 1 + Math.floor(place * (Math.max(...ids) - least + 1));
      return list({ afterId, limit: 1, suspended })[0] ?? null;
    },

    byHand({ limit, suspended = NOTHING_SUSPENDED }) {
      return sql.byHand.all({ now: clock.now(), limit, operations: JSON.stringify(staying(suspended)) });
    },

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

    isDue: (itemId) => sql.isDue.get(itemId, clock.now()) !== undefined,

    denialsOf(itemId) {
      const { at, isAskedAgain } = sql.denials.get(itemId) ?? { at: null, isAskedAgain: 0 };
      return { at, isAskedAgain: isAskedAgain === 1 };
    },

    countSuspended(suspended) {
      const due = suspended.operations.reduce((sum, operation) => sum + (sql.countDue.get(operation)?.count ?? 0), 0);
      return { due, unconfirmed: sql.countUnconfirmed.get(suspendedUnconfirmed(suspended))?.count ?? 0 };
    },
  };
}
