// What is not known to a ledger that was restored from a backup: the API may hold items that were written in the lost time.
//
// So a create does not go out unasked. A product or material is looked for in a complete listing first, until one has held
// nothing but what the ledger knows. A BOM item cannot be read: it is left to a person, unless it cannot have been written
// then, because its row came after the first complete read since, or what it belongs to has been created since, or because
// a person has looked and said so.

import type { Operation } from '../../domain/delivery.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import type { Reason } from '../../domain/reason.ts';
import type { LedgerContext } from '../store/context.ts';
import { createMeta } from '../store/meta.ts';

/** Why a create is in doubt in a restored ledger. `lookAt` is null where only a person can tell. */
export interface WhyUnconfirmed {
  reason: Reason;
  lookAt: number | null;
}

/** For use inside a transaction. */
export interface Restored {
  /** Whether this ledger was put back from a backup at some time. */
  isRestored: boolean;
  /** Why this write may have been made in the lost time, or null where it cannot. */
  whyUnconfirmed(itemId: number, operation: Operation): WhyUnconfirmed | null;
  /**
   * What the delivery of this item is to create was not there before: it has just been created, or a person says so. That has to
   * outlast the history of the item, which is pruned.
   */
  wasAbsent(itemId: number): void;
  /** A source was read as a whole: rows that come later were not there in the lost time. */
  sourceWasRead(runId: number): void;
  unprovenKinds(): ListableKind[];
  hasUnbound(kind: ListableKind, naturalKeys: readonly string[]): boolean;
  endProof(kind: ListableKind): void;
}

const LISTABLE: readonly ListableKind[] = ['product', 'material'];
const RESTORED_AT = 'restored_at';
const CREATES = "'product.create', 'material.create', 'bom_item.create'";

export function createRestored({ db, clock }: Pick<LedgerContext, 'db' | 'clock'>): Restored {
  const meta = createMeta(db);
  // A ledger is accepted as restored before it is opened to be worked with.
  const isRestored = meta.get(RESTORED_AT) !== null;
  const sql = {
    wasAbsent: db.prepare<[number], number>('SELECT was_absent FROM items WHERE id = ?').pluck(),
    // 1 for a BOM item whose row was there before the lost time was over, and whose ends were.
    partToLookUp: db
      .prepare<[{ itemId: number }], number>(
        `SELECT 1 FROM meta m WHERE m.name = '${RESTORED_AT}'
         AND NOT EXISTS (
           SELECT 1 FROM items i JOIN records r ON r.id = i.record_id JOIN streams s ON s.id = r.stream_id
           JOIN meta b ON b.name = 'restored_read:' || s.source
           WHERE i.id = @itemId AND r.id > CAST(b.value AS INTEGER))
         AND NOT EXISTS (
           SELECT 1 FROM refs f JOIN items p ON p.kind = f.kind AND p.key = f.key
           WHERE f.item_id = @itemId AND p.was_absent = 1)`,
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

/** Begins the time in which creates are looked up. For use inside the transaction that accepts a restored ledger. */
export function beginLookUps(db: LedgerContext['db'], now: number): void {
  const meta = createMeta(db);
  db.prepare("DELETE FROM meta WHERE name LIKE 'restored\\_read:%' ESCAPE '\\'").run();
  for (const kind of LISTABLE) meta.set(`unproven:${kind}`, '1');
  db.prepare('UPDATE items SET was_absent = 0 WHERE was_absent = 1').run();
  meta.set(RESTORED_AT, String(now));
}

const RESTORED: Reason = {
  code: 'restored',
  message: 'The ledger was restored from a backup, and this may have been written since that was made.',
};
const RESTORED_PART: Reason = {
  code: 'restored',
  message: `${RESTORED.message} The API cannot be asked whether it arrived, and sending it again could double it.`,
};
