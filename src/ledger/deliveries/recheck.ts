import type { SubjectKind } from '../../domain/item.ts';
import type { Items } from '../items/items.ts';
import type { Passports } from '../passports/passports.ts';
import type { LedgerContext } from '../store/context.ts';
import { reasonHas } from './reasons.ts';

interface BlockedRow {
  id: number;
  revision: number;
  kind: SubjectKind;
}

type Revision = Pick<BlockedRow, 'id' | 'revision'>;

/** A passport whose product is not complete is looked at again after this long. */
const INCOMPLETE_MS = 3_600_000;

/**
 * Asks again for what a business rule has blocked, once its time has come. It is a new revision with a key of its own, for a server
 * that obeys keys would answer the old one with its old refusal. For use inside a transaction.
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
    // True of a superseded revision whose predecessor asked for the same and was refused as well.
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
    // I9: of a business rule that refuses for years the first refusal is kept, and the last.
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
