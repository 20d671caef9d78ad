import { ENDPOINTS, OPERATION_NAMES, type OperationName } from '../../../src/sandbox/api/endpoints.ts';
import { type Operation, type OperationRequest, textMember } from '../../../src/sandbox/api/operation.ts';
import type { Collection, Entity } from '../../../src/sandbox/items/collection.ts';
import type { LateImports } from '../../../src/sandbox/operations/product-import.ts';

/** The only organisation. */
export const ORGANIZATION = 1;

/** A change of an item or passport at the platform. */
export interface Effect {
  operation: OperationName;
  /** The request's Idempotency-Key. */
  key: string;
  /** The path of the request, which names the product or material where one is written by its id. */
  path: string;
  /** The SKU of the member of an import; null for any other request. */
  sku: string | null;
}

type Report = (effect: Effect) => void;

/** The operations of the sandbox. They report every effect; for rows that are stored late, when they are stored. */
export function createReportingOperations({
  collections,
  create,
  lateImports,
  report,
}: {
  collections: { products: Collection; materials: Collection };
  create: (lateImports: Pick<LateImports, 'add'>) => Record<OperationName, Operation>;
  lateImports: Pick<LateImports, 'add'>;
  report: Report;
}): Record<OperationName, Operation> {
  /** The import that the sandbox works on now. */
  let importing: OperationRequest | undefined;
  const plain = create({
    add({ store, ...late }) {
      const changes = { name: 'product.import', request: importing, watched: collections.products, report } as const;
      lateImports.add({ ...late, store: (at) => reportingChanges(changes, () => store(at)) });
    },
  });
  const imports = plain['product.import'];
  plain['product.import'] = {
    ...imports,
    execute(request) {
      importing = request;
      return imports.execute(request);
    },
  };
  return Object.fromEntries(
    OPERATION_NAMES.map((name) => [name, reporting(name, plain[name], collections, report)]),
  ) as Record<OperationName, Operation>;
}

/** Wraps an operation, so that it reports its changes. */
function reporting(
  name: OperationName,
  operation: Operation,
  { products, materials }: { products: Collection; materials: Collection },
  report: Report,
): Operation {
  const watched = name === 'product.import' ? products : name === 'material.update' ? materials : null;
  return {
    ...operation,
    execute(request) {
      if (ENDPOINTS[name].method === 'GET') return operation.execute(request);
      if (watched !== null)
        return reportingChanges({ name, request, watched, report }, () => operation.execute(request));
      const answer = operation.execute(request);
      if (answer.status < 300) report(effectOf(name, request, null));
      return answer;
    },
  };
}

/** Does the work, and reports every entity that has changed. An import that fails half-way has changes too. */
function reportingChanges<T>(
  {
    name,
    request,
    watched,
    report,
  }: {
    name: OperationName;
    request: OperationRequest | undefined;
    watched: Collection;
    report: Report;
  },
  work: () => T,
): T {
  const known = new Map(entitiesOf(watched).map(({ id, fields }) => [id, JSON.stringify(fields)]));
  const result = work();
  for (const { id, fields } of entitiesOf(watched)) {
    if (known.get(id) === JSON.stringify(fields)) continue;
    report(effectOf(name, request, name === 'product.import' ? (textMember(fields, 'sku') ?? null) : null));
  }
  return result;
}

function effectOf(operation: OperationName, request: OperationRequest | undefined, sku: string | null): Effect {
  return {
    operation,
    key: textMember(request, 'idempotencyKey') ?? '',
    path: textMember(request, 'path') ?? '',
    sku,
  };
}

export function entitiesOf(collection: Collection): Entity[] {
  return collection.slice(ORGANIZATION, { offset: 0, limit: collection.count(ORGANIZATION) });
}
