import type { MemberOutcome } from '../domain/outcome.ts';
import type { JsonObject } from '../lib/json.ts';
import { GROUPS } from './import-words.ts';

/**
 * What bare counts say of all members alike: where nothing failed and as many were stored as were sent, all were.
 *
 * @returns null where the counts leave it open
 */
export function countedOutcome(holder: JsonObject, memberCount: number): MemberOutcome | null {
  const sums = { created: 0, updated: 0, stored: 0, refused: 0, unclear: 0 };
  let counted = 0;
  for (const { name, said } of GROUPS) {
    const value = Object.hasOwn(holder, name) ? holder[name] : undefined;
    const count = Array.isArray(value) && said === 'refused' ? value.length : value;
    if (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 0) continue;
    sums[said] += count;
    counted += 1;
  }
  const { created, updated, stored, refused } = sums;
  if (counted === 0 || refused > 0) return null;
  // `imported` may be the sum of the others.
  const told = created + updated;
  if (told !== memberCount && !(told === 0 && stored === memberCount)) return null;
  const effect = created === memberCount ? 'created' : updated === memberCount ? 'updated' : null;
  return { kind: 'accepted', effect, remoteId: null };
}
