import type { DeliveryState, Operation } from '../domain/delivery.ts';
import { fault, isLedgerFault } from '../domain/faults.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { ClaimedDelivery, ClaimedRequest } from '../domain/ports/claim.ts';
import type { Decision } from '../domain/ports/decision.ts';
import type { DueDelivery } from '../domain/ports/due.ts';
import type { Ledger } from '../domain/ports/ledger.ts';
import type { Emit } from '../domain/ports/progress.ts';
import type { Target } from '../domain/ports/target.ts';
import type { Profile } from '../domain/profile.ts';
import { type Scope, scopeOfWrite } from '../domain/scope.ts';
import { type Clock, ticksAt } from '../lib/clock.ts';
import type { Fault } from '../lib/errors.ts';
import type { Breaker } from './admission/breaker.ts';
import { createCanary } from './admission/canary.ts';
import type { CreatePause } from './admission/create-pause.ts';
import type { Pacer } from './admission/pacer.ts';
import type { RetryBudget } from './admission/retry-budget.ts';
import { type Signal, signalOf } from './admission/signal.ts';
import type { TargetGate } from './admission/target-gate.ts';
import { DECISION_STATES, decide } from './outcome/decide.ts';
import { decideImport } from './outcome/decide-import.ts';

export interface DelivererOptions {
  ledger: Ledger;
  target: Target;
  pacer: Pacer;
  breaker: Pick<Breaker, 'isWell' | 'isExcused' | 'hasTakenSince'>;
  retries: RetryBudget;
  gate: TargetGate;
  pause: Pick<CreatePause, 'operations'>;
  profile: Profile;
  clock: Clock;
  /** Numbers in [0, 1). */
  random: () => number;
  emit: Emit;
}

/**
 * What became of an attempt. `held`: nothing was sent, because the API may not be talked to now or the work was stopped;
 * the delivery is as due as before. `gone`: it had moved on.
 */
export type Attempt = { result: 'settled'; state: DeliveryState } | { result: 'gone' } | { result: 'held' };

export interface Deliverer {
  /** @param delivery an `urgent` one goes before those that wait already */
  attempt(
    delivery: Pick<DueDelivery, 'id' | 'revision' | 'operation'> & { urgent?: boolean },
    abort: AbortSignal,
  ): Promise<Attempt>;
  /** Why outcomes cannot be stored, or requests cannot be sent, at the moment; null where both can. */
  trouble(): Fault | null;
}

/** So many in a row are refused a scope that was taken before, until it counts as refused. */
const QUESTIONS_MAX = 3;
/** How soon a decision is offered to the ledger again. */
const SETTLE_AGAIN_MS = 1000;
/** A delivery that waits for its turn is looked at again after this long: a newer one may have taken its place. */
const LOOK_AGAIN_MS = 250;

/**
 * Takes one delivery through one attempt: pace, claim, send, settle. The claim is committed before any byte goes out and
 * only once the request may really go out, so that a crash puts nothing in doubt that was merely waiting its turn.
 */
