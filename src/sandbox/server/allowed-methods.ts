import { ENDPOINTS, OPERATION_NAMES } from '../api/endpoints.ts';

/**
 * Knows the methods of every path. It is used for requests without a route, so that not every method of HTTP needs a
 * route.
 *
 * @param pages paths that can only be read
 * @returns a function that gives the methods of a path; undefined for an unknown path
 */
export function createAllowedMethods(pages: string[]): (path: string) => string[] | undefined {
  const byPath = new Map<string, string[]>(pages.map((path) => [path, ['GET', 'HEAD']]));
  for (const operation of OPERATION_NAMES) {
    const { method, path } = ENDPOINTS[operation];
    byPath.set(path, [...(byPath.get(path) ?? []), ...(method === 'GET' ? ['GET', 'HEAD'] : [method])]);
  }
  const patterns = [...byPath].map(([path, methods]) => ({ pattern: patternOf(path), methods }));
  return (path) => patterns.find(({ pattern }) => pattern.test(path))?.methods;
}

/** `{id}` in the document is a whole segment or a part of a segment, and is never empty. */
function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}
