import { sourceFault } from '../../src/sdk/index.ts';

const TIME = /^(\d{4})-(\d\d)-(\d\d)([ T])(\d\d):(\d\d):(\d\d)(.*)$/;
const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const NUMBER = /^(-?\d+)(\.\d+)?$/;
const DAY_SECONDS = 86_400;

/** Databases know no date before the year 1 or, some of them, before 1753. So an earlier watermark has no overlap. */
const FIRST_YEAR = 1900;

/**
 * The watermark that lies `overlap` before another one, in the same notation. The fraction of a second or number and the time zone
 * stay as they are. The database compares it with those of the rows.
 *
 * @throws a `sourceFault` if the watermark is no time, date or number
 */
export function earlierBy(watermark: string, overlap: number): string {
  if (overlap === 0) return watermark;
  const number = NUMBER.exec(watermark);
  if (number !== null) return earlierNumber(number, overlap);
  const date = DATE.exec(watermark);
  if (date !== null) {
    const [year, month, day] = numbersOf(date.slice(1));
    if (year <= FIRST_YEAR) return watermark;
    const at = Date.UTC(year, month - 1, day) - Math.ceil(overlap / DAY_SECONDS) * DAY_SECONDS * 1000;
    return isoOf(at).slice(0, 10);
  }
  const time = TIME.exec(watermark);
  if (time === null) {
    throw sourceFault(`The watermark ${JSON.stringify(watermark)} is no time, no date and no number.`, {
      suggestion: 'Name another column as `watermark`, cast it in the query, or set `overlap: 0`.',
    });
  }
  const [, , , , separator = ' ', , , , rest = ''] = time;
  const [year, month, day] = numbersOf(time.slice(1, 4));
  if (year <= FIRST_YEAR) return watermark;
  const [hour, minute, second] = numbersOf(time.slice(5, 8));
  const at = isoOf(Date.UTC(year, month - 1, day, hour, minute, second) - overlap * 1000);
  return `${at.slice(0, 10)}${separator}${at.slice(11, 19)}${rest}`;
}

/** A negative number with a fraction begins one lower, because its fraction counts away from zero. */
function earlierNumber([, whole = '0', fraction = '']: readonly (string | undefined)[], overlap: number): string {
  if (fraction !== '' && whole.startsWith('-')) return String(BigInt(whole) - BigInt(overlap) - 1n);
  const earlier = BigInt(whole) - BigInt(overlap);
  // Below zero a fraction would count downwards, so that it is left out.
  return earlier < 0n ? String(earlier) : `${earlier}${fraction}`;
}

function isoOf(time: number): string {
  return new Date(Math.max(time, Date.UTC(FIRST_YEAR, 0, 1))).toISOString();
}

function numbersOf(texts: readonly string[]): [number, number, number] {
  const [a = 0, b = 0, c = 0] = texts.map(Number);
  return [a, b, c];
}
