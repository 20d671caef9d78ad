// The lookup tables of one source, as its mappings use them.

import { extname, resolve } from 'node:path';
import { type Options, parse } from 'csv-parse/sync';
import {
  type FindEntry,
  LOOKUP_VALUES_MAX,
  type LookupEntry,
  type LookupTable,
  type LookupUse,
  lookupKey,
  lookupRow,
  stampOf,
} from '../../domain/lookup.ts';
import type { LookupConfig } from '../../domain/mapping.ts';
import { err, messageOf, ok, type Result } from '../../lib/errors.ts';
import { readBoundedFile } from '../../lib/files.ts';
import { sha256Url } from '../../lib/hash.ts';
import {
  canonicalJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseExactly,
  repeatedNames,
} from '../../lib/json.ts';
import { suggest } from '../../lib/text/suggest.ts';
import { MappingError, type MappingProblem } from './mapping-error.ts';
import { argumentText, kindOf, numberText, shown } from './values.ts';

/** A table with the name that mappings use for it. */
interface NamedTable {
  table: LookupTable;
  /** The name of the table in messages: `lookup file "colours.csv"`. */
  title: string;
  /** The column that has the values, if the config names one. */
  column?: string;
}

/** A value that an expression has found in a table. */
export interface FoundValue {
  value: JsonValue;
  /** Where the value is, for messages: `lookup file "colours.csv", column DE, key "9005"`. */
  place: string;
}

/** Returns the value that a person has given for a key of all tables with this name; undefined if there is none. */
export type FindValueByHand = (lookup: string, key: string) => string | undefined;

/** Finds entries, and notes which keys a row has used. */
export function createLookupTables(findByHand: FindValueByHand = () => undefined) {
  const byName = new Map<string, NamedTable>();
  let used = new Map<string, LookupUse>();
  let findEntry: FindEntry | undefined;
  let traced: FoundValue[] | null = null;

  return {
    /** Begins the next row. Without `find` only files can be looked up. */
    startRow(find?: FindEntry) {
      findEntry = find;
      if (used.size > 0) used = new Map();
    },
    /** Undefined if there is no such table. */
    named: (name: string): NamedTable | undefined => byName.get(name),
    add: (name: string, table: NamedTable) => void byName.set(name, table),
    /** The entry for a key; undefined if it was not read from the ledger. */
    find({ id, name, entries }: LookupTable, key: string): LookupEntry | undefined {
      const byHand = findByHand(name, key);
      const entry =
        byHand !== undefined
          ? { values: [byHand], isRead: true }
          : entries === null
            ? findEntry?.({ table: id, key })
            : fileEntry(entries, key);
      if (entry !== undefined) used.set(`${id} ${key}`, { table: id, key, stamp: stampOf(entry) });
      return entry;
    },
    /** Notes a value that was found, while `trace` runs. */
    note(found: FoundValue) {
      traced?.push(found);
    },
    /**
     * Evaluates an expression once more, and returns the values that it has found. Its result and its errors do not count.
     */
    trace: (evaluate: () => unknown): FoundValue[] => {
      const found: FoundValue[] = [];
      traced = found;
      try {
        evaluate();
      } catch {
        // The issue for which the values are looked for reports the failure.
      } finally {
        traced = null;
      }
      return found;
    },
    /** The keys that the row has used. */
    uses: (): LookupUse[] => [...used.values()],
    all: (): readonly LookupTable[] => [...byName.values()].map(({ table }) => table),
  };
}

export type LookupTables = ReturnType<typeof createLookupTables>;

function fileEntry(entries: ReadonlyMap<string, JsonValue>, key: string): LookupEntry {
  const value = entries.get(key);
  return { values: value === undefined ? [] : [value], isRead: true };
}

/** The source whose mappings look something up. */
interface LookingUp {
  source: string;
  baseDir: string;
  lookups?: Readonly<Record<string, LookupConfig>>;
}

/**
 * Loads the tables that expressions and modules name: tables that the config declares, and files that are named
 * directly.
 *
 * @param wantedBy the names, each with the place in the config that a message about it shows
 */
