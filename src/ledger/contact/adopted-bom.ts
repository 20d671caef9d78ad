// BOM items of adopted products. The API cannot list BOM items, so it is unknown whether the platform already has the
// BOM items of an adopted product. Creating them on a guess could double each of them.

import type { Reason } from '../../domain/delivery/reason.ts';
import type { PartsAnswer } from '../../domain/ports/first-contact.ts';
import type { FormId } from '../items/wire-forms.ts';
import { readMeta, writeMeta } from '../store/meta.ts';
import { column, perDatabase, statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';

/**
 * What to do with a BOM item that the API has not acknowledged: create it, ask a person first, or count it as present.
 */
export type PartStanding = 'create' | 'ask' | 'present';

const SQL = {
  // Selects 1 for a BOM item of an adopted product whose row came with the first complete read of its source.
  ofUnknown: column<[number], 0 | 1>(
    `SELECT i.record_id IS NULL OR b.value IS NULL OR i.record_id <= CAST(b.value AS INTEGER)
     FROM refs f JOIN items p ON p.kind = f.kind AND p.key = f.key JOIN items i ON i.id = f.item_id
     LEFT JOIN meta b ON b.name = 'first_read:' || i.source
     WHERE f.item_id = +? AND f.role = 'product' AND p.parts_unknown = 1`,
  ),
  any: column('SELECT 1 FROM items WHERE parts_unknown = 1 LIMIT 1'),
  mark: statement<[number]>('UPDATE items SET parts_unknown = 1 WHERE id = ?'),
  unmark: statement<[number]>('UPDATE items SET parts_unknown = 0 WHERE id = ?'),
  acknowledge: statement<[FormId, number]>(
    "UPDATE items SET acknowledged = 1, baseline = NULL, baseline_hash = NULL, remote_id = 'null', form = ? WHERE id = ?",
  ),
  of: column<[string], number>(
    `SELECT f.item_id FROM refs f JOIN items i ON i.id = f.item_id
     WHERE f.kind = 'product' AND f.key = ? AND f.role = 'product' AND i.kind = 'bom_item'`,
  ),
  unanswered: statement<[], { id: number; key: string; naturalKey: string | null }>(
    'SELECT id, key, natural_key AS naturalKey FROM items WHERE parts_unknown = 1 ORDER BY key',
  ),
  sourceOf: column<[number], string>('SELECT source FROM runs WHERE id = ?'),
  lastRecord: column<[], number>('SELECT coalesce(max(id), 0) FROM records'),
};

/** Whether a product was adopted. If none was, no BOM item has to be looked up, and each page asks. */
const adopted = perDatabase((of) => ({ any: SQL.any(of).get() !== undefined }));

/** True if there is an adopted product for which no person has said yet whether its BOM items are at the platform. */
export function mayAskAboutParts(tx: Tx): boolean {
  return adopted(tx).any;
}

export function partStandingOf(tx: Tx, itemId: number): PartStanding {
  const { bom } = tx.contactRules;
  const isFirst = adopted(tx).any ? SQL.ofUnknown(tx).get(itemId) : undefined;
  if (isFirst === undefined) return 'create';
  if (bom !== 'assume-present') return bom;
  return isFirst === 1 ? 'present' : 'create';
}

/** Call it after a product was adopted. */
export function markPartsUnknown(tx: Tx, itemId: number): void {
  if (tx.contactRules.bom === 'create') return;
  adopted(tx).any = true;
  SQL.mark(tx).run(itemId);
}

/** Call it when a BOM item is known to be at the platform, with the content that its source has. */
export function acknowledgePart(tx: Tx, itemId: number): void {
  SQL.acknowledge(tx).run(tx.forms.presentOf('bom_item'), itemId);
}

/** Finds the ids of a product's BOM items. */
export function partsOfProduct(tx: Tx, productKey: string): number[] {
  return SQL.of(tx).all(productKey);
}

/**
 * The products whose BOM items wait for a person's answer. `products` narrows the result to these keys or natural
 * keys.
 */
export function unansweredProducts(
  tx: Tx,
  products: readonly string[] | null,
): {
  found: { id: number; key: string }[];
  unknown: PartsAnswer['unknown'];
} {
  const all = SQL.unanswered(tx).all();
  if (products === null) return { found: all, unknown: [] };
  const found = all.filter(({ key, naturalKey }) => products.includes(key) || products.includes(naturalKey ?? ''));
  const known = new Set(found.flatMap(({ key, naturalKey }) => [key, naturalKey]));
  return { found, unknown: products.filter((name) => !known.has(name)) };
}

export function markPartsKnown(tx: Tx, productId: number): void {
  SQL.unmark(tx).run(productId);
}

/**
 * Call it after a complete read of a source. Rows that come after the first complete read are new, so they can be
 * created.
 */
export function noteFirstRead(tx: Tx, runId: number): void {
  const name = `first_read:${SQL.sourceOf(tx).get(runId) ?? ''}`;
  if (readMeta(tx, name) === null) writeMeta(tx, name, String(SQL.lastRecord(tx).get() ?? 0));
}

export const ADOPTED_BOM: Reason = {
  code: 'adopted_bom',
  message:
    'Its product was at the platform before, and the API cannot show whether the platform has this BOM item. Look at the platform, and record what is there with `dpp-sync settle --bom present SKU` or `dpp-sync settle --bom absent SKU`, or with --all for all products.',
};
