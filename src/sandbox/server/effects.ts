import type { Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/errors.ts';
import { err, ok, type Result } from '../../lib/result.ts';
import { ENDPOINTS, type OperationName } from '../api/endpoints.ts';
import { type Answer, type Operation, type OperationRequest, refusal } from '../api/operation.ts';
import type { LateImports } from '../operations/product-import.ts';
import type { IdempotencyStore, KeyUse } from '../storage/idempotency.ts';
import type { Writing } from '../storage/storage.ts';

/** A request of a caller who was admitted, with its body still as text. */
export interface AdmittedRequest
  extends Pick<OperationRequest, 'organizationId' | 'params' | 'url' | 'query' | 'view' | 'failsAfterRows'> {
  operation: OperationName;
  /** The requested path, without the query. */
  path: string;
  body: string;
  idempotencyKey: string | undefined;
}

/** The result of a request's own work. */
interface Performed {
  answer: Answer;
  naturalKey: string | undefined;
  /** True if the work was done a second time with success. */
  doubled?: boolean;
  /** True if the operation itself failed half-way. */
  failed?: boolean;
  /** The last successful answer before this one, about other items. A fault may send it in place of this one. */
  mistakable?: Answer;
}

/** A success, and the natural keys of everything that its request was about. */
interface Success {
  answer: Answer;
  about: readonly string[];
}

interface EffectParts {
  storage: Writing;
  operations: Record<OperationName, Operation>;
  lateImports: LateImports;
  idempotency: IdempotencyStore;
  clock: Clock;
}

/**
 * Does the work of requests, without the faults. An effect, its count and its idempotency record are one transaction,
 * without an await between its start and its commit. So after a crash either all three are stored or none.
 */
export function createEffects({ storage, operations, lateImports, idempotency, clock }: EffectParts) {
  /** The last success of each operation, for each organisation. */
  const lastSuccesses = new Map<string, Success>();

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
    const about = operation.naturalKeys?.(operationRequest) ?? (naturalKey === undefined ? [] : [naturalKey]);
    const success: Success = { answer, about };
    const mistakable = mistakableFor(success, lastSuccesses.get(nameOf(request)));
    if (recalled) return { answer, naturalKey, ...mistakable };
    const counted = (one: Answer): boolean => {
      countWrites(request, one, naturalKey);
      return hasEffect(one);
    };
    const done = counted(answer);
    if (done) lastSuccesses.set(nameOf(request), success);
    const doubled = times > 1 && done && counted(operation.execute(operationRequest));
    const failed = answer.status >= 500;
    if (use && failed) idempotency.recordFailure(use, answer, now);
    else if (use) idempotency.record(use, answer, now);
    return { answer, naturalKey, ...mistakable, ...(doubled && { doubled }), ...(failed && { failed }) };
  };

  return {
    /**
     * Does the work, or returns the stored answer for the key. If the work is done several `times`, the answer is that of
     * the first time.
     */
    perform: (request: AdmittedRequest, use: KeyUse | undefined, times = 1): Performed => {
      lateImports.storeDue(clock.now());
      const reads = ENDPOINTS[request.operation].method === 'GET';
      return reads ? conclude(request, use, 1) : storage.transact(() => conclude(request, use, times));
    },
    /** Describes the subject of a request that has no effect. */
    describe: (request: AdmittedRequest): string | undefined => {
      const body = parseBody(request.body);
      if (!body.ok) return undefined;
      const { operation, body: bodyText } = request;
      return operations[operation].naturalKey({ ...request, body: body.value, bodyText, now: clock.now() });
    },
  };
}

/** True if an answer is a success and something was written, or will be written later. */
function hasEffect({ status, written, writesLate }: Answer): boolean {
  if (status >= 300) return false;
  return written === undefined || written.length > 0 || writesLate === true;
}

/**
 * The last success, if a client can recognise that it is the answer to another request. This is not possible if it is
 * about one of the same items, or would replace a refusal.
 */
function mistakableFor({ answer, about }: Success, last: Success | undefined): Pick<Performed, 'mistakable'> {
  if (last === undefined || !isWholeSuccess({ answer, about }) || last.about.some((key) => about.includes(key)))
    return {};
  return { mistakable: last.answer };
}

/** True if a request has written, or will write, all items that it was about. */
function isWholeSuccess({ answer, about }: Success): boolean {
  const { status, written, writesLate } = answer;
  if (status >= 300) return false;
  return written === undefined || writesLate === true || about.every((key) => written.includes(key));
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
