import type { Operation } from '../../domain/delivery/operation.ts';
import type { Outcome } from '../../domain/delivery/outcome.ts';
import type { PlatformReader } from '../../domain/ports/platform.ts';
import type { UnconfirmedDelivery } from '../../domain/ports/unconfirmed.ts';

/** What the list of publications shows about a passport; `unclear` if the list does not show to whom its entries belong. */
export type Publicity = 'public' | 'not_public' | 'unclear';

export type PublicationsRead =
  | {
      complete: true;
      count: number | null;
      publicityOf(passport: Pick<UnconfirmedDelivery, 'productId' | 'naturalKey'>): Publicity;
    }
  | { complete: false; outcome: Outcome };

/** Reads all publications once, for any number of passports. */
export async function readPublications(
  reader: Pick<PlatformReader, 'publications'>,
  abort: AbortSignal,
): Promise<PublicationsRead> {
  const ids = new Set<string>();
  const skus = new Set<string>();
  let hasUnnamed = false;
  const listing = await reader.publications(
    (page) => {
      for (const { isPublic, productId, sku } of page) {
        if (!isPublic) continue;
        if (productId !== null) ids.add(String(productId));
        if (sku !== null) skus.add(sku);
        if (productId === null && sku === null) hasUnnamed = true;
      }
    },
    { signal: abort },
  );
  if (!listing.complete) return listing;
  return {
    ...listing,
    publicityOf({ productId, naturalKey }) {
      const isSimpleId = typeof productId === 'string' || typeof productId === 'number';
      if (isSimpleId && ids.has(String(productId))) return 'public';
      if (naturalKey !== null && skus.has(naturalKey)) return 'public';
      return hasUnnamed ? 'unclear' : 'not_public';
    },
  };
}

/**
 * Whether a step of a passport has taken effect, given what is public now; null if the list is unclear. A passport that is
 * public was initialised.
 */
export function hasTakenEffect(operation: Operation, publicity: Publicity): boolean | null {
  if (publicity === 'unclear') return null;
  return (publicity === 'public') === (operation !== 'passport.unpublish');
}
