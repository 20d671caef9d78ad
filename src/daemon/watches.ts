// What a process notices at intervals while it delivers: a long wait that the API asks for, an outage, and a paused queue.

import type { ApiHealth, FailingWrites } from '../delivery/admission/api-health.ts';
import type { ApiWait } from '../domain/delivery/outcome.ts';
import { pausedFault } from '../domain/faults.ts';
import type { CareLedger } from '../domain/ports/ledger/care-ledger.ts';
import type { Emit } from '../domain/ports/progress.ts';
import type { Queues } from '../domain/ports/queues.ts';
import type { Clock } from '../lib/clock.ts';
import type { Fault } from '../lib/errors.ts';
import type { Logger } from '../lib/logging/logging.ts';

/**
 * Reports a wait of more than a minute that the API asks for. Logs its begin and its end, and stores the wait in the
 * ledger for other processes. Call `look` at intervals.
 */
export function createApiWaitWatch(options: {
  api: ApiHealth;
  ledger: Pick<CareLedger, 'noteApiWait'>;
  /** The wait in the ledger. The wait of an earlier process stays there until the API has answered this process. */
  noted: ApiWait | null;
  /** True if the API has ever answered this process. */
  hasAnswered: () => boolean;
  emit: Emit;
  log: Logger;
}) {
  const { api, ledger, hasAnswered, emit, log } = options;
  let waiting = false;
  let { noted } = options;

  function report(wait: ApiWait | null): void {
    if ((wait !== null) === waiting) return;
    waiting = wait !== null;
    emit({ type: 'api_wait', wait });
    if (wait === null) {
      log.info({}, 'The wait that the API asked for is over; deliveries continue.');
      return;
    }
    const { since, until, askAgainAt } = wait;
    const times = { since: isoOf(since), until: until === null ? null : isoOf(until), askAgainAt: isoOf(askAgainAt) };
    log.warn(times, `${describeWait(wait)} dpp-sync asks the API again at ${isoOf(askAgainAt)}; everything stays due.`);
  }

  return {
    async look(): Promise<void> {
      const throttled = api.throttled();
      const wait = throttled?.wait ?? null;
      report(wait);
      const isSettled = wait !== null || (throttled === null && hasAnswered());
      if (!isSettled || isSame(wait, noted)) return;
      await ledger.noteApiWait(wait);
      noted = wait;
    },
  };
}

/**
 * Two readings of one wait differ by milliseconds, because two clocks are read for each. Stored again, such a reading would
 * cost an fsync at every look.
 */
const READING_MS = 1000;

function isSame(one: ApiWait | null, other: ApiWait | null): boolean {
  if (one === null || other === null) return one === other;
  const isNear = (a: number | null, b: number | null) =>
    a === null || b === null ? a === b : Math.abs(a - b) < READING_MS;
  return isNear(one.askAgainAt, other.askAgainAt) && isNear(one.until, other.until);
}

/** Describes the wait that the API has asked for, in full sentences. */
export function describeWait({ since, until, message }: ApiWait, timeOf = isoOf): string {
  const asked =
    until === null
      ? `The API has refused every request since ${timeOf(since)} (429)`
      : `The API has asked to wait until ${timeOf(until)} (429)`;
  return `${asked}: ${message}`;
}

/** Formats a time, rounded up to whole seconds. */
function isoOf(at: number): string {
  return new Date(Math.ceil(at / 1000) * 1000).toISOString().replace('.000Z', 'Z');
}

/** Reports when an outage begins and when it ends. Call `look` at intervals. */
export function createOutageWatch(options: { api: ApiHealth; clock: Clock; emit: Emit; log: Logger }) {
  const { api, clock, emit, log } = options;
  let away = false;
  return {
    look(): void {
      const since = api.openSince();
      if ((since !== null) === away) return;
      away = since !== null;
      const writes = api.failsAtWrites();
      emit({ type: 'outage', away, writesAlone: writes !== null });
      if (since === null) log.info({}, 'The API answers again; deliveries continue.');
      else {
        log.error(
          { since: new Date(clock.now() - (clock.ticks() - since)).toISOString() },
          `${writes === null ? 'The API does not answer, or fails for every request.' : `The API can be read. ${describeFailingWrites(writes)}`} Due deliveries stay due and use no attempts. dpp-sync asks the API again at intervals.`,
        );
      }
    },
  };
}

/**
 * Describes how many writes have failed. The sentence names no cause, because the platform or the rows may be at fault.
 */
export function describeFailingWrites({ failed, takenAt }: FailingWrites): string {
  return takenAt === null
    ? `It has failed for each of ${failed} different writes, and has accepted none.`
    : `It accepted the last write at ${new Date(takenAt).toISOString()}, and has failed for each of ${failed} different writes since.`;
}

/**
 * Notices that a person has paused a queue in a dashboard. Call `look` at intervals. The `pull` queue does not count,
 * because its jobs have not begun.
 */
export function createPauseWatch(queues: Queues) {
  let paused: Fault | null = null;
  return {
    async look(): Promise<void> {
      paused = pausedFault((await queues.paused()).filter((name) => name !== 'pull'));
    },
    /** The fault of the queues that were paused at the last look; null if no queue was paused. */
    fault: () => paused,
  };
}
