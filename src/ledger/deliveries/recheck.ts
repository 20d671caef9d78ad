import type { SubjectKind } from '../../domain/item.ts';
import { reconcile } from '../items/reconcile.ts';
import { sendPassportAgain } from '../passports/passports.ts';
import { statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import { reasonHas } from './reason-conditions.ts';

interface BlockedRow {
  id: number;
  revision: number;
  kind: SubjectKind;
}

type Revision = Pick<BlockedRow, 'id' | 'revision'>;

/** A passport whose product is not complete is checked again after this time. */
const INCOMPLETE_MS = 3_600_000;

const SQL = {
  blocked: statement<[number, number], BlockedRow>(
    `SELECT id, revision, kind FROM items
     WHERE state = 'blocked' AND due_at > 0 AND due_at <= ? ORDER BY due_at LIMIT ?`,
  ),
  postpone: statement<[number, number]>('UPDATE items SET due_at = ? WHERE id = ?'),
  // Finds a row if the revision before this superseded one had the same content and was refused as well.
  repeats: statement<[Revision], { found: 1 }>(
    `SELECT 1 AS found FROM history h JOIN history p ON p.item_id = h.item_id AND p.revision =
       (SELECT max(revision) FROM history WHERE item_id = h.item_id AND revision < h.revision)
     WHERE h.item_id = @id AND h.revision = @revision AND h.state = 'superseded' AND p.state = 'superseded'
       AND p.operation = h.operation AND p.desired_hash = h.desired_hash
       AND ${reasonHas('p', 'asked_again')}`,
  ),
  forgetEvents: statement<[Revision]>('DELETE FROM events WHERE item_id = @id AND revision = @revision'),
  forget: statement<[Revision]>('DELETE FROM history WHERE item_id = @id AND revision = @revision'),
};

/**
 * Sends blocked deliveries again when their time has come. Each is sent as a new revision with a new key, because a
 * server that honours keys would repeat its refusal for the old key.
 */
export function recheckBlocked(tx: Tx, { limit }: { limit: number }): { staged: number; more: boolean } {
  if (tx.profile.recheckBlockedMs === 0) return { staged: 0, more: false };
  const rows = SQL.blocked(tx).all(tx.clock.now(), limit);
  return { staged: rows.filter((row) => askAgain(tx, row)).length, more: rows.length === limit };
}

function askAgain(tx: Tx, { id, revision, kind }: BlockedRow): boolean {
  const staged = kind === 'passport' ? sendPassportAgain(tx, id) : reconcile(tx, id, true) !== null;
  if (!staged) {
    SQL.postpone(tx).run(tx.clock.now() + INCOMPLETE_MS, id);
    return false;
  }
  // I9: if a business rule refuses for years, only the first and the last refusal are kept.
  if (SQL.repeats(tx).get({ id, revision })) {
    SQL.forgetEvents(tx).run({ id, revision });
    SQL.forget(tx).run({ id, revision });
  }
  return true;
}
