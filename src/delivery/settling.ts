// From the answers of requests to the next states of their deliveries: answers are gathered into groups, the next state of each
// delivery is decided, and one commit stores the decisions of a group.

import type { Operation } from '../domain/delivery/operation.ts';
import type { Outcome } from '../domain/delivery/outcome.ts';
import { isLedgerFault } from '../domain/faults.ts';
import type { ClaimedRequest, Decision, RequestSettlement, Settled } from '../domain/ports/deliveries.ts';
import type { DeliveryLedger } from '../domain/ports/ledger/delivery-ledger.ts';
import type { Emit, ProgressEvent } from '../domain/ports/progress.ts';
import type { Profile } from '../domain/profile.ts';
import { type Clock, createWake, ticksAt } from '../lib/clock.ts';
import type { Fault } from '../lib/errors.ts';
import type { Admitted } from './admission/admission.ts';
import type { ApiHealth } from './admission/api-health.ts';
import type { RetryBudget } from './admission/retry-budget.ts';
import type { DeliveryWindow } from './delivery-window.ts';
import type { Echoes } from './echoes.ts';
import type { DeadLetter } from './failed-jobs.ts';
import type { BulkImports } from './imports/bulk-imports.ts';
import { DECISION_STATES, decide } from './outcome/decide.ts';
import type { Readable } from './outcome/decide-context.ts';
import { decideImport } from './outcome/decide-import.ts';
import { decideCreates } from './outcome/decide-import-creates.ts';

/** A request that has ended. */
export interface Answered {
  request: ClaimedRequest;
  outcome: Outcome;
  latencyMs: number;
  /** In milliseconds since the epoch. */
  times: { sentAt: number; answeredAt: number };
  /** True if the API refuses this request a scope that it grants to others. */
  forbidden: boolean;
  /** The admission that the request belongs to. */
  from: Admitted;
}

/** A group waits at most this long for more answers. */
const LINGER_MS = 2;
/** A group only waits if at least this many more answers can be expected during the wait. */
const EXPECTED_MIN = 8;
/** A group of this size gains nothing by becoming larger. */
const GROUP_MAX = 48;

/**
 * Gathers answers into groups, so that one commit settles many deliveries.
 *
 * @param options.underWay how many requests have no answer yet
 */
export function createAnswers({ underWay, clock }: { underWay: () => number; clock: Clock }) {
  const wake = createWake(clock);
  let gathered: Answered[] = [];
  let isClosed = false;
  let isLingering = false;
  /** How long the requests of the last group took. */
  let usualMs = Number.POSITIVE_INFINITY;

  function isWorthWaiting(): boolean {
    const expected = (underWay() * LINGER_MS) / Math.max(LINGER_MS, usualMs);
    return gathered.length < GROUP_MAX && expected >= EXPECTED_MIN;
  }

  /**
   * Waits for more answers. One turn of the event loop brings many, and if answers come quickly, a short time brings
   * more.
   */
  async function linger(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    if (!isWorthWaiting()) return;
    isLingering = true;
    wake.look();
    await wake.rest(LINGER_MS);
    isLingering = false;
  }

  return {
    add(one: Answered) {
      gathered.push(one);
      if (!isLingering || !isWorthWaiting()) wake.wake();
    },
    /** Resolves to the next group of answers, after a short wait for more. Resolves to an empty group after `close`. */
    async next(): Promise<Answered[]> {
      while (gathered.length === 0 && !isClosed) {
        wake.look();
        await wake.rest(null);
      }
      if (gathered.length > 0) await linger();
      const group = gathered;
      gathered = [];
      if (group.length > 0) usualMs = group.reduce((sum, { latencyMs }) => sum + latencyMs, 0) / group.length;
      return group;
    },
    close() {
      isClosed = true;
      wake.wake();
    },
  };
}

export interface SettlingOptions {
  ledger: DeliveryLedger;
  window: DeliveryWindow;
  health: ApiHealth;
  retries: RetryBudget;
  bulk: BulkImports;
  echoes: Echoes;
  /** Whether the list that shows the effect of an operation can be read. */
  readable: (operation: Operation) => Readable;
  profile: Profile;
  clock: Clock;
  /** Numbers in [0, 1). */
  random: () => number;
  deadLetter: DeadLetter;
  emit: Emit;
  /** Aborted when the process ends. */
  abort: AbortSignal;
}

interface Decided {
  answered: Answered;
  settlement: RequestSettlement;
}

/** If the ledger could not store decisions, they are offered again after this time. */
const AGAIN_MS = 1000;

