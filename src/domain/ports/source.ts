import type { JsonObject, JsonValue } from '../../lib/json.ts';
import type { Issue } from '../issue.ts';
import type { Place } from '../place.ts';

/** One row as the source gave it. */
export interface SourceRow {
  /** Column or member name to value, untouched: text stays text, so that leading zeros survive. */
  fields: JsonObject;
  place: Place;
  /**
   * Why this row cannot be used, where the connector itself has found it (a wrong number of columns, text that is not in
   * the declared encoding). The row is quarantined with these issues; the rows after it are read.
   */
  issues?: Issue[];
}

/** A bounded piece of a stream. */
export interface Page {
  rows: SourceRow[];
  /**
   * Where the next pull resumes once this page is stored. Connectors that can only read everything (a file) leave it
   * out; those that can ask for changes (an API with a watermark) give one with every page.
   */
  cursor?: JsonValue;
  /** How far the connector is, where it knows. Bytes for files, rows for tables. */
  progress?: { done: number; total: number };
}

/** A stream of an opened source, ready to be read. */
export interface SourceStream {
  name: string;
  /** Columns that identify a record; empty where its content does. */
  key: readonly string[];
  /** True if a read gives all records of the stream. */
  snapshot: boolean;
  /** Reads from a cursor (null: from the beginning), one page at a time. */
  read(cursor: JsonValue, signal: AbortSignal): AsyncIterable<Page>;
}

/** A configured source, opened for one run. */
export interface SourceReader {
  streams: readonly SourceStream[];
  close(): Promise<void>;
}