export function createDeliverer(options: DelivererOptions): Deliverer {
  const { ledger, target, pacer, breaker, retries, gate, pause, profile, clock, random, emit } = options;
  const canary = createCanary({ gate, clock });

  const rests = (operation: Operation): boolean => pause.operations().includes(operation);

  type Sent = { request: ClaimedRequest; outcome: Outcome; latencyMs: number; forbidden: boolean };
  type Told = Pick<ClaimedDelivery, 'kind' | 'key' | 'operation'>;

  async function send(
    { id: deliveryId, revision, operation }: Pick<DueDelivery, 'id' | 'revision' | 'operation'>,
    scope: Scope,
    out: () => void,
  ): Promise<{ value: Sent | Attempt; signal: Signal }> {
    const wasTried = gate.isTried(scope);
    if (!gate.allows(scope) || rests(operation)) return { value: { result: 'held' }, signal: { kind: 'unused' } };
    const [request] = await ledger.claim([[{ id: deliveryId, revision }]]);
    if (request === undefined) return { value: { result: 'gone' }, signal: { kind: 'unused' } };
    // From here on the attempt runs to its end, whatever is stopped meanwhile: an aborted request would be a doubt.
    out();
    const { operation: claimed, path, body, idempotencyKey } = request;
    retries.sent(clock.ticks());
    const members = claimed === 'product.import' && { members: request.members.map(({ naturalKey }) => naturalKey) };
    const write = { operation: claimed, path, body, idempotencyKey, ...members };
    const { outcome, latencyMs, advisedRate } = await target.send(write);
    const forbidden = isScopeDenied(outcome) && (await heardDenial(outcome, { deliveryId, scope, wasTried }));
    noteLocal(outcome);
    // That the API cannot take a delivery which is at fault by itself is no news of the API.
    const isOwn = outcome.kind === 'unavailable' && outcome.sent && breaker.isExcused(deliveryId);
    if (!isOwn && !isScopeDenied(outcome)) gate.observe(outcome, scope);
    emit({ type: 'request', operation: claimed, outcome: outcome.kind, retry: request.sends > 1 });
    const value = { request, outcome, latencyMs, forbidden };
    return { value, signal: signalOf(outcome, deliveryId, advisedRate) };
  }

  /**
   * What a 403 is about: the key, which may not do such a thing, or what was sent. Nothing in it tells, but others do: the
   * scope that was taken from another delivery after it was refused to this one is refused to this one alone.
   *
   * @returns whether it is about this delivery; otherwise the gate has heard of it
   */
  async function heardDenial(
    outcome: Outcome,
    { deliveryId, scope, wasTried }: { deliveryId: number; scope: Scope; wasTried: boolean },
  ): Promise<boolean> {
    const { at, isAskedAgain } = await ledger.denialsOf(deliveryId);
    if (isAskedAgain || (at !== null && wasTried)) return true;
    const { inARow } = gate.questions(scope);
    if (wasTried || (inARow > 0 && inARow < QUESTIONS_MAX)) gate.question(scope);
    else gate.observe(outcome, scope);
    return false;
  }

  /** Whether the API takes others while it has not been able to take this, since a time of the wall clock. */
  function takesOthers(since: number | null): boolean {
    if (since === null || !breaker.isWell()) return false;
    return breaker.hasTakenSince(ticksAt(clock, since));
  }

  let trouble: Fault | null = null;
  /** Why this machine could not send the last request. */
  let localTrouble: Fault | null = null;

  function noteLocal(outcome: Outcome): void {
    const isLocal = outcome.kind === 'unavailable' && outcome.local;
    localTrouble = isLocal ? fault('machine.limit', `Nothing can be sent: ${outcome.detail.message}`) : null;
  }

  /**
   * Keeps a decision, or those of an import, until the ledger takes it. What the API has said is known to this process alone
   * until then, so it is not let go of while the disk is full; only the end of the process turns it into a doubt.
   */
  async function surely<T>(settle: () => Promise<T>, abort: AbortSignal): Promise<T> {
    for (;;) {
      try {
        const settled = await settle();
        trouble = null;
        return settled;
      } catch (error) {
        if (!isLedgerFault(error) || abort.aborted) throw error;
        trouble = error;
        await clock.sleep(SETTLE_AGAIN_MS, abort);
      }
    }
  }

  function tell(
    { kind, key, operation }: Told,
    decision: Decision,
    { outcome, latencyMs }: Pick<Sent, 'outcome'> & { latencyMs: number | null },
  ): Attempt {
    const state = DECISION_STATES[decision.kind];
    const status = 'detail' in outcome ? outcome.detail.status : null;
    const reason = 'reason' in decision ? decision.reason : null;
    emit({ type: 'settled', kind, key, operation, state, status, latencyMs, reason });
    return { result: 'settled', state };
  }

  async function settleOne(sent: Sent, delivery: ClaimedDelivery, abort: AbortSignal): Promise<Attempt> {
    const { request, outcome } = sent;
    const { id, revision, operation, attempts, uncertain, busySince, awaySince } = delivery;
    const now = clock.now();
    const known = { busySince, awaySince, takesOthers: takesOthers(awaySince), forbidden: sent.forbidden };
    const context = { operation, attempts, uncertain, ...known, profile, now, random: random() };
    const decision = inTurn(decide(outcome, context), outcome);
    const settlements = [{ id, revision, decision, decidedAt: now }];
    const settlement = { claim: request, settlements, keep: true, groupMax: null };
    const [settled] = await surely(() => ledger.settle([settlement]), abort);
    return tell(delivery, settled?.instead ?? decision, sent);
  }

  /** When a retry after this outcome may go out at the earliest. Waiting for a limit or a key is not the budget's matter. */
  function turnOf(outcome: Outcome): number {
    const now = clock.now();
    const isRetry = outcome.kind === 'unavailable' ? !outcome.local : outcome.kind === 'in_flight';
    return isRetry ? now + retries.reserve(clock.ticks()) : now;
  }

  const inTurn = (decision: Decision, outcome: Outcome): Decision =>
    decision.kind === 'retry' ? notBefore(turnOf(outcome), decision) : decision;

  async function settleImport(sent: Sent, deliveryId: number, abort: AbortSignal): Promise<Attempt> {
    const { request, outcome } = sent;
    const away = request.members.flatMap(({ awaySince }) => awaySince ?? []);
    const since = away.length === 0 ? null : Math.min(...away);
    const now = clock.now();
    const known = { takesOthers: takesOthers(since), forbidden: sent.forbidden };
    const { decisions, ...company } = decideImport(outcome, request, { profile, now, random: random(), ...known });
    const decided = request.members.flatMap((member, index) => {
      const decision = decisions[index];
      return decision === undefined ? [] : [{ member, decision }];
    });
    // They are sent again together, so that they take one place.
    const turnAt = turnOf(outcome);
    const settlements = decided.map(({ member: { id, revision }, decision }) => ({
      id,
      revision,
      decision: notBefore(turnAt, decision),
      decidedAt: now,
    }));
    const settled = await surely(() => ledger.settle([{ claim: request, settlements, ...company }]), abort);
    let own: Attempt = { result: 'gone' };
    for (const [index, { member, decision }] of decided.entries()) {
      const isOwn = member.id === deliveryId;
      const latencyMs = isOwn ? sent.latencyMs : null;
      const told = tell(member, settled[index]?.instead ?? decision, { outcome, latencyMs });
      if (isOwn) own = told;
    }
    return own;
  }

  return {
    trouble: () => trouble ?? localTrouble,
    async attempt({ id: deliveryId, revision, operation, urgent = false }, abort) {
      const scope = scopeOfWrite(operation);
      let lookedAt = clock.ticks();
      // Of many doorbells for one import the first claims it, and of many for a scope the first may find it refused: the
      // others need not wait for the pacer to find that out. Any other moves on only while it waits for long. And one that
      // waits when the scope comes into question has to wait for the answer to that as well.
      let asked = gate.questions(scope).asked;
      const mayGo = (): boolean => gate.allows(scope) && !rests(operation) && gate.questions(scope).asked === asked;
      const wanted = (): boolean | Promise<boolean> => {
        if (!mayGo()) return false;
        if (operation !== 'product.import' && clock.ticks() - lookedAt < LOOK_AGAIN_MS) return true;
        lookedAt = clock.ticks();
        return ledger.isDue(deliveryId);
      };
      const deniedAt = gate.isTried(scope) ? null : (await ledger.denialsOf(deliveryId)).at;
      const go = (out: () => void) => {
        asked = gate.questions(scope).asked;
        return pacer.run(() => send({ id: deliveryId, revision, operation }, scope, out), {
          delivery: deliveryId,
          abort,
          wanted,
          urgent,
        });
      };
      const sent = await canary.run(scope, go, { abort, deniedAt });
      if (sent === null) return { result: abort.aborted || !mayGo() ? 'held' : 'gone' };
      if ('result' in sent) return sent;
      const [only] = sent.request.members;
      const isImport = sent.request.operation === 'product.import';
      return isImport || only === undefined ? settleImport(sent, deliveryId, abort) : settleOne(sent, only, abort);
    },
  };
}

function isScopeDenied(outcome: Outcome): boolean {
  return outcome.kind === 'denied' && outcome.by === 'scope';
}

function notBefore(turnAt: number, decision: Decision): Decision {
  return decision.kind === 'retry' ? { ...decision, dueAt: Math.max(decision.dueAt, turnAt) } : decision;
}
