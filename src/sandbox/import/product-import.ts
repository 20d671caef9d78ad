import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { JsonObject } from '../../lib/json.ts';
import { type Answer, refusal } from '../api/answer.ts';
import { member, type Operation, textMember } from '../api/operation.ts';
import type { Collection } from '../items/collection.ts';
import { list } from '../items/fields.ts';
import { validate } from '../items/validation.ts';
import { ProductCreation } from '../operations/products.ts';
import type { ImportSettings } from '../settings/import-settings.ts';
import { refuseAll, refuseBytes, refuseRowCount } from './import-refusals.ts';
import { type BadRow, createImportRows, type GoodRow, type StoredRows } from './import-rows.ts';
import type { LateImports } from './late-imports.ts';

const NOTHING_STORED: StoredRows = { ids: new Map(), written: [] };

/**
 * POST /api/imports/products/, with `{"products": [...]}` or the bare array. Rows are stored in their order. Fields
 * that a row does not name keep their values, and null clears a field.
 */
export function createProductImport(
  products: Collection,
  { settings, lateImports }: { settings: ImportSettings; lateImports: Pick<LateImports, 'add'> },
): Operation {
  const { rowsMax, badRow, storesAfterMs } = settings;
  const given = list(z.unknown(), rowsMax).refine((rows) => rows.length > 0, 'This list may not be empty.');
  const Import = z.strictObject({ products: given });
  const importRows = createImportRows(products, settings);

  const storeInTime = (organizationId: number, rows: readonly GoodRow[], now: number): StoredRows => {
    if (storesAfterMs === 0) return importRows.store(organizationId, rows, now);
    const store = (at: number): string[] => importRows.store(organizationId, rows, at).written;
    lateImports.add({ organizationId, at: now + storesAfterMs, store });
    return NOTHING_STORED;
  };

  return {
    accepts: z.union([
      z.strictObject({ products: z.array(ProductCreation).min(1).max(rowsMax) }),
      z.array(ProductCreation).min(1).max(rowsMax),
    ]),
    naturalKey({ body }) {
      const rows = rowsOf(body);
      if (!Array.isArray(rows) || rows.length === 0) return undefined;
      const first = textMember(rows[0], 'sku') ?? '?';
      return rows.length === 1 ? first : `${first} and ${rows.length - 1} more`;
    },
    naturalKeys({ body }) {
      const rows = rowsOf(body);
      return Array.isArray(rows) ? rows.flatMap((row) => textMember(row, 'sku') ?? []) : [];
    },
    execute({ organizationId, body, bodyText, now, failsAfterRows }): Answer {
      const tooLarge = refuseBytes(bodyText, settings);
      if (tooLarge) return tooLarge;
      const bare = Array.isArray(body);
      const parsed = validate(Import, bare ? { products: body as unknown[] } : body);
      if (!parsed.ok) {
        const rows = rowsOf(body);
        const tooMany = Array.isArray(rows) && rows.length > rowsMax;
        return tooMany ? refuseRowCount(parsed.error, settings) : parsed.error;
      }

      const checked = importRows.check(organizationId, parsed.value.products);
      const good = checked.filter((row) => row.status !== 'failed');
      if (badRow !== 'fails-alone' && good.length < checked.length) {
        return refuseAll(checked, { named: badRow === 'refuses-all-named', bare });
      }
      const fails = failsAfterRows !== undefined && failsAfterRows <= good.length;
      const stored = storeInTime(organizationId, fails ? good.slice(0, failsAfterRows) : good, now);
      const answer = fails ? refusal(500, 'Internal server error.') : answerOf(checked, stored, settings);
      return { ...answer, written: stored.written, ...(storesAfterMs > 0 && { writesLate: true }) };
    },
  };
}

/** The unchecked rows of a body in either form. */
function rowsOf(body: unknown): unknown {
  return Array.isArray(body) ? body : member(body, 'products');
}

function answerOf(rows: readonly (GoodRow | BadRow)[], { ids }: StoredRows, { answer }: ImportSettings): Answer {
  if (answer === 'none') return { status: 202, body: {} };
  if (answer === 'later') return { status: 202, body: { job_id: randomUUID() } };
  const counts = { created: 0, updated: 0, failed: 0 };
  for (const { status } of rows) counts[status] += 1;
  if (answer === 'summary') return { status: 200, body: counts };
  const results = rows.map((row): JsonObject => {
    const { index, sku, status } = row;
    return { index, sku, status, id: ids.get(index) ?? null, errors: row.status === 'failed' ? row.errors : {} };
  });
  return { status: 200, body: { results, ...counts } };
}
