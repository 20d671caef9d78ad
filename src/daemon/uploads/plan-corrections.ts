import { cellText, type ReportedIssue } from '../../domain/issue.ts';
import type { Mapper, MapResult } from '../../domain/mapping.ts';
import type { Correction, StoredRecord } from '../../domain/ports/intake.ts';
import type { IntakeLedger } from '../../domain/ports/ledger/intake-ledger.ts';
import type { SourceRow } from '../../domain/ports/source.ts';
import { identityOf, RAW_FIELD, readableKey, recordKey, serializeFields } from '../../domain/record.ts';
import { type JsonObject, type JsonValue, memberOf, parseIfJson } from '../../lib/json.ts';
import { armFormula, defuseFormula } from '../../lib/text/safe-text.ts';
import { entriesOf, mapRecords } from '../../pipeline/map-records.ts';

/**
 * The result that an uploaded row would have. `passes`: its mapping has no issue. `fails`: the row is stored, and goes
 * to quarantine. `excluded`: no mapping applies to it. `unchanged`: it equals the stored row. `refused`: it is not
 * stored.
 */
export type CorrectionFate = 'passes' | 'fails' | 'excluded' | 'unchanged' | 'refused';

/** An uploaded row beside the stored record with its key. */
export interface PlannedRow {
  line: number | null;
  /** The key in the form for people; null if a key column is empty. */
  key: string | null;
  fate: CorrectionFate;
  /** Why the row is refused, or the issues of its mapping. */
  problems: string[];
  /** The values that the row changes. */
  changes: { column: string; from: string; to: string }[];
}

export interface CorrectionPlan {
  rows: PlannedRow[];
  /** The rows that differ from the stored rows. */
  corrections: Correction[];
  /** Columns of the file that the rows of the stream do not have. They are not stored. */
  unknownColumns: string[];
}

export interface PlanRequest {
  source: string;
  stream: string;
  key: readonly string[];
  /** Columns that are never stored. */
  omit: readonly string[];
  /** True if all rows of the stream have the same columns. */
  isTable: boolean;
  rows: readonly SourceRow[];
  /**
   * The keys of the records that may be corrected, by the values of the key columns. Several records may have the same values.
   * Null if all records of the stream may be corrected.
   */
  members: ReadonlyMap<string, readonly string[]> | null;
}

/** The column of a file to correct that says what is wrong with each row. An upload does not store it. */
export const REASON_COLUMN = 'dpp-sync: what is wrong';

const KEYS_AT_ONCE = 500;
/** A row is compared with at most this many records of its key, to find out whether it was edited. */
const SAME_KEY_MAX = 100;

/** Finds out what the rows of an uploaded file would change. Nothing is stored. */
export async function planCorrections(
  { source, stream, key, omit, isTable, rows, members }: PlanRequest,
  { ledger, mapper }: { ledger: IntakeLedger; mapper: Mapper },
): Promise<CorrectionPlan> {
  const seen = new Set<string>();
  const planned: PlannedRow[] = [];
  const corrections: Correction[] = [];
  /** The index of each correction's planned row. */
  const plannedAt: number[] = [];
  const unknown = new Set<string>();
  for (let from = 0; from < rows.length; from += KEYS_AT_ONCE) {
    const part = rows.slice(from, from + KEYS_AT_ONCE);
    const identities = part.map((row) => identityOf(row.fields, key));
    const wanted = new Set(identities.filter((identity) => identity !== null));
    const keys = [...wanted].flatMap((one) => [one, recordKey(one, 2), ...membersWith(one, members)]);
    const found = await ledger.recordsByKey({ source, stream, keys: [...new Set(keys)] });
    const stored = new Map(found.map((record) => [record.key, record]));
    const merged = (record: StoredRecord, row: SourceRow) => withoutOmitted(mergeRow(record, row, isTable), omit);
    for (const [at, row] of part.entries()) {
      const identity = identities[at] ?? null;
      const base = { line: row.place.line ?? null, key: identity === null ? null : readableKey(identity) };
      const isRepeated = identity !== null && seen.has(identity);
      if (identity !== null) seen.add(identity);
      const candidates = candidatesOf(identity, stored, members);
      const isSame = candidates.records.some((record) => isSameContent(record, merged(record, row)));
      const refusal = refusalOf(row, { identity, candidates, isRepeated, isSame, key });
      const [record] = candidates.records;
      if (refusal !== null || record === undefined) {
        planned.push({ ...base, fate: 'refused', problems: refusal === null ? [] : [refusal], changes: [] });
        continue;
      }
      const fields = merged(record, row);
      if (isTable) for (const name of Object.keys(row.fields)) if (!Object.hasOwn(fields, name)) unknown.add(name);
      if (isSame) {
        planned.push({ ...base, fate: 'unchanged', problems: [], changes: [] });
        continue;
      }
      plannedAt.push(planned.length);
      corrections.push({ version: record.version, fields, place: row.place });
      planned.push({ ...base, fate: 'passes', problems: [], changes: changesOf(record.fields, fields) });
    }
  }
  const mappable = corrections.map(({ fields, place }) => ({ source, stream, fields, place, issues: [] }));
  const results = await mapRecords(mapper, mappable, entriesOf(ledger));
  for (const [index, at] of plannedAt.entries()) {
    const row = planned[at];
    const result = results[index];
    if (row === undefined || result === undefined) continue;
    row.fate = fateOf(result);
    if (result.status === 'quarantined') row.problems = result.issues.map(issueText);
  }
  return {
    rows: planned,
    corrections,
    unknownColumns: [...unknown],
  };
}

