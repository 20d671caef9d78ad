import { ENDPOINTS, OPERATION_NAMES } from '../api/endpoints.ts';

/**
 * Knows the methods of every path. It is asked about requests that no route took, so that there need not be a route for
 * every method that HTTP has.
 *
 * @param pages paths that can be read alone
 * @returns what gives a path's methods; undefined for a path that is none
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

/** `{id}` in the document is a whole segment or a part of a segment. It is never empty. */
function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}
