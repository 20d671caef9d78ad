import { OPERATIONS, type Operation } from '../../domain/delivery.ts';
import type { Denials, DueDelivery, LeftAway, SuspendedWork, WorkOf } from '../../domain/ports/due.ts';
import type { Ledger } from '../../domain/ports/ledger.ts';
import { NO_REASON, storedReason } from '../../domain/reason.ts';
import type { Contact } from '../contact/contact.ts';
import { type LedgerContext } from '../store/context.ts';
import { reasonHas } from './reasons.ts';

/** What can go on by itself, now or later. Each function is one read. */
export interface Due {
  list(request: Parameters<Ledger['dueDeliveries']>[0]): DueDelivery[];
  some(request: Parameters<Ledger['someDueDelivery']>[0]): DueDelivery | null;
  byHand(request: Parameters<Ledger['dueByHand']>[0]): DueDelivery[];
  nextAt(request?: Parameters<Ledger['nextDueAt']>[0]): number | null;
  leftAway(request: Parameters<Ledger['leftAway']>[0]): LeftAway | null;
  countSending(of: WorkOf): number;
  hasSuspended(of: WorkOf): boolean;
  isDue(deliveryId: number): boolean;
  denialsOf(deliveryId: number): Denials;
  countSuspended(held: SuspendedWork): { due: number; inDoubt: number };
}

const NOTHING_HELD: SuspendedWork = { operations: [], doubts: { operations: [], reasons: [] } };

/** True of a doubt `d` that is held; takes the parameters of `heldDoubts`. */
export const IS_HELD_DOUBT = `(d.operation IN (SELECT value FROM json_each(@doubtOperations))
  OR d.reason ->> '$.code' IN (SELECT value FROM json_each(@doubtReasons)))`;

interface HeldDoubts {
  doubtOperations: string;
  doubtReasons: string;
}

/** The parameters of `IS_HELD_DOUBT`. */
export function heldDoubts({ doubts }: SuspendedWork = NOTHING_HELD): HeldDoubts {
  return { doubtOperations: JSON.stringify(doubts.operations), doubtReasons: JSON.stringify(doubts.reasons) };
}

/** Of a delivery `d`: it can go on by itself at some time, and is not held. */
const IS_SCHEDULED = `d.state IN ('due', 'in_doubt') AND d.due_at > 0
  AND CASE d.state WHEN 'due' THEN d.operation NOT IN (SELECT value FROM json_each(@operations))
      ELSE ${IS_HELD_DOUBT} IS NOT TRUE END`;

/** Of such a delivery: the API has not been able to take it since before a time. */
const IS_LEFT_AWAY = `d.state = 'due' AND ${reasonHas('d', 'api_away')} AND d.reason ->> '$.since' <= @before`;

type Scheduled = HeldDoubts & Of & { operations: string };

/** Of an item `i`: its deliveries are meant. Takes the parameters of `ofWork`. */
const IS_OF = `(@sources = '[]' OR i.source IN (SELECT value FROM json_each(@sources)))
  AND (@products = '[]' OR (i.kind = 'passport' AND i.key IN (SELECT value FROM json_each(@products))))`;
const DELIVERIES = 'deliveries d CROSS JOIN items i ON i.id = d.item_id';

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
 * Due deliveries are looked for by operation: those of a scope that is refused may be a million, and are not walked
 * through to find the few that can go.
 */
