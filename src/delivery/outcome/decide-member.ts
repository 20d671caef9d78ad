import type { MemberOutcome } from '../../domain/delivery/outcome.ts';
import type { Reason } from '../../domain/delivery/reason.ts';
import type { ClaimedDelivery } from '../../domain/ports/claim.ts';
import type { Decision } from '../../domain/ports/decision.ts';
import type { Profile } from '../../domain/profile.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import type { JsonValue } from '../../lib/json.ts';
import { reasonOf } from './decide-context.ts';

interface MemberContext {
  profile: Profile;
  now: number;
}

/** Decides about one member of an import by what the answer says about it. */
export function decideMember(outcome: MemberOutcome, member: ClaimedDelivery, context: MemberContext): Decision {
  switch (outcome.kind) {
    case 'accepted': {
      const { effect, remoteId } = outcome;
      const isOther = remoteId !== null && member.remoteId !== null && !isSameId(remoteId, member.remoteId);
      if (effect === 'created' && isOther) {
        return { kind: 'blocked', reason: notUpserted(member.remoteId, remoteId) };
      }
      // An update was expected. A product that was created under an unknown id, or stored under another id, is read back.
      const mayBeNew = effect === 'mixed' || (effect === 'created' && remoteId === null);
      if (mayBeNew || (effect === null && isOther)) {
        return unclear(STRANGE, member, context);
      }
      return { kind: 'delivered', remoteId: member.remoteId ?? remoteId, contentKnown: true, by: 'answer' };
    }
    case 'refused':
      return { kind: 'rejected', reason: reasonOf('refused', outcome.detail) };
    case 'untouched':
      return { kind: 'retry', dueAt: context.now, spend: false, reason: { code: 'untouched', message: UNTOUCHED } };
    case 'unknown':
      return unclear(notNamed(outcome), member, context);
  }
}

const UNTOUCHED = 'Other products in the same import were refused, so this product was not stored either.';
/** @param outcome the platform's own words are shown */
export function notNamed({ why }: MemberOutcome & { kind: 'unknown' }): string {
  const message = 'The answer to the import does not say whether this product was stored.';
  return why === undefined ? message : `${message} ${why}`;
}
const STRANGE = 'The answer to the import does not say whether this product was updated or created a second time.';

/** Reads the list back. The platform may still work on the import, so the wait doubles with each read that finds nothing. */
function unclear(message: string, { attempts }: ClaimedDelivery, { profile, now }: MemberContext): Decision {
  const waitMs = Math.max(profile.settlingDelayMs.reset, 1) * 2 ** Math.min(attempts, 16);
  const nextLookAt = now + Math.min(waitMs, Math.max(profile.retry.backoff.capMs, profile.settlingDelayMs.reset));
  return { kind: 'unconfirmed', nextLookAt, spend: true, reason: { code: 'unclear', message } };
}

/** The reason of a product that an import has created a second time. Waiting does not fix this, so a person has to. */
export function notUpserted(known: JsonValue, second: JsonValue): Reason {
  const message = `The import did not update the product ${show(known)}. The platform created a second product, ${show(second)}. Remove the second product at the platform. Set \`productUpdate: none\` in the profile, unless the platform can be set to update products by SKU.`;
  return { code: 'not_upserted', message };
}

export function isSameId(a: JsonValue, b: JsonValue): boolean {
  return show(a) === show(b);
}

function show(id: JsonValue): string {
  return typeof id === 'string' ? id : canonicalJson(id);
}
