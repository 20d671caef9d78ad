import type { Outcome } from '../../domain/outcome.ts';
import type { Reason } from '../../domain/reason.ts';
import type { Scope } from '../../domain/scope.ts';

/** Whether the API takes the key and the plan. While it does not, nothing is sent. */
export type AuthorizationState = { open: true } | { open: false; by: 'key' | 'plan'; reason: Reason };

/**
 * What a 403 shows. `scope`: the key lacks the scope. `question`: the scope was taken from others, so that the next request
 * finds out alone whether it still is. `request`: the refusal is about this request, and shows nothing about others.
 */
export type DenialSubject = 'scope' | 'question' | 'request';

/**
 * Authorization holds: the API refuses everything on 401 and 402, and one scope on 403 and on a 401 to the scope's own key.
 * Whoever sends requests asks here first.
 */
export interface Authorization {
  state(): AuthorizationState;
  /** The scopes that the API refuses, each with its words. What takes another scope goes on. */
  refused(): ReadonlyMap<Scope, Reason>;
  /** Whether a request that takes this scope may be sent. */
  allows(scope: Scope): boolean;
  /** True once an answer has shown that the API takes this scope from us; false again after a hold was ended. */
  isTried(scope: Scope): boolean;
  /** How many requests in a row were refused a scope that the API had taken from others. */
  questionsInARow(scope: Scope): number;
  /** @param scope what the request took */
  observe(outcome: Outcome, scope: Scope, denial?: DenialSubject): void;
  /** Ends the hold on everything, after the key was read again or a person corrected the plan. Refused scopes stay refused. */
  reopen(): void;
  /** Ends the hold on one scope. */
  reopenScope(scope: Scope): void;
}

/** @param options.ownPublishKey whether publishing has a key of its own: then one invalid key says nothing about the other */
export function createAuthorization({ ownPublishKey }: { ownPublishKey: boolean }): Authorization {
  let state: AuthorizationState = { open: true };
  const refused = new Map<Scope, Reason>();
  const tried = new Set<Scope>();
  const questions = new Map<Scope, number>();
  const questionsInARow = (scope: Scope): number => questions.get(scope) ?? 0;

  function deny({ by, detail }: Outcome & { kind: 'denied' }, scope: Scope, denial: DenialSubject): void {
    if (by === 'scope' && denial === 'request') return;
    if (by === 'scope' && denial === 'question') {
      questions.set(scope, questionsInARow(scope) + 1);
      tried.delete(scope);
      return;
    }
    const status = detail.status === null ? {} : { status: detail.status };
    const reason: Reason = { code: `denied_${by}`, message: detail.message, ...status };
    const isOtherKey = by === 'key' && scope === 'publish' && ownPublishKey;
    if (by === 'scope' || isOtherKey) refused.set(scope, reason);
    else state = { open: false, by, reason };
  }

  return {
    state: () => state,
    refused: () => refused,
    allows: (scope) => state.open && !refused.has(scope),
    isTried: (scope) => tried.has(scope),
    questionsInARow,
    observe(outcome, scope, denial = 'scope') {
      if (outcome.kind === 'denied') deny(outcome, scope, denial);
      else if (looksAtScopes(outcome)) {
        tried.add(scope);
        questions.delete(scope);
      }
    },
    reopen() {
      state = { open: true };
      tried.clear();
      questions.clear();
    },
    reopenScope(scope) {
      refused.delete(scope);
      tried.delete(scope);
      questions.delete(scope);
    },
  };
}

/** An API that asks to wait or fails has looked at neither the key nor its scopes. */
function looksAtScopes(outcome: Outcome): boolean {
  if (outcome.kind === 'throttled' || outcome.kind === 'unavailable') return false;
  return outcome.kind !== 'ambiguous' || outcome.atWork === true;
}
