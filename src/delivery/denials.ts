import type { Outcome } from '../domain/outcome.ts';
import type { ClaimedRequest } from '../domain/ports/claim.ts';
import type { DeliveryLedger } from '../domain/ports/delivery-ledger.ts';
import type { Scope } from '../domain/scope.ts';
import type { Authorization, DenialSubject } from './admission/authorization.ts';

/** If so many requests in a row are refused a scope that was granted before, the whole scope counts as refused. */
const QUESTIONS_MAX = 3;

export function isScopeDenied(outcome: Outcome): boolean {
  return outcome.kind === 'denied' && outcome.by === 'scope';
}

/**
 * Decides what a 403 is about: the key, which lacks the scope, or the item that was sent. The answer does not say, but
 * other deliveries show it: if the API has granted the scope to another delivery since it refused this one, only this
 * one is refused.
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
