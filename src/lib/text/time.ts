/** No time zone differs more than this from UTC, and no two changes of an offset are closer together than this. */
const FAR_MS = 24 * 3_600_000;

/**
 * Local time in one time zone, as the milliseconds that the epoch would have if the local time were UTC.
 *
 * @param timezone an IANA time zone
 */
export function createZone(timezone: string) {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    calendar: 'iso8601',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });

  function toLocal(at: number): number {
    const part: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(at)) part[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
    return Date.UTC(year, month - 1, day, hour, minute, second) + (at - Math.floor(at / 1000) * 1000);
  }

  const offsetAt = (at: number): number => toLocal(at) - at;

  function instantsOf(local: number): number[] {
    // If the offset changes near this local time, one of these instants is before the change and the other one after
    // it.
    const offsets = new Set([offsetAt(local - FAR_MS), offsetAt(local + FAR_MS)]);
    return [...offsets]
      .map((offset) => local - offset)
      .filter((at) => toLocal(at) === local)
      .toSorted((a, b) => a - b);
  }

  return {
    toLocal,
    /**
     * The instants at which clocks show this local time: two if clocks are set back over it, and none if clocks are set
     * forward past it.
     */
    instantsOf,
    /**
     * The first instant at which clocks show this local time or, if clocks are set forward past it, the instant that is
     * later by the length of the jump.
     */
    firstInstantOf: (local: number): number => instantsOf(local)[0] ?? local - offsetAt(local - FAR_MS),
  };
}

export type Zone = ReturnType<typeof createZone>;

/** Formats a length of time for people: `15 minutes`, `26 hours`, `2 days`. */
export function formatPeriod(ms: number): string {
  const units: [name: string, ms: number][] = [
    ['day', 86_400_000],
    ['hour', 3_600_000],
    ['minute', 60_000],
    ['second', 1000],
  ];
  const [name, unit] = units.find(([, size]) => ms >= size && ms % size === 0) ?? ['second', 1000];
  const count = Math.round(ms / unit);
  return `${count} ${name}${count === 1 ? '' : 's'}`;
}

/** Reads a time such as `30m`, `8h` or `2d`, in milliseconds; null if the text has another form. */
export function parsePeriod(text: string): number | null {
  const [, count = '', unit = ''] = /^(\d{1,4})([smhd])$/.exec(text) ?? [];
  const ms = Number(count) * (UNIT_MS[unit] ?? 0);
  return ms > 0 ? ms : null;
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
