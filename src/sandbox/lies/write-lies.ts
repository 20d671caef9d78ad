import { z } from 'zod';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import type { OperationName } from '../api/endpoints.ts';
import { type Answer, member, type Operation, type OperationRequest, textMember } from '../api/operation.ts';
import { type Collection, type Collections, type Entity, present } from '../items/collection.ts';
import { instead, type Lie, type LieParts } from './lie.ts';

/** The writes whose answer is one item, with the kind of this item and another kind. */
const WRITES = {
  'product.create': { own: 'products', other: 'materials' },
  'material.create': { own: 'materials', other: 'products' },
  'material.update': { own: 'materials', other: 'products' },
  'bom_item.create': { own: 'bomItems', other: 'materials' },
  'passport.init': { own: 'passports', other: 'products' },
} as const satisfies Partial<Record<OperationName, { own: keyof Collections; other: keyof Collections }>>;

type Write = keyof typeof WRITES;

/** Makes the wrong answer to a write that succeeded; undefined if there is nothing to answer with. */
type WrongAnswer = (
  answer: JsonObject,
  at: { write: Write; organizationId: number; parts: LieParts },
) => JsonObject | undefined;

/** The answers of another kind or about another item. Their names follow the name of the operation. */
const WRONG_ANSWERS = {
  'other-kind': {
    describe:
      'The answer is the newest item of another kind: a material for a product or BOM item, and else a product.',
    answer: (_own, { write, organizationId, parts: { collections } }) => {
      const item = newest(collections[WRITES[write].other], organizationId);
      return item && present(item);
    },
  },
  'other-item': {
    describe: 'The answer is another item of the same kind, the newest one.',
    answer: (own, at) => {
      const item = newestBut(own, at);
      return item && present(item);
    },
  },
  'other-id': {
    describe: 'The answer has only an id, that of the newest other item of the same kind.',
    answer: (own, at) => {
      const item = newestBut(own, at);
      return item && { id: item.id };
    },
  },
  report: {
    describe: 'The answer is a report, with the id of the report.',
    answer: ({ created_at: at = null }, { organizationId, parts: { collections, ids } }) => ({
      id: ids.freshUuid() ?? collections.reports.count(organizationId) + 1,
      type: 'summary',
      title: null,
      status: 'completed',
      data: {},
      created_at: at,
      updated_at: at,
    }),
  },
} as const satisfies Record<string, { describe: string; answer: WrongAnswer }>;

type WrongAnswerName = keyof typeof WRONG_ANSWERS;

function wrongAnswer(write: Write, { describe, answer }: { describe: string; answer: WrongAnswer }): Lie {
  return {
    describe,
    tell({ [write]: operation }, parts) {
      const execute = (request: Parameters<typeof operation.execute>[0]): Answer => {
        const honest = operation.execute(request);
        if (honest.status >= 300 || !isJsonObject(honest.body)) return honest;
        const body = answer(honest.body, { write, organizationId: request.organizationId, parts });
        return body === undefined ? honest : { ...honest, body };
      };
      return { [write]: instead(operation, execute) };
    },
  };
}

/** Answers with a success and does nothing. */
function idle(operation: OperationName, describe: string, body: JsonObject, status = 200): Lie {
  return {
    describe,
    tell: ({ [operation]: honest }) => ({ [operation]: instead(honest, () => ({ status, body, written: [] })) }),
  };
}

const FAILED = { success: false, error: 'The request could not be processed.' };

/** The writes that can answer `{"success": false}` with a status of success. */
const FAILING = [
  'product.create',
  'material.create',
  'material.update',
  'bom_item.create',
  'product.import',
  'passport.init',
  'passport.publish',
] as const satisfies OperationName[];

export type AnswerLieName = `${Write}:${WrongAnswerName}` | `${(typeof FAILING)[number]}:success-false`;

export const ANSWER_LIES = Object.fromEntries([
  ...(Object.keys(WRITES) as Write[]).flatMap((write) =>
    Object.entries(WRONG_ANSWERS).map(([name, wrong]) => [`${write}:${name}`, wrongAnswer(write, wrong)] as const),
  ),
  ...FAILING.map((operation) => {
    const describe = 'Nothing is done. The answer is 200 with `{"success": false, "error"}`.';
    return [`${operation}:success-false`, idle(operation, describe, FAILED)] as const;
  }),
]) as Record<AnswerLieName, Lie>;

