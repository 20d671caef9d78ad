import type { Publication } from '../domain/ports/platform.ts';
import type { Profile } from '../domain/profile.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import { sha256Url } from '../lib/hash.ts';
import type { JsonValue } from '../lib/json.ts';
import type { CleanText } from './answers/clean-text.ts';
import { identifierAt, urlAt, wordAt } from './answers/entry.ts';
import { remoteIdIn, whyNoId } from './answers/remote-id.ts';
import type { BaseUrl } from './base-url.ts';
import type { ListShape, NoEntry, ReadEntry } from './listing/list-page.ts';

/** Reads entries of the list of publications ("Endpoints"; the document shows none of their fields). */
export function publicationShape(
  profile: Profile,
  { baseUrl, clean }: { baseUrl: BaseUrl; clean: CleanText },
): ListShape<Publication> {
  const paths = profile.publications;
  const publicStates = new Set(paths.publicStates.map((state) => state.toLowerCase()));

  function read(entry: JsonValue): ReadEntry<Publication> | NoEntry {
    const id = remoteIdIn(entry, paths.idPaths, clean);
    const productId = remoteIdIn(entry, paths.productIdPaths, clean);
    const sku = identifierAt(entry, paths.skuPaths, clean);
    // Without any of these fields the product of the publication is unknown.
    if (id === null && productId === null && sku === null) {
      return { noId: whyNoId(entry, [...paths.productIdPaths, ...paths.idPaths, ...paths.skuPaths], clean) };
    }
    const status = wordAt(entry, paths.statusPaths, clean);
    const isWithdrawn = wordAt(entry, paths.withdrawnAtPaths, clean) !== null;
    return {
      identity: id ?? sha256Url(canonicalJson(entry)),
      entry: {
        id,
        productId,
        sku,
        status: status?.shown ?? null,
        isPublic: !isWithdrawn && (status === null || publicStates.has(status.said.toLowerCase())),
        publishedAt: identifierAt(entry, paths.publishedAtPaths, clean),
        withdrawnAt: identifierAt(entry, paths.withdrawnAtPaths, clean),
        url: urlAt(entry, paths.urlPaths, { origin: baseUrl.origin, clean }),
      },
    };
  }
  return { itemsAt: profile.list.itemsAt, read };
}
