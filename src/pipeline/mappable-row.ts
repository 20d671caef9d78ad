import type { MappableRecord } from '../domain/mapping.ts';
import type { SourceRow } from '../domain/ports/source.ts';
import type { JsonObject } from '../lib/json.ts';
import { incomingRecord } from './incoming-record.ts';

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
