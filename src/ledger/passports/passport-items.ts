import { fault } from '../../domain/faults.ts';
import type { SubjectKind } from '../../domain/item.ts';
import type { PassportDesire, PassportStatus } from '../../domain/passport.ts';
import { sha256Url } from '../../lib/hash.ts';
import type { LedgerContext } from '../store/context.ts';
import { desireText, statusText } from './passport-text.ts';

/** The product that a passport belongs to. */
export interface PassportOwner {
  key: string;
  naturalKey: string | null;
  source: string;
}

/** An item whose delivery has ended. `isNew` is true if it had no remote id before. */
export interface DeliveredItem {
  id: number;
  kind: SubjectKind;
  key: string;
  isNew: boolean;
}

/** The passports, which are rows of the items table. Call each function inside a transaction. */
export interface PassportItems {
  /** Stores what is desired of a product's passport, and returns its id. The caller reconciles the item afterwards. */
  desire(product: PassportOwner, desire: PassportDesire): number;
  /** Adopts the passport of an adopted product, in the state that it has at the platform. */
  adopt(product: PassportOwner, status: PassportStatus): void;
  /** Marks a passport as dirty, so that it is evaluated. */
  markDirty(id: number): void;
  /** Call it when a passport was evaluated. */
  clearDirty(id: number): void;
  /** Marks passports as dirty if they may have waited for these items or may have been refused because of them. */
  markDirtyBy(items: readonly DeliveredItem[]): void;
}

export function createPassportItems({ db, clock }: Pick<LedgerContext, 'db' | 'clock'>): PassportItems {
  const sql = {
    put: db.prepare<[PassportOwner & { now: number; desired: string; hash: string }], { id: number }>(
      `INSERT INTO items (kind, key, natural_key, source, appeared_at, desired, desired_hash)
       VALUES ('passport', @key, @naturalKey, @source, @now, @desired, @hash)
       ON CONFLICT (kind, key) DO UPDATE SET natural_key = @naturalKey, source = @source, desired = @desired,
         desired_hash = @hash
       RETURNING id`,
    ),
    keepRef: db.prepare<[number, string]>(
      "INSERT OR IGNORE INTO refs (item_id, role, kind, key) VALUES (?, 'product', 'product', ?)",
    ),
    acknowledge: db.prepare<[string, string, number]>(
      "UPDATE items SET acknowledged = 2, baseline = ?, baseline_hash = ?, remote_id = 'null' WHERE id = ?",
    ),
    markDirty: db.prepare<[number]>('UPDATE items SET dirty = 1 WHERE id = ?'),
    clearDirty: db.prepare<[number]>('UPDATE items SET dirty = 0 WHERE id = ?'),
    ofProducts: db.prepare<[string]>(
      "UPDATE items SET dirty = 1 WHERE kind = 'passport' AND key IN (SELECT value FROM json_each(?))",
    ),
    ofBomItems: db.prepare<[string]>(
      `UPDATE items SET dirty = 1 WHERE kind = 'passport' AND key IN (
         SELECT f.key FROM json_each(?) b CROSS JOIN refs f ON f.item_id = b.value AND f.role = 'product')`,
    ),
    ofMaterials: db.prepare<[string]>(
      `UPDATE items SET dirty = 1 WHERE kind = 'passport' AND key IN (
         SELECT p.key FROM json_each(?) k CROSS JOIN refs m ON m.kind = 'material' AND m.key = k.value
         JOIN refs p ON p.item_id = m.item_id AND p.role = 'product')`,
    ),
  };

  // False while there is no passport. Then no passport has to be marked.
  let hasAny = db.prepare("SELECT 1 FROM items WHERE kind = 'passport' LIMIT 1").get() !== undefined;

  function put({ key, naturalKey, source }: PassportOwner, desire: PassportDesire): number {
    hasAny = true;
    const desired = desireText(desire);
    const row = sql.put.get({ key, naturalKey, source, now: clock.now(), desired, hash: sha256Url(desired) });
    if (!row) throw fault('internal', `The passport of ${key} could not be written.`);
    sql.keepRef.run(row.id, key);
    return row.id;
  }

  return {
    desire: put,
    adopt(product, status) {
      const id = put(product, { status, because: 'person', found: true });
      const text = statusText(status);
      sql.acknowledge.run(text, sha256Url(text), id);
    },
    markDirty: (id) => void sql.markDirty.run(id),
    clearDirty: (id) => void sql.clearDirty.run(id),
    markDirtyBy(delivered) {
      if (!hasAny) return;
      const products = delivered.filter(({ kind }) => kind === 'product').map(({ key }) => key);
      const bomItems = delivered.filter(({ kind }) => kind === 'bom_item').map(({ id }) => id);
      // BOM items are delivered after their material, so a new material cannot make a product complete.
      const materials = delivered.filter(({ kind, isNew }) => kind === 'material' && !isNew).map(({ key }) => key);
      if (products.length > 0) sql.ofProducts.run(JSON.stringify(products));
      if (bomItems.length > 0) sql.ofBomItems.run(JSON.stringify(bomItems));
      if (materials.length > 0) sql.ofMaterials.run(JSON.stringify(materials));
    },
  };
}
