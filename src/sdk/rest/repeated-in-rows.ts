// Objects of an answer that have a name twice, so that it is not certain which value is right.

import type { JsonValue, RepeatedName } from '../../lib/json.ts';
import { formatDocumentPath, type PathStep, valueAt } from '../document-path.ts';
import type { RestAnswer } from './rest-client.ts';

const NO_ROWS: ReadonlyMap<JsonValue, string> = new Map();

/**
 * The rows of an answer in which an object has a name twice, each with this name.
 *
 * @param options.fail makes the error for such an object that is in no row. The read stops, because the pages may depend on the
 *   object.
 */
export function repeatedInRows(
  { document, repeated }: Pick<RestAnswer, 'document' | 'repeated'>,
  rows: readonly JsonValue[],
  { what, fail }: { what: string; fail: (message: string, suggestion: string) => Error },
): ReadonlyMap<JsonValue, string> {
  if (repeated.length === 0) return NO_ROWS;
  const all: ReadonlySet<JsonValue> = new Set(rows.filter((row) => typeof row === 'object'));
  const found = new Map<JsonValue, string>();
  for (const one of repeated) {
    const row = objectsAround(document, one.path).find((object) => all.has(object));
    if (row === undefined) throw fail(`The answer for ${what} ${whatOf(one)}`, CURE);
    found.set(row, one.name);
  }
  return found;
}

/** The values on the way to an object, from the document on. */
function objectsAround(document: JsonValue, path: readonly PathStep[]): JsonValue[] {
  return [...Array(path.length + 1).keys()].map((length) => valueAt(document, path.slice(0, length)) ?? null);
}

function whatOf({ name, path }: RepeatedName): string {
  return `has the name ${JSON.stringify(name)} twice in the object at ${formatDocumentPath(path)}, so it is not certain which value is right.`;
}

const CURE = 'Ask the owner of the API to give each name once in an object.';

/** The issue of a row in which an object has a name twice. */
export function repeatedIssue(name: string) {
  return {
    code: 'row.duplicate' as const,
    message: `An object in the row has the name ${JSON.stringify(name)} twice, so the value of this name is not certain.`,
    field: name,
    cure: CURE,
  };
}
