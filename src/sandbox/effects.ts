import type { Clock } from '../lib/clock.ts';
import { messageOf } from '../lib/errors.ts';
import { err, ok, type Result } from '../lib/result.ts';
import { type Answer, refusal } from './answer.ts';
import { ENDPOINTS, type OperationName } from './endpoints.ts';
import type { IdempotencyStore, KeyUse } from './idempotency.ts';
import type { LateImports } from './import/late-imports.ts';
import type { Operation, OperationRequest } from './operation.ts';
import type { Storage } from './storage.ts';

/** A request of a caller who was admitted, with its body still as text. */
export interface AdmittedRequest
  extends Pick<OperationRequest, 'organizationId' | 'params' | 'url' | 'query' | 'view' | 'failsAfterRows'> {
  operation: OperationName;
  /** The path as it was requested, without the query. */
  path: string;
  body: string;
  idempotencyKey: string | undefined;
}

/** What came of a request's own work. */
export interface Performed {
  answer: Answer;
  naturalKey: string | undefined;
  /** True where the work was done a second time with success. */
  doubled?: boolean;
  /** True where the operation itself failed half-way. */
  failed?: boolean;
}

/** The work of requests, without the faults around it. */
export interface Effects {
  /** Does the work, or recalls the answer that the key had before. Work that is done `times` over is answered as the first. */
  perform: (request: AdmittedRequest, use: KeyUse | undefined, times?: number) => Performed;
  /** For a request that has no effect: what it would have been about. */
  describe: (request: AdmittedRequest) => string | undefined;
  /** The last success that the organisation had from the operation. */
  lastSuccess: (request: AdmittedRequest) => Answer | undefined;
}

interface EffectParts {
  storage: Pick<Storage, 'transact' | 'writeCounts'>;
  operations: Record<OperationName, Operation>;
  lateImports: Pick<LateImports, 'storeDue'>;
  idempotency: IdempotencyStore;
  clock: Clock;
}

/**
 * An effect, its count and its idempotency record are one transaction, and no await lies between its start and its
 * commit: a crash leaves all three or none.
 */
export function createEffects({ storage, operations, lateImports, idempotency, clock }: EffectParts): Effects {
  const lastAnswers = new Map<string, Answer>();

  const countWrites = (request: AdmittedRequest, { status, written }: Answer, naturalKey: string | undefined): void => {
    const own = status < 300 && naturalKey !== undefined ? [naturalKey] : [];
    for (const key of written ?? own) storage.writeCounts.add(request.organizationId, request.operation, key);
  };

  const conclude = (request: AdmittedRequest, use: KeyUse | undefined, times: number): Performed => {
    const now = clock.now();
    const recalled = use && idempotency.recall(use, now);
    const body = parseBody(request.body);
    const operation = operations[request.operation];
    const operationRequest: OperationRequest = {
      ...request,
      body: body.ok ? body.value : undefined,
      bodyText: request.body,
      now,
    };
    const answer = recalled ?? (body.ok ? operation.execute(operationRequest) : body.error);
    const naturalKey = answer.naturalKey ?? operation.naturalKey(operationRequest);
    if (recalled) return { answer, naturalKey };
    const counted = (one: Answer): boolean => {
      countWrites(request, one, naturalKey);
      return hasEffect(one);
    };
    const done = counted(answer);
    if (done) lastAnswers.set(nameOf(request), answer);
    const doubled = times > 1 && done && counted(operation.execute(operationRequest));
    const failed = answer.status >= 500;
    if (use && failed) idempotency.recordFailure(use, answer, now);
    else if (use) idempotency.record(use, answer, now);
    return { answer, naturalKey, ...(doubled && { doubled }), ...(failed && { failed }) };
  };

  return {
    perform(request, use, times = 1) {
      lateImports.storeDue(clock.now());
      const reads = ENDPOINTS[request.operation].method === 'GET';
      return reads ? conclude(request, use, 1) : storage.transact(() => conclude(request, use, times));
    },
    describe(request) {
      const body = parseBody(request.body);
      if (!body.ok) return undefined;
      const { operation, body: bodyText } = request;
      return operations[operation].naturalKey({ ...request, body: body.value, bodyText, now: clock.now() });
    },
    lastSuccess: (request) => lastAnswers.get(nameOf(request)),
  };
}

/** Whether an answer is a success behind which something was written or is going to be. */
function hasEffect({ status, written, writesLate }: Answer): boolean {
  if (status >= 300) return false;
  return written === undefined || written.length > 0 || writesLate === true;
}

function nameOf({ organizationId, operation }: AdmittedRequest): string {
  return `${organizationId} ${operation}`;
}

function parseBody(text: string): Result<unknown, Answer> {
  if (text === '') return ok({});
  try {
    return ok(JSON.parse(text) as unknown);
  } catch (error) {
    return err(refusal(400, `JSON parse error - ${messageOf(error)}`));
  }
}
