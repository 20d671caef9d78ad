import type { CheckedFunction } from '../../../domain/words/issues.ts';
import { MappingError } from '../mapping-error.ts';
import { kindOf, shown } from '../values.ts';
import { textOf } from './plain-text.ts';

/**
 * Returns a packed text such as `colour=red,size=XL` as a map. Names and values are trimmed; an empty text is an empty
 * map.
 *
 * @throws MappingError for a part without the second separator, and for a name that has two values
 */
export function pairs(value: unknown, between: string, within: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const part of split(value, between)) {
    const at = part.indexOf(within);
    if (at < 0) {
      throw new MappingError(
        'pairs.format',
        `"${shown(part)}" has no "${within}" between a name and a value.`,
        'Name the separators of the column: pairs(row.X, ";", ":") reads name:value;name:value.',
      );
    }
    const name = part.slice(0, at).trim();
    const text = part.slice(at + within.length).trim();
    const before = found.get(name);
    if (before !== undefined && before !== text) {
      throw new MappingError(
        'pairs.twice',
        `The name "${shown(name)}" has two values: "${shown(before)}" and "${shown(text)}".`,
      );
    }
    found.set(name, text);
  }
  return found;
}

/** The parts of a text between separators, trimmed and without empty ones. An empty text has no parts. */
export function split(value: unknown, separator: string): string[] {
  if (separator === '') throw new MappingError('split.separator', 'split() needs a separator that is not empty.');
  const text = textOf('split', value);
  if (text === null) return [];
  return text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** The first entry of a list, null for an empty list and for null. A value that is not a list is returned unchanged. */
export function first(value: unknown): unknown {
  return Array.isArray(value) ? (value[0] ?? null) : (value ?? null);
}

/** Returns any value as a list: null as an empty list, and a single value as a list with one entry. */
export function asList(value: unknown): unknown[] {
  if (value === null || value === undefined || value === '') return [];
  return Array.isArray(value) ? value : [value];
}

/** Checks and returns the text of a separator. */
export function separatorOf(value: unknown, name: CheckedFunction): string {
  if (typeof value === 'string') return value;
  throw new MappingError(`${name}.separator`, `The separator of ${name}() is a text, not ${kindOf(value)}.`);
}
