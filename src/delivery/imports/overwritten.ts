import type { ImportProof, Overwritten } from '../../domain/delivery/import-proof.ts';
import type { MemberOutcome, Outcome } from '../../domain/delivery/outcome.ts';
import type { ClaimedDelivery, ClaimedRequest } from '../../domain/ports/claim.ts';
import { remoteIdText } from '../../domain/remote-id.ts';

/** At most this many products are named. All of them are marked as adopted, so `items` lists them. */
const NAMED_MAX = 20;

type Failure = Pick<Extract<ImportProof, { state: 'failed' }>, 'message' | 'overwrote'>;

/**
 * The products that an import of new products has changed, because the platform had them already; null if there are none.
 * Products of earlier imports are named too.
 */
export function overwritten(request: ClaimedRequest, outcome: Outcome, known: ImportProof): Failure | null {
  const changed = membersWith(request, outcome, ({ effect }) => effect === 'updated' || effect === 'mixed');
  if (changed.length === 0) return null;
  const before: Overwritten = (known.state === 'failed' && known.overwrote) || { count: 0, names: [] };
  const isMixed = membersWith(request, outcome, ({ effect }) => effect === 'mixed').length > 0;
  const names = [...before.names, ...changed.map(nameOf)].slice(0, NAMED_MAX);
  const overwrote: Overwritten = {
    count: before.count + changed.length,
    names,
    ...((isMixed || before.isAtMost === true) && { isAtMost: true }),
  };
  return { message: messageOf(overwrote), overwrote };
}

/** A changed product of which an import says that it was created under another id; null if there is none. */
export function createdAgain(request: ClaimedRequest, outcome: Outcome): Failure | null {
  const [second] = membersWith(
    request,
    outcome,
    ({ effect, remoteId }, member) =>
      effect === 'created' &&
      remoteId !== null &&
      member.remoteId !== null &&
      remoteIdText(remoteId) !== remoteIdText(member.remoteId),
  );
  if (second === undefined) return null;
  return {
    message: `An import of changed products did not update the product ${nameOf(second)}, and made a second product.`,
  };
}

function membersWith(
  { members }: ClaimedRequest,
  outcome: Outcome,
  matches: (result: MemberOutcome & { kind: 'accepted' }, member: ClaimedDelivery) => boolean,
): ClaimedDelivery[] {
  const results = outcome.kind === 'accepted' ? (outcome.members ?? []) : [];
  return members.filter((member, at) => {
    const result = results[at];
    return result?.kind === 'accepted' && matches(result, member);
  });
}

const nameOf = ({ naturalKey, key }: ClaimedDelivery): string => (naturalKey ?? key).slice(0, 100);

function messageOf({ count, names, isAtMost }: Overwritten): string {
  const which = `${names.join(', ')}${count > names.length ? ` and ${count - names.length} more` : ''}`;
  const what = count === 1 ? 'a product' : `${isAtMost === true ? 'some of these ' : ''}${count} products`;
  return `Imports of new products have changed ${what} that the platform had already: ${which}. What is found there is adopted.`;
}
