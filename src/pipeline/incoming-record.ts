import { holdingIssues, type Issue } from '../domain/issue.ts';
import { formatPlace, type Place } from '../domain/place.ts';
import type { SourceRow } from '../domain/ports/source.ts';
import { type IncomingRecord, identityOf, RAW_FIELD, serializeFields, type UnseenInKey } from '../domain/record.ts';
import type { KeyOf } from '../domain/stream-identity.ts';
import { type JsonObject, memberOf, setMember } from '../lib/json.ts';
import { visibleText } from '../lib/text/odd-character.ts';

/**
 * Makes the records that are stored from the rows of a page. This runs for every row of every export, so it is a plain
 * loop for speed.
 */
export function incomingRecords(
  rows: readonly SourceRow[],
  keyColumns: readonly string[],
  omitted: ReadonlySet<string>,
  keyOf: KeyOf | null = null,
): IncomingRecord[] {
  return rows.map((row) => incomingRecord(row, keyColumns, omitted, keyOf));
}

/**
 * Makes from a row the record to store: adds identity and hash, and leaves out the columns that are never stored.
 *
 * @param keyOf gives the key of a row from its stored fields, where the stream has no key columns; null if only the content
 *   identifies such a row
 */
export function incomingRecord(
  row: SourceRow,
  keyColumns: readonly string[],
  omitted: ReadonlySet<string>,
  keyOf: KeyOf | null = null,
): IncomingRecord {
  const found = row.issues === undefined ? [] : row.issues.flatMap((issue) => issueToStore(issue, keyColumns, omitted));
  let unseen: UnseenInKey[] = NONE_UNSEEN;
  const note = (one: UnseenInKey): void => void (unseen = [...unseen, one]);
  const fields = storedFields(row.fields, keyColumns, omitted);
  const identity = keyColumns.length === 0 ? (keyOf?.(fields) ?? null) : identityOf(row.fields, keyColumns, note);
  const issues = unseen.length === 0 ? found : [...found, ...unseen.map(unseenIssue)];
  const { raw, hash } = serializeFields(fields, issues);
  if (identity !== null) return { identity, hash, raw, place: row.place, issues };
  // A row without a usable key is identified by its content.
  const missingKey = keyColumns.length > 0 && issues.length === 0 ? [keyIssue(row, keyColumns)] : [];
  return { identity: hash, hash, raw, place: row.place, issues: [...issues, ...missingKey] };
}

/**
 * The issue as it concerns the row: a damaged key makes the whole row unusable, and nothing is stored about columns that
 * are never stored.
 */
function issueToStore(
  { value, onlyField, ...issue }: Issue,
  keyColumns: readonly string[],
  omitted: ReadonlySet<string>,
): Issue[] {
  const { field } = issue;
  const isKey = field !== undefined && keyColumns.includes(field);
  const isOmitted = field !== undefined && omitted.has(field);
  if (isOmitted && !isKey && onlyField === true) return [];
  return [
    {
      ...issue,
      ...(value === undefined || isOmitted ? {} : { value }),
      ...(onlyField === undefined || isKey ? {} : { onlyField }),
    },
  ];
}

const NONE_UNSEEN: UnseenInKey[] = [];

/** The fields of a row that are stored. */
export function storedFields(
  fields: JsonObject,
  keyColumns: readonly string[],
  omitted: ReadonlySet<string>,
): JsonObject {
  if (omitted.size === 0) return fields;
  // In a row that could not be parsed, any value may be in any column. Only the key of such a row is kept.
  const kept = RAW_FIELD in fields ? keyColumns : Object.keys(fields);
  const stored: JsonObject = {};
  for (const name of kept) {
    const value = memberOf(fields, name);
    if (value !== undefined && !omitted.has(name)) setMember(stored, name, value);
  }
  return stored;
}

function keyIssue(row: SourceRow, keyColumns: readonly string[]): Issue {
  const empty = keyColumns.filter((column) => isEmpty(row.fields, column));
  const absent = empty.filter((column) => !Object.hasOwn(row.fields, column));
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

function isEmpty(fields: JsonObject, column: string): boolean {
  return identityOf(fields, [column]) === null;
}

function unseenIssue({ column, text, unseen }: UnseenInKey): Issue {
  const value = visibleText(text).slice(0, SHOWN_MAX);
  return {
    code: 'record.key',
    field: column,
    value,
    message: `The key column ${column} has a character that nobody can see: ${unseen.name}, as character ${unseen.at + 1} of "${value}".`,
    cure: 'Correct the text in the source, or give the right encoding in the options of the source.',
  };
}

const SHOWN_MAX = 200;

/**
 * The rows of one read that are used although the connector has found issues in them.
 *
 * @param used the columns that the mappings use; null if they may use any column that is not omitted
 */
export function createIgnoredIssues(
  used: ReadonlySet<string> | null,
  { key, omitted }: { key: readonly string[]; omitted: ReadonlySet<string> },
) {
  const needed = used === null ? null : new Set([...used, ...key]);
  const isStored = ({ field, onlyField }: Issue): boolean =>
    onlyField !== true || field === undefined || key.includes(field) || !omitted.has(field);

  const columns = new Set<string>();
  let first: Place | null = null;
  let rows = 0;
  return {
    count(found: readonly SourceRow[]) {
      for (const { issues = [], place } of found) {
        if (issues.length === 0 || holdingIssues(issues.filter(isStored), needed).length > 0) continue;
        rows += 1;
        first ??= place;
        for (const { field } of issues) if (field !== undefined) columns.add(field);
      }
    },
    /** A sentence for people about the rows; null if there are none. */
    describe(): string | null {
      if (first === null) return null;
      const many = rows === 1 ? 'One row has' : `${rows} rows have`;
      return `${many} an unreadable value in a column that no mapping uses, and ${rows === 1 ? 'is' : 'are'} used without it: ${[...columns].join(', ')}, first at ${formatPlace(first)}.`;
    },
  };
}
