import type { Outcome } from '../../domain/delivery/outcome.ts';
import type { ClaimedRequest } from '../../domain/ports/claim.ts';

/**
 * Learns how many products one import may have, up to the limit of the profile. The API states no limit. An import that
 * was refused as a whole, or that timed out, halves the size. Imports that fit double it again: at first after 4
 * imports that fit, and after twice as many each time the larger size fails again.
 */
export interface ImportSize {
  /** How many products the next import may have. */
  now(): number;
  answered(request: Pick<ClaimedRequest, 'members'>, outcome: Outcome): void;
  /** Forgets what was learnt, because imports are tried again after a long wait. */
  beginAgain(): void;
}

/** After this many imports that fit, a larger one is tried. */
const GROW_AFTER = { least: 4, most: 256 };

export function createImportSize(most: number): ImportSize {
  let size = most;
  let fitted = 0;
  let growAfter = GROW_AFTER.least;

  return {
    now: () => size,
    beginAgain() {
      size = most;
      fitted = 0;
    },
    answered({ members }, outcome) {
      const count = members.length;
      const fits = hasFitted(outcome);
      // The members of a group that was split may be at fault themselves, so they show nothing about the size.
      const isSplit = members.some(({ groupMax }) => groupMax !== null);
      if (fits === null || isSplit || count === 1) return;
      if (!fits) {
        size = Math.min(size, Math.ceil(count / 2));
        growAfter = Math.min(growAfter * 2, GROW_AFTER.most);
        fitted = 0;
      } else if (count >= size && size < most) {
        fitted += 1;
        if (fitted < growAfter) return;
        size = Math.min(most, size * 2);
        fitted = 0;
      }
    },
  };
}

/** Whether an answer shows that the API has worked through the import; null if it shows nothing. */
function hasFitted(outcome: Outcome): boolean | null {
  switch (outcome.kind) {
    case 'accepted':
      return true;
    case 'refused':
      if (outcome.endpoint) return null;
      return outcome.members !== undefined;
    case 'ambiguous':
      return outcome.cause === 'crossed' ? null : false;
    case 'gated':
    case 'exists':
      return false;
    case 'throttled':
    case 'unavailable':
    case 'in_flight':
    case 'denied':
      return null;
  }
}
