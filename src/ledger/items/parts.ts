// BOM items of adopted products. The API cannot list BOM items, so it is unknown whether the platform already has the
// BOM items of an adopted product. Creating them on a guess could double each of them.

import type { Reason } from '../../domain/delivery/stored-reason.ts';
import type { PartsAnswer } from '../../domain/ports/ledger/contact-ledger.ts';
import { readMeta, writeMeta } from '../store/meta.ts';
import { column, perDatabase, statement, type Tx } from '../store/tx.ts';
import { acknowledgeDesired, setPartsUnknown } from './item-writes.ts';

const SQL = {
  // BOM items of adopted products, and whether their rows came with the first complete read of their source.
  ofUnknown: statement<[string], { id: number; isFirst: 0 | 1 }>(
    `SELECT i.id, i.record_id IS NULL OR b.value IS NULL OR i.record_id <= CAST(b.value AS INTEGER) AS isFirst
     FROM json_each(?) listed CROSS JOIN refs f ON f.item_id = listed.value AND f.role = 'product'
     JOIN items p ON p.kind = f.kind AND p.key = f.key AND p.parts_unknown = 1 JOIN items i ON i.id = f.item_id
     LEFT JOIN meta b ON b.name = 'first_read:' || i.source`,
  ),
  any: column('SELECT 1 FROM items WHERE parts_unknown = 1 LIMIT 1'),
  parts: statement<[string], { id: number }>(
    `SELECT i.id FROM json_each(?) k CROSS JOIN refs f ON f.kind = 'product' AND f.key = k.value AND f.role = 'product'
     CROSS JOIN items i ON i.id = f.item_id WHERE i.kind = 'bom_item' ORDER BY i.id`,
  ),
  unanswered: statement<[], { id: number; key: string; naturalKey: string | null }>(
    'SELECT id, key, natural_key AS naturalKey FROM items WHERE parts_unknown = 1 ORDER BY key',
  ),
  sourceOf: column<[number], string>('SELECT source FROM runs WHERE id = ?'),
  lastRecord: column<[], number>('SELECT coalesce(max(id), 0) FROM records'),
};

/**
 * What to do with a BOM item that the API has not acknowledged: create it, ask a person first, or count it as present.
 */
type PartStanding = 'create' | 'ask' | 'present';

/** Whether a product was adopted. If none was, no BOM item has to be looked up, and each page asks. */
const adopted = perDatabase((of) => ({ any: SQL.any(of).get() !== undefined }));

/** True if there is an adopted product for which no person has said yet whether its BOM items are at the platform. */
export function mayAskAboutParts(tx: Tx): boolean {
  return adopted(tx).any;
}

/** The standing of BOM items that are not simply created, by id. */
export function partStandings(tx: Tx, itemIds: readonly number[]): ReadonlyMap<number, PartStanding> {
  const { bom } = tx.contactRules;
  if (itemIds.length === 0 || !adopted(tx).any) return new Map();
  const standingOf = (isFirst: 0 | 1): PartStanding =>
    bom !== 'assume-present' ? bom : isFirst === 1 ? 'present' : 'create';
  return new Map(
    SQL.ofUnknown(tx)
      .all(JSON.stringify(itemIds))
      .map(({ id, isFirst }) => [id, standingOf(isFirst)]),
  );
}

/** Call it after products were adopted. */
export function markPartsUnknown(tx: Tx, itemIds: readonly number[]): void {
  if (tx.contactRules.bom === 'create' || itemIds.length === 0) return;
  adopted(tx).any = true;
  setPartsUnknown(tx, itemIds, 1);
}

/** Call it when BOM items are known to be at the platform, with the content that their source has. */
export function acknowledgeParts(tx: Tx, itemIds: readonly number[]): void {
  acknowledgeDesired(tx, itemIds, tx.forms.presentOf('bom_item'));
}

/** The BOM items of these products. */
export function partsOfProducts(tx: Tx, productKeys: readonly string[]): { id: number }[] {
  return productKeys.length === 0 ? [] : SQL.parts(tx).all(JSON.stringify(productKeys));
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

export function markPartsKnown(tx: Tx, productIds: readonly number[]): void {
  setPartsUnknown(tx, productIds, 0);
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