export function createDue({ db, clock }: LedgerContext, contact: Pick<Contact, 'suspendedCreates'>): Due {
  const sql = {
    due: db.prepare<[Operation, number, number, number], DueDelivery>(
      `SELECT d.id, i.kind, i.key, d.revision, d.operation, i.source FROM deliveries d JOIN items i ON i.id = d.item_id
       WHERE d.state = 'due' AND d.operation = +? AND d.id > +? AND d.due_at <= +? ORDER BY d.id LIMIT +?`,
    ),
    span: db.prepare<[Operation], { least: number | null; most: number | null }>(
      "SELECT min(id) AS least, max(id) AS most FROM deliveries WHERE state = 'due' AND operation = +?",
    ),
    byHand: db.prepare<[{ now: number; limit: number; operations: string }], DueDelivery>(
      `SELECT d.id, i.kind, i.key, d.revision, d.operation, i.source FROM deliveries d JOIN items i ON i.id = d.item_id
       WHERE d.by_hand = 1 AND d.state = 'due' AND d.due_at <= @now
         AND d.operation NOT IN (SELECT value FROM json_each(@operations)) ORDER BY d.id LIMIT @limit`,
    ),
    // The latest first: what is asked about was mostly staged last.
    dueNow: db.prepare<[Of & { operation: Operation }], { id: number }>(
      `SELECT d.id FROM ${DELIVERIES} WHERE d.state = 'due' AND d.operation = +@operation AND d.due_at = 0 AND ${IS_OF}
       ORDER BY d.id DESC LIMIT 1`,
    ),
    suspended: db.prepare<[Of & { operation: Operation }], { id: number }>(
      `SELECT d.id FROM ${DELIVERIES} WHERE d.state = 'due' AND d.operation = +@operation AND ${IS_OF}
       ORDER BY d.id DESC LIMIT 1`,
    ),
    sending: db
      .prepare<[Of], number>(`SELECT count(*) FROM ${DELIVERIES} WHERE d.state = 'sending' AND ${IS_OF}`)
      .pluck(),
    next: db.prepare<[Scheduled & { after: number }], { at: number }>(
      `SELECT d.due_at AS at FROM ${DELIVERIES} WHERE ${IS_SCHEDULED} AND d.due_at > @after AND ${IS_OF}
       ORDER BY d.due_at LIMIT 1`,
    ),
    countAway: db.prepare<[Scheduled & { before: number }], { away: number; all: number }>(
      `SELECT count(*) FILTER (WHERE ${IS_LEFT_AWAY}) AS away, count(*) AS "all" FROM ${DELIVERIES} WHERE ${IS_SCHEDULED} AND ${IS_OF}`,
    ),
    firstAway: db.prepare<[Scheduled & { before: number }], DueDelivery & { reason: string; dueAt: number }>(
      `SELECT d.id, i.kind, i.key, d.revision, d.operation, i.source, d.reason, d.due_at AS dueAt
       FROM ${DELIVERIES} WHERE ${IS_SCHEDULED} AND ${IS_LEFT_AWAY} AND ${IS_OF} ORDER BY d.reason ->> '$.since', d.id LIMIT 1`,
    ),
    isDue: db.prepare<[number], { id: number }>("SELECT id FROM deliveries WHERE id = ? AND state = 'due'"),
    denials: db.prepare<[number], { at: number | null; isAskedAgain: 0 | 1 }>(
      `SELECT iif(${reasonHas('d', 'scope_denied')}, d.settled_at, NULL) AS at,
         ifnull((SELECT p.operation = d.operation AND ${reasonHas('p', 'item_forbidden')} FROM deliveries p
           WHERE p.item_id = d.item_id AND p.revision < d.revision ORDER BY p.revision DESC LIMIT 1), 0) AS isAskedAgain
       FROM deliveries d WHERE d.id = ?`,
    ),
    countDue: db.prepare<[Operation], { count: number }>(
      "SELECT count(*) AS count FROM deliveries WHERE state = 'due' AND operation = ?",
    ),
    countDoubts: db.prepare<[HeldDoubts], { count: number }>(
      `SELECT count(*) AS count FROM deliveries d
       WHERE d.state IN ('due', 'in_doubt') AND d.due_at > 0 AND d.state = 'in_doubt' AND ${IS_HELD_DOUBT}`,
    ),
  };

  /** Operations that are not sent now: those of refused scopes, and creates that wait for a list. */
  const staying = ({ operations }: SuspendedWork): Operation[] => [...operations, ...contact.suspendedCreates()];
  const free = (held: SuspendedWork): Operation[] => {
    const stays = staying(held);
    return OPERATIONS.filter((operation) => !stays.includes(operation));
  };

  const scheduled = (held: SuspendedWork, of: WorkOf | undefined): Scheduled => ({
    ...heldDoubts(held),
    ...ofWork(of),
    operations: JSON.stringify(staying(held)),
  });

  const isDueNow = (held: SuspendedWork, of: WorkOf | undefined): boolean =>
    free(held).some((operation) => sql.dueNow.get({ operation, ...ofWork(of) }));

  function list({ afterId, limit, held = NOTHING_HELD }: Parameters<Ledger['dueDeliveries']>[0]): DueDelivery[] {
    const now = clock.now();
    const found = free(held).flatMap((operation) => sql.due.all(operation, afterId, now, limit));
    return found.toSorted((a, b) => a.id - b.id).slice(0, limit);
  }

  return {
    list,

    some({ place, held = NOTHING_HELD }) {
      const ids = free(held).flatMap((operation) => {
        const { least = null, most = null } = sql.span.get(operation) ?? {};
        return least === null || most === null ? [] : [least, most];
      });
      if (ids.length === 0) return null;
      const least = Math.min(...ids);
      const afterId = least - 1 + Math.floor(place * (Math.max(...ids) - least + 1));
      return list({ afterId, limit: 1, held })[0] ?? null;
    },

    byHand({ limit, held = NOTHING_HELD }) {
      return sql.byHand.all({ now: clock.now(), limit, operations: JSON.stringify(staying(held)) });
    },

    nextAt({ after, held = NOTHING_HELD, of } = {}) {
      if (after === undefined && isDueNow(held, of)) return 0;
      return sql.next.get({ ...scheduled(held, of), after: after ?? 0 })?.at ?? null;
    },

    leftAway({ before, held = NOTHING_HELD, of }) {
      if (isDueNow(held, of)) return null;
      const parameters = { ...scheduled(held, of), before };
      const { away, all } = sql.countAway.get(parameters) ?? { away: 0, all: 0 };
      const first = away > 0 && away === all ? sql.firstAway.get(parameters) : undefined;
      return first ? { count: away, first: { ...first, reason: storedReason(first.reason) ?? NO_REASON } } : null;
    },

    countSending: (of) => sql.sending.get(ofWork(of)) ?? 0,
    hasSuspended: (of) =>
      contact.suspendedCreates().some((operation) => sql.suspended.get({ operation, ...ofWork(of) })),

    isDue: (deliveryId) => sql.isDue.get(deliveryId) !== undefined,

    denialsOf(deliveryId) {
      const { at, isAskedAgain } = sql.denials.get(deliveryId) ?? { at: null, isAskedAgain: 0 };
      return { at, isAskedAgain: isAskedAgain === 1 };
    },

    countSuspended(held) {
      const due = held.operations.reduce((sum, operation) => sum + (sql.countDue.get(operation)?.count ?? 0), 0);
      return { due, inDoubt: sql.countDoubts.get(heldDoubts(held))?.count ?? 0 };
    },
  };
}
