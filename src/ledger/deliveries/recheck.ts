import type { SubjectKind } from '../../domain/item.ts';
import type { Items } from '../items/items.ts';
import type { Passports } from '../passports/passports.ts';
import type { LedgerContext } from '../store/context.ts';
import { reasonHas } from './reasons.ts';

interface BlockedRow {
  id: number;
  itemId: number;
  kind: SubjectKind;
}

/** A passport whose product is not complete is looked at again after this long. */
const INCOMPLETE_MS = 3_600_000;

/**
 * Asks again for what a gate has blocked, once its time has come. It is a new revision with a key of its own, for a server
 * that obeys keys would answer the old one with its old refusal. For use inside a transaction.
 */
export function createRecheck(
  { db, clock, profile }: LedgerContext,
  { items, passports }: { items: Items; passports: Passports },
): (request: { limit: number }) => { staged: number; more: boolean } {
  const sql = {
    blocked: db.prepare<[number, number], BlockedRow>(
      `SELECT d.id, d.item_id AS itemId, i.kind FROM deliveries d JOIN items i ON i.id = d.item_id
       WHERE d.state = 'blocked' AND d.due_at > 0 AND d.due_at <= ? ORDER BY d.due_at LIMIT ?`,
    ),
    postpone: db.prepare<[number, number]>('UPDATE deliveries SET due_at = ? WHERE id = ?'),
    // True of a superseded delivery whose predecessor asked for the same and met a gate as well.
    repeats: db.prepare<[number], { id: number }>(
      `SELECT d.id FROM deliveries d JOIN deliveries p ON p.item_id = d.item_id AND p.revision =
         (SELECT max(revision) FROM deliveries WHERE item_id = d.item_id AND revision < d.revision)
       WHERE d.id = ? AND d.state = 'superseded' AND p.state = 'superseded' AND p.operation = d.operation
         AND p.desired_hash = d.desired_hash AND ${reasonHas('p', 'asked_again')}`,
    ),
    forgetEvents: db.prepare<[number]>('DELETE FROM events WHERE delivery_id = ?'),
    forget: db.prepare<[number]>('DELETE FROM deliveries WHERE id = ?'),
  };

  function askAgain({ id, itemId, kind }: BlockedRow): boolean {
    const staged = kind === 'passport' ? passports.askAgain(itemId) : items.reconcile(itemId, true) !== null;
    if (!staged) {
      sql.postpone.run(clock.now() + INCOMPLETE_MS, id);
      return false;
    }
    // I9: of a gate that says no for years the first refusal is kept, and the last.
    if (sql.repeats.get(id)) {
      sql.forgetEvents.run(id);
      sql.forget.run(id);
    }
    return true;
  }

  return ({ limit }) => {
    if (profile.recheckBlockedMs === 0) return { staged: 0, more: false };
    const rows = sql.blocked.all(clock.now(), limit);
    return { staged: rows.filter(askAgain).length, more: rows.length === limit };
  };
}
