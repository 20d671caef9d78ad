import type { NumberFormat } from './number-format.ts';

const DAY_MS = 86_400_000;
/** 1899-12-30, so that day 61 is 1900-03-01, as in Excel. */
const EPOCH_1900 = Date.UTC(1899, 11, 30);
const EPOCH_1904 = Date.UTC(1904, 0, 1);
/** The last day, 9999-12-31, in each of the two systems. */
const LAST_DAY = { false: 2_958_465, true: 2_957_003 };

/**
 * The ISO text of a day number, with the parts that its format shows: `2024-03-01`, `2024-03-01T08:30:00`, `08:30:00`,
 * and `36:30:00` for hours that are counted beyond a day.
 *
 * The 1900 system treats 1900 as a leap year: its day 60 is 29 February 1900, which did not exist, so the days before
 * it need another offset.
 *
 * @returns null if the number is no date
 */
export function dateText(value: number, format: NumberFormat & { kind: 'date' }, is1904: boolean): string | null {
  if (!Number.isFinite(value) || value < 0) return null;
  // Excel keeps 15 digits, which is exact to the millisecond.
  const ms = Math.round(value * DAY_MS);
  if (!format.days) {
    const whole = format.elapsed ? ms : ms % DAY_MS;
    const hours = Math.floor(whole / 3_600_000);
    return (
      String(hours).padStart(2, '0') +
      new Date(whole % 3_600_000)
        .toISOString()
        .slice(13, 23)
        .replace(/\.000$/, '')
    );
  }
  const days = Math.floor(ms / DAY_MS);
  if (days > LAST_DAY[`${is1904}`] || (!is1904 && (days === 0 || days === 60))) return null;
  const epoch = is1904 ? EPOCH_1904 : days < 60 ? EPOCH_1900 + DAY_MS : EPOCH_1900;
  const text = new Date(epoch + ms).toISOString();
  return format.time ? text.slice(0, 23).replace(/\.000$/, '') : text.slice(0, 10);
}
