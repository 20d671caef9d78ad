import { type DeliveryState, type Operation, type Reason, transition } from '../domain/delivery.ts';
import type { RefRole, SubjectKind } from '../domain/item.ts';
import { naturalKeyOf } from '../domain/natural-key.ts';
import type {
  Claim,
  DoubtfulDelivery,
  DueDelivery,
  Encode,
  Held,
  ImportSettlement,
  Settled,
  Settlement,
  Verdict,
} from '../domain/ports/ledger.ts';
import type { Write } from '../domain/ports/target.ts';
import { changedFields } from '../domain/reconcile.ts';
import type { JsonObject, JsonValue } from '../lib/json.ts';
import { type LedgerContext, parseJson, parseJsonOrNull } from './context.ts';
import { heldDoubts, IS_HELD_DOUBT } from './due.ts';
import { createFollowProfile } from './follow-profile.ts';
import type { Imports } from './imports.ts';
import type { Items } from './items.ts';
import { presenceOf, sentProduct } from './known-content.ts';
import { MOVES } from './moves.ts';
import type { Passports } from './passports.ts';

interface DeliveryRow {
  id: number;
  itemId: number;
  kind: SubjectKind;
  key: string;
  source: string;
  operation: Operation;
  revision: number;
  state: DeliveryState;
  idempotencyKey: string;
  desired: string | null;
  desiredHash: string;
  path: string | null;
  body: string | null;
  attempts: number;
  reason: string | null;
  naturalKey: string | null;
  remoteId: string | null;
  baseline: string | null;
  baselineHash: string | null;
  uncertain: number;
  importId: number | null;
  settledAt: number | null;
}

const DELIVERY_COLUMNS = `d.id, d.item_id AS itemId, i.kind, i.key, i.source,
  d.operation, d.revision, d.state, d.idempotency_key AS idempotencyKey, d.desired, d.desired_hash AS desiredHash,
  d.path, d.body, d.attempts, d.reason, i.natural_key AS naturalKey, i.remote_id AS remoteId, i.baseline,
  i.baseline_hash AS baselineHash, d.uncertain, d.import_id AS importId, d.settled_at AS settledAt
  FROM deliveries d JOIN items i ON i.id = d.item_id`;

/** What the timeline tells of a person's word. */
const ARRIVED = { message: 'A person has said that it arrived.' };

/** Steps of a passport that are taken for complete products alone. */
const ASKS_FOR_COMPLETENESS: ReadonlySet<Operation> = new Set(['passport.init', 'passport.publish']);

/** Deliveries from claim to settle. Each function is the body of one transaction. */
export interface Deliveries {
  recover(settlingDelayMs: number): { voided: number };
  claim(deliveryId: number): Claim;
  settle(settlement: Settlement): Settled;
  settleImport(settlement: ImportSettlement): Settled[];
  doubtful(request: { limit: number; held?: Held }): DoubtfulDelivery[];
}

