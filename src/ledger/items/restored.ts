// Decides which creates of a restored ledger have to be looked up, because the API may have items that were created
// since the backup.
//
// A create of a product or material is looked up in a complete list first. These look-ups end for a kind when a
// complete list has shown only items that the ledger knows. The API cannot list BOM items, so a create of a BOM item is
// left to a person. Three BOM items are known to be new and are sent: one whose row came after the first complete read
// since the restore, one whose product or component was created since then, and one that a person has confirmed as
// absent.

import type { Operation } from '../../domain/delivery/operation.ts';
import type { Reason } from '../../domain/delivery/stored-reason.ts';
import { beginProofs, isUnproven, unprovenKinds } from '../contact/contact.ts';
import { readMeta, writeMeta } from '../store/meta.ts';
import { column, perDatabase, statement, type Tx } from '../store/tx.ts';
import { idsOf } from './item-row.ts';
import { forgetAbsence, storeAbsence } from './item-writes.ts';

/**
 * Why a delivery of a restored ledger is unconfirmed. `lookAt` is when a read-back may begin; null if only a person can
 * find out.
 */
export interface WhyUnconfirmed {
  reason: Reason;
  lookAt: number | null;
}

const RESTORED_AT = 'restored_at';

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
      ${isUnproven(of)}))`;
}

const SQL = {
  // Without the items that are known to be new, and without BOM items whose row or refs are newer than the restore.
  toLookUp: column<[string], number>(
    `SELECT i.id FROM json_each(?) listed CROSS JOIN items i ON i.id = listed.value
     WHERE i.was_absent = 0 AND (i.kind <> 'bom_item' OR ${partMayBeSinceBackup('i')})`,
  ),
  sourceOf: column<[number], string>('SELECT source FROM runs WHERE id = ?'),
  lastRecord: column<[], number>('SELECT coalesce(max(id), 0) FROM records'),
  forgetReads: statement("DELETE FROM meta WHERE name LIKE 'restored\\_read:%' ESCAPE '\\'"),
};

/** Each create asks, so the answer is kept. It changes only when a restored ledger is accepted. */
const restored = perDatabase((of) => ({ ever: readMeta(of, RESTORED_AT) !== null }));

/** True if this ledger was ever restored from a backup. */
export function isRestored(tx: Tx): boolean {
  return restored(tx).ever;
}

/** Why these writes may have been sent since the backup, by the id of the item. It has only the writes that may have been sent. */
export function whyUnconfirmed(
  tx: Tx,
  writes: readonly { id: number; operation: Operation }[],
): ReadonlyMap<number, WhyUnconfirmed> {
  if (writes.length === 0 || !isRestored(tx)) return new Map();
  const unproven = new Set<Operation>(unprovenKinds(tx).map((kind) => `${kind}.create` as const));
  const creates = writes.filter(({ operation }) => operation === 'bom_item.create' || unproven.has(operation));
  const ids = new Set(creates.length === 0 ? [] : SQL.toLookUp(tx).all(JSON.stringify(idsOf(creates))));
  const listed = { reason: RESTORED, lookAt: tx.clock.now() };
  const part = { reason: RESTORED_PART, lookAt: null };
  return new Map(
    creates
      .filter(({ id }) => ids.has(id))
      .map(({ id, operation }) => [id, operation === 'bom_item.create' ? part : listed]),
  );
}

/**
 * Call it when it is known that these items were not at the platform at the restore: they have just been created, or a
 * person has said so. A column of the items stores this, because the history of items is pruned.
 */
export function markAbsent(tx: Tx, itemIds: readonly number[]): void {
  if (isRestored(tx)) storeAbsence(tx, itemIds);
}

/** Call it after a complete read of a source. Rows that come later were not in the source before the restore. */
export function noteReadAfterRestore(tx: Tx, runId: number): void {
  if (!isRestored(tx)) return;
  const name = `restored_read:${SQL.sourceOf(tx).get(runId) ?? ''}`;
  if (readMeta(tx, name) === null) writeMeta(tx, name, String(SQL.lastRecord(tx).get() ?? 0));
}

/** Begins the time in which creates are looked up, when a restored ledger is accepted. */
export function beginLookUps(tx: Tx): void {
  SQL.forgetReads(tx).run();
  beginProofs(tx);
  forgetAbsence(tx);
  writeMeta(tx, RESTORED_AT, String(tx.clock.now()));
  restored(tx).ever = true;
}

export const RESTORED: Reason = {
  code: 'restored',
  message: 'The ledger was restored from a backup, and this write may have been sent after the backup was made.',
};
const RESTORED_PART: Reason = {
  code: 'restored',
  message: `${RESTORED.message} The API has no list that shows whether it arrived, and a second request could create the item twice.`,
};
