import type { BaseUrl } from './base-url.ts';

/** One endpoint's list: the paths of its pages differ in their query alone. */
export interface ListingPath {
  /** The first page. */
  readonly first: string;
  /** The same page as another, asked for with these parameters besides; one that is null is left out. */
  with(path: string, parameters: Readonly<Record<string, string | null>>): string;
  /** The page that a link names, or null where that is another path than the list's own. */
  linked(link: string, current: string): string | null;
}

/**
 * @param at where the API is, the endpoint's path below that, and the query of the first page, which may be empty
 */
export function createListingPath({
  baseUrl: { origin, prefix },
  endpointPath,
  query,
}: {
  baseUrl: BaseUrl;
  endpointPath: string;
  query: string;
}): ListingPath {
  const own = prefix + endpointPath;
  return {
    first: own + (query === '' ? '' : `?${query}`),

    with(path, parameters) {
      const url = new URL(origin + path);
      for (const [name, value] of Object.entries(parameters)) {
        if (value === null) url.searchParams.delete(name);
        else url.searchParams.set(name, value);
      }
      return own + url.search;
    },

    // I7: only the query is taken from a link, so that no answer leads a request anywhere else. The path is compared as it
    // is written: what is encoded in it is somebody else's to decode.
    linked(link, current) {
      const url = URL.parse(/^[\w$.-]+=/.test(link) ? `?${link}` : link, origin + current);
      if (url === null) return null;
      // A server behind a gateway does not know the prefix under which it is reached.
      const isOwn = [own, endpointPath].some((path) => url.pathname === path || `${url.pathname}/` === path);
      return isOwn ? own + url.search : null;
    },
  };
}
