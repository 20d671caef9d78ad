import type { SubjectKind } from '../../domain/item.ts';
import type { Items } from '../items/items.ts';
import type { Passports } from '../passports/passports.ts';
import type { LedgerContext } from '../store/context.ts';
import { reasonHas } from './reason-conditions.ts';

interface BlockedRow {
  id: number;
  revision: number;
  kind: SubjectKind;
}

type Revision = Pick<BlockedRow, 'id' | 'revision'>;

/** A passport whose product is not complete is checked again after this time. */
const INCOMPLETE_MS = 3_600_000;

/**
 * Sends blocked deliveries again when their time has come. Each is sent as a new revision with a new key, because a
 * server that honours keys would repeat its refusal for the old key. Call it inside a transaction.
 */
export function createRecheck(
  { db, clock, profile }: LedgerContext,
  { items, passports }: { items: Items; passports: Passports },
): (request: { limit: number }) => { staged: number; more: boolean } {
  const sql = {
    blocked: db.prepare<[number, number], BlockedRow>(
      `SELECT id, revision, kind FROM items
       WHERE state = 'blocked' AND due_at > 0 AND due_at <= ? ORDER BY due_at LIMIT ?`,
    ),
    postpone: db.prepare<[number, number]>('UPDATE items SET due_at = ? WHERE id = ?'),
    // Finds a row if the revision before this superseded one had the same content and was refused as well.
    repeats: db.prepare<[Revision], { found: 1 }>(
      `SELECT 1 AS found FROM history h JOIN history p ON p.item_id = h.item_id AND p.revision =
         (SELECT max(revision) FROM history WHERE item_id = h.item_id AND revision < h.revision)
       WHERE h.item_id = @id AND h.revision = @revision AND h.state = 'superseded' AND p.state = 'superseded'
         AND p.operation = h.operation AND p.desired_hash = h.desired_hash
         AND ${reasonHas('p', 'asked_again')}`,
    ),
    forgetEvents: db.prepare<[Revision]>('DELETE FROM events WHERE item_id = @id AND revision = @revision'),
    forget: db.prepare<[Revision]>('DELETE FROM history WHERE item_id = @id AND revision = @revision'),
  };

  function askAgain({ id, revision, kind }: BlockedRow): boolean {
    const staged = kind === 'passport' ? passports.askAgain(id) : items.reconcile(id, true) !== null;
    if (!staged) {
      sql.postpone.run(clock.now() + INCOMPLETE_MS, id);
      return false;
    }
    // I9: if a business rule refuses for years, only the first and the last refusal are kept.
    if (sql.repeats.get({ id, revision })) {
      sql.forgetEvents.run({ id, revision });
      sql.forget.run({ id, revision });
    }
    return true;
  }

  return ({ limit }) => {
    if (profile.recheckBlockedMs === 0) return { staged: 0, more: false };
    const rows = sql.blocked.all(clock.now(), limit);
    return { staged: rows.filter(askAgain).length, more: rows.length === limit };
  };
}
