import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { memberAccess, memberPresence } from '../../pipeline/mapping/expressions/name-access.ts';

/** A column of a sample, or a member of its records. */
export interface Column {
  /** The path of names to the column: one name, or several for a member of an object. */
  path: readonly string[];
  /** For people. */
  label: string;
  /** The expression for its value. */
  access: string;
  /** The expression that tests whether a record has the column; null where every record has it. */
  presence: string | null;
  /** The values that are not empty, in the order of the records. */
  values: readonly string[];
  /** How many records the sample has. */
  records: number;
  /** True if no value is there twice. */
  isUnique: boolean;
  /** True if every value is text, as all values of a CSV file are. */
  isText: boolean;
  /** True if `false` stands for no value, as in the exports of Odoo: there are other values, and `true` is none of them. */
  isFalseEmpty: boolean;
}

/** A list of objects within the records. */
export interface NestedList {
  path: readonly string[];
  members: readonly string[];
}

/** What the records of a sample consist of. */
export interface Columns {
  columns: Column[];
  lists: NestedList[];
}

const DEPTH_MAX = 3;
const COLUMNS_MAX = 2_000;

interface Gathered {
  path: readonly string[];
  present: number;
  values: string[];
  seen: Set<string>;
  isUnique: boolean;
  isScalar: boolean;
  isText: boolean;
  falses: number;
  trues: number;
}

/** Gathers the columns of a sample. Members of objects are columns where every record has the object. */
export function columnsOf(rows: readonly JsonObject[]): Columns {
  const gathered = new Map<string, Gathered>();
  const objects = new Map<string, number>();
  const lists = new Map<string, { path: readonly string[]; members: Set<string> }>();

  function gather(object: JsonObject, around: readonly string[]): void {
    for (const [name, value] of Object.entries(object)) {
      const path = [...around, name];
      const id = JSON.stringify(path);
      if (isJsonObject(value) && path.length < DEPTH_MAX) {
        objects.set(id, (objects.get(id) ?? 0) + 1);
        gather(value, path);
        continue;
      }
      if (Array.isArray(value)) addList(id, path, value);
      const column = gathered.get(id) ?? emptyColumn(path);
      if (gathered.size < COLUMNS_MAX) gathered.set(id, column);
      addValue(column, value);
    }
  }

  function addList(id: string, path: readonly string[], value: readonly JsonValue[]): void {
    const [first] = value;
    if (!isJsonObject(first)) return;
    const list = lists.get(id) ?? { path, members: new Set<string>() };
    for (const member of Object.keys(first)) list.members.add(member);
    lists.set(id, list);
  }

  for (const row of rows) gather(row, []);
  const isEverywhere = (path: readonly string[]): boolean =>
    path.slice(0, -1).every((_, index) => objects.get(JSON.stringify(path.slice(0, index + 1))) === rows.length);
  return {
    columns: [...gathered.values()]
      .filter(({ path, isScalar }) => isScalar && isEverywhere(path))
      .map((column) => columnOf(column, rows.length)),
    lists: [...lists.values()].map(({ path, members }) => ({ path, members: [...members] })),
  };
}

function emptyColumn(path: readonly string[]): Gathered {
  return {
    path,
    present: 0,
    values: [],
    seen: new Set(),
    isUnique: true,
    isScalar: true,
    isText: true,
    falses: 0,
    trues: 0,
  };
}

function addValue(column: Gathered, value: JsonValue): void {
  column.present += 1;
  if (typeof value === 'object' && value !== null) column.isScalar = false;
  if (value === null || typeof value === 'object') return;
  if (typeof value !== 'string') column.isText = false;
  if (value === false) column.falses += 1;
  if (value === true) column.trues += 1;
  const text = String(value).trim();
  if (text === '') return;
  column.values.push(text);
  if (!column.isUnique) return;
  column.isUnique = !column.seen.has(text);
  column.seen.add(text);
  // The values are forgotten once one of them has come twice.
  if (!column.isUnique) column.seen.clear();
}

function columnOf(gathered: Gathered, records: number): Column {
  const { path, present, falses, trues, isText } = gathered;
  const isFalseEmpty = falses > 0 && trues === 0 && gathered.values.length > falses;
  const values = isFalseEmpty ? gathered.values.filter((value) => value !== 'false') : gathered.values;
  const isUnique = isFalseEmpty ? new Set(values).size === values.length : gathered.isUnique;
  return {
    path,
    label: path.join('.'),
    access: accessOf(path),
    presence: present === records ? null : presenceOf(path),
    values,
    records,
    isUnique: isUnique && values.length > 0,
    isText,
    isFalseEmpty,
  };
}

function presenceOf(path: readonly string[]): string {
  return memberPresence(accessOf(path.slice(0, -1)), path.at(-1) ?? '');
}

function accessOf(path: readonly string[]): string {
  return path.reduce((owner, name) => memberAccess(owner, name), 'row');
}

/** True if every record has a value in the column. */
export function isComplete({ values, records }: Column): boolean {
  return values.length === records && records > 0;
}
