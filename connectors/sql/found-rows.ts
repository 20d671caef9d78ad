import { type JsonValue, PAGE_BYTES_MAX } from '../../src/sdk/index.ts';

/** The first rows of an answer. */
export interface FoundRows {
  rows: JsonValue[][];
  /** True if there are more rows than these in the answer. */
  isCut: boolean;
}

/**
 * Keeps the rows of an answer up to the size of a page, because the size of the rows is unknown before they arrive
 * (I9).
 */
export interface RowGatherer {
  /**
   * Adds the next row of the answer. Rows after the last one that is kept are dropped. Never throws, because drivers
   * call it from events, where an error would end the process.
   */
  add(read: () => JsonValue[]): void;
  readonly isCut: boolean;
  /** @throws the error of a row that could not be read */
  found(): FoundRows;
}

/** At least two rows are kept, because the second one shows where the next page begins. */
const ROWS_MIN = 2;

export function createRowGatherer(bytesMax = PAGE_BYTES_MAX): RowGatherer {
  const rows: JsonValue[][] = [];
  let bytes = 0;
  let isCut = false;
  let failure: { error: unknown } | null = null;
  return {
    get isCut() {
      return isCut;
    },
    add(read) {
      isCut ||= rows.length >= ROWS_MIN && bytes >= bytesMax;
      if (isCut) return;
      try {
        const row = read();
        rows.push(row);
        bytes += bytesOf(row);
      } catch (error) {
        failure = { error };
        isCut = true;
      }
    },
    found() {
      if (failure !== null) throw failure.error;
      return { rows, isCut };
    },
  };
}

/** The approximate size of a row in bytes. A boolean or NULL counts as four. */
export function bytesOf(row: readonly JsonValue[]): number {
  let bytes = 0;
  for (const value of row) {
    if (typeof value === 'string') bytes += value.length;
    else bytes += typeof value === 'object' && value !== null ? JSON.stringify(value).length : 4;
  }
  return bytes;
}
