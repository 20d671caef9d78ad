import type { Issue } from '../domain/issue.ts';
import type { SourceRow } from '../domain/ports/source.ts';
import { type IncomingRecord, identityOf, RAW_FIELD, serializeFields } from '../domain/record.ts';
import type { JsonObject } from '../lib/json.ts';
import { findOddCharacter } from '../lib/text/odd-character.ts';

/**
 * Makes the records that are stored from the rows of a page. This runs for every row of every export, so it is a plain
 * loop for speed.
 */
export function incomingRecords(
  rows: readonly SourceRow[],
  keyColumns: readonly string[],
  omitted: ReadonlySet<string>,
): IncomingRecord[] {
  return rows.map((row) => incomingRecord(row, keyColumns, omitted));
}

/**
 * Makes from a row the record to store: adds identity and hash, and leaves out the columns that are never stored.
 */
export function incomingRecord(
  row: SourceRow,
  keyColumns: readonly string[],
  omitted: ReadonlySet<string>,
): IncomingRecord {
  const issues = row.issues ?? [];
  const { raw, hash } = serializeFields(storedFields(row.fields, keyColumns, omitted), issues);
  const identity = keyColumns.length === 0 ? null : identityOf(row.fields, keyColumns);
  if (identity !== null) return { identity, hash, raw, place: row.place, issues };
  // A row without a usable key is identified by its content.
  const missingKey = keyColumns.length > 0 && issues.length === 0 ? [keyIssue(row, keyColumns)] : [];
  return { identity: hash, hash, raw, place: row.place, issues: [...issues, ...missingKey] };
}

function storedFields(fields: JsonObject, keyColumns: readonly string[], omitted: ReadonlySet<string>): JsonObject {
  if (omitted.size === 0) return fields;
  // In a row that could not be parsed, any value may be in any column. Only the key of such a row is kept.
  const kept = RAW_FIELD in fields ? keyColumns : Object.keys(fields);
  const stored: JsonObject = {};
  for (const name of kept) {
    const value = fields[name];
    if (value !== undefined && !omitted.has(name)) stored[name] = value;
  }
  return stored;
}

function keyIssue(row: SourceRow, keyColumns: readonly string[]): Issue {
  const empty = keyColumns.filter((column) => (row.fields[column] ?? '') === '');
  if (empty.length === 0) return malformedKeyIssue(row, keyColumns);
  const absent = empty.filter((column) => !(column in row.fields));
  return {
    code: 'record.key',
    field: empty.join(', '),
    message:
      absent.length > 0
        ? `The key column ${absent.join(', ')} does not exist; the row has ${Object.keys(row.fields).join(', ')}.`
        : `The key column ${empty.join(', ')} is empty.`,
    cure: 'Fill the column in the source, or name other columns as the key of the stream.',
  };
}

function malformedKeyIssue(row: SourceRow, keyColumns: readonly string[]): Issue {
  const found = keyColumns.flatMap((column) => {
    const value = row.fields[column];
    const odd = findOddCharacter(typeof value === 'string' ? value : JSON.stringify(value));
    return odd === null ? [] : [{ column, character: odd.name }];
  });
  const columns = found.map(({ column }) => column).join(', ');
  const characters = found.map(({ character }) => character).join(', ');
  return {
    code: 'record.key',
    field: columns,
    message: `The key column ${columns} has a character that is not allowed in a text: ${characters}.`,
    cure: 'Correct the text in the source, or give the right encoding in the options of the source.',
  };
}
