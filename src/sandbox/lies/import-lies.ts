import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import { type Answer, member, nginxPage, type OperationRequest, refusal, textMember } from '../api/operation.ts';
import type { Entity } from '../items/collection.ts';
import { createNobodysIds, instead, type Lie, type LieParts } from './lie.ts';

/** One row of the honest answer to an import. */
interface ResultRow extends JsonObject {
  status: string;
}

/** What an import has met and made. */
interface Import {
  request: OperationRequest;
  /** The products that the rows named and that existed before, as they were. */
  known: Entity[];
  /** The products that the import has made. */
  made: Entity[];
}

/** Changes the answer to an import, or what it has stored, after the honest work was done. */
function afterwards(
  describe: string,
  tell: (answer: Answer, done: Import, parts: LieParts) => Answer,
  { doubles, fromRows = 1 }: { doubles?: true; fromRows?: number } = {},
): Lie {
  return {
    describe,
    ...(doubles && { doubles }),
    tell(honest, parts) {
      const operation = honest['product.import'];
      const execute = (request: OperationRequest): Answer => {
        const skus = skusOf(request);
        if (skus.length < fromRows) return operation.execute(request);
        const known = findAll(parts, request, skus);
        const answer = operation.execute(request);
        if (answer.status >= 300) return answer;
        const made = findAll(parts, request, skus).filter(({ id }) => !known.some((one) => one.id === id));
        return tell(answer, { request, known, made }, parts);
      };
      return { 'product.import': instead(operation, execute) };
    },
  };
}

export const IMPORT_LIES = {
  'product.import:doubles-known': afterwards(
    'A row of a known SKU makes a second product. The answer says `updated`, with the id of the first.',
    (answer, { request, known }, { collections: { products } }) => {
      for (const before of known) {
        const { fields } = products.get(request.organizationId, before.id) ?? before;
        restore(before, request, { products });
        copy({ ...before, fields }, request, { products });
      }
      return answer;
    },
    { doubles: true },
  ),
  'product.import:doubles-from-two': afterwards(
    'An import of two rows or more stores each new product twice. An import of one row does not.',
    (answer, { request, made }, { collections }) => {
      for (const product of made) copy(product, request, collections);
      return { ...answer, written: [...(answer.written ?? []), ...made.map(skuOf)] };
    },
    { doubles: true, fromRows: 2 },
  ),
  'product.import:forgets-changes': afterwards(
    'A row of a known SKU changes nothing. The answer says `updated`.',
    (answer, done, { collections }) => forget(answer, done, collections),
  ),
  'product.import:says-exists': afterwards(
    'A row of a known SKU changes nothing. The answer says `exists`, with the id.',
    (answer, done, { collections }) =>
      withRows(forget(answer, done, collections), (row) =>
        row.status === 'updated' ? { ...row, status: 'exists' } : row,
      ),
  ),
  'product.import:says-processed': afterwards(
    'Each row is stored. The answer says `processed` for each of them, with the id.',
    (answer) => withRows(answer, (row) => (row.status === 'failed' ? row : { ...row, status: 'processed' })),
  ),
  'product.import:rotates-ids': afterwards(
    'The answer to an import of two rows or more has the id of each row at the row before it.',
    (answer) =>
      withRows(answer, (row, index, rows) => ({ ...row, id: rows[(index + 1) % rows.length]?.['id'] ?? null })),
    { fromRows: 2 },
  ),
  'product.import:stores-half': {
    describe:
      'An import of two rows or more stores only the first half of its rows. The answer says `created` for the others too, with ids that no product has.',
    tell(honest, { ids }) {
      const operation = honest['product.import'];
      const nobodysId = createNobodysIds(ids);
      const execute = (request: OperationRequest): Answer => {
        const rows = rowsOf(request);
        if (rows.length < 2) return operation.execute(request);
        const half = Math.ceil(rows.length / 2);
        const answer = operation.execute({ ...request, body: { products: rows.slice(0, half) } });
        const { body } = answer;
        const results = isJsonObject(body) ? body['results'] : undefined;
        if (!isJsonObject(body) || !Array.isArray(results)) return answer;
        const lost = rows.slice(half).map((row, index) => ({
          index: half + index,
          sku: textMember(row, 'sku') ?? null,
          status: 'created',
          id: nobodysId(),
          errors: {},
        }));
        const created = Number(body['created']) + lost.length;
        return { ...answer, body: { ...body, results: [...results, ...lost], created } };
      };
      return { 'product.import': instead(operation, execute) };
    },
  },
  'product.import:refuses-many': refusingMany(
    'An import of two rows or more is answered 413, with the page of an nginx, and stores nothing.',
    () => ({ ...refusal(413, 'Request entity too large.'), document: nginxPage(413, 'Request Entity Too Large') }),
  ),
  'product.import:fails-many': refusingMany('An import of two rows or more is answered 500 and stores nothing.', () =>
    refusal(500, 'Internal server error.'),
  ),
} as const satisfies Record<string, Lie>;

function refusingMany(describe: string, answer: () => Answer): Lie {
  return {
    describe,
    tell({ 'product.import': operation }) {
      const execute = (request: OperationRequest): Answer =>
        rowsOf(request).length > 1 ? answer() : operation.execute(request);
      return { 'product.import': instead(operation, execute) };
    },
  };
}

function rowsOf({ body }: OperationRequest): unknown[] {
  const rows = Array.isArray(body) ? (body as unknown[]) : member(body, 'products');
  return Array.isArray(rows) ? (rows as unknown[]) : [];
}

function skusOf(request: OperationRequest): string[] {
  return rowsOf(request).flatMap((row) => textMember(row, 'sku') ?? []);
}

function skuOf({ fields }: Entity): string {
  return textMember(fields, 'sku') ?? '';
}

function findAll(
  { collections: { products } }: LieParts,
  { organizationId }: OperationRequest,
  skus: readonly string[],
): Entity[] {
  return [...new Set(skus)].flatMap((sku) => products.find(organizationId, 'sku', sku) ?? []);
}

type Products = Pick<LieParts['collections'], 'products'>;

/** Gives a product its former content. */
function restore(before: Entity, { now }: OperationRequest, { products }: Products): void {
  products.update(before, { columns: { sku: skuOf(before) }, fields: before.fields, now });
}

function copy(product: Entity, { organizationId, now }: OperationRequest, { products }: Products): void {
  products.insert(organizationId, { columns: { sku: skuOf(product) }, fields: product.fields, now });
}

/** Undoes the changes of an import. Only the products that it has made were written. */
function forget(answer: Answer, { request, known, made }: Import, products: Products): Answer {
  for (const before of known) restore(before, request, products);
  return { ...answer, written: made.map(skuOf) };
}

/** Changes the rows of an answer that has rows. */
function withRows(
  answer: Answer,
  change: (row: ResultRow, index: number, rows: readonly ResultRow[]) => JsonObject,
): Answer {
  const { body } = answer;
  const results = isJsonObject(body) ? body['results'] : undefined;
  if (!isJsonObject(body) || !Array.isArray(results)) return answer;
  return { ...answer, body: { ...body, results: (results as ResultRow[]).map(change) } };
}