export function createDeliveries(
  context: LedgerContext,
  { items, imports, passports }: { items: Items; imports: Imports; passports: Passports },
  encode: Encode,
): Deliveries {
  const { db, clock, followClock, profile } = context;
  const followProfile = createFollowProfile(context, items);
  const sql = {
    byId: db.prepare<[number], DeliveryRow>(`SELECT ${DELIVERY_COLUMNS} WHERE d.id = ?`),
    doubtful: db.prepare<[ReturnType<typeof heldDoubts> & { now: number; limit: number }], DeliveryRow>(
      `SELECT ${DELIVERY_COLUMNS} WHERE d.state IN ('due', 'in_doubt') AND d.due_at > 0 AND d.state = 'in_doubt'
       AND d.due_at <= @now AND ${IS_HELD_DOUBT} IS NOT TRUE ORDER BY d.due_at LIMIT @limit`,
    ),
    sending: db.prepare<[], { id: number; itemId: number }>(
      "SELECT id, item_id AS itemId FROM deliveries WHERE state = 'sending'",
    ),
    setState: db.prepare<[string, number]>('UPDATE deliveries SET state = ? WHERE id = ?'),
    send: db.prepare<[string, string, string | null, number, number]>(
      'UPDATE deliveries SET state = ?, path = ?, body = ?, sent_at = ?, due_at = 0 WHERE id = ?',
    ),
    move: db.prepare<[string, number, number, number, string, number, number]>(
      `UPDATE deliveries SET state = ?, due_at = ?, attempts = max(0, attempts + ?), uncertain = ?, reason = ?, settled_at = ?
       WHERE id = ?`,
    ),
    // Where it was read back, the attempt that did it was counted when it came into doubt.
    deliver: db.prepare<[string, number, 0 | 1, number]>(
      `UPDATE deliveries SET state = ?, settled_at = ?, due_at = 0, uncertain = 0, reason = NULL, desired = NULL, body = NULL,
       attempts = max(1, attempts + ?) WHERE id = ?`,
    ),
    baseline: db.prepare<[string, string, string, number]>(
      'UPDATE items SET baseline = ?, baseline_hash = ?, remote_id = ? WHERE id = ?',
    ),
    refs: db.prepare<[number], { role: RefRole; remoteId: string | null }>(
      `SELECT refs.role, items.remote_id AS remoteId FROM refs
       LEFT JOIN items ON items.kind = refs.kind AND items.key = refs.key WHERE refs.item_id = ?`,
    ),
    waiters: db.prepare<[string, string], { id: number; itemId: number; operation: Operation }>(
      `SELECT d.id, d.item_id AS itemId, d.operation FROM refs JOIN deliveries d ON d.item_id = refs.item_id AND d.state = 'waiting'
       WHERE refs.kind = ? AND refs.key = ?`,
    ),
  };

  function claim(deliveryId: number): Claim {
    const row = sql.byId.get(deliveryId);
    if (!row || row.state !== 'due') return { status: 'gone' };
    // A withdrawal goes out whatever the product is like, and so does what has to be followed to its end.
    if (ASKS_FOR_COMPLETENESS.has(row.operation) && row.uncertain === 0 && passports.holdBack(row.itemId)) {
      return { status: 'gone' };
    }
    if (row.operation === 'product.import') return imports.claim(deliveryId);
    let { path, body } = row;
    if (path === null) {
      const write = writeOf(row);
      if (!write) {
        sql.setState.run(transition(row.state, 'refs_missing'), row.id);
        return { status: 'waiting' };
      }
      ({ path, body } = encode(write));
    }
    // I2: path, bytes and key are durable before the first byte goes out, and never change afterwards.
    sql.send.run(transition(row.state, 'claim'), path, body, clock.now(), row.id);
    const { idempotencyKey, revision, attempts } = row;
    const again = row.path !== null;
    return {
      status: 'claimed',
      delivery: {
        ...dueDelivery(row),
        path,
        body,
        idempotencyKey,
        revision,
        attempts,
        again,
        uncertain: row.uncertain === 1,
        busySince: busySince(row),
      },
    };
  }

  /** The write in canonical terms, or null while a ref has no remote id. */
  function writeOf(row: DeliveryRow): Write | null {
    const refs: Partial<Record<RefRole, JsonValue>> = {};
    for (const { role, remoteId } of sql.refs.all(row.itemId)) {
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

  function deliver(row: DeliveryRow, verdict: Extract<Verdict, { kind: 'delivered' }>): number {
    const attempts = verdict.by === 'answer' ? 1 : 0;
    sql.deliver.run(transition(row.state, 'accept'), clock.now(), attempts, row.id);
    const isNew = row.remoteId === null;
    const remoteId = verdict.remoteId === null ? (row.remoteId ?? 'null') : JSON.stringify(verdict.remoteId);
    // I4: the baseline is what the API acknowledged. Where only the item's presence is known, nothing of its content is.
    const { baseline, hash } = verdict.contentKnown
      ? { baseline: row.desired ?? '{}', hash: row.desiredHash }
      : presenceOf(profile, row.kind, { desired: row.desired, before: null });
    sql.baseline.run(baseline, hash, remoteId, row.itemId);
    passports.stirBy({ id: row.itemId, kind: row.kind, key: row.key, isNew });
    const staged = row.kind === 'passport' ? passports.follow(row.itemId) : items.reconcile(row.itemId) === 'due';
    const follower = staged ? 1 : 0;
    return follower + (isNew ? release(row.kind, row.key) : 0);
  }

  /**
   * A refused update whose earlier attempts nobody has an answer to: the API may hold either content. With nothing taken
   * for granted, the next desire is written in full.
   */
  function forgetBaseline(row: DeliveryRow): void {
    const { baseline, hash } = presenceOf(profile, row.kind, { desired: row.desired, before: row.baseline });
    if (row.remoteId !== null) sql.baseline.run(baseline, hash, row.remoteId, row.itemId);
  }

  /** Makes due what waited for this item and has all its refs now. */
  function release(kind: SubjectKind, key: string): number {
    let released = 0;
    for (const { id, itemId, operation } of sql.waiters.all(kind, key)) {
      if (!items.refsArrived(itemId)) continue;
      sql.setState.run(transition('waiting', 'refs_arrived'), id);
      if (!items.suspectWhereRestored({ id, itemId, operation })) released += 1;
    }
    return released;
  }

  function settle({ deliveryId, verdict, judgedAt }: Settlement): Settled {
    const row = sql.byId.get(deliveryId);
    const gone = { deliveryId, released: 0, applied: false };
    if (!row || !isUnsettled(row)) return gone;
    // A member that moves on by itself leaves bytes behind that may not go out again.
    if (row.importId !== null) imports.dissolve(row.importId);
    return settleRow(row, verdict, judgedAt);
  }

  function settleImport({ settlements, keep, groupMax }: ImportSettlement): Settled[] {
    const told = settlements.map((one) => ({ ...one, row: sql.byId.get(one.deliveryId) }));
    const importId = told.find(({ row }) => row?.importId)?.row?.importId ?? null;
    if (importId !== null) {
      if (groupMax !== null) imports.limitGroup(importId, groupMax);
      const staying = told.filter(({ row, verdict }) => row?.importId === importId && STAYS_OPEN.has(verdict.kind));
      // It is kept as a whole or not at all.
      if (!keep || staying.length < imports.members(importId).length) imports.dissolve(importId);
    }
    return told.map(({ deliveryId, verdict, judgedAt, row }) =>
      row && isUnsettled(row) ? settleRow(row, verdict, judgedAt) : { deliveryId, released: 0, applied: false },
    );
  }

  function settleRow(row: DeliveryRow, verdict: Verdict, judgedAt: number | undefined): Settled {
    const deliveryId = row.id;
    if (verdict.kind === 'delivered') {
      if (verdict.by !== 'answer') items.note(row.itemId, row.id, verdict.by, verdict.by === 'person' ? ARRIVED : null);
      return { deliveryId, released: deliver(row, verdict), applied: true };
    }
    const { event, dueAt, spent, uncertain = row.uncertain } = MOVES[verdict.kind](verdict as never);
    const reason = JSON.stringify(verdict.reason);
    const now = clock.now();
    const sinceMs = dueAt === 0 || judgedAt === undefined ? 0 : now - judgedAt;
    sql.move.run(transition(row.state, event), dueAt + sinceMs, spent, uncertain, reason, now, row.id);
    // Waiting out a limit is no event, and neither is a doubt that goes on: they would bury the others. The delivery's
    // reason tells of it while it lasts.
    const goesOn = verdict.kind === 'doubt' && row.state === 'in_doubt' && reason === row.reason;
    if (!goesOn && (verdict.kind !== 'retry' || verdict.spend))
      items.note(row.itemId, row.id, verdict.kind, verdict.reason);
    // A verdict that ends the revision may leave a newer desire behind, which is staged now.
    const ended = verdict.kind === 'blocked' || verdict.kind === 'rejected' || verdict.kind === 'parked';
    // What became of a passport is looked up before it ends so, and its next step depends on where it is.
    // What is parked is proven to have had no effect.
    const absent = verdict.kind === 'parked' || (verdict.kind === 'rejected' && verdict.absent === true);
    const open = row.uncertain === 1 && !absent && row.kind !== 'passport';
    if (ended && open) forgetBaseline(row);
    const follower = ended && items.reconcile(row.itemId) === 'due' ? 1 : 0;
    return { deliveryId, released: follower, applied: true };
  }

  /** What was sent counts, not what the item is called by now; a passport is asked for under its product's name. */
  function sentNaturalKey({ kind, naturalKey, desired }: DeliveryRow): string | null {
    if (kind === 'passport') return naturalKey;
    return naturalKeyOf(profile, kind, parseJson<JsonObject>(desired ?? '{}'))?.value ?? null;
  }

  function productIdOf(itemId: number): JsonValue {
    const product = sql.refs.all(itemId).find(({ role }) => role === 'product');
    return parseJsonOrNull<JsonValue>(product?.remoteId ?? null);
  }

  return {
    claim,
    settle,
    settleImport,

    recover(settlingDelayMs) {
      followClock.atStart();
      const now = clock.now();
      const reason: Reason = {
        code: 'crash',
        message: 'The process ended between sending this and hearing the answer.',
      };
      const rows = sql.sending.all();
      for (const { id, itemId } of rows) {
        sql.move.run(transition('sending', 'doubt'), now + settlingDelayMs, 0, 1, JSON.stringify(reason), now, id);
        items.note(itemId, id, 'doubt', reason);
      }
      followProfile();
      return { voided: rows.length };
    },

    doubtful({ limit, held }) {
      followClock.notice();
      return sql.doubtful.all({ ...heldDoubts(held), now: clock.now(), limit }).map((row) => ({
        ...dueDelivery(row),
        path: row.path ?? '',
        body: row.body,
        naturalKey: sentNaturalKey(row),
        productId: row.kind === 'passport' ? productIdOf(row.itemId) : null,
        reason: parseJsonOrNull<Reason>(row.reason) ?? { code: 'unknown', message: '' },
        since: row.settledAt ?? 0,
        attempts: row.attempts,
        importId: row.importId,
        sent: sentProduct(row),
      }));
    },
  };
}

function busySince({ reason }: DeliveryRow): number | null {
  const { code, since } = parseJsonOrNull<Reason>(reason) ?? {};
  return code === 'in_flight' && since !== undefined ? since : null;
}

function isUnsettled({ state }: DeliveryRow): boolean {
  return state === 'sending' || state === 'in_doubt';
}

/** Verdicts after which a member may still be tied to its import. */
const STAYS_OPEN: ReadonlySet<Verdict['kind']> = new Set(['doubt', 'resend', 'retry']);

function dueDelivery(row: DeliveryRow): DueDelivery {
  return { id: row.id, kind: row.kind, key: row.key, operation: row.operation, source: row.source };
}
