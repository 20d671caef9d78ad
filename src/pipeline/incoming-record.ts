import {
  type ForeignCode,
  formatPlace,
  holdingIssues,
  type Issue,
  type Place,
  type ReportedIssue,
} from '../domain/issue.ts';
import type { MappableRecord } from '../domain/mapping.ts';
import { identifyingText } from '../domain/natural-key.ts';
import type { SourceRow } from '../domain/ports/source.ts';
import {
  IDENTITY_BYTES_MAX,
  type IncomingRecord,
  identityOf,
  isStorableIdentity,
  type KeyOf,
  RAW_FIELD,
  serializeFields,
  type UnseenInKey,
} from '../domain/record.ts';
import { wordsOfIssue } from '../domain/words/issues.ts';
import { isJsonObject, type JsonObject, type JsonValue, memberOf, setMember } from '../lib/json.ts';
import { visibleText } from '../lib/text/safe-text.ts';

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
  const identity = keyColumns.length === 0 ? ofContent(keyOf, fields) : identityOf(row.fields, keyColumns, note);
  const ofRow = unseen.length === 0 ? found : [...found, ...unseen.map(unseenIssue)];
  const withTombstone = (ones: Issue[]): Issue[] => (row.isGone === true ? [...ones, UNUSABLE_TOMBSTONE] : ones);
  const issues = withTombstone(ofRow);
  if (identity !== null) return { identity, ...serializeFields(fields, issues), place: row.place, issues };
  // A row without a usable key is identified by its content.
  const isRefused = unseen.some(({ text }) => text.includes('\0'));
  const { raw, hash } = serializeFields(isRefused ? withoutNul(fields) : fields, issues);
  const keyIssues = keyColumns.length > 0 && unseen.length === 0 ? keyIssuesOf(row, keyColumns, ofRow) : [];
  return { identity: hash, hash, raw, place: row.place, issues: withTombstone([...ofRow, ...keyIssues]) };
}

function ofContent(keyOf: KeyOf | null, fields: JsonObject): string | null {
  const identity = keyOf?.(fields) ?? null;
  return identity !== null && isStorableIdentity(identity) ? identity : null;
}

/**
 * The fields with `\u0000` as visible text in place of each NUL. Not every database can store NUL, and a row that is
 * refused because of it is only shown to people.
 */
function withoutNul(fields: JsonObject): JsonObject {
  const shown = (value: JsonValue): JsonValue => {
    if (typeof value === 'string') return value.replaceAll('\0', '\\u0000');
    if (Array.isArray(value)) return value.map(shown);
    return isJsonObject(value) ? withoutNul(value) : value;
  };
  const kept: JsonObject = {};
  for (const [name, value] of Object.entries(fields)) setMember(kept, name.replaceAll('\0', '\\u0000'), shown(value));
  return kept;
}

/**
 * The issue as it concerns the row: a damaged key makes the whole row unusable, and nothing is stored about columns that
 * are never stored.
 */
function issueToStore(
  { value, onlyField, code, ...issue }: ReportedIssue,
  keyColumns: readonly string[],
  omitted: ReadonlySet<string>,
): Issue[] {
  const { field } = issue;
  const isKey = field !== undefined && keyColumns.includes(field);
  const isOmitted = field !== undefined && omitted.has(field);
  const cure = issue.cure ?? wordsOfIssue(code)?.cure;
  if (isOmitted && !isKey && onlyField === true) return [];
  return [
    {
      // The connector may be somebody else's.
      code: code as ForeignCode,
      ...issue,
      ...(cure === undefined ? {} : { cure }),
      ...(value === undefined || isOmitted ? {} : { value }),
      ...(onlyField === undefined || isKey ? {} : { onlyField }),
    },
  ];
}

const UNUSABLE_TOMBSTONE: Issue = {
  code: 'record.gone',
  message: 'The row says that its record is gone, but the row cannot be used. So no record was taken away.',
  cure: 'Correct the other error of the row.',
};

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

/** Why a row has no usable key, where its values have no unseen character. */
function keyIssuesOf(row: SourceRow, keyColumns: readonly string[], found: readonly Issue[]): Issue[] {
  const empty = keyColumns.filter((column) => isEmpty(row.fields, column));
  if (empty.length === 0) return [longKeyIssue(row, keyColumns)];
  if (found.length > 0) return [];
  const absent = empty.filter((column) => !Object.hasOwn(row.fields, column));
  return [
    {
      code: 'record.key',
      field: empty.join(', '),
      message:
        absent.length > 0
          ? `The key column ${absent.join(', ')} does not exist; the row has ${Object.keys(row.fields).join(', ') || 'none'}.`
          : `The key column ${empty.join(', ')} is empty.`,
      cure: 'Fill the column in the source, or name other columns as the key of the stream.',
    },
  ];
}

