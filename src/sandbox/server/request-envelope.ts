import { z } from 'zod';
import { refusal } from '../api/answer.ts';
import type { OperationName } from '../api/endpoints.ts';
import { member, NoBody, type Operation, type OperationRequest } from '../api/operation.ts';
import type { SandboxSettings } from '../settings/settings.ts';

type Operations = Record<OperationName, Operation>;

/** Writes whose body stays as it is, whatever the form of the others. */
const PLAIN: ReadonlySet<OperationName> = new Set(['product.import']);

/** Makes every write with a body ask for `{"data": {"type", "attributes"}}`, if the settings say so. */
export function withRequestEnvelope(operations: Operations, requests: SandboxSettings['requests']): Operations {
  if (requests === 'flat') return operations;
  return Object.fromEntries(
    Object.entries(operations).map(([name, operation]) => {
      const hasBody = operation.accepts !== undefined && operation.accepts !== NoBody;
      return [name, hasBody && !PLAIN.has(name as OperationName) ? enveloped(operation) : operation];
    }),
  ) as Operations;
}

function enveloped(operation: Operation): Operation {
  const within = (request: OperationRequest): OperationRequest => ({
    ...request,
    body: member(member(request.body, 'data'), 'attributes'),
  });
  return {
    ...operation,
    accepts: z.strictObject({
      data: z.strictObject({ type: z.string().optional(), attributes: operation.accepts ?? NoBody }),
    }),
    naturalKey: (request) => operation.naturalKey(within(request)),
    execute(request) {
      const inner = within(request);
      if (typeof inner.body === 'object' && inner.body !== null) return operation.execute(inner);
      return refusal(400, 'Expected the fields in "attributes" of the member "data".');
    },
  };
}
