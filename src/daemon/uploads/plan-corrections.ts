import type { Issue } from '../../domain/issue.ts';
import type { Mapper, MapResult } from '../../domain/mapping.ts';
import type { Correction, StoredRecord } from '../../domain/ports/intake.ts';
import type { IntakeLedger } from '../../domain/ports/intake-ledger.ts';
import type { SourceRow } from '../../domain/ports/source.ts';
import { identityOf, readableKey, serializeFields } from '../../domain/record.ts';
import type { JsonObject } from '../../lib/json.ts';
import { entriesOf, mapRecords } from '../../pipeline/map-records.ts';
import { cellText, mergeRow } from './merge-row.ts';

/**
 * What would happen to an uploaded row. `passes`: its mapping has no issue. `fails`: it is stored, and goes to quarantine. `excluded`:
 * no mapping wants it. `unchanged`: it is what is stored. `refused`: it is not stored at all.
 */
export type CorrectionFate = 'passes' | 'fails' | 'excluded' | 'unchanged' | 'refused';

/** An uploaded row beside the stored record with its key. */
export interface PlannedRow {
  line: number | null;
  /** The values of the key columns, as people read them; null where one is empty. */
  key: string | null;
  fate: CorrectionFate;
  /** Why it is refused, or what its mapping finds wrong. */
  problems: string[];
  /** What the row changes. */
  changes: { column: string; from: string; to: string }[];
}

export interface CorrectionPlan {
  rows: PlannedRow[];
  /** The rows that differ from what is stored. */
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
  /** True where all rows of the stream have the same columns. */
  isTable: boolean;
  rows: readonly SourceRow[];
}

const KEYS_AT_ONCE = 500;

/** Finds out what the rows of an uploaded file would change. Nothing is stored. */
export async function planCorrections(
  { source, stream, key, omit, isTable, rows }: PlanRequest,
  { ledger, mapper }: { ledger: Pick<IntakeLedger, 'recordsByKey' | 'findLookups'>; mapper: Mapper },
): Promise<CorrectionPlan> {
  const seen = new Set<string>();
  const planned: PlannedRow[] = [];
  const corrections: Correction[] = [];
  /** Which planned row each correction is. */
  const plannedAt: number[] = [];
  const unknown = new Set<string>();
  for (let from = 0; from < rows.length; from += KEYS_AT_ONCE) {
    const part = rows.slice(from, from + KEYS_AT_ONCE);
    const identities = part.map((row) => identityOf(row.fields, key));
    const keys = identities.filter((identity) => identity !== null);
    const found = await ledger.recordsByKey({ source, stream, keys });
    const stored = new Map(found.map((record) => [record.key, record]));
    for (const [at, row] of part.entries()) {
      const identity = identities[at] ?? null;
      const record = identity === null ? undefined : stored.get(identity);
      const base = { line: row.place.line ?? null, key: identity === null ? null : readableKey(identity) };
      const refusal = refusalOf(row, { identity, record, isRepeated: identity !== null && seen.has(identity), key });
      if (identity !== null) seen.add(identity);
      if (refusal !== null || record === undefined) {
        planned.push({ ...base, fate: 'refused', problems: refusal === null ? [] : [refusal], changes: [] });
        continue;
      }
      const fields = withoutOmitted(mergeRow(record, row, isTable), omit);
      for (const name of Object.keys(row.fields)) if (!(name in fields) && isTable) unknown.add(name);
      const changes = changesOf(record.fields, fields);
      const isSame = serializeFields(fields).hash === serializeFields(record.fields, record.issues).hash;
      if (!isSame) {
        plannedAt.push(planned.length);
        corrections.push({ version: record.version, fields, place: row.place });
      }
      planned.push({ ...base, fate: isSame ? 'unchanged' : 'passes', problems: [], changes });
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

function refusalOf(
  row: SourceRow,
  {
    identity,
    record,
    isRepeated,
    key,
  }: { identity: string | null; record: StoredRecord | undefined; isRepeated: boolean; key: readonly string[] },
): string | null {
  if (row.issues !== undefined && row.issues.length > 0) return row.issues.map(issueText).join(' ');
  if (identity === null) return `The key column ${key.join(', ')} is empty or missing. Nothing is stored of the row.`;
  if (isRepeated) return 'The file has this key more than once. Only its first row is used.';
  if (record === undefined)
    return 'No row of the source has this key, and an upload adds no rows. Add the row in the source.';
  if (record.missing) return 'The source no longer has this row. An upload does not bring it back.';
  return null;
}

function fateOf({ status }: MapResult): CorrectionFate {
  if (status === 'mapped') return 'passes';
  return status === 'excluded' ? 'excluded' : 'fails';
}

function issueText({ message, cure }: Issue): string {
  return cure === undefined ? message : `${message} ${cure}`;
}

function withoutOmitted(fields: JsonObject, omit: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !omit.includes(name)));
}

function changesOf(before: JsonObject, after: JsonObject): PlannedRow['changes'] {
  return Object.keys(after).flatMap((column) => {
    const from = cellText(before[column]);
    const to = cellText(after[column]);
    return from === to ? [] : [{ column, from, to }];
  });
}
