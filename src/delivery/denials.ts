import type { Outcome } from '../domain/outcome.ts';
import type { ClaimedRequest } from '../domain/ports/claim.ts';
import type { Ledger } from '../domain/ports/ledger.ts';
import type { Scope } from '../domain/scope.ts';
import type { Authorization, DenialSubject } from './admission/authorization.ts';

/** So many requests in a row are refused a scope that was taken before, until the scope counts as refused. */
const QUESTIONS_MAX = 3;

export function isScopeDenied(outcome: Outcome): boolean {
  return outcome.kind === 'denied' && outcome.by === 'scope';
}

/**
 * What a 403 is about: the key, which may not use the scope, or what was sent. The answer does not say, but other deliveries
 * do: a scope that was taken from another delivery after it was refused to this one is refused to this one alone.
 *
 * @param sent.wasTried whether the API was known to take the scope when the request was admitted
 */
export async function denialSubjectOf(
  { request, scope, wasTried }: { request: ClaimedRequest; scope: Scope; wasTried: boolean },
  {
    ledger,
    authorization,
  }: { ledger: Pick<Ledger, 'denialsOf'>; authorization: Pick<Authorization, 'questionsInARow'> },
): Promise<DenialSubject> {
  const [first] = request.members;
  if (first === undefined) return 'scope';
  // Where the ledger cannot be read nothing is known about the delivery, and the scope is held until it is asked again.
  const denials = await ledger.denialsOf(first.id).catch(() => null);
  if (denials === null) return 'scope';
  const { at, isAskedAgain } = denials;
  if (isAskedAgain || (at !== null && wasTried)) return 'request';
  const inARow = authorization.questionsInARow(scope);
  return wasTried || (inARow > 0 && inARow < QUESTIONS_MAX) ? 'question' : 'scope';
}
