import type { Breaker } from '../delivery/breaker.ts';
import type { Emit } from '../domain/ports/progress.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logging.ts';

/** Tells when the API goes away and when it is back: once each, however long it takes. Call `look` now and then. */
export function createOutageWatch(options: {
  breaker: Pick<Breaker, 'openSince'>;
  clock: Clock;
  emit: Emit;
  log: Logger;
}): {
  look(): void;
} {
  const { breaker, clock, emit, log } = options;
  let away = false;
  return {
    look() {
      const since = breaker.openSince();
      if ((since !== null) === away) return;
      away = since !== null;
      emit({ type: 'outage', away });
      if (since === null) log.info({}, 'The API answers again; deliveries go on.');
      else {
        log.error(
          { since: new Date(clock.now() - (clock.ticks() - since)).toISOString() },
          'The API is away or fails at everything. What is due stays due and costs no attempts; it is asked now and then.',
        );
      }
    },
  };
}
