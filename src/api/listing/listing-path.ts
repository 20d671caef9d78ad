import type { BaseUrl } from '../base-url.ts';

/** The paths of one endpoint's list. The pages differ only in the query. */
export interface ListingPath {
  /** The first page. */
  readonly first: string;
  /** The path of a page with these additional parameters. A parameter that is null is removed. */
  with(path: string, parameters: Readonly<Record<string, string | null>>): string;
  /** The page that a link names; null if the path of the link is not that of the list. */
  linked(link: string, current: string): string | null;
}

/**
 * @param at the address of the API, the path of the endpoint below it, and the query of the first page, which may be empty
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

    // I7: only the query of a link is used, so that no answer can send a request to another address. The path is compared as it
    // is written, without decoding.
    linked(link, current) {
      const url = URL.parse(/^[\w$.-]+=/.test(link) ? `?${link}` : link, origin + current);
      if (url === null) return null;
      // A server behind a gateway does not know the prefix of its own address.
      const isOwn = [own, endpointPath].some((path) => url.pathname === path || `${url.pathname}/` === path);
      return isOwn ? own + url.search : null;
    },
  };
}
