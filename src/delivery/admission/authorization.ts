import type { Outcome } from '../../domain/delivery/outcome.ts';
import type { Reason } from '../../domain/delivery/reason.ts';
import type { Scope } from '../../domain/delivery/scope.ts';
import type { ClaimedRequest } from '../../domain/ports/claim.ts';
import type { DeliveryLedger } from '../../domain/ports/ledger/delivery-ledger.ts';

/** Whether the API accepts the key and the plan. If it does not, nothing is sent. */
export type AuthorizationState = { open: true } | { open: false; by: 'key' | 'plan'; reason: Reason };

/**
 * What a 403 is about. `scope`: the key lacks the scope. `question`: the API has granted the scope to
 * other deliveries, so the next request is sent alone, to learn whether the API still grants the scope. `request`: only
 * this request is refused.
 */
export type DenialSubject = 'scope' | 'question' | 'request';

/**
 * Authorization holds: after a 401 or 402 the API refuses everything. After a 403, and after a 401 to a scope's own
 * key, it refuses one scope. Every request is checked here before it is sent.
 */
export interface Authorization {
  state(): AuthorizationState;
  /** The scopes that the API refuses, each with the API's reason. Deliveries of other scopes continue. */
  refused(): ReadonlyMap<Scope, Reason>;
  /** True if a request of this scope may be sent. */
  allows(scope: Scope): boolean;
  /** True if an answer has shown that the API grants this scope. False again after a hold has ended. */
  isTried(scope: Scope): boolean;
  /** How many requests in a row were refused a scope that the API has granted to other requests. */
  questionsInARow(scope: Scope): number;
  /** @param scope the scope that the request needs */
  observe(outcome: Outcome, scope: Scope, denial?: DenialSubject): void;
  /**
   * Ends the hold on everything, after the key was read again or a person has corrected the plan. Refused scopes stay
   * refused.
   */
  reopen(): void;
  /** Ends the hold on one scope. */
  reopenScope(scope: Scope): void;
}

/**
 * @param options.ownPublishKey true if publishing has a separate key: then an invalid key shows nothing about the other
 *   key
 */
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

/**
 * False for an answer that asks to wait or reports a failure, because the API may have given it without checking the
 * key and its scopes.
 */
function looksAtScopes(outcome: Outcome): boolean {
  if (outcome.kind === 'throttled' || outcome.kind === 'unavailable') return false;
  return outcome.kind !== 'ambiguous' || outcome.atWork === true;
}

/**
 * If the API refuses this many requests in a row for a scope that it granted before, the whole scope counts as refused.
 */
const QUESTIONS_MAX = 3;

export function isScopeDenied(outcome: Outcome): boolean {
  return outcome.kind === 'denied' && outcome.by === 'scope';
}

/**
 * Decides what a 403 is about: the key, which lacks the scope, or the item that was sent. The answer does not say
 * which, but other deliveries show it: if the API has granted the scope to another delivery since it refused this
 * delivery, it refuses only this delivery.
 *
 * @param sent.wasTried true if the API was known to grant the scope when the request was admitted
 */
export async function denialSubjectOf(
  { request, scope, wasTried }: { request: ClaimedRequest; scope: Scope; wasTried: boolean },
  {
    ledger,
    authorization,
  }: { ledger: Pick<DeliveryLedger, 'denialsOf'>; authorization: Pick<Authorization, 'questionsInARow'> },
): Promise<DenialSubject> {
  const [first] = request.members;
  if (first === undefined) return 'scope';
  // If the ledger cannot be read, nothing is known about the delivery. The scope is then suspended until the API is
  // asked again.
  const denials = await ledger.denialsOf(first.id).catch(() => null);
  if (denials === null) return 'scope';
  const { at, isAskedAgain } = denials;
  if (isAskedAgain || (at !== null && wasTried)) return 'request';
  const inARow = authorization.questionsInARow(scope);
  return wasTried || (inARow > 0 && inARow < QUESTIONS_MAX) ? 'question' : 'scope';
}
