/** Local time in one time zone, as the milliseconds that the epoch would have if the local time were UTC. */
export interface Zone {
  toLocal(at: number): number;
  /**
   * The instants at which clocks show this local time: two on the night when they are set back, and none when they are set
   * forward past it.
   */
  instantsOf(local: number): number[];
  /** The first instant at which clocks show this local time or, where they are set forward past it, the one as long after. */
  firstInstantOf(local: number): number;
}

/** No time zone is further from UTC, and no change of its offset moves clocks by more than this within so short a time. */
const FAR_MS = 24 * 3_600_000;

/** @param timezone an IANA time zone */
export function createZone(timezone: string): Zone {
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
    // Whatever the zone, one of these lies before a change of the offset near this local time and the other one after it.
    const offsets = new Set([offsetAt(local - FAR_MS), offsetAt(local + FAR_MS)]);
    return [...offsets]
      .map((offset) => local - offset)
      .filter((at) => toLocal(at) === local)
      .toSorted((a, b) => a - b);
  }

  return {
    toLocal,
    instantsOf,
    firstInstantOf: (local) => instantsOf(local)[0] ?? local - offsetAt(local - FAR_MS),
  };
}
