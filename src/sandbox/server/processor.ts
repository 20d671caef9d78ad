import type { Clock } from '../../lib/clock.ts';
import { err, messageOf, ok, type Result } from '../../lib/errors.ts';
import { ENDPOINTS, type OperationName } from '../api/endpoints.ts';
import { type Answer, type Operation, type OperationRequest, refusal } from '../api/operation.ts';
import type { FaultPlan, Faults } from '../faults/faults.ts';
import type { LateImports } from '../operations/product-import.ts';
import type { SandboxSettings } from '../settings/settings.ts';
import { fingerprintOf, honoursKeys, type IdempotencyStore, type KeyUse } from '../storage/idempotency.ts';
import type { Writing } from '../storage/storage.ts';

/** The end of a request for the client. */
export interface Conclusion {
  /** Null for a connection that is reset in place of an answer. */
  answer: Answer | null;
  naturalKey: string | undefined;
  /** True if nothing is sent and the connection stays open. */
  silent?: true;
  /** True if all other connections have to be reset too. */
  outage?: true;
  /** The special way in which the body is sent, if there is one. */
  body?: { kind: 'truncate' } | { kind: 'slow-body'; ms: number };
}

/** The parts that are needed to process requests. */
interface ProcessorParts {
  storage: Writing;
  operations: Record<OperationName, Operation>;
  lateImports: LateImports;
  idempotency: IdempotencyStore;
  idempotencyMode: SandboxSettings['idempotency'];
  faults: Faults;
  clock: Clock;
  /** Aborted when the sandbox closes. Ends delays and the drawing of documents. */
  closing: AbortSignal;
}

/**
 * Makes the function that processes requests, with the faults that apply to them, and once for each idempotency key.
 */
export function createProcessor(parts: ProcessorParts): (request: AdmittedRequest) => Conclusion | Promise<Conclusion> {
  const { storage, idempotency, faults, clock } = parts;
  const { perform, describe } = createEffects(parts);

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
    const failsAfterRows = outcome.kind === 'partial-import' ? outcome.rows : undefined;
    const {
      doubled = false,
      failed = false,
      mistakable,
      ...conclusion
    } = perform({ ...request, failsAfterRows }, use, outcome.kind === 'duplicate' ? 2 : 1);
    if (outcome.kind === 'crossed') {
      if (mistakable === undefined) faults.giveBack(plan);
      else return drawn({ ...conclusion, answer: mistakable });
    }
    if (outcome.kind === 'duplicate' && !doubled) faults.giveBack(plan);
    if (outcome.kind === 'partial-import') {
      if (failed) return endedBy(outcome.ending, conclusion);
      faults.giveBack(plan);
    }
    if (outcome.kind === 'reset-after') return { ...conclusion, answer: null };
    if (outcome.kind === 'truncate' || outcome.kind === 'slow-body') return drawn({ ...conclusion, body: outcome });
    return drawn(conclusion);
  };

  const drawn = (conclusion: Conclusion): Conclusion | Promise<Conclusion> => {
    if (!conclusion.answer?.draw) return conclusion;
    const { draw, ...answer } = conclusion.answer;
    return draw().then((document) => ({ ...conclusion, answer: { ...answer, document } }));
  };

  /**
   * A failure is stored for its key only if it is the first answer. It never replaces an answer that was given before.
   */
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

/** Processes requests with idempotency keys: a second request with the key of one that is in progress is refused. */
function createOncePerKey({
  proceed,
  describe,
}: {
  proceed: (request: AdmittedRequest, use: KeyUse) => Conclusion | Promise<Conclusion>;
  describe: (request: AdmittedRequest) => string | undefined;
}): (request: AdmittedRequest, key: string) => Promise<Conclusion> {
  // Only requests on open connections are in this set. A crash may lose the set, because it also ends all these
  // requests.
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

/** The end of a request whose import failed after some of its rows. */
function endedBy(ending: 'error' | 'reset' | 'silence' | undefined, conclusion: Conclusion): Conclusion {
  if (ending === 'reset') return { ...conclusion, answer: null };
  return ending === 'silence' ? { ...conclusion, answer: null, silent: true } : conclusion;
}

/** The answer of a fault instead of the operation; null for a reset, undefined if the operation answers. */
function insteadOf(outcome: Exclude<NonNullable<FaultPlan['outcome']>, { kind: 'outage' }>): Answer | null | undefined {
  switch (outcome.kind) {
    case 'reset-before':
      return null;
    case 'status': {
      const { status, retryAfterSeconds, body } = outcome;
      const headers = retryAfterSeconds === undefined ? undefined : { 'retry-after': String(retryAfterSeconds) };
      const answer = refusal(status, `A fault rule makes the sandbox answer with ${status}.`, headers);
      return body === undefined
        ? answer
        : { ...answer, document: { type: 'text/plain; charset=utf-8', bytes: Buffer.from(body) } };
    }
    case 'html': {
      const page = `<!doctype html>\n<title>${outcome.status}</title>\n<p>A fault rule makes the sandbox answer with HTML.</p>\n`;
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
    case 'partial-import':
      return undefined;
  }
}

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
function createEffects({ storage, operations, lateImports, idempotency, clock }: EffectParts) {
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