export async function loadLookups(
  wantedBy: ReadonlyMap<string, string>,
  source: LookingUp,
  { tables, problems, files }: { tables: LookupTables; problems: MappingProblem[]; files: Set<string> },
): Promise<void> {
  for (const [name, path] of wantedBy) {
    const loaded = await loadTable(name, source, files);
    if (loaded.ok) tables.add(name, loaded.value);
    else problems.push({ path, message: loaded.error });
  }
}

async function loadTable(name: string, source: LookingUp, files: Set<string>): Promise<Result<NamedTable, string>> {
  const { lookups = {}, baseDir } = source;
  const declared = Object.hasOwn(lookups, name) ? lookups[name] : undefined;
  if (declared?.stream !== undefined) {
    const { key, value } = declared;
    const stream = { source: declared.source ?? source.source, stream: declared.stream, key, value };
    const id = idOf(source, { stream });
    return ok({
      table: { id, name, stream, entries: null },
      title: `lookup table "${name}" (${stream.source}/${stream.stream})`,
      ...columnOf(declared),
    });
  }
  if (declared === undefined && extname(name) === '') {
    const near = suggest(name, Object.keys(lookups));
    const cure = near === undefined ? 'Declare it under "lookups" of the source.' : `Did you mean "${near}"?`;
    return err(`There is no lookup table "${name}". ${cure}`);
  }
  const file = declared?.file ?? name;
  files.add(resolve(baseDir, file));
  const entries = await loadLookupTable(file, baseDir, declared);
  if (!entries.ok) return entries;
  const id = idOf(source, { file, key: declared?.key ?? null, value: declared?.value ?? null });
  return ok({
    table: { id, name, stream: null, entries: entries.value },
    title: `lookup file "${file}"`,
    ...columnOf(declared),
  });
}

function columnOf(declared: LookupConfig | undefined): Pick<NamedTable, 'column'> {
  return typeof declared?.value === 'string' ? { column: declared.value } : {};
}

/** Each source has separate tables, because each source reads changed files at another time. */
function idOf({ source }: LookingUp, definition: object): LookupTable['id'] {
  return sha256Url(canonicalJson({ source, ...(JSON.parse(JSON.stringify(definition)) as object) }));
}

const FILE_BYTES_MAX = 16 * 1024 * 1024;
const ENTRIES_MAX = 500_000;

/** The columns of a lookup file that the config names. */
type LookupColumns = Pick<LookupConfig, 'key' | 'value'>;

/**
 * Reads a lookup file: CSV separated by comma, semicolon or tab, or JSON. Without `columns` a CSV file has the header
 * `key,value`, and a JSON file is one object of texts and numbers. With `columns` a CSV file has these columns, and a
 * JSON file is a list of objects with these members. UTF-8. The error is a full sentence.
 *
 * @param file the name in the config, relative to `baseDir`
 */
async function loadLookupTable(
  file: string,
  baseDir: string,
  columns?: LookupColumns,
): Promise<Result<ReadonlyMap<string, JsonValue>, string>> {
  const path = resolve(baseDir, file);
  const read = await readBoundedFile(path, FILE_BYTES_MAX);
  if (!read.ok) {
    const { kind, reason } = read.error;
    return err(`The lookup file "${file}" ${reason}${kind === 'missing' ? ` (${path})` : ''}.`);
  }
  const extension = extname(file).toLowerCase();
  if (extension !== '.csv' && extension !== '.json') {
    return err(`The lookup file "${file}" has to be a .csv or a .json file.`);
  }
  const isCsv = extension === '.csv';
  const entries =
    columns === undefined
      ? (isCsv ? entriesOfCsv : entriesOfJson)(read.value)
      : entriesOfRows(isCsv ? rowsOfCsv(read.value, columnsIn(columns)) : rowsOfJson(read.value), columns);
  return entries.ok ? entries : err(`The lookup file "${file}" ${entries.error}`);
}

type Entries = Result<Map<string, JsonValue>, string>;
type Rows = Result<{ fields: JsonObject; line: number }[], string>;

