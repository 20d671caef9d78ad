import type { StoredRecord } from '../../domain/ports/intake.ts';
import type { SourceRow } from '../../domain/ports/source.ts';
import { RAW_FIELD } from '../../domain/record.ts';
import { type JsonObject, type JsonValue, memberOf } from '../../lib/json.ts';
import { armFormula, defuseFormula } from '../../lib/text/formula-safety.ts';

/** The longest text that spreadsheet programs hold in a cell. A download cuts longer text. */
export const CELL_CHARACTERS_MAX = 32_767;

/** The text of a cell for a stored value: JSON for lists and objects, and an empty text for no value. */
export function cellText(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * The fields of a stored record with the values of an uploaded row in them. The columns keep their order, and a value
 * with the same text keeps its type, so that an unchanged row stays unchanged (I4). Columns that the uploaded row does
 * not have keep their values.
 *
 * @param isTable true if all rows of the stream have the same columns, so that a row can get no further column
 */
export function mergeRow(
  stored: Pick<StoredRecord, 'fields'>,
  row: Pick<SourceRow, 'fields'>,
  isTable: boolean,
): JsonObject {
  // A stored row that could not be split into columns has no order of columns, so the order of the file is taken.
  if (RAW_FIELD in stored.fields) {
    const isUnedited = Object.entries(row.fields).every(
      ([name, value]) =>
        cellText(valueLike(memberOf(stored.fields, name) ?? null, value)) === cellText(memberOf(stored.fields, name)),
    );
    if (isUnedited) return stored.fields;
    return Object.fromEntries(Object.entries(row.fields).map(([name, value]) => [name, valueLike('', value)]));
  }
  const merged = new Map<string, JsonValue>(Object.entries(stored.fields));
  for (const [name, value] of Object.entries(row.fields)) {
    const before = memberOf(stored.fields, name);
    if (before === undefined && (isTable || cellText(value) === '')) continue;
    merged.set(name, valueLike(before ?? null, value));
  }
  return Object.fromEntries(merged);
}

/** The uploaded value in the type of the stored one. */
function valueLike(stored: JsonValue, given: JsonValue): JsonValue {
  const text = armFormula(cellText(given));
  const known = cellText(stored);
  if (text === known || cellText(given) === defuseFormula(known) || text === known.slice(0, CELL_CHARACTERS_MAX)) {
    return stored;
  }
  if (typeof stored === 'number' || typeof stored === 'boolean' || (typeof stored === 'object' && stored !== null)) {
    const parsed = parsedOrNull(text);
    if (parsed !== null && typeof parsed === typeof stored && Array.isArray(parsed) === Array.isArray(stored)) {
      return parsed;
    }
  }
  return text;
}

function parsedOrNull(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return null;
  }
}
