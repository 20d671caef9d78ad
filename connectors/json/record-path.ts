import { EACH, type PathStep } from '../../src/sdk/index.ts';

/** The path of records: they are in a list, or in lists within the elements of a list. */
interface RecordPath {
  /** The path to the list whose elements are read one by one. */
  outer: readonly (string | number)[];
  /** The path from such an element to the list of records in it; null if the element itself is the record. */
  inner: readonly PathStep[] | null;
}

/**
 * `$.parts[*].lines[*]` has the outer path `$.parts` and the inner one `.lines`: the last step is a list, with or
 * without `[*]`.
 */
export function recordPathOf(steps: readonly PathStep[]): RecordPath {
  const toList = steps.at(-1) === EACH ? steps.slice(0, -1) : steps;
  const first = toList.indexOf(EACH);
  const outer = (first === -1 ? toList : toList.slice(0, first)).filter((step) => step !== EACH);
  return { outer, inner: first === -1 ? null : toList.slice(first + 1) };
}

/** A value of an element around a record. */
export interface ParentValue {
  /** How many steps of the inner path lead to the element. */
  depth: number;
  /** The path from the element to the value. */
  steps: readonly (string | number)[];
}

/**
 * The place of a value such as `$.parts[*].id` around the records at `$.parts[*].lines[*]`; null if the value is not in
 * an element around the records.
 */
export function parentValueOf(at: readonly PathStep[], steps: readonly PathStep[]): ParentValue | null {
  const last = steps.lastIndexOf(EACH);
  const around = steps.slice(0, last + 1);
  const toRecords = at.at(-1) === EACH ? at : [...at, EACH];
  const isAround =
    last >= 0 && around.length < toRecords.length && around.every((step, index) => step === toRecords[index]);
  const value = steps.slice(last + 1).filter((step) => step !== EACH);
  return isAround && value.length > 0 ? { depth: last - toRecords.indexOf(EACH), steps: value } : null;
}

/**
 * The path of a value of the document itself, such as `$.product` beside the list `$.lines`; null if the value is a list
 * around the records, or is within such a list.
 *
 * @param outer the path to the list whose elements are read one by one
 */
export function documentValueOf(
  outer: readonly (string | number)[],
  steps: readonly PathStep[],
): (string | number)[] | null {
  const path = steps.filter((step) => step !== EACH);
  const fork = path.findIndex((step, index) => step !== outer[index]);
  const isBeside = fork !== -1 && typeof path[fork] === 'string' && typeof outer[fork] === 'string';
  return isBeside && path.length === steps.length ? path : null;
}