function entriesOfCsv(text: string): Entries {
  const header = /^key([,;\t])value$/i.exec(text.split(/\r?\n/, 1)[0]?.replaceAll('"', '').replaceAll(' ', '') ?? '');
  if (!header) return err('needs the two columns key and value, and this first line: key,value.');
  const rows = parsedCsv<string[]>(text, { delimiter: header[1] ?? ',' });
  if (!rows.ok) return rows;
  const entries = new Map<string, JsonValue>();
  for (const { record, info } of rows.value.slice(1)) {
    const [key = '', value = ''] = record;
    const problem = add(entries, key, value);
    if (problem !== null) return err(`${problem} (line ${info.lines}).`);
  }
  return ok(entries);
}

function entriesOfJson(text: string): Entries {
  const value = parsedJson(text);
  if (!value.ok) return value;
  if (!isJsonObject(value.value)) return err('has to be one JSON object of keys and values.');
  const entries = new Map<string, JsonValue>();
  for (const [key, member] of Object.entries(value.value)) {
    const entry = typeof member === 'number' ? numberText(member) : member;
    if (typeof entry !== 'string')
      return err(`has a value for "${shown(key)}" that is neither text nor a safe number.`);
    const problem = add(entries, key.trim(), entry);
    if (problem !== null) return err(`${problem}.`);
  }
  return ok(entries);
}

/** @param wanted the columns that are used. A row only has the last of several columns with one name. */
function rowsOfCsv(text: string, wanted: readonly string[]): Rows {
  const delimiter = [';', '\t', ','].find((one) => text.split(/\r?\n/, 1)[0]?.includes(one)) ?? ',';
  let repeated: string | undefined;
  const columns = (names: string[]) => {
    repeated = wanted.find((name) => names.indexOf(name) !== names.lastIndexOf(name));
    return names;
  };
  const rows = parsedCsv<JsonObject>(text, { delimiter, bom: true, columns });
  if (!rows.ok) return rows;
  if (repeated !== undefined) return err(`has the column ${shown(repeated)} twice.`);
  return ok(rows.value.map(({ record, info }) => ({ fields: record, line: info.lines })));
}

function rowsOfJson(text: string): Rows {
  const value = parsedJson(text);
  if (!value.ok) return value;
  const rows = value.value;
  if (!Array.isArray(rows) || !rows.every(isJsonObject)) return err('has to be a JSON list of objects.');
  return ok(rows.map((fields, at) => ({ fields, line: at + 1 })));
}

function parsedCsv<Row>(text: string, options: Options): Result<{ record: Row; info: { lines: number } }[], string> {
  try {
    const rows: unknown = parse(text, { ...options, trim: true, skip_empty_lines: true, info: true });
    if (!Array.isArray(rows)) return err('is not valid CSV.');
    return ok(rows as { record: Row; info: { lines: number } }[]);
  } catch (error) {
    return err(`is not valid CSV: ${messageOf(error)}.`);
  }
}

function parsedJson(text: string): Result<JsonValue, string> {
  try {
    const value = parseExactly(text);
    const [repeated] = repeatedNames(text, value);
    return repeated === undefined ? ok(value) : err(`has the name "${shown(repeated.name)}" twice in one object.`);
  } catch (error) {
    return err(`is not valid JSON: ${messageOf(error)}.`);
  }
}

const columnsIn = ({ key, value }: LookupColumns): string[] => [...key, ...[value].flat()];

function entriesOfRows(rows: Rows, columns: LookupColumns): Entries {
  if (!rows.ok) return rows;
  const [head] = rows.value;
  const absent = head === undefined ? [] : columnsIn(columns).filter((column) => !Object.hasOwn(head.fields, column));
  if (head !== undefined && absent.length > 0) {
    return err(`has no column ${absent.join(', ')}; it has ${Object.keys(head.fields).map(shown).join(', ')}.`);
  }
  const entries = new Map<string, JsonValue>();
  for (const { fields, line } of rows.value) {
    const row = lookupRow(fields, columns);
    if (row === null) continue;
    const problem = add(entries, row.key, row.value);
    if (problem !== null) return err(`${problem} (row ${line}).`);
  }
  return ok(entries);
}

