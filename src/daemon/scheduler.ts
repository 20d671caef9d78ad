import { type Clock, createWake } from '../lib/clock.ts';
import { messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging/logging.ts';
import { type Cron, createCron, NEVER } from './schedules/run-times.ts';

export interface Schedule {
  source: string;
  /** A cron expression, with or without a field for seconds. */
  cron: string;
  /** An IANA time zone. */
  timezone: string;
}

/** Within this time the scheduler notices that the clock was set or the machine has slept. */
const LOOK_MS = 30_000;
/** If the clock is set back by less than this, it was only corrected, and no run is repeated. */
const CORRECTION_MS = 600_000;

/**
 * Starts the scheduled runs. A time may pass while this process is busy, while the machine sleeps, or because the clock
 * is set forward. Its run is then started late, once for all missed times. If the clock is set back, the repeated times
 * start runs again, because the earlier runs may have had a wrong date. `missed` reports the times that passed while no
 * daemon ran.
 *
 * @param pausedUntil gives the end of the pause in which an instant lies, which may be NEVER; null if the instant is in no
 *   pause. All runs that are due in a pause become one run at its end.
 * @param onDue called when a run is due and has to wait for the end of a pause
 * @param startRun called at each due time; while a call for a source is still running, its further times are left out
 */
export function createScheduler(options: {
  schedules: readonly Schedule[];
  startRun: (source: string, why: 'schedule' | 'file') => Promise<void>;
  pausedUntil?: (source: string, at: number) => number | null;
  onDue?: (source: string) => void;
  clock: Clock;
  log: Logger;
}) {
  const { startRun, pausedUntil = () => null, onDue = () => {}, clock, log } = options;
  let hasStopped = false;
  const wake = createWake(clock);
  let crons = cronsOf(options.schedules);
  const next = new Map<string, number | null>();
  /** The runs that are due, each with the time at which it may begin: the end of the source's pause, or when it became due. */
  const due = new Map<string, number>();
  /** The runs of `due` that a changed export has asked for. */
  const ofFiles = new Set<string>();
  const starting = new Set<string>();
  let running: Promise<void> = Promise.resolve();
  let startedAt = Number.NEGATIVE_INFINITY;

  async function startOnce(source: string): Promise<void> {
    if (starting.has(source)) return;
    starting.add(source);
    try {
      const why = ofFiles.delete(source) ? 'file' : 'schedule';
      await startRun(source, why);
    } catch (error) {
      // The next run is scheduled in any case, but an operator has to see this failure in the log.
      log.error({ source, error: messageOf(error) }, `The scheduled run of ${source} could not be started.`);
    } finally {
      starting.delete(source);
    }
  }

  function plan(from: number): void {
    for (const [source, cron] of crons) next.set(source, cron.nextAfter(from));
  }

  /** Makes the runs due whose scheduled time has come. */
  function noteDue(now: number): void {
    for (const [source, cron] of crons) {
      const at = next.get(source) ?? null;
      if (at === null || at > now) continue;
      next.set(source, cron.nextAfter(now));
      makeDue(source, now);
    }
  }

  /** A run that is due already stays as it is, so its wait for the end of a pause is reported once. */
  function makeDue(source: string, now: number): void {
    if (!due.has(source)) due.set(source, now);
  }

  function startDue(now: number): void {
    noteDue(now);
    for (const [source, at] of due) {
      // Asked at each look, because a reload may change the pauses.
      const until = pausedUntil(source, now);
      if (until === null) {
        due.delete(source);
        void startOnce(source);
      } else if (until !== at) {
        due.set(source, until);
        log.info({ source, until: isoOf(until) }, `The run of ${source} is due, and ${beginWords(until)}.`);
        onDue(source);
      }
    }
  }

  async function watch(): Promise<void> {
    let latest = clock.now();
    while (!hasStopped) {
      wake.look();
      const now = clock.now();
      if (now < latest - CORRECTION_MS) {
        log.warn(
          { byMs: latest - now },
          'The clock was set back, so the scheduled times after the new time come a second time.',
        );
        latest = now;
        plan(now);
      }
      latest = Math.max(latest, now);
      startDue(now);
      const soonest = Math.min(...[...next.values(), ...due.values()].filter((at) => at !== null));
      const restMs = Math.min(LOOK_MS, Math.max(1, soonest - now));
      await wake.rest(restMs);
    }
  }

  return {
    start(): void {
      startedAt = clock.now();
      plan(startedAt);
      running = watch();
    },
    /** Uses other schedules from now on. A run that is due stays due. */
    replace(schedules: readonly Schedule[]): void {
      noteDue(clock.now());
      crons = cronsOf(schedules);
      next.clear();
      plan(clock.now());
      wake.wake();
    },
    /** Makes a run of the source due now: it begins at once, or when the source's pause ends. */
    request(source: string, why: 'schedule' | 'file' = 'schedule'): void {
      if (why === 'file') ofFiles.add(source);
      makeDue(source, clock.now());
      wake.wake();
    },
    /**
     * When the next scheduled or requested run of the source begins, in milliseconds since the epoch; null if there is
     * none, or before `start`.
     */
    nextRun(source: string): number | null {
      const at = next.get(source) ?? null;
      const scheduled = at === null ? NEVER : (pausedUntil(source, at) ?? at);
      const begins = Math.min(scheduled, due.get(source) ?? NEVER);
      return begins === NEVER ? null : begins;
    },
    /**
     * True if the source has a scheduled time after this instant and not after `start`, in milliseconds since the epoch.
     */
    missed(source: string, since: number): boolean {
      const at = crons.get(source)?.nextAfter(since) ?? null;
      return at !== null && at <= startedAt;
    },
    async stop(): Promise<void> {
      hasStopped = true;
      wake.wake();
      await running;
    },
  };
}

const isoOf = (at: number): string | null => (at === NEVER ? null : new Date(at).toISOString());

function beginWords(until: number): string {
  const end = isoOf(until);
  return end === null
    ? 'does not begin, because the pauses of the source have no end'
    : `begins when the pause of the source ends at ${end}`;
}

export type Scheduler = ReturnType<typeof createScheduler>;

function cronsOf(schedules: readonly Schedule[]): Map<string, Cron> {
  return new Map(schedules.map(({ source, cron, timezone }) => [source, createCron(cron, timezone)]));
}
