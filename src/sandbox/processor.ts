import type { Clock } from '../lib/clock.ts';
import { messageOf } from '../lib/errors.ts';
import { err, ok, type Result } from '../lib/result.ts';
import { type Answer, refusal } from './answer.ts';
import { ENDPOINTS, type OperationName } from './endpoints.ts';
import type { FaultPlan, Faults } from './faults.ts';
import { fingerprintOf, honoursKeys, type IdempotencyStore, type KeyUse } from './idempotency.ts';
import type { Operation, OperationRequest } from './operation.ts';
import type { SandboxSettings } from './settings.ts';
import type { Storage } from './storage.ts';

/** A request of a caller who was admitted, with its body still as text. */
export interface AdmittedRequest
  extends Pick<OperationRequest, 'organizationId' | 'params' | 'url' | 'query' | 'view'> {
  operation: OperationName;
  /** The path as it was requested, without the query. */
  path: string;
  body: string;
  idempotencyKey: string | undefined;
}

/** What to do to the client. */
export interface Conclusion {
  /** Null for a connection that is reset in place of an answer. */
  answer: Answer | null;
  naturalKey: string | undefined;
  /** Every other connection is to be reset too. */
  outage?: true;
  /** How the body goes out, where not as usual. */
  body?: { kind: 'truncate' } | { kind: 'slow-body'; ms: number };
}

/** What came of a request's own work. */
interface Performed extends Conclusion {
  /** True where the work was done a second time with success. */
  doubled?: boolean;
}

/** Everything that working on a request needs. */
export interface ProcessorParts {
  storage: Pick<Storage, 'transact' | 'writeCounts'>;
  operations: Record<OperationName, Operation>;
  idempotency: IdempotencyStore;
  idempotencyMode: SandboxSettings['idempotency'];
  faults: Faults;
  clock: Clock;
  /** Cuts delays and the drawing of documents short when the sandbox closes. */
  closing: AbortSignal;
}

/**
 * Works on one request after another. The effect, its count and its idempotency record are one transaction, and no
 * await lies between its start and its commit: a crash leaves all three or none.
 */
export function createProcessor(parts: ProcessorParts): (request: AdmittedRequest) => Conclusion | Promise<Conclusion> {
  const { storage, operations, idempotency, faults, clock } = parts;
  /** The last success of each operation, for answers that get crossed. */
  const lastAnswers = new Map<string, Answer>();

  const conclude = (request: AdmittedRequest, use: KeyUse | undefined, times = 1): Performed => {
    const now = clock.now();
    const recalled = use && idempotency.recall(use, now);
    const body = parseBody(request.body);
    const operation = operations[request.operation];
    const operationRequest: OperationRequest = { ...request, body: body.ok ? body.value : undefined, now };
    const answer = recalled ?? (body.ok ? operation.execute(operationRequest) : body.error);
    const naturalKey = answer.naturalKey ?? operation.naturalKey(operationRequest);
    if (recalled) return { answer, naturalKey };
    const count = ({ status, written }: Answer): boolean => {
      if (status >= 300) return false;
      for (const key of written ?? (naturalKey === undefined ? [] : [naturalKey])) {
        storage.writeCounts.add(request.organizationId, request.operation, key);
      }
      return written === undefined || written.length > 0;
    };
    const done = count(answer);
    if (done) lastAnswers.set(`${request.organizationId} ${request.operation}`, answer);
    const doubled = times > 1 && done && count(operation.execute(operationRequest));
    if (use) idempotency.record(use, answer, now);
    return doubled ? { answer, naturalKey, doubled } : { answer, naturalKey };
  };

  /** For a request that has no effect: what it would have been about. */
  const describe = (request: AdmittedRequest): string | undefined => {
    const body = parseBody(request.body);
    if (!body.ok) return undefined;
    return operations[request.operation].naturalKey({ ...request, body: body.value, now: clock.now() });
  };

  const proceed = (admitted: AdmittedRequest, use: KeyUse | undefined): Conclusion | Promise<Conclusion> => {
    const plan = faults.take({ ...admitted, now: clock.now() });
    const request = plan.view === null ? admitted : { ...admitted, view: plan.view };
    if (plan.latencyMs === 0) return carryOut(request, use, plan);
    return clock.sleep(plan.latencyMs, parts.closing).then(() => carryOut(request, use, plan));
  };

  const carryOut = (
    request: AdmittedRequest,
    use: KeyUse | undefined,
    plan: Readonly<FaultPlan>,
  ): Conclusion | Promise<Conclusion> => {
    const { outcome } = plan;
    if (outcome === null) return drawn(perform(request, use));
    if (outcome.kind === 'outage') {
      faults.beginOutage(plan, clock.now());
      return { answer: null, naturalKey: describe(request), outage: true };
    }
    const instead = insteadOf(outcome);
    if (instead !== undefined) {
      const done = 'effect' in outcome && outcome.effect === 'done';
      return use
        ? storage.transact(() => answerInstead(request, use, { instead, done }))
        : answerInstead(request, undefined, { instead, done });
    }
    const other = lastAnswers.get(`${request.organizationId} ${request.operation}`);
    const { doubled = false, ...conclusion } = perform(request, use, outcome.kind === 'duplicate' ? 2 : 1);
    if (outcome.kind === 'crossed') {
      // There is no other answer yet, or nothing came of this request that could be mistaken.
      if (other === undefined || conclusion.answer === null || conclusion.answer.status >= 300) faults.giveBack(plan);
      else return drawn({ ...conclusion, answer: other });
    }
    if (outcome.kind === 'duplicate' && !doubled) faults.giveBack(plan);
    if (outcome.kind === 'reset-after') return { ...conclusion, answer: null };
    if (outcome.kind === 'truncate' || outcome.kind === 'slow-body') return drawn({ ...conclusion, body: outcome });
    return drawn(conclusion);
  };

  const drawn = (conclusion: Conclusion): Conclusion | Promise<Conclusion> => {
    if (!conclusion.answer?.draw) return conclusion;
    const { draw, ...answer } = conclusion.answer;
    return draw(parts.closing).then((document) => ({ ...conclusion, answer: { ...answer, document } }));
  };

  const perform = (request: AdmittedRequest, use: KeyUse | undefined, times = 1): Performed => {
    const reads = ENDPOINTS[request.operation].method === 'GET';
    return reads ? conclude(request, use) : storage.transact(() => conclude(request, use, times));
  };

  /** A failure is what a key's first request came to, and never takes the place of an answer that was given before. */
  const answerInstead = (
    request: AdmittedRequest,
    use: KeyUse | undefined,
    { instead, done }: { instead: Answer | null; done: boolean },
  ): Conclusion => {
    const now = clock.now();
    const isFirst = use !== undefined && idempotency.recall(use, now) === undefined;
    const naturalKey = done ? perform(request, use).naturalKey : describe(request);
    if (instead && isFirst) idempotency.recordFailure(use, instead, now);
    return { answer: instead, naturalKey };
  };

  const proceedOnce = createOncePerKey({ proceed, describe });

  return (request) => {
    const { idempotencyKey: key, operation } = request;
    if (key === undefined || !honoursKeys(parts.idempotencyMode, ENDPOINTS[operation])) {
      return proceed(request, undefined);
    }
    if (key === '' || key.length > 255) {
      return { answer: refusal(400, 'Idempotency-Key must have 1 to 255 characters.'), naturalKey: describe(request) };
    }
    return proceedOnce(request, key);
  };
}

