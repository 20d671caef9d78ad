import type { ApiHealth, FailingWrites } from '../../delivery/admission/api-health.ts';
import type { Emit } from '../../domain/ports/progress.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logging/logging.ts';

/** Reports when an outage begins and when it ends. Call `look` at intervals. */
export function createOutageWatch(options: {
  api: Pick<ApiHealth, 'openSince' | 'failsAtWrites'>;
  clock: Clock;
  emit: Emit;
  log: Logger;
}): {
  look(): void;
} {
  const { api, clock, emit, log } = options;
  let away = false;
  return {
    look() {
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
