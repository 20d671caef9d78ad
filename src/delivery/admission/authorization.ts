import {
  type Access,
  accessesOf,
  accessOf,
  LIST_ACCESSES,
  type ListAccess,
  listShowing,
  OPERATIONS,
  type Operation,
  SCOPES,
  type Scope,
  scopeOf,
  unconfirmedPolicy,
} from '../../domain/delivery/operation.ts';
import type { Outcome } from '../../domain/delivery/outcome.ts';
import { codesWith, type Reason } from '../../domain/delivery/stored-reason.ts';
import type { SubjectKind } from '../../domain/item.ts';
import type { ClaimedRequest, SuspendedWork } from '../../domain/ports/deliveries.ts';
import type { DeliveryLedger } from '../../domain/ports/ledger/delivery-ledger.ts';
import type { Profile } from '../../domain/profile.ts';

/** Whether the API accepts the key and the plan. If it does not, nothing is sent. */
type AuthorizationState = { open: true } | { open: false; by: 'key' | 'plan'; reason: Reason };

/**
 * What a 403 is about. `access`: the key may not use this operation. `question`: the API has granted the operation to
 * other deliveries, so the next request is sent alone, to learn whether the API still grants it. `request`: only this
 * request is refused.
 */
export type DenialSubject = 'access' | 'question' | 'request';

/**
 * Authorization holds: after a 401 or 402 the API refuses everything. After a 403 it refuses one operation, and all
 * others continue. After a 401 to a scope's own key it refuses everything that needs this scope. Every request is
 * checked here before it is sent.
 *
 * @param options.ownPublishKey true if publishing has a separate key: then an invalid key shows nothing about the other
 *   key
 */
export function createAuthorization({ ownPublishKey }: { ownPublishKey: boolean }) {
  let state: AuthorizationState = { open: true };
  const refused = new Map<Access, Reason>();
  /** The refusals that have ended without a proof: the next delivery finds out whether the API still refuses. */
  const onTrial = new Map<Access, Reason>();
  const tried = new Set<Access>();
  const questions = new Map<Access, number>();
  /** How many requests in a row were refused although the API has granted the same to other requests. */
  const questionsInARow = (access: Access): number => questions.get(access) ?? 0;

  function deny({ by, detail }: Outcome & { kind: 'denied' }, access: Access, denial: DenialSubject): void {
    if (by === 'scope' && denial === 'request') return;
    if (by === 'scope' && denial === 'question') {
      questions.set(access, questionsInARow(access) + 1);
      tried.delete(access);
      return;
    }
    const scope = scopeOf(access);
    const status = detail.status === null ? {} : { status: detail.status };
    const reason: Reason = { code: `denied_${by}`, message: detail.message, ...status };
    const isOtherKey = by === 'key' && scope === 'publish' && ownPublishKey;
    if (by !== 'scope' && !isOtherKey) {
      state = { open: false, by, reason };
      return;
    }
    for (const one of isOtherKey ? accessesOf(scope) : [access]) {
      refused.set(one, reason);
      onTrial.delete(one);
    }
  }

  return {
    state: (): AuthorizationState => state,
    /** What the API refuses, each with the API's reason. All other deliveries continue. */
    refused: (): ReadonlyMap<Access, Reason> => refused,
    /**
     * The refusals that pages, alerts and metrics show: also those that a delivery tries at the moment. Otherwise a refusal would seem
     * to be over each time that it is tried.
     */
    shownRefusals: (): ReadonlyMap<Access, Reason> => new Map([...onTrial, ...refused]),
    /**
     * The scopes that the key most likely lacks: the API refuses everything that needs the scope and that was tried.
     *
     * @param refusals what counts as refused
     */
    refusedScopes(refusals: ReadonlyMap<Access, Reason> = refused): ReadonlyMap<Scope, Reason> {
      const lacking = new Map<Scope, Reason>();
      for (const scope of SCOPES) {
        const all = accessesOf(scope);
        const first = all.find((access) => refusals.has(access));
        const reason = first === undefined ? undefined : refusals.get(first);
        const grants = all.some((access) => tried.has(access) && !refusals.has(access));
        if (reason !== undefined && !grants) lacking.set(scope, reason);
      }
      return lacking;
    },
    /** True if such a request may be sent. */
    allows: (access: Access) => state.open && !refused.has(access),
    /** True if an answer has shown that the API grants this. False again after a hold has ended. */
    isTried: (access: Access) => tried.has(access),
    questionsInARow,
    /** @param access what the request needs */
    observe(outcome: Outcome, access: Access, denial: DenialSubject = 'access') {
      if (outcome.kind === 'denied') deny(outcome, access, denial);
      else if (looksAtScopes(outcome)) {
        tried.add(access);
        questions.delete(access);
        onTrial.delete(access);
      }
    },
    /**
     * Ends the hold on everything, after the key was read again or a person has corrected the plan. Refused operations
     * stay refused.
     */
    reopen() {
      state = { open: true };
      tried.clear();
      questions.clear();
    },
    /** Ends the hold on one operation or one list, so that a delivery finds out whether the API still refuses it. */
    reopenAccess(access: Access) {
      const reason = refused.get(access);
      if (reason !== undefined) onTrial.set(access, reason);
      refused.delete(access);
      tried.delete(access);
      questions.delete(access);
    },
    /** Ends the trial of an operation or a list that nothing has tried for long. */
    endTrial(access: Access) {
      onTrial.delete(access);
    },
  };
}

