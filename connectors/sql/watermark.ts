import { type JsonValue, sourceFault, z } from '../../src/sdk/index.ts';
import type { Column, ColumnKind } from './dialect.ts';

const TIME = /^(\d{4})-(\d\d)-(\d\d)([ T])(\d\d):(\d\d):(\d\d)(.*)$/;
const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const NUMBER = /^(-?\d+)(\.\d+)?$/;
const ZONE = /(?:Z|[+-]\d\d(?::?\d\d){0,2})$/i;
const DAY_SECONDS = 86_400;

/**
 * Before this year a watermark has no overlap, because databases have no dates before the year 1 or, in some cases,
 * before 1753.
 */
const FIRST_YEAR = 1900;

/**
 * The watermark that is `overlap` earlier than another one, in the same notation. The fraction of a second or number
 * and the time zone do not change. The database compares the result with the watermarks of the rows, so the result is
 * never later than the original one.
 *
 * @throws a `sourceFault` if the watermark is not a time, date or number, or a number in text that would be compared
 *   wrongly
 */
export function earlierBy(watermark: string, overlap: number, kind: ColumnKind): string {
  if (overlap === 0) return watermark;
  const number = NUMBER.exec(watermark);
  if (number !== null) {
    const earlier = earlierNumber(number, overlap);
    // As text, 700 is greater than 1000. Numbers without a sign and of one length are in the same order as text and as numbers.
    if (kind === 'number' || (/^\d/.test(earlier) && earlier.length === watermark.length)) return earlier;
    throw sourceFault(`The watermark ${JSON.stringify(watermark)} is a number in a column that is compared as text.`, {
      suggestion:
        'Cast the column to a number in the query, or set `overlap: 0` if all watermarks have the same length.',
    });
  }
  const date = DATE.exec(watermark);
  if (date !== null) {
    const [year, month, day] = numbersOf(date.slice(1));
    if (year <= FIRST_YEAR) return watermark;
    const at = Date.UTC(year, month - 1, day) - Math.ceil(overlap / DAY_SECONDS) * DAY_SECONDS * 1000;
    return isoOf(at).slice(0, 10);
  }
  const time = TIME.exec(watermark);
  if (time === null) {
    throw sourceFault(`The watermark ${JSON.stringify(watermark)} is not a time, a date or a number.`, {
      suggestion: 'Name another column as `watermark`, cast the column in the query, or set `overlap: 0`.',
    });
  }
  const [, , , , separator = ' ', , , , rest = ''] = time;
  const [year, month, day] = numbersOf(time.slice(1, 4));
  // Years before Christ count backwards, so such a watermark has no overlap.
  if (year <= FIRST_YEAR || rest.endsWith('BC')) return watermark;
  const [hour, minute, second] = numbersOf(time.slice(5, 8));
  const at = isoOf(Date.UTC(year, month - 1, day, hour, minute, second) - overlap * 1000);
  return `${at.slice(0, 10)}${separator}${at.slice(11, 19)}${rest}`;
}

/**
 * Times in text columns are compared as text. With two time zones the later time may then come first.
 *
 * @throws a `sourceFault` if the zone of a watermark differs from that of the greatest one
 */
export function assertOneZone(
  watermarks: Iterable<unknown>,
  { greatest, column, stream }: { greatest: string | null; column: Column; stream: string },
): void {
  // Types for times are compared as times, whatever their zones are.
  if (greatest === null || column.kind === 'time') return;
  const zone = zoneOf(greatest);
  for (const watermark of watermarks) {
    if (zone === null || typeof watermark !== 'string' || (zoneOf(watermark) ?? zone) === zone) continue;
    throw sourceFault(
      `The watermark ${column.name} of the stream ${stream} is text with several time zones: ${watermark} and ${greatest}.`,
      { suggestion: 'Cast the column in the query to a type for times, or write all watermarks in UTC.' },
    );
  }
}

/** The zone in the text. Empty for a time without a zone, and null for a text that is not a time. */
function zoneOf(watermark: string): string | null {
  const rest = TIME.exec(watermark)?.[8];
  return rest === undefined ? null : (ZONE.exec(rest)?.[0] ?? '');
}

/**
 * Subtracts the overlap from a number. For a negative number with a fraction it subtracts one more, because the
 * fraction makes such a number smaller.
 */
function earlierNumber([, whole = '0', fraction = '']: readonly (string | undefined)[], overlap: number): string {
  if (fraction !== '' && whole.startsWith('-')) return String(BigInt(whole) - BigInt(overlap) - 1n);
  const earlier = BigInt(whole) - BigInt(overlap);
  // The fraction would make a negative number smaller, so it is left out.
  return earlier < 0n ? String(earlier) : `${earlier}${fraction}`;
}

function isoOf(time: number): string {
  return new Date(Math.max(time, Date.UTC(FIRST_YEAR, 0, 1))).toISOString();
}

function numbersOf(texts: readonly string[]): [number, number, number] {
  const [a = 0, b = 0, c = 0] = texts.map(Number);
  return [a, b, c];
}

const Cursor = z.strictObject({
  by: z.array(z.string()).min(1),
  watermark: z.string().nullable(),
  after: z.array(z.string()).optional(),
});

/**
 * The position at which a read of changes begins. A read takes the greatest watermark of the source before its first
 * row, and the next read begins there. So the next read also finds rows that were committed before the position that a
 * long read had already reached.
 */
export type Cursor = {
  /** The columns by which changes are read in order: the watermark first. */
  by: string[];
  /** The greatest watermark when the read began; null if there was none. */
  watermark: string | null;
  /** The last row that was passed on by a read that is not complete. */
  after?: string[];
};

/**
 * Parses a stored cursor. Null means to read from the beginning: there is no cursor yet, or it belongs to other columns
 * than those of the stream.
 *
 * @throws a `sourceFault` if it is not a cursor of this connector
 */
export function cursorOf(value: JsonValue | null, by: readonly string[], stream: string): Cursor | null {
  if (value === null) return null;
  const { success, data } = Cursor.safeParse(value);
  const { by: stored, watermark, after } = data ?? { by: [], watermark: null };
  if (!success || (after !== undefined && after.length !== stored.length)) {
    throw sourceFault(`The stored position of the stream ${stream} was not written by the sql connector.`, {
      suggestion: 'Give the stream another name, so that it is read from the beginning.',
    });
  }
  const isSame = stored.length === by.length && stored.every((name, at) => name === by[at]);
  return isSame ? { by: stored, watermark, ...(after === undefined ? {} : { after }) } : null;
}
