import { isQueueFault } from '../domain/faults.ts';
import { Fault } from '../lib/errors.ts';
import type { Logger } from '../lib/logging.ts';

/** Logs what keeps deliveries from going on: once when it begins, and once when it is over. */
export function createTroubleLog(log: Logger): { look(trouble: Error | null): void } {
  let known: string | null = null;
  return {
    look(trouble) {
      const kind = trouble instanceof Fault ? trouble.code : (trouble?.message ?? null);
      if (kind === known) return;
      known = kind;
      if (trouble === null) log.info({}, 'Deliveries go on.');
      // The queue logs by itself why it is out of reach.
      else if (!isQueueFault(trouble)) {
        const cure = trouble instanceof Fault && trouble.suggestion ? ` ${trouble.suggestion}` : '';
        log.error({ error: trouble.message }, `Deliveries cannot go on for now: ${trouble.message}${cure}`);
      }
    },
  };
}
