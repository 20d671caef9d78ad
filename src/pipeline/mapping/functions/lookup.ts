import { LOOKUP_VALUES_MAX, lookupKey } from '../../../domain/lookup.ts';
import { canonicalJson, type JsonValue } from '../../../lib/json.ts';
import type { LookupTables, NamedTable } from '../lookups.ts';
import { MappingError } from '../mapping-error.ts';
import { argumentText, kindOf, shown } from '../values.ts';

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
