import type { JsonObject, JsonValue } from '../../src/sdk/index.ts';
import { EACH, type ParentValue, type PathStep } from './document-path.ts';
import type { RecordSearch } from './record-search.ts';

/** The longest value that is copied to every row. */
const VALUE_CHARACTERS_MAX = 10_000;

/** A record within an element. */
export interface NestedRecord {
  value: JsonValue;
  /** The path from the element to the record. */
  steps: readonly (string | number)[];
  /** The elements that contain the record, by the number of inner steps that lead to each. */
  around: ReadonlyMap<number, JsonValue>;
  /** The expected kind of value, if there is another value in the place of a record. */
  expected?: 'a list' | 'an object';
}

/**
 * Finds the records within an element. A list that is absent or null has no records. If there is another value in the
 * place of the list, or of an object on the path to it, this value is returned as a record, so that it is reported and
 * not skipped.
 *
 * @param search collects what is missing; null if the file has given a record
 */
export function* nestedRecords(
  element: JsonValue,
  inner: readonly PathStep[],
  search: RecordSearch | null,
): Generator<NestedRecord> {
  yield* descend({ value: element, steps: [], around: new Map([[0, element]]) }, { inner, search }, 0);
}

function* descend(
  at: NestedRecord,
  path: { inner: readonly PathStep[]; search: RecordSearch | null },
  depth: number,
): Generator<NestedRecord> {
  const { value, steps, around } = at;
  const { inner, search } = path;
  search?.reached(depth);
  if (value === null) return;
  const step = inner[depth];
  if (step === undefined || step === EACH) {
    if (!Array.isArray(value)) {
      yield { ...at, expected: 'a list' };
      return;
    }
    for (const [index, entry] of value.entries()) {
      const next = { value: entry, steps: [...steps, index], around: new Map([...around, [depth + 1, entry]]) };
      if (step === undefined) yield next;
      else yield* descend(next, path, depth + 1);
    }
    return;
  }
  const isList = typeof step === 'number';
  if (typeof value !== 'object' || Array.isArray(value) !== isList) {
    yield { ...at, expected: isList ? 'a list' : 'an object' };
    return;
  }
  const member = memberOf(value, step);
  if (member === undefined) search?.missing(value, depth);
  else yield* descend({ value: member, steps: [...steps, step], around }, path, depth + 1);
}

/**
 * Returns the values around a record by their names in the row. `tooLong` has the names of the values that are left out
 * because they are too long.
 */
export function parentValues(
  { around }: NestedRecord,
  wanted: Readonly<Record<string, ParentValue>>,
): { values: JsonObject; tooLong: string[] } {
  const values: JsonObject = {};
  const tooLong: string[] = [];
  for (const [name, { depth, steps }] of Object.entries(wanted)) {
    let value: JsonValue | undefined = around.get(depth);
    for (const step of steps) value = typeof value === 'object' && value !== null ? memberOf(value, step) : undefined;
    if (value === undefined) values[name] = null;
    else if (isShort(value)) values[name] = value;
    else tooLong.push(name);
  }
  return { values, tooLong };
}

function isShort(value: JsonValue): boolean {
  if (typeof value === 'string') return value.length <= VALUE_CHARACTERS_MAX;
  return typeof value !== 'object' || value === null || JSON.stringify(value).length <= VALUE_CHARACTERS_MAX;
}

function memberOf(value: JsonObject | JsonValue[], step: string | number): JsonValue | undefined {
  if (Array.isArray(value)) return typeof step === 'number' ? value[step] : undefined;
  return typeof step === 'string' && Object.hasOwn(value, step) ? value[step] : undefined;
}
