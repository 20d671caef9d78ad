import type { ApiHealth } from '../../delivery/admission/api-health.ts';
import type { ApiWait } from '../../domain/delivery/api-wait.ts';
import type { CareLedger } from '../../domain/ports/ledger/care-ledger.ts';
import type { LedgerViews } from '../../domain/ports/ledger/ledger-views.ts';
import type { Emit } from '../../domain/ports/progress.ts';
import type { Logger } from '../../lib/logging/logging.ts';

/**
 * Reports a wait of more than a minute that the API asks for. Logs its begin and its end, and stores the wait in the
 * ledger for other processes. Call `look` at intervals.
 */
export function createApiWaitWatch(options: {
  api: Pick<ApiHealth, 'throttled'>;
  ledger: Pick<CareLedger, 'noteApiWait'>;
  views: Pick<LedgerViews, 'apiWait'>;
  /** True if the API has ever answered this process. */
  hasAnswered: () => boolean;
  emit: Emit;
  log: Logger;
}): { look(): Promise<void> } {
  const { api, ledger, views, hasAnswered, emit, log } = options;
  let waiting = false;
  /** The wait in the ledger. The wait of an earlier process stays there until the API has answered this process. */
  let noted = views.apiWait();

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
    async look() {
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
