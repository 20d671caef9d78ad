import {
  countMembers,
  damagedFields,
  damageIssue,
  EACH,
  formatDocumentPath,
  type JsonObject,
  type JsonValue,
  type OwnIssue,
  type PathStep,
  type Place,
  parseExactly,
  RAW_FIELD,
  repeatedName,
  type SourceRow,
} from '../../src/sdk/index.ts';
import type { ParentValue } from './record-path.ts';
import type { RecordSearch } from './record-search.ts';

const DEPTH_MAX = 100;
const RAW_CHARACTERS_MAX = 1_000;

/** One element that was cut out of a file. */
export interface Element {
  /** The text of the element in UTF-8; only its beginning if `tooLong`. */
  bytes: Buffer;
  tooLong: boolean;
  /** The number of members of all objects in the element, counted in its text. */
  members: number;
  /** How deep the values in the element are nested. */
  deepest: number;
  place: Place;
}

/** Values of a document by their names in the rows: undefined for a value that is too long, and null for one that is absent. */
export type DocumentValues = Readonly<Record<string, JsonValue | undefined>>;

export interface ElementRules {
  maxRecordBytes: number;
  where: JsonObject | undefined;
  /** The path from an element to the records in it; null if the element is the record. */
  inner: readonly PathStep[] | null;
  /** Values of the elements around the records, by their names in the rows. */
  parent: Readonly<Record<string, ParentValue>>;
  /** Values of the document, by their names in the rows. */
  document: DocumentValues;
}

/** A row with its approximate size in bytes. */
export interface SizedRow {
  row: SourceRow;
  bytes: number;
}

/**
 * Makes rows from an element: one row, or one for each record in it, except those that `where` excludes. If it is not
 * certain whether `where` excludes an element, the element becomes a row with an issue, so that nothing is dropped
 * unnoticed.
 *
 * @param search collects why there is no record; null if the file has given a record
 * @throws SyntaxError when the text is not JSON; its message ends with the reason.
 */
export function* elementRows(element: Element, rules: ElementRules, search: RecordSearch | null): Generator<SizedRow> {
  const { place } = element;
  const bytes = element.bytes.length;
  const text = element.bytes.toString('utf8');
  const limit = limitIssue(element, rules);
  if (limit !== undefined) {
    yield { row: brokenRow(place, text.slice(0, RAW_CHARACTERS_MAX), limit), bytes };
    return;
  }
  const value = parseExactly(text);
  const issues = textIssues(text, value, element.members);
  if (rules.inner === null) {
    const row = recordRow(value, { place, text, issues, rules, search });
    if (row !== null) yield { row: withParent(row, rules.document), bytes };
    return;
  }
  // If the name of a member occurs twice, only its last list is kept. So the element itself is reported too.
  const [issue] = issues;
  if (issue !== undefined) yield { row: brokenRow(place, text.slice(0, RAW_CHARACTERS_MAX), issue), bytes };
  for (const record of nestedRecords(value, rules.inner, search)) {
    const text = JSON.stringify(record.value);
    const row = nestedRow(record, { place, text, issues, rules, search });
    if (row !== null) yield { row, bytes: text.length };
  }
}

function limitIssue({ tooLong, deepest }: Element, { maxRecordBytes, inner }: ElementRules): OwnIssue | undefined {
  if (tooLong) {
    return {
      code: 'row.length',
      message: `The element is longer than ${maxRecordBytes} bytes${inner === null ? '' : ', with all the records in it'}.`,
      cure: 'Raise `maxRecordBytes`, or set `at` to the list that has the records.',
    };
  }
  if (deepest <= DEPTH_MAX) return undefined;
  return {
    code: 'row.depth',
    message: `The element is nested ${deepest} levels deep; the limit is ${DEPTH_MAX}.`,
  };
}

/** The issues of an element as a whole. They apply to each record in it. */
function textIssues(text: string, value: JsonValue, members: number): OwnIssue[] {
  if (countMembers(value) !== members) {
    const name = repeatedName(text);
    return [
      {
        code: 'row.duplicate',
        message: `An object in the element has the name ${JSON.stringify(name ?? '')} more than once, so the value of this name is not certain.`,
        ...(name === undefined ? {} : { field: name }),
      },
    ];
  }
  return [];
}

interface RecordContext {
  place: Place;
  text: string;
  issues: readonly OwnIssue[];
  rules: ElementRules;
  search: RecordSearch | null;
}

