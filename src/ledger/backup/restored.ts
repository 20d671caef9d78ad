// Decides which creates of a restored ledger have to be looked up, because the API may have items that were created
// since the backup.
//
// A create of a product or material is looked up in a complete list first. These look-ups end for a kind when a
// complete list has shown only items that the ledger knows. The API cannot list BOM items, so a create of a BOM item is
// left to a person. Three BOM items are known to be new and are sent: one whose row came after the first complete read
// since the restore, one whose product or component was created since then, and one that a person has confirmed as
// absent.

import type { Operation } from '../../domain/delivery/operation.ts';
import type { Reason } from '../../domain/delivery/reason.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import type { LedgerContext } from '../store/context.ts';
import { createMeta } from '../store/meta.ts';

/**
 * Why a delivery of a restored ledger is unconfirmed. `lookAt` is when a read-back may begin; null if only a person can
 * find out.
 */
export interface WhyUnconfirmed {
  reason: Reason;
  lookAt: number | null;
}

/** Use it inside a transaction. */
export interface Restored {
  /** True if this ledger was ever restored from a backup. */
  isRestored: boolean;
  /** Why this write may have been sent since the backup; null if it cannot have been sent. */
  whyUnconfirmed(itemId: number, operation: Operation): WhyUnconfirmed | null;
  /**
   * Call it when it is known that this item was not at the platform at the restore: it has just been created, or a
   * person has said so. A column of the item stores this, because the item's history is pruned.
   */
  wasAbsent(itemId: number): void;
  /** Call it after a complete read of a source. Rows that come later were not in the source before the restore. */
  sourceWasRead(runId: number): void;
  unprovenKinds(): ListableKind[];
  hasUnbound(kind: ListableKind, naturalKeys: readonly string[]): boolean;
  endProof(kind: ListableKind): void;
}

const LISTABLE: readonly ListableKind[] = ['product', 'material'];
const RESTORED_AT = 'restored_at';
const CREATES = "'product.create', 'material.create', 'bom_item.create'";

/** SQL condition: true for a BOM item of a restored ledger whose row and refs are older than the restore. */
function partMayBeSinceBackup(of: string): string {
  return `(NOT EXISTS (
      SELECT 1 FROM records r JOIN streams s ON s.id = r.stream_id JOIN meta b ON b.name = 'restored_read:' || s.source
      WHERE r.id = ${of}.record_id AND r.id > CAST(b.value AS INTEGER))
    AND NOT EXISTS (
      SELECT 1 FROM refs f JOIN items p ON p.kind = f.kind AND p.key = f.key
      WHERE f.item_id = ${of}.id AND p.was_absent = 1))`;
}

/**
 * SQL condition: true if the create of this item may have been sent since the backup that the ledger was restored from. The
 * parameter is the name of the items table in the SQL statement.
 */
export function mayBeSinceBackup(of: string): string {
  return `(${of}.was_absent = 0 AND EXISTS (SELECT 1 FROM meta WHERE name = '${RESTORED_AT}')
    AND iif(${of}.kind = 'bom_item', ${partMayBeSinceBackup(of)},
      EXISTS (SELECT 1 FROM meta WHERE name = 'unproven:' || ${of}.kind)))`;
}

export function createRestored({ db, clock }: Pick<LedgerContext, 'db' | 'clock'>): Restored {
  const meta = createMeta(db);
  // This value does not change later: a restored ledger has to be accepted before this process can open it.
  const isRestored = meta.get(RESTORED_AT) !== null;
  const sql = {
    wasAbsent: db.prepare<[number], number>('SELECT was_absent FROM items WHERE id = ?').pluck(),
    // Selects 1 for a BOM item that may have been sent since the backup: its row and the items that it refers to are
    // older than the restore.
    partToLookUp: db
      .prepare<[{ itemId: number }], number>(
        `SELECT 1 FROM items i WHERE i.id = @itemId AND ${partMayBeSinceBackup('i')}`,
      )
      .pluck(),
    setAbsent: db.prepare<[number]>(`UPDATE items SET was_absent = 1 WHERE id = ? AND operation IN (${CREATES})`),
    sourceOf: db.prepare<[number], string>('SELECT source FROM runs WHERE id = ?').pluck(),
    lastRecord: db.prepare<[], number>('SELECT coalesce(max(id), 0) FROM records').pluck(),
    unbound: db
      .prepare<[{ kind: string; keys: string }], number>(
        `SELECT 1 FROM json_each(@keys) k WHERE NOT EXISTS (
           SELECT 1 FROM items i WHERE i.kind = @kind AND i.natural_key = k.value AND i.remote_id IS NOT NULL) LIMIT 1`,
      )
      .pluck(),
  };
  const proofOf = (kind: ListableKind): string => `unproven:${kind}`;

  return {
    isRestored,
    whyUnconfirmed(itemId, operation) {
      if (!isRestored || sql.wasAbsent.get(itemId) === 1) return null;
      if (operation === 'bom_item.create') {
        return sql.partToLookUp.get({ itemId }) === undefined ? null : { reason: RESTORED_PART, lookAt: null };
      }
      const kind = LISTABLE.find((one) => operation === `${one}.create`);
      if (kind === undefined || meta.get(proofOf(kind)) === null) return null;
      return { reason: RESTORED, lookAt: clock.now() };
    },
    wasAbsent(itemId) {
      if (isRestored) sql.setAbsent.run(itemId);
    },
    sourceWasRead(runId) {
      if (!isRestored) return;
      const name = `restored_read:${sql.sourceOf.get(runId) ?? ''}`;
      if (meta.get(name) === null) meta.set(name, String(sql.lastRecord.get() ?? 0));
    },
    unprovenKinds: () => LISTABLE.filter((kind) => meta.get(proofOf(kind)) !== null),
    hasUnbound: (kind, naturalKeys) => sql.unbound.get({ kind, keys: JSON.stringify(naturalKeys) }) !== undefined,
    endProof: (kind) => meta.remove(proofOf(kind)),
  };
}

/** Begins the time in which creates are looked up. Call it inside the transaction that accepts a restored ledger. */
export function beginLookUps(db: LedgerContext['db'], now: number): void {
  const meta = createMeta(db);
  db.prepare("DELETE FROM meta WHERE name LIKE 'restored\\_read:%' ESCAPE '\\'").run();
  for (const kind of LISTABLE) meta.set(`unproven:${kind}`, '1');
  db.prepare('UPDATE items SET was_absent = 0 WHERE was_absent = 1').run();
  meta.set(RESTORED_AT, String(now));
}

export const RESTORED: Reason = {
  code: 'restored',
  message: 'The ledger was restored from a backup, and this write may have been sent after the backup was made.',
};
const RESTORED_PART: Reason = {
  code: 'restored',
  message: `${RESTORED.message} The API has no list that shows whether it arrived, and a second request could create the item twice.`,
};