/** Decides the next states of answered deliveries, and stores the decisions. */
export function createSettling(options: SettlingOptions) {
  const { ledger, window, deadLetter, clock, emit, abort } = options;
  let trouble: Fault | null = null;
  /** Requests whose deliveries cannot be dead-lettered now, with the reason. */
  const unstored = new Map<ClaimedRequest, Fault>();
  /** Dead letters that are being stored beside the settling of other answers. */
  const abandoning = new Set<Promise<void>>();

  function decideAll(answered: readonly Answered[]): Decided[] {
    const decided: Decided[] = [];
    for (const one of answered) {
      try {
        decided.push({ answered: one, settlement: settlementOf(one, options) });
      } catch (error) {
        void abandon(one.request, error);
      }
    }
    return decided;
  }

  /** Dead-letters the deliveries of a claimed request that threw. Never rejects. */
  function abandon(request: ClaimedRequest, error: unknown): Promise<void> {
    const stored = deadLetterUntilStored(request, error);
    abandoning.add(stored);
    return stored.finally(() => abandoning.delete(stored));
  }

  /**
   * Dead-letters the deliveries of a request, and tries again for as long as the ledger cannot be written: the ledger
   * shows these deliveries as being sent, and no other part of this process would change their state. If the process
   * ends before that, or if the ledger refuses the dead letters for another reason, the next process finds the
   * deliveries unconfirmed.
   */
  async function deadLetterUntilStored(request: ClaimedRequest, error: unknown): Promise<void> {
    let failure = await deadLetter(request.members, error);
    while (isLedgerFault(failure) && !abort.aborted) {
      unstored.set(request, failure);
      await clock.sleep(AGAIN_MS, abort);
      failure = await deadLetter(request.members, error, true);
    }
    unstored.delete(request);
    window.end(idsOf(request));
  }

  /** Settles answers in one commit. Never rejects. If one answer throws, the others are settled without it. */
  async function settleGroup(group: readonly Decided[]): Promise<void> {
    const [first] = group;
    if (first === undefined) return;
    const ids = group.flatMap(({ answered }) => idsOf(answered.request));
    try {
      const settled = await untilStored(group.map(({ settlement }) => settlement));
      report(group, settled);
      window.end(ids);
    } catch (error) {
      // The process stops while the ledger cannot be written. The next process finds these deliveries unconfirmed.
      if (isLedgerFault(error)) window.end(ids);
      else if (group.length === 1) void abandon(first.answered.request, error);
      else for (const one of group) await settleGroup([one]);
    }
  }

  /**
   * Offers decisions to the ledger until it stores them. Only this process knows the API's answers until then, so they
   * are kept while the disk is full. These deliveries become unconfirmed only if the process ends before they are
   * stored.
   */
  async function untilStored(settlements: readonly RequestSettlement[]): Promise<Settled[]> {
    for (;;) {
      try {
        const settled = await ledger.settle(settlements);
        trouble = null;
        return settled;
      } catch (error) {
        if (!isLedgerFault(error) || abort.aborted) throw error;
        trouble = error;
        await clock.sleep(AGAIN_MS, abort);
      }
    }
  }

  function report(group: readonly Decided[], settled: readonly Settled[]): void {
    let from = 0;
    for (const { answered, settlement } of group) {
      const to = from + settlement.settlements.length;
      for (const event of settledEvents(answered, settlement, settled.slice(from, to))) emit(event);
      from = to;
    }
  }

  return {
    /** Settles a group of answers in one commit. Never rejects. Dead letters may be stored later. */
    async settle(answered: readonly Answered[]) {
      await options.echoes.ready();
      await settleGroup(decideAll(answered));
    },
    abandon,
    /** Resolves when all dead letters are stored, or when the process ends and they cannot be stored. */
    ended: async () => void (await Promise.all(abandoning)),
    /** Why decisions cannot be stored now; null if they can. */
    trouble: (): Fault | null => trouble ?? unstored.values().next().value ?? null,
  };
}

function idsOf({ members }: ClaimedRequest): number[] {
  return members.map(({ id }) => id);
}

/** Decides the next state of the deliveries of a request that has ended. */
function settlementOf(answered: Answered, options: SettlingOptions): RequestSettlement {
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
  { health, bulk, echoes, readable, profile, clock, random }: SettlingOptions,
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
function retryAt(outcome: Outcome, { retries, clock }: SettlingOptions): number {
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
function settledEvents(
  { request, outcome, latencyMs, times }: Answered,
  { settlements }: RequestSettlement,
  settled: readonly Settled[],
): ProgressEvent[] {
  const status = 'detail' in outcome ? outcome.detail.status : null;
  return request.members.flatMap(({ kind, key, revision, operation }, index): ProgressEvent[] => {
    const { instead, applied = true, failedAgain = false } = settled[index] ?? {};
    const decision = instead ?? settlements[index]?.decision;
    if (decision === undefined || !applied) return [];
    const state = DECISION_STATES[decision.kind];
    const reason = 'reason' in decision ? decision.reason : null;
    // All members share one request, so its duration is counted once.
    const ownLatencyMs = index === 0 ? latencyMs : null;
    const decided = { state, status, latencyMs: ownLatencyMs, reason, failedAgain };
    return [{ type: 'settled', kind, key, revision, times, operation, ...decided }];
  });
}
