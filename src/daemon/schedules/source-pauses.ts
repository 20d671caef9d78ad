import type { LedgerConfig, LoadedPause } from '../../config/loaded-config.ts';
import type { Clock } from '../../lib/clock.ts';
import { createZone, type Zone } from '../../lib/text/time.ts';
import type { StatusContext } from '../../operations/runtime.ts';
import { createCron } from '../cron.ts';

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
/** Pauses that follow each other without a gap count as one. At most this many are joined. */
const JOINED_MAX = 50;

/**
 * A pause follows the clocks of its zone: a pause from 22:00 to 06:00 is an hour shorter in the night when clocks are
 * set forward. A time that clocks skip is moved forward by the length of the skip. If clocks show a time twice, a pause
 * begins at the first one and ends at the last one, so that no run begins too soon.
 */
export function createPauses(pauses: readonly LoadedPause[]) {
  const zoned = pauses.map((pause) => ({ ...pause, zone: createZone(pause.timezone) }));
  return {
    /** The end of the pause in which an instant lies; null if the instant is in no pause. */
    endOf(at: number): number | null {
      let end: number | null = null;
      for (let joined = 0; joined < JOINED_MAX; joined += 1) {
        const later = Math.max(...zoned.map((pause) => endOf(pause, end ?? at) ?? Number.NEGATIVE_INFINITY));
        if (later === Number.NEGATIVE_INFINITY) break;
        end = later;
      }
      return end;
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
      return at === null ? null : (pausedUntil(source, at) ?? at);
    },
  };
}
