import type { z } from 'zod';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { textMember } from '../api/operation.ts';
import type { Collection } from '../items/collection.ts';
import type { ResourceId } from '../items/ids.ts';
import { validate } from '../items/validation.ts';
import { ProductCreation, UNSET_PRODUCT } from '../operations/products.ts';
import type { ImportSettings } from '../settings/import-settings.ts';

/** A row that can be stored. The status is the result if nothing else changes before the row is stored. */
export interface GoodRow {
  index: number;
  sku: string;
  status: 'created' | 'updated';
  product: z.infer<typeof ProductCreation>;
}

/** A row that cannot be stored, with the errors by field. The SKU is null if the row has no usable one. */
export interface BadRow {
  index: number;
  sku: string | null;
  status: 'failed';
  errors: JsonValue;
}

/** The result of storing some rows. */
export interface StoredRows {
  /** The id of the product by the index of its row. A product that was stored twice has its first id here. */
  ids: Map<number, ResourceId>;
  /** An SKU for each product that was created or updated. */
  written: string[];
}

/** Checks and stores the rows of imports. */
export interface ImportRows {
  check(organizationId: number, rows: readonly unknown[]): (GoodRow | BadRow)[];
  store(organizationId: number, rows: readonly GoodRow[], now: number): StoredRows;
}

/** The longest SKU that an answer repeats. */
const SKU_LENGTH_MAX = 255;

export function createImportRows(products: Collection, settings: ImportSettings): ImportRows {
  const { upserts, doublesNew, doublesExisting } = settings;

  return {
    check(organizationId, rows) {
      // The SKUs of earlier rows. If a row creates an SKU, the SKU exists for the rows after it.
      const earlier = new Set<string>();
      return rows.map((row, index): GoodRow | BadRow => {
        const parsed = validate(ProductCreation, row);
        if (!parsed.ok) {
          const sku = textMember(row, 'sku')?.slice(0, SKU_LENGTH_MAX) ?? null;
          return { index, sku, status: 'failed', errors: parsed.error.body };
        }
        const { sku } = parsed.value;
        const exists = earlier.has(sku) || products.find(organizationId, 'sku', sku) !== undefined;
        if (exists && !upserts && !doublesExisting) {
          return { index, sku, status: 'failed', errors: { sku: ['product with this sku already exists.'] } };
        }
        earlier.add(sku);
        return { index, sku, status: exists && !doublesExisting ? 'updated' : 'created', product: parsed.value };
      });
    },
    store(organizationId, rows, now) {
      const stored: StoredRows = { ids: new Map(), written: [] };
      for (const { index, sku, product } of rows) {
        const columns = { sku };
        const known = doublesExisting ? undefined : products.find(organizationId, 'sku', sku);
        // When rows are stored late, a product may exist by then that did not exist when they were checked.
        if (known && !upserts) continue;
        const fields = { ...(known?.fields ?? UNSET_PRODUCT), ...product } as JsonObject;
        const entity = known
          ? products.update(known, { columns, fields, now })
          : products.insert(organizationId, { columns, fields, now });
        stored.ids.set(index, entity.id);
        stored.written.push(sku);
        if (known || !doublesNew) continue;
        products.insert(organizationId, { columns, fields, now });
        stored.written.push(sku);
      }
      return stored;
    },
  };
}
