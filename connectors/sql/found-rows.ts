import { type JsonValue, PAGE_BYTES_MAX, parseExactly } from '../../src/sdk/index.ts';

/** The first rows of an answer. */
export interface FoundRows {
  rows: JsonValue[][];
  /** True if there are more rows than these in the answer. */
  isCut: boolean;
}

/** At least two rows are kept, because the second one shows where the next page begins. */
const ROWS_MIN = 2;

/**
 * Keeps the rows of an answer up to the size of a page, because the size of the rows is unknown before they arrive
 * (I9).
 */
export function createRowGatherer(bytesMax = PAGE_BYTES_MAX) {
  const rows: JsonValue[][] = [];
  let bytes = 0;
  let isCut = false;
  let failure: { error: unknown } | null = null;
  return {
    get isCut() {
      return isCut;
    },
    /**
     * Adds the next row of the answer. Rows after the last one that is kept are dropped. Never throws, because drivers
     * call it from events, where an error would end the process.
     */
    add(read: () => JsonValue[]): void {
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
    /** @throws the error of a row that could not be read */
    found(): FoundRows {
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

/** Parses the JSON of a column; see `parseExactly`. Text that is not JSON stays text. */
export function jsonOf(text: string): JsonValue {
  try {
    return parseExactly(text);
  } catch {
    return text;
  }
}

/** The shortest decimal that is this number in single precision: 0.1 and not 0.10000000149011612. */
export function singleText(value: number): string {
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === Math.fround(value)) return String(short);
  }
  return String(value);
}

/** The text of a value from a driver, which is text or an exact number. */
export function textOf(value: unknown): string {
  return typeof value === 'object' && value !== null
    ? JSON.stringify(value)
    : String(value as string | number | bigint);
}
