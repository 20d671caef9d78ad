import type { Operation } from '../domain/delivery/operation.ts';
import type { Outcome } from '../domain/delivery/outcome.ts';
import type { Decision, RequestSettlement, Settled } from '../domain/ports/decision.ts';
import type { ProgressEvent } from '../domain/ports/progress.ts';
import type { Profile } from '../domain/profile.ts';
import { type Clock, ticksAt } from '../lib/clock.ts';
import type { ApiHealth } from './admission/api-health.ts';
import type { RetryBudget } from './admission/retry-budget.ts';
import type { Answered } from './answers.ts';
import type { Echoes } from './echoes.ts';
import type { BulkImports } from './imports/bulk-imports.ts';
import { DECISION_STATES, decide } from './outcome/decide.ts';
import type { Readable } from './outcome/decide-context.ts';
import { decideCreates } from './outcome/decide-creates.ts';
import { decideImport } from './outcome/decide-import.ts';

export interface SettlementOptions {
  health: Pick<ApiHealth, 'isWell' | 'hasTakenSince'>;
  retries: RetryBudget;
  bulk: Pick<BulkImports, 'isProof' | 'isTaken'>;
  echoes: Pick<Echoes, 'has' | 'add'>;
  /** Whether the list that shows the effect of an operation can be read. */
  readable: (operation: Operation) => Readable;
  profile: Profile;
  clock: Clock;
  /** Numbers in [0, 1). */
  random: () => number;
}

/** Decides the next state of the deliveries of a request that has ended. */
export function settlementOf(answered: Answered, options: SettlementOptions): RequestSettlement {
  const { request, outcome } = answered;
  const decidedAt = options.clock.now();
  const { decisions, ...group } = decideRequest(answered, decidedAt, options);
  // The members of an import are sent again together, so they share one slot among the retries.
  const notBefore = decisions.some(({ kind }) => kind === 'retry') ? retryAt(outcome, options) : decidedAt;
  const settlements = request.members.flatMap(({ id, revision }, index) => {
    const decision = decisions[index];
    return decision === undefined ? [] : [{ id, revision, decision: putOff(decision, notBefore), decidedAt }];
  });
  return { claim: request, settlements, ...group };
}

function decideRequest(
  { request, outcome, forbidden }: Answered,
  now: number,
  { health, bulk, echoes, readable, profile, clock, random }: SettlementOptions,
): { decisions: Decision[]; keep: boolean; groupMax: number | null } {
  /** True if the API has accepted other deliveries since this time of the wall clock. */
  const takesOthers = (since: number | null): boolean =>
    since !== null && health.isWell() && health.hasTakenSince(ticksAt(clock, since));

  const [only] = request.members;
  if (request.operation === 'product.import' || only === undefined) {
    const away = request.members.flatMap(({ awaySince }) => awaySince ?? []);
    const since = away.length === 0 ? null : Math.min(...away);
    const isProof = bulk.isProof(request);
    const context = { profile, now, random: random(), takesOthers: takesOthers(since), forbidden, isProof };
    if (only?.operation !== 'product.create') {
      return decideImport(outcome, request, { ...context, isTaken: bulk.isTaken() });
    }
    return decideCreates(outcome, request, context);
  }
  const { operation, attempts, uncertain, busySince, awaySince } = only;
  const known = { busySince, awaySince, takesOthers: takesOthers(awaySince), forbidden };
  if (outcome.kind === 'accepted' && outcome.evidence === 'echo') echoes.add(operation);
  const proof = { echoedBefore: echoes.has(operation), readable: readable(operation) };
  const decision = decide(outcome, {
    operation,
    attempts,
    uncertain,
    ...known,
    ...proof,
    profile,
    now,
    random: random(),
  });
  return { decisions: [decision], keep: true, groupMax: null };
}

/**
 * The earliest time for a retry after this outcome. A retry that waits for a limit or for a key does not use the retry
 * budget.
 */
function retryAt(outcome: Outcome, { retries, clock }: SettlementOptions): number {
  const now = clock.now();
  const isRetry = outcome.kind === 'unavailable' ? !outcome.local : outcome.kind === 'in_flight';
  return isRetry ? now + retries.reserve(clock.ticks()) : now;
}

function putOff(decision: Decision, notBefore: number): Decision {
  return decision.kind === 'retry' ? { ...decision, dueAt: Math.max(decision.dueAt, notBefore) } : decision;
}

/**
 * The events that report the new state of each member of a request, without members that have changed since the request
 * was sent.
 */
export function settledEvents(
  { request, outcome, latencyMs, times }: Answered,
  { settlements }: RequestSettlement,
  settled: readonly Settled[],
): ProgressEvent[] {
  const status = 'detail' in outcome ? outcome.detail.status : null;
  return request.members.flatMap(({ kind, key, revision, operation }, index): ProgressEvent[] => {
    const decision = settled[index]?.instead ?? settlements[index]?.decision;
    if (decision === undefined || settled[index]?.applied === false) return [];
    const state = DECISION_STATES[decision.kind];
    const reason = 'reason' in decision ? decision.reason : null;
    // All members share one request, so its duration is counted once.
    const ownLatencyMs = index === 0 ? latencyMs : null;
    return [{ type: 'settled', kind, key, revision, times, operation, state, status, latencyMs: ownLatencyMs, reason }];
  });
}
