// The sizes of bulk imports: the size that needs the fewest requests, and the largest size that the API has accepted.

import { type ImportProof, isPutOff, provenSize, sizeAfter } from '../../domain/delivery/import-proof.ts';
import type { Outcome } from '../../domain/delivery/outcome.ts';
import type { ClaimedRequest } from '../../domain/ports/deliveries.ts';
import type { Profile } from '../../domain/profile.ts';

/** After this many imports that fit, a larger one is tried. */
const GROW_AFTER = { least: 4, most: 256 };

/**
 * Learns how many products one import may have, up to the limit of the profile. The API states no limit. An import that
 * was refused as a whole, or that timed out, halves the size. Imports that fit double it again: at first after 4
 * imports that fit, and after twice as many each time the larger size fails again.
 */
export function createImportSize(most: number) {
  let size = most;
  let fitted = 0;
  let growAfter = GROW_AFTER.least;

  return {
    /** How many products the next import may have. */
    now: () => size,
    /** Forgets what was learnt, because imports are tried again after a long wait. */
    beginAgain() {
      size = most;
      fitted = 0;
    },
    answered({ members }: Pick<ClaimedRequest, 'members'>, outcome: Outcome) {
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

/** The size of a page of a list where the profile leaves it to the API. */
const USUAL_PAGE = 100;

/** What the size of imports depends on. */
interface ImportGain {
  /** How many products are due. */
  due: number;
  /** How many entries the platform's list of products is known to have. */
  listed: number;
}

/**
 * The size of imports that needs the fewest requests, with the lists that have to be read for the proofs on the way to
 * that size. Without a proof the first import has one product. The size is 0 if single requests need the fewest.
 */
export function fewestRequests(
  { due, listed }: ImportGain,
  { proof, sizeMax, list, now }: { proof: ImportProof; sizeMax: number; list: Profile['list']; now: number },
): { size: number; requests: number } {
  const pages = Math.ceil((listed + due) / (list.pageSize ?? USUAL_PAGE));
  // The products that answers do not name are looked up in a list.
  const afterwards = proof.state === 'proven' && proof.answersIds ? 0 : pages;
  let best = { size: 0, requests: due };
  if (isPutOff(proof, now)) return best;
  let lists = 0;
  let size = Math.min(provenSize(proof), sizeMax);
  const consider = (): void => {
    const requests = Math.ceil(due / size) + lists + afterwards;
    if (requests < best.requests) best = { size, requests };
  };
  if (size > 1) consider();
  while (size < Math.min(sizeMax, due)) {
    size = Math.min(sizeAfter(size), sizeMax);
    lists += pages;
    consider();
  }
  return best;
}