function add(entries: Map<string, JsonValue>, key: string, value: JsonValue): string | null {
  if (entries.size >= ENTRIES_MAX) return `has more than ${ENTRIES_MAX} entries`;
  const before = entries.get(key);
  if (before !== undefined && canonicalJson(before) !== canonicalJson(value))
    return `has two values for the key "${shown(key)}"`;
  entries.set(key, value);
  return null;
}

/**
 * The value that a lookup table has for a key. Keys are compared as trimmed text, and case matters. A key of several
 * columns is a list.
 *
 * @returns the fallback for a key that the table does not have; null for an empty key without fallback
 * @throws MappingError with code `lookup.unknown`, `lookup.ambiguous` for a key with different values, `lookup.unread`
 *   for a stream that was never read to its end, or `lookup.table` for a table that is not known
 */
export function lookup(tables: LookupTables, name: unknown, key: unknown, ...fallback: unknown[]): unknown {
  const named = tableNamed(tables, name);
  const text = keyOf(key);
  if (text === null) return blankOf(tables, named) ?? (fallback.length > 0 ? fallback[0] : null);
  const [value, ...others] = valuesOf(tables, named, text);
  if (value !== undefined) {
    const differing = others.filter((other) => canonicalJson(other) !== canonicalJson(value));
    if (differing.length === 0) {
      tables.note({ value, place: placeOf(named, text) });
      return value;
    }
    throw new MappingError(
      'lookup.ambiguous',
      `The ${named.title} has ${differing.length + 1} rows with different values for "${shownKey(text)}".`,
    );
  }
  if (fallback.length > 0) return fallback[0];
  throw new MappingError(
    'lookup.unknown',
    `The ${named.title} has no entry for "${shownKey(text)}".`,
    'Add the translation to the table, or ask IT for a default: the third argument of lookup().',
  );
}

function placeOf({ title, column }: NamedTable, key: string): string {
  return `${title}${column === undefined ? '' : `, column ${column}`}, key "${shownKey(key)}"`;
}

/** The value that a lookup file has for an empty key. */
function blankOf(tables: LookupTables, { table }: NamedTable): unknown {
  return table.entries === null ? undefined : tables.find(table, '')?.values[0];
}

/** All values that a lookup table has for a key, in the order of the rows' keys. */
export function lookupAll(tables: LookupTables, name: unknown, key: unknown): readonly JsonValue[] {
  const named = tableNamed(tables, name);
  const text = keyOf(key);
  const values = text === null ? [] : valuesOf(tables, named, text);
  for (const value of values) tables.note({ value, place: placeOf(named, text ?? '') });
  return values;
}

function tableNamed(tables: LookupTables, name: unknown): NamedTable {
  const named = typeof name === 'string' ? tables.named(name) : undefined;
  if (named !== undefined) return named;
  throw new MappingError(
    'lookup.table',
    `The lookup table ${typeof name === 'string' ? `"${shown(name)}"` : kindOf(name)} was not loaded.`,
  );
}

function keyOf(key: unknown): string | null {
  const parts: unknown[] = Array.isArray(key) ? key : [key];
  return lookupKey(parts.map((part) => argumentText('lookup', part)));
}

function valuesOf(tables: LookupTables, { table, title }: NamedTable, key: string): readonly JsonValue[] {
  const entry = tables.find(table, key);
  if (entry === undefined || (entry.values.length === 0 && !entry.isRead)) {
    throw new MappingError(
      'lookup.unread',
      `The ${title} has not been read to its end yet, so it is unknown whether it has "${shownKey(key)}".`,
    );
  }
  if (entry.values.length <= LOOKUP_VALUES_MAX) return entry.values;
  throw new MappingError('lookup.many', `The ${title} has more than ${LOOKUP_VALUES_MAX} rows for "${shownKey(key)}".`);
}

function shownKey(key: string): string {
  return shown(key.replaceAll('\u001f', ' / '));
}
