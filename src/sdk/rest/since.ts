// The time from which changes are asked for, in the form and in the time zone of a server.

const TOKEN = /YYYY|MM|DD|hh|mm|SSS|ss|Z/g;
const UNIT_MS = { ms: 1, s: 1_000, min: 60_000, day: 86_400_000 } as const;
const HOUR_MS = 3_600_000;
/** Clocks are set back by at most this many hours at once. */
const SET_BACK_HOURS = [0.5, 1, 2, 3];

/** How a server understands the time of a change. */
export interface SinceForm {
  format: string;
  zone: string;
  granularity: keyof typeof UNIT_MS;
  /** How far the read of changes goes back, in milliseconds. */
  overlap: number;
}

/** True for `epoch`, `epoch-ms`, and a pattern that has at least a date. */
export function isTimeFormat(format: string): boolean {
  return format === 'epoch' || format === 'epoch-ms' || ['YYYY', 'MM', 'DD'].every((token) => format.includes(token));
}

/**
 * Formats the time from which changes are asked for. It is never later than the given time less the overlap: it is rounded down,
 * and in the hour that a clock repeats in autumn it is an hour earlier, because the server may take it for the later one.
 *
 * @param at milliseconds since the epoch, by the clock of the server
 */
export function formatSince(at: number, { format, zone, granularity, overlap }: SinceForm): string {
  const unit = UNIT_MS[granularity];
  let time = at - overlap;
  time = granularity === 'day' ? dayBegin(time, zone) : Math.floor(time / unit) * unit;
  if (format === 'epoch') return String(Math.floor(time / 1_000));
  if (format === 'epoch-ms') return String(Math.floor(time));
  const hasOffset = format.includes('Z');
  if (!hasOffset) while (isRepeated(time, zone)) time -= HOUR_MS;
  const parts = partsOf(time, zone);
  return format.replaceAll(TOKEN, (token) => parts[token] ?? token);
}

/** The begin of the day of a time in a zone, or a time before it where a clock was changed since then. */
function dayBegin(time: number, zone: string): number {
  const begin = time - sinceMidnight(time, zone);
  // On a day with 25 hours one of them has passed twice.
  return partsOf(begin, zone)['DD'] === partsOf(time, zone)['DD'] ? begin - sinceMidnight(begin, zone) : begin;
}

function sinceMidnight(time: number, zone: string): number {
  const { hh, mm, ss, SSS } = partsOf(time, zone);
  return Number(hh) * HOUR_MS + Number(mm) * UNIT_MS.min + Number(ss) * UNIT_MS.s + Number(SSS);
}

/** True if another time within three hours has the same wall clock time. */
function isRepeated(time: number, zone: string): boolean {
  const wall = wallOf(time, zone);
  return SET_BACK_HOURS.some((hours) =>
    [time - hours * HOUR_MS, time + hours * HOUR_MS].some((other) => wallOf(other, zone) === wall),
  );
}

function wallOf(time: number, zone: string): string {
  const { YYYY, MM, DD, hh, mm, ss } = partsOf(time, zone);
  return `${YYYY}${MM}${DD}${hh}${mm}${ss}`;
}

function partsOf(time: number, zone: string): Record<string, string> {
  const formatted = new Intl.DateTimeFormat('en-CA', {
    timeZone: zone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    fractionalSecondDigits: 3,
    hourCycle: 'h23',
    timeZoneName: 'longOffset',
  }).formatToParts(time);
  const part = (type: string) => formatted.find((one) => one.type === type)?.value ?? '';
  const offset = part('timeZoneName').replace(/^(?:GMT|UTC)/, '');
  return {
    YYYY: part('year').padStart(4, '0'),
    MM: part('month'),
    DD: part('day'),
    hh: part('hour'),
    mm: part('minute'),
    ss: part('second'),
    SSS: part('fractionalSecond'),
    Z: offset === '' || offset === '+00:00' ? 'Z' : offset,
  };
}
