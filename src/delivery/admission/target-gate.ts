import type { Outcome } from '../../domain/outcome.ts';
import type { Reason } from '../../domain/reason.ts';
import type { Scope } from '../../domain/scope.ts';
import type { Clock } from '../../lib/clock.ts';

/** What stands between us and the API right now. */
export type GateState =
  | { open: true }
  /** The API refuses the key or the plan: nothing is sent until that is mended. */
  | { open: false; by: 'key' | 'plan'; reason: Reason };

/**
 * Knows what the API takes from us: it closes for everything on 401 and 402, and for one scope on 403 and on a 401 to the
 * scope's own key. It counts how long no request has been answered. It decides nothing by itself; whoever runs the engine
 * does.
 */
export interface TargetGate {
  /** Whether anything can be sent at all. */
  state(): GateState;
  /** The scopes that the API refuses, each with its words. What takes another scope goes on. */
  refused(): ReadonlyMap<Scope, Reason>;
  /** Whether a request that takes this scope may go out. */
  allows(scope: Scope): boolean;
  /** True once an answer has shown that the API takes this scope from us; false again after it was reopened. */
  isTried(scope: Scope): boolean;
  /**
   * The API refuses this scope to one delivery and has taken it from others: the next request goes alone, to find out
   * whether all are refused by now.
   */
  question(scope: Scope): void;
  /** How often the scope was in question, and how many in a row were refused since a request was taken. */
  questions(scope: Scope): { asked: number; inARow: number };
  /** Since when every attempt has failed to reach the API, in `ticks` of the clock, or null. */
  unreachableSince(): number | null;
  /** Since when the API has asked to wait and answered nothing else, in `ticks` of the clock, or null. */
  throttled(): number | null;
  /** What the API said when it last asked to wait, or null. */
  lastThrottle(): string | null;
  /** The API has answered something that says nothing of what it takes from us. */
  answered(): void;
  /** @param scope what the request took */
  observe(outcome: Outcome, scope: Scope): void;
  /** Lets requests out again, after the key was re-read or a person mended the plan. Refused scopes stay refused. */
  reopen(): void;
  /** Lets requests out again that take this scope. */
  reopenScope(scope: Scope): void;
}

/** @param ownPublishKey whether publishing has a key of its own, so that one that is not valid says nothing of the other */
export function createTargetGate(clock: Clock, { ownPublishKey = false } = {}): TargetGate {
  let state: GateState = { open: true };
  let failingSince: number | null = null;
  let throttledSince: number | null = null;
  let lastThrottle: string | null = null;
  const refused = new Map<Scope, Reason>();
  const tried = new Set<Scope>();
  const questions = new Map<Scope, { asked: number; inARow: number }>();
  const questionsOf = (scope: Scope) => questions.get(scope) ?? { asked: 0, inARow: 0 };

  function beginAnew(scope: Scope): void {
    questions.set(scope, { ...questionsOf(scope), inARow: 0 });
  }

  function taken(scope: Scope): void {
    tried.add(scope);
    beginAnew(scope);
  }

  function close({ by, detail }: Outcome & { kind: 'denied' }, scope: Scope): void {
    const status = detail.status === null ? {} : { status: detail.status };
    const reason: Reason = { code: `denied_${by}`, message: detail.message, ...status };
    const isOther = by === 'key' && scope === 'publish' && ownPublishKey;
    if (by === 'scope' || isOther) refused.set(scope, reason);
    else state = { open: false, by, reason };
  }

  return {
    state: () => state,
    refused: () => refused,
    allows: (scope) => state.open && !refused.has(scope),
    isTried: (scope) => tried.has(scope),
    question(scope) {
      const { asked, inARow } = questionsOf(scope);
      questions.set(scope, { asked: asked + 1, inARow: inARow + 1 });
      tried.delete(scope);
    },
    questions: questionsOf,
    unreachableSince: () => failingSince,
    throttled: () => throttledSince,
    lastThrottle: () => lastThrottle,
    answered() {
      failingSince = null;
      throttledSince = null;
    },
    observe(outcome, scope) {
      // A limit of this machine shows nothing about the API.
      if (outcome.kind === 'unavailable' && outcome.local) return;
      const silent = isSilent(outcome);
      if (silent) failingSince ??= clock.ticks();
      else failingSince = null;
      if (outcome.kind === 'throttled') {
        throttledSince ??= clock.ticks();
        lastThrottle = outcome.detail.message;
      } else if (!silent) throttledSince = null;
      if (outcome.kind === 'denied') close(outcome, scope);
      // Whoever asks to wait or fails has looked at neither key nor scope.
      else if (outcome.kind !== 'throttled' && !isFailure(outcome)) taken(scope);
    },
    reopen() {
      state = { open: true };
      tried.clear();
      for (const scope of questions.keys()) beginAnew(scope);
    },
    reopenScope(scope) {
      refused.delete(scope);
      tried.delete(scope);
      beginAnew(scope);
    },
  };
}

function isFailure(outcome: Outcome): boolean {
  return outcome.kind === 'unavailable' || (outcome.kind === 'ambiguous' && !outcome.atWork);
}

/** No answer, or a page in its place. A list that is answered and not complete is an answer. */
function isSilent(outcome: Outcome): boolean {
  if (outcome.kind === 'unavailable') return true;
  if (outcome.kind !== 'ambiguous' || outcome.atWork) return false;
  return outcome.detail.status === null || outcome.cause === 'unreadable_answer';
}