export const MAKING_LIES = {
  'product.create:updates-known': meetingKnown(
    'A create of a known SKU changes that product. The answer is 200 with `{"id", "sku", "result": "updated"}`.',
    (product, { sku, fields, now, products }) => {
      products.update(product, { columns: { sku }, fields: { ...product.fields, ...fields }, now });
      return 'updated';
    },
  ),
  'product.create:says-exists': meetingKnown(
    'A create of a known SKU changes nothing. The answer is 200 with `{"id", "sku", "result": "exists"}`.',
    () => 'exists',
  ),
  'bom_item.create:not-made': {
    describe: 'No BOM item is made. The answer is 201 with the material or component of the request.',
    tell({ 'bom_item.create': operation }, { collections: { materials, products } }) {
      const execute = ({ organizationId, body }: Parameters<typeof operation.execute>[0]): Answer => {
        const named = (collection: Collection, name: string): Entity | undefined => {
          const id = member(body, name);
          return typeof id === 'number' || typeof id === 'string' ? collection.get(organizationId, id) : undefined;
        };
        const part = named(materials, 'material') ?? named(products, 'component');
        return { status: 201, body: part ? present(part) : {}, written: [] };
      };
      return { 'bom_item.create': instead(operation, execute) };
    },
  },
  'bom_item.create:ignored': idle('bom_item.create', 'No BOM item is made. The answer is 201 with `{}`.', {}, 201),
  'material.update:changes-nothing': {
    describe: 'Nothing is changed. The answer is 200 with the material as it was.',
    tell({ 'material.update': operation }) {
      const execute = (request: Parameters<typeof operation.execute>[0]): Answer => {
        const answer = operation.execute({ ...request, body: {} });
        return answer.status >= 300 ? answer : { ...answer, written: [] };
      };
      return { 'material.update': instead(operation, execute) };
    },
  },
} as const satisfies Record<string, Lie>;

interface Met {
  sku: string;
  fields: JsonObject;
  now: number;
  products: Collections['products'];
}

/** Answers 200 to the create of a product that is there. */
function meetingKnown(describe: string, meet: (product: Entity, met: Met) => string): Lie {
  return {
    describe,
    tell({ 'product.create': operation }, { collections: { products } }) {
      const execute = (request: Parameters<typeof operation.execute>[0]): Answer => {
        const { organizationId, body, now } = request;
        const sku = textMember(body, 'sku');
        const known = sku === undefined ? undefined : products.find(organizationId, 'sku', sku);
        if (known === undefined || sku === undefined) return operation.execute(request);
        const result = meet(known, { sku, fields: body as JsonObject, now, products });
        return { status: 200, body: { id: known.id, sku, result }, written: result === 'updated' ? [sku] : [] };
      };
      return { 'product.create': instead(operation, execute) };
    },
  };
}

function newest(collection: Collection, organizationId: number): Entity | undefined {
  return collection.slice(organizationId, { offset: collection.count(organizationId) - 1, limit: 1 })[0];
}

/** The newest item of the kind that is not the item of the answer. */
function newestBut(
  { id }: JsonObject,
  { write, organizationId, parts }: Parameters<WrongAnswer>[1],
): Entity | undefined {
  const collection = parts.collections[WRITES[write].own];
  const offset = Math.max(0, collection.count(organizationId) - 2);
  return collection.slice(organizationId, { offset, limit: 2 }).findLast((one) => one.id !== id);
}

/** A write of a single item. Its schema names the fields that the sandbox knows. */
type FieldWrite = 'product.create' | 'material.create' | 'material.update' | 'bom_item.create';

export type FieldLieName = `${FieldWrite | 'product.import'}:drops-fields`;

const DESCRIBE = 'Fields that the sandbox does not know are dropped. The answer is that of the write without them.';

function dropping(write: FieldWrite): Lie {
  return {
    describe: DESCRIBE,
    tell({ [write]: operation }) {
      const execute = (request: OperationRequest) =>
        operation.execute({ ...request, body: withKnown(operation, request.body) });
      return { [write]: instead(operation, execute) };
    },
  };
}

/** The lies about fields. Elsewhere the sandbox refuses a field that it does not know. */
export const FIELD_LIES: Readonly<Record<FieldLieName, Lie>> = {
  'product.create:drops-fields': dropping('product.create'),
  'material.create:drops-fields': dropping('material.create'),
  'material.update:drops-fields': dropping('material.update'),
  'bom_item.create:drops-fields': dropping('bom_item.create'),
  'product.import:drops-fields': {
    describe: DESCRIBE,
    tell({ 'product.import': operation, 'product.create': create }) {
      const known = (row: unknown): unknown => withKnown(create, row);
      const execute = (request: OperationRequest) => {
        const { body } = request;
        const rows = isJsonObject(body as JsonObject) ? (body as JsonObject)['products'] : body;
        if (!Array.isArray(rows)) return operation.execute(request);
        return operation.execute({ ...request, body: { products: rows.map(known) } });
      };
      return { 'product.import': instead(operation, execute) };
    },
  },
};

/** The members of a body that the schema of an operation has. */
function withKnown({ accepts }: Operation, body: unknown): unknown {
  if (!(accepts instanceof z.ZodObject) || !isJsonObject(body as JsonObject)) return body;
  const { shape } = accepts;
  return Object.fromEntries(Object.entries(body as JsonObject).filter(([name]) => Object.hasOwn(shape, name)));
}
