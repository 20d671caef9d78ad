import { createTask, parse } from 'node-cron';
import { createZone } from '../lib/text/time.ts';

const DAY_MS = 86_400_000;
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
