import type { JsonValue } from '../../lib/json.ts';
import { ENDPOINT_NAMES, ENDPOINTS, type EndpointName } from '../endpoints.ts';
import type { ApiDocument, ApiOperation } from './document.ts';

/** The operations of a document, by their names in the endpoint table. */
export type Matches = ReadonlyMap<EndpointName, ApiOperation>;

/**
 * Finds the endpoints of the table in a document, by method and path. The names of the path's parameters, a slash at the end and a
 * common prefix of all paths do not matter. An endpoint that is not found is reported.
 */
export function matchEndpoints({ operations }: ApiDocument, report: Report): Matches {
  const prefix = commonPrefix(operations);
  if (prefix !== '') {
    report({
      path: 'servers',
      what: 'path before every endpoint',
      found: `"${prefix}"`,
      expected: 'none, or one that target.baseUrl ends with',
      weight: 'note',
      setting: 'target.baseUrl',
    });
  }
  const paths = new Set(operations.map((operation) => operation.path));
  const unknown = [...paths].filter((path) => !SHAPES.has(shapeOf(path).slice(prefix.length)));
  const matches = new Map<EndpointName, ApiOperation>();
  for (const name of ENDPOINT_NAMES) {
    const { method, path } = ENDPOINTS[name];
    const wanted = prefix + shapeOf(path);
    const there = operations.filter((operation) => shapeOf(operation.path) === wanted);
    const found = there.find((operation) => operation.method === method);
    const where = `${method} ${path}`;
    if (found === undefined) {
      const others = there.map((operation) => operation.method);
      if (others.length > 0) {
        report({ path: where, what: 'method', found: others.join(', '), expected: method, weight: 'breaks' });
      } else {
        const near = unknown.filter((other) => isNear(shapeOf(other), shapeOf(path)));
        const found = near.length === 0 ? 'no such path' : listed(near);
        report({ path: where, what: 'operation', found, expected: `"${path}"`, weight: 'breaks', ...instead(name) });
      }
      continue;
    }
    matches.set(name, found);
    if (found.path.endsWith('/') !== path.endsWith('/')) {
      const what = 'slash at the end of the path';
      report({ path: where, what, found: `"${found.path}"`, expected: `"${path}"`, weight: 'breaks' });
    }
  }
  return matches;
}

/** The setting to use if an operation is missing. */
function instead(name: EndpointName): { setting?: string; value?: string } {
  return name === 'product.import' ? { setting: 'productUpdate', value: 'none' } : {};
}

/** The path without the parts that may differ. */
function shapeOf(path: string): string {
  return path.replace(/\{[^{}]*\}/g, '{}').replace(/\/+$/, '');
}

const SHAPES = new Set(ENDPOINT_NAMES.map((name) => shapeOf(ENDPOINTS[name].path)));

/** The prefix that most paths of the endpoint table have in the document. */
function commonPrefix(operations: readonly ApiOperation[]): string {
  const counts = new Map<string, number>();
  for (const path of new Set(operations.map((operation) => shapeOf(operation.path)))) {
    for (const shape of SHAPES) {
      if (!path.endsWith(shape)) continue;
      const prefix = path.slice(0, -shape.length);
      counts.set(prefix, (counts.get(prefix) ?? 0) + 1);
    }
  }
  let best = '';
  for (const [prefix, count] of counts) if (count > (counts.get(best) ?? 0)) best = prefix;
  return best;
}

/** True if one path is the end of the other, or if both have the same end. */
function isNear(path: string, wanted: string): boolean {
  const tail = wanted
    .split('/')
    .filter((part) => part !== '' && part !== '{}')
    .slice(-1)
    .join('/');
  return path !== '' && (wanted.endsWith(path) || (tail !== '' && path.endsWith(`/${tail}`)));
}

/** One difference between an OpenAPI document and the profile. Every text is one line, ready to be shown. */
export interface Difference {
  /** The place: an operation such as `POST /api/products/`, or a part of the document such as `components.securitySchemes`. */
  path: string;
  /** The subject in a few words: `path`, `request field`, `id in the answer`. */
  what: string;
  found: string;
  expected: string;
  /**
   * `breaks`: requests will fail with the present settings. `unread`: this part of the document cannot be read, so it was not
   * compared. `note`: worth knowing, and perhaps worth a setting.
   */
  weight: 'breaks' | 'unread' | 'note';
  /** The setting that fixes the difference: a path in the profile such as `wireNames.product.sku`, or `target.baseUrl`. */
  setting?: string;
  /** The value for the setting, if the document shows it. */
  value?: JsonValue;
}

/** Collects the differences that the checks find. */
export type Report = (difference: Difference) => void;

/** Reports that a part of the document cannot be read, and why. */
export function reportUnread(report: Report, { what, why }: { what: string; why: string }): void {
  report({ path: '', what, found: why, expected: 'a readable document in a single file', weight: 'unread' });
}

const NAMES_SHOWN = 12;

/** Names for a message: the first ones, in quotes. */
export function listed(names: Iterable<string>): string {
  const all = [...names].map((name) => `"${name}"`);
  if (all.length === 0) return 'nothing';
  const shown = all.slice(0, NAMES_SHOWN).join(', ');
  return all.length > NAMES_SHOWN ? `${shown} and ${all.length - NAMES_SHOWN} more` : shown;
}
