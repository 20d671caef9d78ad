import type { MemberOutcome } from '../../domain/delivery/outcome.ts';
import type { JsonObject } from '../../lib/json.ts';
import { GROUPS } from './import-words.ts';

/**
 * Reads plain counts. If no member failed and as many were stored as were sent, all members were stored.
 *
 * @returns null if the counts do not decide
 */
export function countedOutcome(holder: JsonObject, memberCount: number): (MemberOutcome & { kind: 'accepted' }) | null {
  const sums = { created: 0, updated: 0, stored: 0, refused: 0, exists: 0 };
  let groups = 0;
  for (const { name, said } of GROUPS) {
    const value = Object.hasOwn(holder, name) ? holder[name] : undefined;
    const count = Array.isArray(value) && said === 'refused' ? value.length : value;
    if (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 0) continue;
    sums[said] += count;
    groups += 1;
  }
  const { created, updated, stored, refused, exists } = sums;
  if (groups === 0 || refused > 0 || exists > 0) return null;
  // `imported` may be the sum of `created` and `updated`.
  const counted = created + updated;
  if (counted !== memberCount && !(counted === 0 && stored === memberCount)) return null;
  const effect = effectOf(created, updated, memberCount);
  return { kind: 'accepted', effect, remoteId: null };
}

function effectOf(created: number, updated: number, members: number): (MemberOutcome & { kind: 'accepted' })['effect'] {
  if (created === members) return 'created';
  if (updated === members) return 'updated';
  return created > 0 && updated > 0 ? 'mixed' : null;
}
