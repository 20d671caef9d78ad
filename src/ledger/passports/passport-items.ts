// The passports, which are rows of the items table.

import { fault } from '../../domain/faults.ts';
import type { SubjectKind } from '../../domain/item.ts';
import type { PassportDesire, PassportStatus } from '../../domain/passport.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import { sha256Url } from '../../lib/hash.ts';
import { bindItems, markDirtyPassports, putPassports, setDirty } from '../items/item-writes.ts';
import { column, perDatabase, statement } from '../store/statement.ts';
import { parseJson, parseJsonOrNull, type Tx } from '../store/tx.ts';

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
  keepRef: statement<[number, string]>(
    "INSERT INTO refs (item_id, role, kind, key) VALUES (?, 'product', 'product', ?) ON CONFLICT DO NOTHING",
  ),
};

/** Whether there is a passport. While there is none, no passport has to be marked, and each delivery asks. */
const passports = perDatabase((of) => ({ any: SQL.any(of).get() !== undefined }));

/** Stores what is desired of a product's passport, and returns its id. The caller reconciles the item afterwards. */
export function desirePassport(tx: Tx, { key, naturalKey, source }: PassportOwner, desire: PassportDesire): number {
  passports(tx).any = true;
  const desired = desireText(desire);
  const id = putPassports(tx, [{ key, naturalKey, source, desired, hash: sha256Url(desired) }]).get(key);
  if (id === undefined) throw fault('internal', `The passport of ${key} could not be written.`);
  SQL.keepRef(tx).run(id, key);
  return id;
}

/** Adopts the passport of an adopted product, in the state that it has at the platform. */
export function adoptPassport(tx: Tx, product: PassportOwner, status: PassportStatus): void {
  const id = desirePassport(tx, product, { status, because: 'person', found: true });
  const text = statusText(status);
  bindItems(tx, [{ id, baseline: text, hash: sha256Url(text), remoteId: 'null', form: null, adopted: 0 }]);
}

/** Marks a passport as dirty, so that it is evaluated. */
export function markPassportDirty(tx: Tx, id: number): void {
  setDirty(tx, [id], 1);
}

/** Call it when a passport was evaluated. */
export function clearPassportDirty(tx: Tx, id: number): void {
  setDirty(tx, [id], 0);
}

/** Marks passports as dirty if they may have waited for these items or may have been refused because of them. */
export function markPassportsDirtyBy(tx: Tx, delivered: readonly DeliveredItem[]): void {
  if (!passports(tx).any) return;
  const products = delivered.filter(({ kind }) => kind === 'product').map(({ key }) => key);
  const bomItems = delivered.filter(({ kind }) => kind === 'bom_item').map(({ id }) => id);
  // BOM items are delivered after their material, so a new material cannot make a product complete.
  const materials = delivered.filter(({ kind, isNew }) => kind === 'material' && !isNew).map(({ key }) => key);
  markDirtyPassports(tx, { products, bomItems, materials });
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