/** The stored records that an uploaded row may belong to. */
interface Candidates {
  /** Empty if no record has the key. */
  records: StoredRecord[];
  /** True if several records have the key. */
  isShared: boolean;
  mayBeCorrected: boolean;
}

function candidatesOf(
  identity: string | null,
  stored: ReadonlyMap<string, StoredRecord>,
  members: PlanRequest['members'],
): Candidates {
  if (identity === null) return { records: [], isShared: false, mayBeCorrected: false };
  const second = recordKey(identity, 2);
  const isShared = stored.get(second)?.missing === false;
  const mayBeCorrected = members === null || isMember(identity, members);
  const keys = isShared ? new Set([...membersWith(identity, members), identity, second]) : [identity];
  const records = [...keys].map((key) => stored.get(key)).filter((record) => record !== undefined);
  return { records, isShared, mayBeCorrected };
}

/** True if the row with this identity is one of the records that may be corrected. */
export function isMember(identity: string | null, members: ReadonlyMap<string, readonly string[]>): boolean {
  return identity !== null && (members.get(identity)?.includes(identity) ?? false);
}

function membersWith(identity: string, members: PlanRequest['members']): readonly string[] {
  return members?.get(identity)?.slice(0, SAME_KEY_MAX) ?? [];
}

/** An uploaded row without the reason that the download has added. */
export function withoutReason<Row extends { fields: JsonObject }>(row: Row): Row {
  const { [REASON_COLUMN]: _, ...fields } = row.fields;
  return { ...row, fields };
}

/** Compares only the fields. A stored row keeps the issues of the connector until a person edits it. */
function isSameContent({ fields }: StoredRecord, after: JsonObject): boolean {
  return serializeFields(after).hash === serializeFields(fields).hash;
}

interface RowFindings {
  identity: string | null;
  candidates: Candidates;
  isRepeated: boolean;
  /** True if the uploaded row has the values of the stored row. */
  isSame: boolean;
  key: readonly string[];
}

function refusalOf(row: SourceRow, { identity, candidates, isRepeated, isSame, key }: RowFindings): string | null {
  const { isShared, mayBeCorrected } = candidates;
  const [record] = candidates.records;
  if (row.issues !== undefined && row.issues.length > 0) return row.issues.map(issueText).join(' ');
  if (identity === null) return `The key column ${key.join(', ')} is empty or missing. Nothing of the row is stored.`;
  if (isShared && isSame) return null;
  if (isShared)
    return 'Several rows of the source have this key, so dpp-sync does not know which row is meant. Correct the row in the source.';
  if (isRepeated) return 'The file has this key more than once. Only the first row with this key is used.';
  if (record === undefined)
    return 'No row of the source has this key, and an upload adds no rows. Add the row in the source.';
  if (record.missing) return 'The source no longer has this row. An upload does not bring it back.';
  if (mayBeCorrected || isSame) return null;
  return 'The row with this key is not one of the rows of this cause. Correct this row in the source.';
}

function fateOf({ status }: MapResult): CorrectionFate {
  if (status === 'mapped') return 'passes';
  return status === 'excluded' ? 'excluded' : 'fails';
}

function issueText({ message, cure }: ReportedIssue): string {
  return cure === undefined ? message : `${message} ${cure}`;
}

function withoutOmitted(fields: JsonObject, omit: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !omit.includes(name)));
}

function changesOf(before: JsonObject, after: JsonObject): PlannedRow['changes'] {
  return Object.keys(after).flatMap((column) => {
    const from = cellText(memberOf(before, column));
    const to = cellText(memberOf(after, column));
    return from === to ? [] : [{ column, from, to }];
  });
}

/** The longest text that spreadsheet programs hold in a cell. A download cuts longer text. */
export const CELL_CHARACTERS_MAX = 32_767;

/**
 * The fields of a stored record with the values of an uploaded row in them. The columns keep their order, and a value
 * with the same text keeps its type, so that an unchanged row stays unchanged (I4). Columns that the uploaded row does
 * not have keep their values.
 *
 * @param isTable true if all rows of the stream have the same columns, so that a row can get no further column
 */
function mergeRow(stored: StoredRecord, row: SourceRow, isTable: boolean): JsonObject {
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
    const parsed = parseIfJson(text) ?? null;
    if (parsed !== null && typeof parsed === typeof stored && Array.isArray(parsed) === Array.isArray(stored)) {
      return parsed;
    }
  }
  return text;
}
