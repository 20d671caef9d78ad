import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { counted } from '../../lib/text/amounts.ts';
import { memberAccess, memberPresence } from '../../pipeline/mapping/expressions/name-access.ts';

/** A value of a column that is not empty. */
export type Scalar = string | number | boolean;

/** A column of a sample, or a member of its records. */
export interface Column {
  /** The path of names to the column: one name, or several for a member of an object. */
  path: readonly string[];
  /** The name of the column for people. */
  label: string;
  /** The expression for the column's value. */
  access: string;
  /** The expression that tests whether a record has the column; null if every record has it. */
  presence: string | null;
  /** The values that are not empty, in the order of the records. */
  values: readonly string[];
  /** The same values as the records have them. A number is text only in `values`. */
  given: readonly Scalar[];
  /** The index of the record that has each value. */
  indexes: readonly number[];
  /** How many records the sample has. */
  records: number;
  /** True if some records are equal to others in all columns. */
  hasRepeats: boolean;
  /** True if no two records have the same value, other than records that are equal in all columns. */
  isUnique: boolean;
  /** True if a record has null in the column. */
  hasNull: boolean;
  /** True if a record has text in the column, which may be empty. In a CSV file every value is text. */
  hasText: boolean;
  /** True if `false` stands for no value, as in the exports of Odoo: the column has other values, but never `true`. */
  isFalseEmpty: boolean;
}

/** A list of objects within the records. */
export interface NestedList {
  path: readonly string[];
  members: readonly string[];
}

/** The columns and nested lists of the records of a sample. */
export interface Columns {
  columns: Column[];
  lists: NestedList[];
  /** For each record that is equal to an earlier one in all columns, the earlier record; both by their index. */
  repeats: ReadonlyMap<number, number>;
}

const DEPTH_MAX = 3;
const COLUMNS_MAX = 2_000;

interface Gathered {
  path: readonly string[];
  present: number;
  values: string[];
  given: Scalar[];
  indexes: number[];
  seen: Set<string>;
  isUnique: boolean;
  isScalar: boolean;
  hasNull: boolean;
  hasText: boolean;
  falses: number;
  trues: number;
}

/** Finds the columns of a sample. Members of an object are columns if every record has the object. */
export function columnsOf(rows: readonly JsonObject[]): Columns {
  const gathered = new Map<string, Gathered>();
  const objects = new Map<string, number>();
  const lists = new Map<string, { path: readonly string[]; members: Set<string> }>();
  const repeats = repeatsOf(rows);

  function gather(object: JsonObject, around: readonly string[], index: number): void {
    for (const [name, value] of Object.entries(object)) {
      const path = [...around, name];
      const id = JSON.stringify(path);
      if (isJsonObject(value) && path.length < DEPTH_MAX) {
        objects.set(id, (objects.get(id) ?? 0) + 1);
        gather(value, path, index);
        continue;
      }
      if (Array.isArray(value)) addList(id, path, value);
      const column = gathered.get(id) ?? emptyColumn(path);
      if (gathered.size < COLUMNS_MAX) gathered.set(id, column);
      addValue(column, value, { index, isRepeat: repeats.has(index) });
    }
  }

  function addList(id: string, path: readonly string[], value: readonly JsonValue[]): void {
    const [first] = value;
    if (!isJsonObject(first)) return;
    const list = lists.get(id) ?? { path, members: new Set<string>() };
    for (const member of Object.keys(first)) list.members.add(member);
    lists.set(id, list);
  }

  for (const [index, row] of rows.entries()) gather(row, [], index);
  const isEverywhere = (path: readonly string[]): boolean =>
    path.slice(0, -1).every((_, index) => objects.get(JSON.stringify(path.slice(0, index + 1))) === rows.length);
  return {
    columns: [...gathered.values()]
      .filter(({ path, isScalar }) => isScalar && !objects.has(JSON.stringify(path)) && isEverywhere(path))
      .map((column) => columnOf(column, rows.length, repeats.size > 0)),
    lists: [...lists.values()].map(({ path, members }) => ({ path, members: [...members] })),
    repeats,
  };
}

function repeatsOf(rows: readonly JsonObject[]): Map<number, number> {
  const firsts = new Map<string, number>();
  const repeats = new Map<number, number>();
  for (const [index, row] of rows.entries()) {
    const text = JSON.stringify(row);
    const first = firsts.get(text);
    if (first === undefined) firsts.set(text, index);
    else repeats.set(index, first);
  }
  return repeats;
}

function emptyColumn(path: readonly string[]): Gathered {
  return {
    path,
    present: 0,
    values: [],
    given: [],
    indexes: [],
    seen: new Set(),
    isUnique: true,
    isScalar: true,
    hasNull: false,
    hasText: false,
    falses: 0,
    trues: 0,
  };
}

function addValue(column: Gathered, value: JsonValue, { index, isRepeat }: { index: number; isRepeat: boolean }): void {
  column.present += 1;
  if (typeof value === 'object' && value !== null) column.isScalar = false;
  if (value === null) column.hasNull = true;
  if (value === null || typeof value === 'object') return;
  if (typeof value === 'string') column.hasText = true;
  if (value === false) column.falses += 1;
  if (value === true) column.trues += 1;
  const text = String(value).trim();
  if (text === '') return;
  column.values.push(text);
  column.given.push(value);
  column.indexes.push(index);
  // Only at the end it is known whether `false` stands for no value. `false` is counted separately, so it is not added
  // to the seen values.
  if (!column.isUnique || isRepeat || value === false) return;
  column.isUnique = !column.seen.has(text);
  column.seen.add(text);
  // The set of values is dropped after the first repeated value.
  if (!column.isUnique) column.seen.clear();
}

function columnOf(gathered: Gathered, records: number, hasRepeats: boolean): Column {
  const { path, present, falses, trues, hasNull, hasText } = gathered;
  const isFalseEmpty = falses > 0 && trues === 0 && gathered.values.length > falses;
  const valuesOf = <T>(all: readonly T[]): T[] =>
    isFalseEmpty ? all.filter((_, at) => gathered.given[at] !== false) : [...all];
  const values = valuesOf(gathered.values);
  const isUnique = gathered.isUnique && (isFalseEmpty || falses < 2);
  return {
    path,
    label: path.join('.'),
    access: accessOf(path),
    presence: present === records ? null : presenceOf(path),
    values,
    given: valuesOf(gathered.given),
    indexes: valuesOf(gathered.indexes),
    records,
    hasRepeats,
    isUnique: isUnique && values.length > 0,
    hasNull,
    hasText,
    isFalseEmpty,
  };
}

function presenceOf(path: readonly string[]): string {
  return memberPresence(accessOf(path.slice(0, -1)), path.at(-1) ?? '');
}

function accessOf(path: readonly string[]): string {
  return path.reduce((owner, name) => memberAccess(owner, name), 'row');
}

/** Describes a unique column: `filled and different in all 12 records`. */
export function describeUnique({ records, hasRepeats }: Column, isWhole = true): string {
  const where = records === 1 ? 'the only record' : `${isWhole ? 'all' : 'the first'} ${counted(records, 'record')}`;
  return `filled and different in ${where}${hasRepeats ? `, ${EQUAL_COUNTED_ONCE}` : ''}`;
}

export const EQUAL_COUNTED_ONCE = 'equal ones counted once';

/** The text of a record in a column of a table, without white space around it. */
export function textAt(row: JsonObject, name: string): string {
  const value = row[name];
  return typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
}

/** True if every record has a value in the column. */
export function isComplete({ values, records }: Column): boolean {
  return values.length === records && records > 0;
}
