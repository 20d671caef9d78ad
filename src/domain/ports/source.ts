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

/**
 * What reads of a stream can give. `snapshot`: everything there is, so a record that was not seen is missing. `changes`:
 * what has changed since the cursor, so nothing can be concluded about the rest. `changes-and-snapshot`: either; the
 * first read and one now and then are snapshots, which find what the changes have missed and what is gone.
 */
export type StreamReads = 'snapshot' | 'changes' | 'changes-and-snapshot';

/** What one read gives. */
export type ReadMode = 'snapshot' | 'changes';

/** A bounded piece of a stream. */
export interface Page {
  rows: SourceRow[];
  /**
   * Where the next read of changes begins once this page is stored. In a read of changes every page has one. In a
   * snapshot of a stream that can also give changes the last page has one, which is stored when the read is complete.
   */
  cursor?: JsonValue;
  /** How far the connector is, where it knows. Bytes for files, rows for tables. */
  progress?: { done: number; total: number };
  /** True if the source has no new export. Such a page has no rows, is the only one, and nothing is concluded from it. */
  nothingNew?: true;
}

/** A stream of an opened source, ready to be read. */
export interface SourceStream {
  name: string;
  /** Columns that identify a record; empty where its content does. */
  key: readonly string[];
  reads: StreamReads;
  /** True if every row has the same columns, as in a table. */
  fixedColumns?: boolean;
  /** Reads from a cursor (null: from the beginning), one page at a time. */
  pull(from: { mode: ReadMode; cursor: JsonValue | null }, signal: AbortSignal): AsyncIterable<Page>;
}

/** A configured source, opened for one run. */
export interface SourceReader {
  streams: readonly SourceStream[];
  /** Reports to the source which of its streams were read to the end and stored, and not held by the guard. */
  acknowledge(streams: readonly string[], signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}
