import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { type Answer, member, nginxPage, type Operation, refusal, textMember } from '../api/operation.ts';
import type { Collection, ResourceId } from '../items/collection.ts';
import { list, validate } from '../items/fields.ts';
import type { ImportSettings } from '../settings/settings.ts';
import type { Writing } from '../storage/storage.ts';
import { ProductCreation, UNSET_PRODUCT } from './items.ts';

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

/** The answer to an import whose body is too large; undefined if it is not. */
function refuseBytes(bodyText: string, { bytesMax, bytesMaxAnswer }: ImportSettings): Answer | undefined {
  if (bytesMax === null || Buffer.byteLength(bodyText) <= bytesMax) return undefined;
  const refused = refusal(413, 'Request entity too large.');
  return bytesMaxAnswer === 'nginx' ? { ...refused, document: nginxPage(413, 'Request Entity Too Large') } : refused;
}

/** The answer to an import with too many rows. `invalid` is the answer that the validation of the body has given. */
function refuseRowCount(invalid: Answer, { rowsMax, rowsMaxStatus }: ImportSettings): Answer {
  if (rowsMaxStatus === 413) return refusal(413, `Request entity too large: an import has at most ${rowsMax} rows.`);
  return { ...invalid, status: rowsMaxStatus };
}

/**
 * Refuses an import because of its bad rows, in the form of Django REST Framework: a list with `{}` for each good row.
 * The list is at the same place in the answer as the rows in the request.
 */
function refuseAll(rows: readonly (GoodRow | BadRow)[], { named, bare }: { named: boolean; bare: boolean }): Answer {
  if (!named) return refusal(400, 'Invalid input.');
  const errors: JsonValue = rows.map((row) => (row.status === 'failed' ? row.errors : {}));
  return { status: 400, body: bare ? errors : { products: errors } };
}

/** A row that can be stored. The status is the result if nothing else changes before the row is stored. */
interface GoodRow {
  index: number;
  sku: string;
  status: 'created' | 'updated';
  product: z.infer<typeof ProductCreation>;
}

/** A row that cannot be stored, with the errors by field. The SKU is null if the row has no usable one. */
interface BadRow {
  index: number;
  sku: string | null;
  status: 'failed';
  errors: JsonValue;
}

/** The result of storing some rows. */
interface StoredRows {
  /** The id of the product by the index of its row. A product that was stored twice has its first id here. */
  ids: Map<number, ResourceId>;
  /** An SKU for each product that was created or updated. */
  written: string[];
}

/** The longest SKU that an answer repeats. */
const SKU_LENGTH_MAX = 255;

/** Checks and stores the rows of imports. */
function createImportRows(products: Collection, settings: ImportSettings) {
  const { upserts, doublesNew, doublesExisting } = settings;

  return {
    check(organizationId: number, rows: readonly unknown[]): (GoodRow | BadRow)[] {
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
    store(organizationId: number, rows: readonly GoodRow[], now: number): StoredRows {
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

/** The rows of an import that was answered before they are stored. */
interface LateImport {
  organizationId: number;
  /** When the rows are stored: milliseconds since the Unix epoch. */
  at: number;
  /** Stores the rows as written at `now`, and returns the SKU of each product that it has written. */
  store: (now: number) => string[];
}

/**
 * Imports that are stored at a later time. They are only in memory, so the rows are lost if the sandbox ends before
 * that time.
 */
export function createLateImports({ transact, writeCounts }: Writing) {
  let waiting: LateImport[] = [];
  return {
    add(late: LateImport): void {
      waiting.push(late);
    },
    /** Stores the imports that are due. Call it before each read and write, so that no timer is needed. */
    storeDue(now: number): void {
      if (!waiting.some(({ at }) => at <= now)) return;
      const due = waiting.filter(({ at }) => at <= now).toSorted((a, b) => a.at - b.at);
      waiting = waiting.filter(({ at }) => at > now);
      for (const { organizationId, at, store } of due) {
        transact(() => {
          for (const sku of store(at)) writeCounts.add(organizationId, 'product.import', sku);
        });
      }
    },
  };
}

export type LateImports = ReturnType<typeof createLateImports>;
