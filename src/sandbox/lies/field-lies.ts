import { z } from 'zod';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import type { Operation, OperationRequest } from '../api/operation.ts';
import { instead, type Lie } from './lie.ts';

/** A write of a single item. Its schema names the fields that the sandbox knows. */
type Write = 'product.create' | 'material.create' | 'material.update' | 'bom_item.create';

export type FieldLieName = `${Write | 'product.import'}:drops-fields`;

const DESCRIBE = 'Fields that the sandbox does not know are dropped. The answer is that of the write without them.';

function dropping(write: Write): Lie {
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
