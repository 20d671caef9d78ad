// The passports, which are rows of the items table.

import { fault } from '../../domain/faults.ts';
import type { SubjectKind } from '../../domain/item.ts';
import type { PassportDesire, PassportStatus } from '../../domain/passport.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import { sha256Url } from '../../lib/hash.ts';
import { column, perDatabase, statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import { parseJson, parseJsonOrNull } from '../store/tx.ts';

/** The product that a passport belongs to. */
export interface PassportOwner {
  key: string;
  naturalKey: string | null;
  source: string;
}

/** An item whose delivery has ended. `isNew` is true if it had no remote id before. */
interface DeliveredItem {
  id: number;
  kind: SubjectKind;
  key: string;
  isNew: boolean;
}

const SQL = {
  any: column<[], number>("SELECT 1 FROM items WHERE kind = 'passport' LIMIT 1"),
  put: statement<[PassportOwner & { now: number; desired: string; hash: string }], { id: number }>(
    `INSERT INTO items (kind, key, natural_key, source, appeared_at, desired, desired_hash)
     VALUES ('passport', @key, @naturalKey, @source, @now, @desired, @hash)
     ON CONFLICT (kind, key) DO UPDATE SET natural_key = @naturalKey, source = @source, desired = @desired,
       desired_hash = @hash
     RETURNING id`,
  ),
  keepRef: statement<[number, string]>(
    "INSERT OR IGNORE INTO refs (item_id, role, kind, key) VALUES (?, 'product', 'product', ?)",
  ),
  acknowledge: statement<[string, string, number]>(
    "UPDATE items SET acknowledged = 2, baseline = ?, baseline_hash = ?, remote_id = 'null' WHERE id = ?",
  ),
  markDirty: statement<[number]>('UPDATE items SET dirty = 1 WHERE id = ?'),
  clearDirty: statement<[number]>('UPDATE items SET dirty = 0 WHERE id = ?'),
  ofProducts: statement<[string]>(
    "UPDATE items SET dirty = 1 WHERE kind = 'passport' AND key IN (SELECT value FROM json_each(?))",
  ),
  ofBomItems: statement<[string]>(
    `UPDATE items SET dirty = 1 WHERE kind = 'passport' AND key IN (
       SELECT f.key FROM json_each(?) b CROSS JOIN refs f ON f.item_id = b.value AND f.role = 'product')`,
  ),
  ofMaterials: statement<[string]>(
    `UPDATE items SET dirty = 1 WHERE kind = 'passport' AND key IN (
       SELECT p.key FROM json_each(?) k CROSS JOIN refs m ON m.kind = 'material' AND m.key = k.value
       JOIN refs p ON p.item_id = m.item_id AND p.role = 'product')`,
  ),
};

/** Whether there is a passport. While there is none, no passport has to be marked, and each delivery asks. */
const passports = perDatabase((of) => ({ any: SQL.any(of).get() !== undefined }));

/** Stores what is desired of a product's passport, and returns its id. The caller reconciles the item afterwards. */
export function desirePassport(tx: Tx, { key, naturalKey, source }: PassportOwner, desire: PassportDesire): number {
  passports(tx).any = true;
  const desired = desireText(desire);
  const row = SQL.put(tx).get({ key, naturalKey, source, now: tx.clock.now(), desired, hash: sha256Url(desired) });
  if (!row) throw fault('internal', `The passport of ${key} could not be written.`);
  SQL.keepRef(tx).run(row.id, key);
  return row.id;
}

/** Adopts the passport of an adopted product, in the state that it has at the platform. */
export function adoptPassport(tx: Tx, product: PassportOwner, status: PassportStatus): void {
  const id = desirePassport(tx, product, { status, because: 'person', found: true });
  const text = statusText(status);
  SQL.acknowledge(tx).run(text, sha256Url(text), id);
}

/** Marks a passport as dirty, so that it is evaluated. */
export function markPassportDirty(tx: Tx, id: number): void {
  SQL.markDirty(tx).run(id);
}

/** Call it when a passport was evaluated. */
export function clearPassportDirty(tx: Tx, id: number): void {
  SQL.clearDirty(tx).run(id);
}

/** Marks passports as dirty if they may have waited for these items or may have been refused because of them. */
export function markPassportsDirtyBy(tx: Tx, delivered: readonly DeliveredItem[]): void {
  if (!passports(tx).any) return;
  const products = delivered.filter(({ kind }) => kind === 'product').map(({ key }) => key);
  const bomItems = delivered.filter(({ kind }) => kind === 'bom_item').map(({ id }) => id);
  // BOM items are delivered after their material, so a new material cannot make a product complete.
  const materials = delivered.filter(({ kind, isNew }) => kind === 'material' && !isNew).map(({ key }) => key);
  if (products.length > 0) SQL.ofProducts(tx).run(JSON.stringify(products));
  if (bomItems.length > 0) SQL.ofBomItems(tx).run(JSON.stringify(bomItems));
  if (materials.length > 0) SQL.ofMaterials(tx).run(JSON.stringify(materials));
}

/** The stored text of a passport's desire. */
export function desireText(desire: PassportDesire): string {
  return canonicalJson({ ...desire });
}

/** The stored text of a passport's status. */
export function statusText(status: PassportStatus): string {
  return canonicalJson({ status });
}

/** Parses a stored desire; null if there is none. */
export function desireIn(text: string | null): PassportDesire | null {
  return parseJsonOrNull<PassportDesire>(text);
}

/** The status in a stored baseline: the one that the API has acknowledged. */
export function statusIn(baseline: string | null): PassportStatus | null {
  return baseline === null ? null : (parseJson<{ status?: PassportStatus }>(baseline).status ?? null);
}
