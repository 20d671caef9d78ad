import { MappingError } from '../mapping-error.ts';
import { argumentText, kindOf, shown } from '../values.ts';

/** The tables that `lookup` may use: the file's name as the mapping writes it, and its entries. */
export type LookupTables = ReadonlyMap<string, ReadonlyMap<string, string>>;

/**
 * The value that a lookup file has for a key. Keys are compared as trimmed text, case included.
 *
 * @returns the fallback for a key that the file lacks; null for an empty key without fallback
 * @throws MappingError with code `lookup.unknown`, or `lookup.table` for a file that was not loaded
 */
export function lookup(tables: LookupTables, file: unknown, key: unknown, ...fallback: unknown[]): unknown {
  const table = typeof file === 'string' ? tables.get(file) : undefined;
  const name = typeof file === 'string' ? `"${shown(file)}"` : kindOf(file);
  if (!table) {
    throw new MappingError(
      'lookup.table',
      `The lookup file ${name} was not loaded.`,
      'Write its name as a literal text in the call, so that it can be found before any row is read.',
    );
  }
  const text = argumentText('lookup', key);
  const found = table.get(text ?? '');
  if (found !== undefined) return found;
  if (fallback.length > 0) return fallback[0];
  if (text === null) return null;
  throw new MappingError(
    'lookup.unknown',
    `The lookup file ${name} has no entry for "${shown(text)}".`,
    'Add a line for it, or give lookup() a third argument for what is not listed.',
  );
}