function longKeyIssue(row: SourceRow, keyColumns: readonly string[]): Issue {
  const texts = keyColumns.map((column) => keyText(row.fields, column));
  const bytes = Buffer.byteLength(texts.join(' '));
  const what =
    keyColumns.length === 1
      ? `The key column ${keyColumns.join()} has`
      : `The key columns ${keyColumns.join(', ')} have`;
  return {
    code: 'record.key',
    field: keyColumns.join(', '),
    value: `${texts.join(' / ').slice(0, LONG_SHOWN_MAX)}…`,
    message: `${what} ${bytes} bytes; a key may have ${IDENTITY_BYTES_MAX}.`,
    cure: 'Name the column of a short text, such as a number, as the key of the stream. Check that the file has its usual separators and quotes.',
  };
}

const LONG_SHOWN_MAX = 80;

function isEmpty(fields: JsonObject, column: string): boolean {
  return keyText(fields, column) === '';
}

/** The text of a key column; empty if it is absent. */
function keyText(fields: JsonObject, column: string): string {
  const value = memberOf(fields, column) ?? '';
  return identifyingText(typeof value === 'string' ? value : JSON.stringify(value)).text;
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
  const isStored = ({ field, onlyField }: ReportedIssue): boolean =>
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

// The parts of a page of changes. In a page of changes the order of the rows counts: a later row of a record replaces an earlier
// one, and a tombstone says that the record is gone until a later row brings it back.

/** A part of a page. Records with the identities in `gone` are gone before the rows of the part are stored. */
export interface PagePart {
  gone: ReadonlySet<string>;
  records: readonly IncomingRecord[];
}

interface Rows {
  key: readonly string[];
  omitted: ReadonlySet<string>;
  keyOf: KeyOf | null;
}

/** Splits a page of changes where one part could not keep the order of the rows of a record. */
export function partsOfChanges(rows: readonly SourceRow[], { key, omitted, keyOf }: Rows): PagePart[] {
  const begin = () => ({ gone: new Set<string>(), records: [] as IncomingRecord[], present: new Set<string>() });
  const parts = [begin()];
  const partFor = (identity: string) => {
    const last = parts.at(-1);
    if (last !== undefined && !last.present.has(identity)) return last;
    const next = begin();
    parts.push(next);
    return next;
  };
  for (const row of rows) {
    const gone = identityOfGone(row, key);
    if (gone !== null) {
      partFor(gone).gone.add(gone);
      continue;
    }
    const record = incomingRecord(row, key, omitted, keyOf);
    const part = partFor(record.identity);
    part.records.push(record);
    part.present.add(record.identity);
  }
  return parts;
}

/**
 * The identity of the record that a tombstone means; null for any other row. A tombstone that has no usable key, or in which the
 * connector has found an issue, is stored as a row in quarantine.
 */
function identityOfGone({ isGone, issues = [], fields }: SourceRow, key: readonly string[]): string | null {
  return isGone === true && issues.length === 0 ? identityOf(fields, key) : null;
}

/** The identities of the records that are gone after the page. */
export function goneAfter(parts: readonly PagePart[]): string[] {
  const gone = new Set<string>();
  for (const { gone: identities, records } of parts) {
    for (const identity of identities) gone.add(identity);
    if (gone.size > 0) for (const { identity } of records) gone.delete(identity);
  }
  return [...gone];
}

/** The stream of a row, with what decides how its rows are stored. */
interface RowStream {
  source: string;
  stream: string;
  /** The columns that identify a record; empty if there are none. */
  key: readonly string[];
  /** The columns that are never stored. */
  omitted: ReadonlySet<string>;
}

/** The row in the form in which a run would store and map it, for a row that nobody stores. */
export function mappableRow(row: SourceRow, { source, stream, key, omitted }: RowStream): MappableRecord {
  const { raw, place, issues } = incomingRecord(row, key, omitted);
  return { source, stream, fields: JSON.parse(raw) as JsonObject, place, issues };
}
