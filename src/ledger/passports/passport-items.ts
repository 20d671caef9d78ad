// The passports, which are rows of the items table.

import type { SubjectKind } from '../../domain/item.ts';
import { type PassportDesire, type PassportStatus, statusText } from '../../domain/passport.ts';
import { sha256Url } from '../../lib/hash.ts';
import { canonicalJson } from '../../lib/json.ts';
import { bindItems, markDirtyPassports, putPassports, setDirty } from '../items/item-writes.ts';
import { column, parseJson, parseJsonOrNull, perDatabase, statement, type Tx } from '../store/tx.ts';

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
  keepRefs: statement<[string]>(
    `INSERT INTO refs (item_id, role, kind, key)
     SELECT CAST(value ->> 0 AS INTEGER), 'product', 'product', value ->> 1 FROM json_each(?) WHERE TRUE ON CONFLICT DO NOTHING`,
  ),
};

/** Whether there is a passport. While there is none, no passport has to be marked, and each delivery asks. */
const passports = perDatabase((of) => ({ any: SQL.any(of).get() !== undefined }));

/**
 * Stores what is desired of the passports of products, and returns the ids of the passports by the keys of the products. The caller
 * reconciles these items afterwards.
 */
export function desirePassports(
  tx: Tx,
  asked: readonly { owner: PassportOwner; desire: PassportDesire }[],
): ReadonlyMap<string, number> {
  if (asked.length === 0) return new Map();
  passports(tx).any = true;
  const ids = putPassports(
    tx,
    asked.map(({ owner: { key, naturalKey, source }, desire }) => {
      const desired = desireText(desire);
      return { key, naturalKey, source, desired, hash: sha256Url(desired) };
    }),
  );
  SQL.keepRefs(tx).run(JSON.stringify([...ids].map(([key, id]) => [id, key])));
  return ids;
}

/** Adopts the passports of adopted products, in the states that they have at the platform. */
export function adoptPassports(tx: Tx, adopted: readonly { owner: PassportOwner; status: PassportStatus }[]): void {
  const ids = desirePassports(
    tx,
    adopted.map(({ owner, status }) => ({ owner, desire: { status, because: 'person', found: true } })),
  );
  bindItems(
    tx,
    adopted.flatMap(({ owner, status }) => {
      const id = ids.get(owner.key);
      const text = statusText(status);
      const bound = { baseline: text, hash: sha256Url(text), remoteId: 'null', form: null, adopted: 0 as const };
      return id === undefined ? [] : { id, ...bound };
    }),
  );
}

/** Marks passports as dirty, so that they are evaluated. */
export function markPassportsDirty(tx: Tx, ids: readonly number[]): void {
  setDirty(tx, ids, 1);
}

/** Call it when passports were evaluated. */
export function clearPassportsDirty(tx: Tx, ids: readonly number[]): void {
  setDirty(tx, ids, 0);
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

/** Parses a stored desire; null if there is none. */
export function desireIn(text: string | null): PassportDesire | null {
  return parseJsonOrNull<PassportDesire>(text);
}

/** The status in a stored baseline: the one that the API has acknowledged. */
export function statusIn(baseline: string | null): PassportStatus | null {
  return baseline === null ? null : (parseJson<{ status?: PassportStatus }>(baseline).status ?? null);
}