export type Authorization = ReturnType<typeof createAuthorization>;

/**
 * False for an answer that asks to wait or reports a failure, because the API may have given it without checking the
 * key and its scopes.
 */
function looksAtScopes(outcome: Outcome): boolean {
  if (outcome.kind === 'throttled' || outcome.kind === 'unavailable') return false;
  return outcome.kind !== 'ambiguous' || outcome.atWork === true;
}

/**
 * If the API refuses this many requests in a row for an operation that it granted before, the operation counts as refused.
 */
const QUESTIONS_MAX = 3;

export function isScopeDenied(outcome: Outcome): boolean {
  return outcome.kind === 'denied' && outcome.by === 'scope';
}

/**
 * Decides what a 403 is about: the operation, which the key may not use, or the item that was sent. The answer does not
 * say which, but other deliveries show it: if the API has granted the operation to another delivery since it refused
 * this delivery, it refuses only this delivery.
 *
 * @param sent.wasTried true if the API was known to grant the operation when the request was admitted
 */
export async function denialSubjectOf(
  { request, wasTried }: { request: ClaimedRequest; wasTried: boolean },
  {
    ledger,
    authorization,
  }: { ledger: Pick<DeliveryLedger, 'denialsOf'>; authorization: Pick<Authorization, 'questionsInARow'> },
): Promise<DenialSubject> {
  const [first] = request.members;
  if (first === undefined) return 'access';
  // If the ledger cannot be read, nothing is known about the delivery. The operation is then suspended until the API is
  // asked again.
  const denials = await ledger.denialsOf([first.id]).catch(() => null);
  if (denials === null) return 'access';
  const { at, isAskedAgain } = denials.get(first.id) ?? { at: null, isAskedAgain: false };
  if (isAskedAgain || (at !== null && wasTried)) return 'request';
  const inARow = authorization.questionsInARow(request.operation);
  return wasTried || (inARow > 0 && inARow < QUESTIONS_MAX) ? 'question' : 'access';
}

/** The kind of the deliveries whose effect each list shows. */
const SHOWN: Record<ListAccess, SubjectKind> = {
  'product.list': 'product',
  'material.list': 'material',
  'publication.list': 'passport',
};

/**
 * The deliveries that are suspended while the API refuses this: it would only refuse them again.
 *
 * @param paused operations that are suspended for another reason
 */
export function suspendedBy(
  refused: Iterable<Access>,
  profile: Profile,
  paused: readonly Operation[] = [],
): SuspendedWork {
  const accesses = [...refused];
  const lists = LIST_ACCESSES.filter((list) => accesses.includes(list));
  const isReadBack = (operation: Operation): boolean => {
    const list = listShowing(operation);
    // An import that is paused awaits the list of a proof, and so do its deliveries without an answer.
    const isLookedUp = paused.includes(operation) || unconfirmedPolicy(operation, profile) === 'read_back';
    return list !== null && lists.includes(accessOf(list)) && isLookedUp;
  };
  return {
    operations: [...new Set([...OPERATIONS.filter((operation) => accesses.includes(operation)), ...paused])],
    unconfirmed: {
      operations: OPERATIONS.filter(isReadBack),
      kinds: lists.map((list) => SHOWN[list]),
      reasons: codesWith('needs_reading'),
    },
  };
}
