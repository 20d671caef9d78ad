import type { Operation } from '../../domain/delivery.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { PlatformReader } from '../../domain/ports/platform.ts';
import type { UnconfirmedDelivery } from '../../domain/ports/unconfirmed.ts';
import type { Reason } from '../../domain/reason.ts';

/** What the list of publications says of a passport; `unclear` where it does not tell whose publications it lists. */
export type Publicity = 'public' | 'not_public' | 'unclear';

export type PublicationsRead =
  | {
      complete: true;
      count: number | null;
      publicityOf(passport: Pick<UnconfirmedDelivery, 'productId' | 'naturalKey'>): Publicity;
    }
  | { complete: false; outcome: Outcome };

/** Publishing and withdrawing show in the list of publications; initialising does not. */
export function showsInPublications(operation: Operation): boolean {
  return operation === 'passport.publish' || operation === 'passport.unpublish';
}

/** Reads all publications once, for any number of passports. */
export async function readPublications(
  reader: Pick<PlatformReader, 'publications'>,
  abort: AbortSignal,
): Promise<PublicationsRead> {
  const ids = new Set<string>();
  const skus = new Set<string>();
  let nameless = false;
  const listing = await reader.publications(
    (page) => {
      for (const { isPublic, productId, sku } of page) {
        if (!isPublic) continue;
        if (productId !== null) ids.add(String(productId));
        if (sku !== null) skus.add(sku);
        if (productId === null && sku === null) nameless = true;
      }
    },
    { signal: abort },
  );
  if (!listing.complete) return listing;
  return {
    ...listing,
    publicityOf({ productId, naturalKey }) {
      const named = typeof productId === 'string' || typeof productId === 'number';
      if (named && ids.has(String(productId))) return 'public';
      if (naturalKey !== null && skus.has(naturalKey)) return 'public';
      return nameless ? 'unclear' : 'not_public';
    },
  };
}

/** Whether a publication or withdrawal has taken effect, by what is public now; null where that cannot be told. */
export function hasTakenEffect(operation: Operation, publicity: Publicity): boolean | null {
  if (publicity === 'unclear') return null;
  return (publicity === 'public') === (operation === 'passport.publish');
}

/** What a person has to know where the list does not help. */
export function unclearPublicationsReason(reason: Reason): Reason {
  const message = `${reason.message} The list of publications does not say whose they are, so nobody can tell whether it took effect; see publications in the profile.`;
  return { ...reason, message };
}