/** Works on requests with idempotency keys: a second request with the key of one that is in progress is refused. */
function createOncePerKey({
  proceed,
  describe,
}: {
  proceed: (request: AdmittedRequest, use: KeyUse) => Conclusion | Promise<Conclusion>;
  describe: (request: AdmittedRequest) => string | undefined;
}): (request: AdmittedRequest, key: string) => Promise<Conclusion> {
  // Only requests on open connections are in here. Losing it in a crash is right: what was in flight then is no more.
  const inFlight = new Set<string>();
  return async (request, key) => {
    const { organizationId, path, body } = request;
    const flight = `${organizationId} ${key}`;
    if (inFlight.has(flight)) {
      const detail = 'A request with this Idempotency-Key is still in progress.';
      return { answer: refusal(409, detail), naturalKey: describe(request) };
    }
    inFlight.add(flight);
    try {
      const fingerprint = fingerprintOf({ method: ENDPOINTS[request.operation].method, path, body });
      return await proceed(request, { organizationId, key, fingerprint });
    } finally {
      inFlight.delete(flight);
    }
  };
}

/** What a fault answers in place of the operation; null for a reset, undefined where the operation answers itself. */
function insteadOf(outcome: Exclude<NonNullable<FaultPlan['outcome']>, { kind: 'outage' }>): Answer | null | undefined {
  switch (outcome.kind) {
    case 'reset-before':
      return null;
    case 'status': {
      const { status, retryAfterSeconds, body } = outcome;
      const headers = retryAfterSeconds === undefined ? undefined : { 'retry-after': String(retryAfterSeconds) };
      const answer = refusal(status, `The sandbox answers ${status} by a fault rule.`, headers);
      return body === undefined
        ? answer
        : { ...answer, document: { type: 'text/plain; charset=utf-8', bytes: Buffer.from(body) } };
    }
    case 'html': {
      const page = `<!doctype html>\n<title>${outcome.status}</title>\n<p>The sandbox answers with HTML by a fault rule.</p>\n`;
      return {
        status: outcome.status,
        body: null,
        document: { type: 'text/html; charset=utf-8', bytes: Buffer.from(page) },
      };
    }
    case 'reset-after':
    case 'truncate':
    case 'slow-body':
    case 'duplicate':
    case 'crossed':
      return undefined;
  }
}

function parseBody(text: string): Result<unknown, Answer> {
  if (text === '') return ok({});
  try {
    return ok(JSON.parse(text) as unknown);
  } catch (error) {
    return err(refusal(400, `JSON parse error - ${messageOf(error)}`));
  }
}
