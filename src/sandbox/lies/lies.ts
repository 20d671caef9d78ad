import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import type { OperationName } from '../api/endpoints.ts';
import {
  type Answer,
  conflict,
  member,
  nginxPage,
  type OperationRequest,
  refusal,
  textMember,
} from '../api/operation.ts';
import type { Entity } from '../items/collection.ts';
import { productIn, stateOf } from '../items/passports.ts';
import { createNobodysIds, instead, type Lie, type LieParts, type Operations } from './lie.ts';
import { ANSWER_LIES, type AnswerLieName, FIELD_LIES, type FieldLieName, MAKING_LIES } from './write-lies.ts';

/** A conflict without any word that says what it is about. */
const ODD: Answer = conflict('Request rejected: state E-1042.');

/** The passport of a queued publication becomes public after the list of publications was read once. */
const READS_BEFORE_PUBLIC = 1;

/** Publishes nothing, and gives this answer for each passport that could be published. */
function neverPublic(describe: string, answer: Answer): Lie {
  return {
    describe,
    tell: ({ 'passport.publish': honest }, parts) => ({
      'passport.publish': instead(honest, (request) =>
        canBePublished(request, parts) ? answer : honest.execute(request),
      ),
    }),
  };
}

/** True if there is a passport that is not public. The gates are not asked. */
function canBePublished(request: OperationRequest, { collections, ids }: LieParts): boolean {
  const product = productIn(collections, ids, request);
  const passport = product && collections.passports.find(request.organizationId, 'product_id', product.rowId);
  return ['initialized', 'unpublished'].includes(stateOf(passport));
}

function answerOf(body: Answer['body'], status = 200): Answer {
  return { status, body, written: [] };
}

/** Answers each conflict of an operation in odd words. */
function oddWords(operation: OperationName, describe: string): Lie {
  return {
    describe,
    tell: ({ [operation]: honest }) => ({
      [operation]: instead(honest, (request) => {
        const answer = honest.execute(request);
        return answer.status === 409 ? ODD : answer;
      }),
    }),
  };
}

/** Does the work and answers with a conflict. */
function refusesWhatIsDone(operation: OperationName, describe: string): Lie {
  return {
    describe,
    tell: ({ [operation]: honest }) => ({
      [operation]: instead(honest, (request) => {
        const answer = honest.execute(request);
        if (answer.status >= 300) return answer.status === 409 ? ODD : answer;
        return { ...ODD, written: [honest.naturalKey(request) ?? ''] };
      }),
    }),
  };
}

/** Refuses the first request for each product without doing anything. */
function refusesOnce(operation: OperationName, describe: string): Lie {
  return {
    describe,
    tell({ [operation]: honest }, { collections, ids }) {
      const refused = new Set<string>();
      const execute = (request: OperationRequest): Answer => {
        const product = `${request.organizationId} ${request.params['product_id'] ?? ''}`;
        if (refused.has(product) || !productIn(collections, ids, request)) return honest.execute(request);
        refused.add(product);
        return ODD;
      };
      return { [operation]: instead(honest, execute) };
    },
  };
}

const PASSPORT_LIES = {
  'passport.init:odd-words': oddWords(
    'passport.init',
    'The 409 for a product that has a passport does not say that it has one.',
  ),
  'passport.init:refuses-once': refusesOnce(
    'passport.init',
    'The first request for each product makes no passport and is answered 409 in odd words.',
  ),
  'passport.init:refuses-always': {
    describe: 'No passport is made. The answer is 409 in odd words.',
    tell: ({ 'passport.init': honest }, { collections, ids }) => ({
      'passport.init': instead(honest, (request) =>
        productIn(collections, ids, request) ? ODD : honest.execute(request),
      ),
    }),
  },
  'passport.init:refuses-done': refusesWhatIsDone(
    'passport.init',
    'The passport is made. The answer is 409 in odd words.',
  ),
  'passport.publish:odd-words': oddWords(
    'passport.publish',
    'Each 409 is in odd words, for a passport that is published already and for a gate.',
  ),
  'passport.publish:refuses-done': refusesWhatIsDone(
    'passport.publish',
    'The passport is published. The answer is 409 in odd words.',
  ),
  'passport.publish:accepted': neverPublic('Nothing is published. The answer is 202 with `{}`.', answerOf({}, 202)),
  'passport.publish:queued': neverPublic(
    'Nothing is published. The answer is 202 with `{"status": "queued"}`.',
    answerOf({ status: 'queued' }, 202),
  ),
  'passport.publish:pending-review': neverPublic(
    'Nothing is published. The answer is 200 with `{"status": "pending_review"}`.',
    answerOf({ status: 'pending_review' }),
  ),
  'passport.publish:initialized': neverPublic(
    'Nothing is published. The answer is 200 with `{"status": "initialized"}`.',
    answerOf({ status: 'initialized' }),
  ),
  'passport.publish:queued-then-public': {
    describe:
      'The answer is 202 with `{"status": "queued"}`. The passport is public after the publications were read once.',
    tell({ 'passport.publish': publish, 'publication.list': list }, parts) {
      const queued = new Map<string, { request: OperationRequest; reads: number }>();
      const publishLater = (request: OperationRequest): Answer => {
        if (!canBePublished(request, parts)) return publish.execute(request);
        const product = `${request.organizationId} ${request.params['product_id'] ?? ''}`;
        if (!queued.has(product)) queued.set(product, { request, reads: 0 });
        return answerOf({ status: 'queued' }, 202);
      };
      const read = (request: OperationRequest): Answer => {
        for (const [product, waiting] of queued) {
          if (waiting.request.organizationId !== request.organizationId) continue;
          waiting.reads += 1;
          if (waiting.reads <= READS_BEFORE_PUBLIC) continue;
          queued.delete(product);
          publish.execute({ ...waiting.request, now: request.now });
        }
        return list.execute(request);
      };
      return {
        'passport.publish': instead(publish, publishLater),
        'publication.list': instead(list, read),
      };
    },
  },
} as const satisfies Record<string, Lie>;

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

const IMPORT_LIES = {
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

export type LieName =
  | keyof typeof IMPORT_LIES
  | keyof typeof PASSPORT_LIES
  | keyof typeof MAKING_LIES
  | AnswerLieName
  | FieldLieName;

/** Every lie of the sandbox, by the name of its operation and its own name. */
export const LIES: Readonly<Record<LieName, Lie>> = {
  ...IMPORT_LIES,
  ...ANSWER_LIES,
  ...MAKING_LIES,
  ...PASSPORT_LIES,
  ...FIELD_LIES,
};

export const LIE_NAMES = Object.keys(LIES) as LieName[];

/** Returns the operations with some lies. A later lie distorts the answers of the lies before it. */
export function withLies(honest: Operations, names: readonly LieName[], parts: LieParts): Operations {
  let operations = { ...honest };
  for (const name of names) operations = { ...operations, ...LIES[name].tell(operations, parts) };
  return operations;
}
