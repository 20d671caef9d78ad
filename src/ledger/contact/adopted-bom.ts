// BOM items of adopted products. The API cannot list BOM items, so it is unknown whether the platform already has the
// BOM items of an adopted product. Creating them on a guess could double each of them.

import type { Reason } from '../../domain/delivery/reason.ts';
import type { PartsAnswer } from '../../domain/ports/first-contact.ts';
import type { FormId } from '../items/wire-forms.ts';
import type { LedgerContext } from '../store/context.ts';
import { createMeta } from '../store/meta.ts';

/**
 * What to do with a BOM item that the API has not acknowledged: create it, ask a person first, or count it as present.
 */
export type PartStanding = 'create' | 'ask' | 'present';

/** Use it inside a transaction. */
export interface AdoptedBom {
  /** True if there is an adopted product for which no person has said yet whether its BOM items are at the platform. */
  mayAsk(): boolean;
  standingOf(itemId: number): PartStanding;
  /** Call it after a product was adopted. */
  productAdopted(itemId: number): void;
  /** Call it when a BOM item is known to be at the platform, with the content that its source has. */
  acknowledge(itemId: number): void;
  /** Finds the ids of a product's BOM items. */
  of(productKey: string): number[];
  /**
   * The products whose BOM items wait for a person's answer. `products` narrows the result to these keys or natural
   * keys.
   */
  unanswered(products: readonly string[] | null): {
    found: { id: number; key: string }[];
    unknown: PartsAnswer['unknown'];
  };
  answered(productId: number): void;
  /**
   * Call it after a complete read of a source. Rows that come after the first complete read are new, so they can be
   * created.
   */
  sourceWasRead(runId: number): void;
}

export function createAdoptedBom({
  db,
  contactRules,
  forms,
}: Pick<LedgerContext, 'db' | 'contactRules' | 'forms'>): AdoptedBom {
  const meta = createMeta(db);
  const { bom } = contactRules;
  const sql = {
    // Selects 1 for a BOM item of an adopted product whose row came with the first complete read of its source.
    ofUnknown: db
      .prepare<[number], 0 | 1>(
        `SELECT i.record_id IS NULL OR b.value IS NULL OR i.record_id <= CAST(b.value AS INTEGER)
         FROM refs f JOIN items p ON p.kind = f.kind AND p.key = f.key JOIN items i ON i.id = f.item_id
         LEFT JOIN meta b ON b.name = 'first_read:' || i.source
         WHERE f.item_id = +? AND f.role = 'product' AND p.parts_unknown = 1`,
      )
      .pluck(),
    any: db.prepare('SELECT 1 FROM items WHERE parts_unknown = 1 LIMIT 1').pluck(),
    mark: db.prepare<[number]>('UPDATE items SET parts_unknown = 1 WHERE id = ?'),
    unmark: db.prepare<[number]>('UPDATE items SET parts_unknown = 0 WHERE id = ?'),
    acknowledge: db.prepare<[FormId, number]>(
      "UPDATE items SET acknowledged = 1, baseline = NULL, baseline_hash = NULL, remote_id = 'null', form = ? WHERE id = ?",
    ),
    of: db
      .prepare<[string], number>(
        `SELECT f.item_id FROM refs f JOIN items i ON i.id = f.item_id
         WHERE f.kind = 'product' AND f.key = ? AND f.role = 'product' AND i.kind = 'bom_item'`,
      )
      .pluck(),
    unanswered: db.prepare<[], { id: number; key: string; naturalKey: string | null }>(
      'SELECT id, key, natural_key AS naturalKey FROM items WHERE parts_unknown = 1 ORDER BY key',
    ),
    sourceOf: db.prepare<[number], string>('SELECT source FROM runs WHERE id = ?').pluck(),
    lastRecord: db.prepare<[], number>('SELECT coalesce(max(id), 0) FROM records').pluck(),
  };
  // False if no product was adopted. Then no BOM item has to be looked up.
  let hasAny = sql.any.get() !== undefined;

  return {
    mayAsk: () => hasAny,
    standingOf(itemId) {
      const isFirst = hasAny ? sql.ofUnknown.get(itemId) : undefined;
      if (isFirst === undefined) return 'create';
      if (bom !== 'assume-present') return bom;
      return isFirst === 1 ? 'present' : 'create';
    },
    productAdopted(itemId) {
      if (bom === 'create') return;
      hasAny = true;
      sql.mark.run(itemId);
    },
    acknowledge: (itemId) => void sql.acknowledge.run(forms.presentOf('bom_item'), itemId),
    of: (productKey) => sql.of.all(productKey),
    unanswered(products) {
      const all = sql.unanswered.all();
      if (products === null) return { found: all, unknown: [] };
      const found = all.filter(({ key, naturalKey }) => products.includes(key) || products.includes(naturalKey ?? ''));
      const known = new Set(found.flatMap(({ key, naturalKey }) => [key, naturalKey]));
      return { found, unknown: products.filter((name) => !known.has(name)) };
    },
    answered: (productId) => void sql.unmark.run(productId),
    sourceWasRead(runId) {
      const name = `first_read:${sql.sourceOf.get(runId) ?? ''}`;
      if (meta.get(name) === null) meta.set(name, String(sql.lastRecord.get() ?? 0));
    },
  };
}

export const ADOPTED_BOM: Reason = {
  code: 'adopted_bom',
  message:
    'Its product was at the platform before, and the API cannot show whether the platform has this BOM item. Look at the platform, and record what is there with `dpp-sync settle --bom present SKU` or `dpp-sync settle --bom absent SKU`, or with --all for all products.',
};
