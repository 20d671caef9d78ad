import { z } from 'zod';
import type { JsonObject, JsonValue } from '../lib/json.ts';
import type { Answer } from './answer.ts';
import { type Collection, present } from './collection.ts';
import { list } from './fields.ts';
import { member, type Operation, textMember } from './operation.ts';
import { ProductCreation, UNSET_PRODUCT } from './products.ts';
import { validate } from './validation.ts';

/** How the bulk import behaves, which the document does not say. */
export const ImportSettings = z.strictObject({
  upserts: z
    .boolean()
    .default(true)
    .describe('Whether a row with an SKU that exists updates its product; if not, the row fails.'),
  answer: z
    .enum(['per-row', 'summary', 'none'])
    .default('per-row')
    .describe('What the answer tells: what became of each row, how many fared how, or nothing but 202.'),
  rowsMax: z.int().min(1).max(100_000).default(1000).describe('The most rows of one import.'),
});
export type ImportSettings = z.infer<typeof ImportSettings>;

/** What became of one row. `id` is null and `errors` are by field where it failed. */
interface RowResult extends JsonObject {
  index: number;
  sku: string | null;
  status: 'created' | 'updated' | 'failed';
  id: JsonValue;
  errors: JsonValue;
}

/**
 * POST /api/imports/products/, with `{"products": [...]}` or the bare array. Rows are taken in their order, each by
 * itself: a bad one costs only itself. Fields that a row does not name keep their values, and null clears one.
 */
export function createProductImport(products: Collection, settings: ImportSettings): Operation {
  const rows = list(z.unknown(), settings.rowsMax).refine((given) => given.length > 0, 'This list may not be empty.');
  const Import = z.strictObject({ products: rows });

  const importRow = (organizationId: number, row: unknown, index: number, now: number): RowResult => {
    const failed = (errors: JsonValue): RowResult => {
      return { index, sku: textMember(row, 'sku')?.slice(0, 255) ?? null, status: 'failed', id: null, errors };
    };
    const parsed = validate(ProductCreation, row);
    if (!parsed.ok) return failed(parsed.error.body);
    const { sku } = parsed.value;
    const known = products.find(organizationId, 'sku', sku);
    if (known && !settings.upserts) return failed({ sku: ['product with this sku already exists.'] });
    const fields = { ...(known?.fields ?? UNSET_PRODUCT), ...parsed.value } as JsonObject;
    const columns = { sku };
    const product = known
      ? products.update(known, { columns, fields, now })
      : products.insert(organizationId, { columns, fields, now });
    return { index, sku, status: known ? 'updated' : 'created', id: present(product)['id'] ?? null, errors: {} };
  };

  return {
    accepts: z.union([
      z.strictObject({ products: z.array(ProductCreation).min(1).max(settings.rowsMax) }),
      z.array(ProductCreation).min(1).max(settings.rowsMax),
    ]),
    naturalKey({ body }) {
      const given = Array.isArray(body) ? (body as unknown[]) : member(body, 'products');
      if (!Array.isArray(given) || given.length === 0) return undefined;
      const first = textMember(given[0], 'sku') ?? '?';
      return given.length === 1 ? first : `${first} and ${given.length - 1} more`;
    },
    execute({ organizationId, body, now }): Answer {
      const parsed = validate(Import, Array.isArray(body) ? { products: body as unknown[] } : body);
      if (!parsed.ok) return parsed.error;
      const results = parsed.value.products.map((row, index) => importRow(organizationId, row, index, now));
      const written = results.flatMap(({ status, sku }) => (status === 'failed' || sku === null ? [] : [sku]));
      if (settings.answer === 'none') return { status: 202, body: {}, written };
      const counts = { created: 0, updated: 0, failed: 0 };
      for (const { status } of results) counts[status] += 1;
      return { status: 200, body: settings.answer === 'summary' ? counts : { results, ...counts }, written };
    },
  };
}
