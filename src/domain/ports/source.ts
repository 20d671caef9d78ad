import type { JsonObject, JsonValue } from '../../lib/json.ts';
import type { Place, ReportedIssue } from '../issue.ts';

/** One row of a source. */
export interface SourceRow {
  /**
   * The values by the name of the column or member. They are not converted: text stays text, so that leading zeros are
   * kept.
   */
  fields: JsonObject;
  place: Place;
  /**
   * Why this row cannot be used, if the connector itself has found the problem (a wrong number of columns, text that is
   * not in the declared encoding). The row is quarantined with these issues; the rows after it are read.
   */
  issues?: ReportedIssue[];
  /**
   * True for a row of a table that is no record, such as a hidden one. It is left out after the rows below it have taken its
   * values: see `fill` and `tree`.
   */
  isLeftOut?: true;
  /**
   * True for a tombstone: the row says that its record is gone, and needs only the key columns. A later row with the same key
   * brings the record back. Only a read of changes has tombstones. In a snapshot a tombstone is left out, because a snapshot
   * without the record says the same.
   */
  isGone?: true;
}

/**
 * The kinds of reads that a stream supports. `snapshot`: a read gives all records, so a record that was not seen is
 * missing. `changes`: a read gives the records that have changed since the cursor, so nothing can be concluded about
 * other records. `changes-and-snapshot`: both. The first read and some later ones are then snapshots, which find
 * records that the changes have missed and records that are gone.
 */
export type StreamReads = 'snapshot' | 'changes' | 'changes-and-snapshot';

/** The kind of one read. */
export type ReadMode = 'snapshot' | 'changes';

/** The newest file of a snapshot, by its name in places, and when it was modified, in milliseconds since the epoch. */
export interface AsOf {
  file: string;
  at: number;
  /** All files of the snapshot by their names, if they are known, so that each one can be compared with its last read. */
  files?: Readonly<Record<string, number>>;
}

/** A bounded piece of a stream. */
export interface Page {
  rows: SourceRow[];
  /**
   * Where the next read of changes begins once this page is stored. In a read of changes every page has one. In a
   * snapshot of a stream that can also give changes the last page has one, which is stored when the read is complete.
   */
  cursor?: JsonValue;
  /** How much the connector has read, if it knows: bytes of files, rows of tables. */
  progress?: { done: number; total: number };
  /**
   * The newest file of a snapshot, and when it was modified, in milliseconds since the epoch. Absent if the time is not
   * known. The guard holds a snapshot that is older than the last one and has other rows.
   */
  asOf?: AsOf | undefined;
  /**
   * What people should know about this read although it goes on, such as files that are not read yet: full sentences. Any
   * page may have some. `sync`, `status` and the log show them.
   */
  warnings?: readonly string[];
  /**
   * True if the source has no new export. Such a page is the only page and has no rows, and nothing is concluded from
   * it.
   */
  nothingNew?: true;
  /**
   * Why the changes since the cursor cannot be had any more, such as a delta link that the server has forgotten: a full
   * sentence, which is shown as a warning. Only a read of changes of a stream that also gives snapshots may have such a page.
   * The page has no rows, the read of changes ends with it, and a snapshot follows.
   */
  beginAgain?: string;
}

/** The columns of a file or a query. */
export interface FoundColumns {
  names: readonly string[];
  /** The file or the stream, as in the places of its rows. */
  where: string;
  /** The first rows below the header, if they are at hand. One of them may be the header. */
  rowsBelow?: () => readonly HeaderCandidate[];
  /** The rows above the header that an option skips, if they are at hand. One of them may be the header. */
  skipped?: { option: string; rows: () => readonly HeaderCandidate[] };
  /** How many cells of the header have a name; 0 without a header. Stands beside `rowsBelow`. */
  headerNames?: number;
}

/** A row above or below the header, as far as it can be a header. */
export interface HeaderCandidate {
  values: readonly string[];
  /** Which row it is, as the beginning of a sentence: `Line 3`. */
  title: string;
  /** The option with which it is the header: `skipLines: 2`. */
  option: string;
}

/** A stream of an opened source, ready to be read. */
export interface SourceStream {
  name: string;
  /** Columns that identify a record; empty if its content does. */
  key: readonly string[];
  reads: StreamReads;
  /** How often the stream is also read completely, in milliseconds. Null or absent if the source says it for all its streams. */
  snapshotEveryMs?: number | null;
  /** Reads page by page from a cursor; with null it reads from the beginning. */
  pull(from: { mode: ReadMode; cursor: JsonValue | null }, signal: AbortSignal): AsyncIterable<Page>;
}

/** A configured source, opened for one run. */
export interface SourceReader {
  streams: readonly SourceStream[];
  /** Reports to the source which of its streams were read to the end and stored, and not held by the guard. */
  acknowledge(streams: readonly string[], signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}
