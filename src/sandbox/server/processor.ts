import type { Clock } from '../../lib/clock.ts';
import { ENDPOINTS, type OperationName } from '../api/endpoints.ts';
import { type Answer, type Operation, refusal } from '../api/operation.ts';
import type { FaultPlan, Faults } from '../faults/faults.ts';
import type { LateImports } from '../operations/product-import.ts';
import type { SandboxSettings } from '../settings/settings.ts';
import { fingerprintOf, honoursKeys, type IdempotencyStore, type KeyUse } from '../storage/idempotency.ts';
import type { Writing } from '../storage/storage.ts';
import { type AdmittedRequest, createEffects } from './effects.ts';

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
