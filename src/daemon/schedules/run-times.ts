// The times of runs: cron expressions, and pauses of sources, in time zones whose clocks change.

import { createTask, parse } from 'node-cron';
import type { LedgerConfig, LoadedPause } from '../../config/loaded-config.ts';
import type { Clock } from '../../lib/clock.ts';
import type { StatusContext } from '../../operations/runtime.ts';

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

type Zone = ReturnType<typeof createZone>;

/**
 * Returns a function that gives the end of a source's pause that contains an instant; null if there is no such pause.
 * The sources are read at each call, because a reload of the config may replace them.
 */
export function createSourcePauses(
  config: Pick<LedgerConfig, 'sources'>,
): (source: string, at: number) => number | null {
  const known = new WeakMap<readonly LoadedPause[], Pauses>();
  return (source, at) => {
    const given = config.sources.find(({ id }) => id === source)?.pauses ?? [];
    if (given.length === 0) return null;
    const pauses = known.get(given) ?? createPauses(given);
    known.set(given, pauses);
    return pauses.endOf(at);
  };
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** The end of pauses that leave no gap. */
export const NEVER = Number.POSITIVE_INFINITY;
/** Pauses repeat each week. A gap of one week may be missing in the week in which clocks change, and not in the week after it. */
const NEVER_AFTER_MS = 15 * DAY_MS;

/**
 * A pause follows the clocks of its zone: a pause from 22:00 to 06:00 is an hour shorter in the night when clocks are
 * set forward. A time that clocks skip is moved forward by the length of the skip. If clocks show a time twice, a pause
 * begins at the first one and ends at the last one, so that no run begins too soon.
 */
export function createPauses(pauses: readonly LoadedPause[]) {
  const zoned = pauses.map((pause) => ({ ...pause, zone: createZone(pause.timezone) }));
  return {
    /**
     * The end of the pause in which an instant lies; null if the instant is in no pause. Pauses that follow each other without
     * a gap count as one.
     */
    endOf(at: number): number | null {
      let end: number | null = null;
      for (;;) {
        const later = Math.max(...zoned.map((pause) => endOf(pause, end ?? at) ?? Number.NEGATIVE_INFINITY));
        if (later === Number.NEGATIVE_INFINITY) return end;
        if (later - at > NEVER_AFTER_MS) return NEVER;
        end = later;
      }
    },
  };
}

type Pauses = ReturnType<typeof createPauses>;

function endOf({ zone, fromMinute, toMinute, days }: LoadedPause & { zone: Zone }, at: number): number | null {
  const lengthMs = ((toMinute - fromMinute + 24 * 60) % (24 * 60) || 24 * 60) * MINUTE_MS;
  const today = Math.floor(zone.toLocal(at) / DAY_MS) * DAY_MS;
  let end: number | null = null;
  // A pause that began on the day before may not be over.
  for (const day of [today - DAY_MS, today]) {
    if (days !== null && !days.includes(new Date(day).getUTCDay())) continue;
    const local = day + fromMinute * MINUTE_MS;
    const until = lastInstantOf(zone, local + lengthMs);
    if (zone.firstInstantOf(local) <= at && at < until) end = Math.max(end ?? until, until);
  }
  return end;
}

function lastInstantOf(zone: Zone, local: number): number {
  return zone.instantsOf(local).at(-1) ?? zone.firstInstantOf(local);
}

/** The times of the runs by the schedules and the pauses of a config. */
export function scheduleOf(
  { sources }: Pick<LedgerConfig, 'sources'>,
  clock: Pick<Clock, 'now'>,
): StatusContext['schedule'] {
  const pausedUntil = createSourcePauses({ sources });
  return {
    pausedUntil: (source) => pausedUntil(source, clock.now()),
    nextRun(source) {
      const { schedule = null, timezone = 'UTC' } = sources.find(({ id }) => id === source) ?? {};
      const at = schedule === null ? null : createCron(schedule, timezone).nextAfter(clock.now());
      const begins = at === null ? NEVER : (pausedUntil(source, at) ?? at);
      return begins === NEVER ? null : begins;
    },
  };
}

const HOUR_MS = 3_600_000;
/** How many days are searched. A fifth Friday of February may be forty years away. */
const DAYS_MAX = 41 * 366;
/** No clock change is longer than this, and no two clock changes are closer together than this. */
const CHANGE_MS = 3 * HOUR_MS;

/**
 * If clocks are set forward, a time that does not exist is moved by the same amount: 2:30 becomes 3:30. If clocks are
 * set back, a time that exists twice counts only the first time. But an expression for every hour counts the hours that
 * pass, not the hours that clocks show.
 *
 * @param expression a valid cron expression, with or without a field for seconds
 * @param timezone an IANA time zone
 */
export function createCron(expression: string, timezone: string) {
  const zone = createZone(timezone);
  const fields = parse(expression);
  const seconds = ascending(fields.second);
  const minutes = ascending(fields.minute);
  const hours = ascending(fields.hour);
  const everyHour = hours.length === 24;
  const days = createMatcher(expression);
  const [firstSecond = 0, firstMinute = 0, firstHour = 0] = [seconds[0], minutes[0], hours[0]];
  const firstOfDayMs = ((firstHour * 60 + firstMinute) * 60 + firstSecond) * 1000;
  const timeMs = (hour: number, minute: number, second: number) => ((hour * 60 + minute) * 60 + second) * 1000;

  function nextLocal(after: number): number | null {
    let day = Math.floor(after / DAY_MS) * DAY_MS;
    for (let count = 0; count < DAYS_MAX; count += 1, day += DAY_MS) {
      if (!days(day + firstOfDayMs)) continue;
      const found = firstOnDay(day, after);
      if (found !== null) return found;
    }
    return null;
  }

  function firstOnDay(day: number, after: number): number | null {
    for (const hour of hours) {
      if (day + (hour + 1) * HOUR_MS <= after) continue;
      for (const minute of minutes) {
        for (const second of seconds) {
          const local = day + timeMs(hour, minute, second);
          if (local > after) return local;
        }
      }
    }
    return null;
  }

  /** The next time on a day on which clocks are changed: compares each instant by its local time. */
  function nextInstant(at: number): number | null {
    for (let minute = Math.floor(at / 60_000) * 60_000; minute <= at + CHANGE_MS; minute += 60_000) {
      for (const second of seconds) {
        const candidate = minute + second * 1000;
        if (candidate > at && days(zone.toLocal(candidate))) return candidate;
      }
    }
    return null;
  }

  return {
    /**
     * The first scheduled time after this instant, in milliseconds since the epoch; null if there is none for many years.
     */
    nextAfter(at: number): number | null {
      const changes = zone.toLocal(at + CHANGE_MS) - zone.toLocal(at - CHANGE_MS) !== 2 * CHANGE_MS;
      const instant = changes && everyHour ? nextInstant(at) : null;
      if (instant !== null) return instant;
      // If clocks are set forward, a skipped local time becomes an instant after the local times that follow it. So the
      // search begins earlier.
      let local = nextLocal(zone.toLocal(at) - (changes ? CHANGE_MS : 0));
      while (local !== null) {
        const first = zone.firstInstantOf(local);
        if (first > at) return first;
        local = nextLocal(local);
      }
      return null;
    },
  };
}

export type Cron = ReturnType<typeof createCron>;

/**
 * Whether an expression names a local time, which is counted as if it were UTC.
 *
 * POSIX: if both the day of the month and the day of the week are restricted, a day that matches either of them counts. The
 * library would demand both. As in cron, a field that begins with `*` restricts nothing here, so a day matches an expression
 * with a step in this field only if it matches both fields.
 */
function createMatcher(expression: string): (localMs: number) => boolean {
  const fields = expression.trim().split(/\s+/);
  const [dayOfMonth, dayOfWeek] = [fields.length - 3, fields.length - 1];
  const isEither = [dayOfMonth, dayOfWeek].every((at) => !/^[*?]/.test(fields[at] ?? '*'));
  const alternatives = isEither ? [fields.with(dayOfMonth, '*'), fields.with(dayOfWeek, '*')] : [fields];
  const tasks = alternatives.map((parts) => createTask(parts.join(' '), () => undefined, { timezone: 'UTC' }));
  // The tasks are never started, so the library need not keep them in memory.
  for (const task of tasks) void task.destroy();
  return (localMs) => tasks.some((task) => task.match(new Date(localMs)));
}

const ascending = (values: readonly number[]): number[] => values.toSorted((a, b) => a - b);