function recordRow(value: JsonValue, { place, text, issues, rules, search }: RecordContext): SourceRow | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return brokenRow(place, text, {
      code: 'row.object',
      message: `The element is ${kindOf(value)}, but an object is expected.`,
    });
  }
  if (!matches(value, rules.where)) {
    search?.excluded(value);
    return null;
  }
  if (issues.length > 0) return { fields: { ...value, [RAW_FIELD]: text }, place, issues: [...issues] };
  if (text.includes('\uFFFD')) return { fields: value, place, issues: encodingIssues(value) };
  return { fields: value, place };
}

function nestedRow(record: NestedRecord, context: RecordContext): SourceRow | null {
  const { file, line, path = '' } = context.place;
  const place = {
    ...(file === undefined ? {} : { file }),
    ...(line === undefined ? {} : { line }),
    path: `${path}${formatDocumentPath(record.steps).slice(path === '' ? 0 : 1)}`,
  };
  if (record.expected !== undefined) {
    return brokenRow(place, context.text.slice(0, RAW_CHARACTERS_MAX), {
      code: 'row.list',
      message: `The value at ${place.path} is ${kindOf(record.value)}, but ${record.expected} is expected.`,
    });
  }
  const row = recordRow(record.value, { ...context, place });
  const { parent, document } = context.rules;
  return row === null ? null : withParent(row, { ...document, ...parentValues(record, parent) });
}

/** Adds the values that `parent` names to a row. */
function withParent(row: SourceRow, values: DocumentValues): SourceRow {
  const names = Object.keys(values);
  if (names.length === 0 || RAW_FIELD in row.fields) return row;
  const added: JsonObject = {};
  const tooLong: string[] = [];
  for (const name of names) {
    const value = values[name];
    if (value !== undefined && isShort(value)) added[name] = value;
    else tooLong.push(name);
  }
  const taken = names.filter((name) => Object.hasOwn(row.fields, name));
  const issues = [...encodingIssues(added), ...tooLong.map(tooLongIssue), ...taken.map(takenIssue)];
  // The record's own members take precedence, so that the row shows what the file has.
  row.fields = { ...added, ...row.fields };
  if (issues.length > 0) row.issues = [...(row.issues ?? []), ...issues];
  return row;
}

function tooLongIssue(name: string): OwnIssue {
  return {
    code: 'row.parent',
    message: `The value for ${name} from outside the record is too long to be copied into every row.`,
    field: name,
    cure: 'Name a value of at most 10,000 characters in `parent`.',
  };
}

function takenIssue(name: string): OwnIssue {
  return {
    code: 'row.duplicate',
    message: `The record has a member ${name}, but \`parent\` gives the same name to a value from outside the record.`,
    field: name,
  };
}

/** The row of an element that has no usable fields. */
export function brokenRow(place: Place, raw: string, issue: OwnIssue): SourceRow {
  return { fields: { [RAW_FIELD]: raw }, place, issues: [issue] };
}

function encodingIssues(value: JsonObject): OwnIssue[] {
  return damagedFields(value).map((field) =>
    damageIssue({
      field,
      message: `The member ${field} holds text that is not valid UTF-8, or was damaged before it was exported.`,
      cure: 'Export the file from the source system again, in UTF-8.',
    }),
  );
}

function kindOf(value: JsonValue): string {
  if (value === null) return 'null';
  if (typeof value === 'object' && !Array.isArray(value)) return 'an object';
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`;
}

/** True if the object has these members with these values. */
function matches(value: JsonObject, where: JsonObject | undefined): boolean {
  return where === undefined || Object.entries(where).every(([name, wanted]) => value[name] === wanted);
}

/** The longest value that is copied to every row. */
const VALUE_CHARACTERS_MAX = 10_000;

/** A record within an element. */
interface NestedRecord {
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
function* nestedRecords(
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

/** The values of the elements around a record, by their names in the row; null for a value that the element lacks. */
function parentValues({ around }: NestedRecord, wanted: Readonly<Record<string, ParentValue>>): JsonObject {
  const values: JsonObject = {};
  for (const [name, { depth, steps }] of Object.entries(wanted)) {
    let value: JsonValue | undefined = around.get(depth);
    for (const step of steps) value = typeof value === 'object' && value !== null ? memberOf(value, step) : undefined;
    values[name] = value ?? null;
  }
  return values;
}

function isShort(value: JsonValue): boolean {
  if (typeof value === 'string') return value.length <= VALUE_CHARACTERS_MAX;
  return typeof value !== 'object' || value === null || JSON.stringify(value).length <= VALUE_CHARACTERS_MAX;
}

function memberOf(value: JsonObject | JsonValue[], step: string | number): JsonValue | undefined {
  if (Array.isArray(value)) return typeof step === 'number' ? value[step] : undefined;
  return typeof step === 'string' && Object.hasOwn(value, step) ? value[step] : undefined;
}
