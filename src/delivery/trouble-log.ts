import { isQueueFault } from '../domain/faults.ts';
import type { Clock } from '../lib/clock.ts';
import { Fault } from '../lib/errors.ts';
import type { Logger } from '../lib/logging/logging.ts';

/** If a trouble returns within this time, neither the trouble nor its end is logged again. */
const NEWS_AFTER_MS = 60_000;

/** Logs a trouble that stops deliveries, once when it begins and once when it ends. */
export function createTroubleLog(log: Logger, clock: Pick<Clock, 'ticks'>): { update(trouble: Error | null): void } {
  let known: string | null = null;
  let last: { kind: string; at: number } | null = null;
  let isNews = true;
  return {
    update(trouble) {
      const kind = trouble instanceof Fault ? trouble.code : (trouble?.message ?? null);
      if (kind === known) return;
      known = kind;
      if (kind !== null) {
        isNews = kind !== last?.kind || clock.ticks() - last.at >= NEWS_AFTER_MS;
        if (isNews) last = { kind, at: clock.ticks() };
      }
      if (trouble === null) log[isNews ? 'info' : 'debug']({}, 'Deliveries continue.');
      // The queue itself logs why it cannot be reached.
      else if (!isQueueFault(trouble)) {
        const cure = trouble instanceof Fault && trouble.suggestion ? ` ${trouble.suggestion}` : '';
        log[isNews ? 'error' : 'debug'](
          { error: trouble.message },
          `Deliveries cannot continue for now: ${trouble.message}${cure}`,
        );
      }
    },
  };
}
