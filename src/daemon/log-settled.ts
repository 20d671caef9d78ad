import type { ProgressEvent } from '../domain/ports/progress.ts';
import type { Logger } from '../lib/logging/logging.ts';

/** Logs what became of each delivery. There may be a million in a night, so only at the level `debug`. */
export function logSettled(log: Pick<Logger, 'debug'>, event: ProgressEvent): void {
  if (event.type !== 'settled') return;
  const { kind, key, operation, state, status, latencyMs, reason } = event;
  const fields = {
    kind,
    key,
    operation,
    state,
    status,
    latencyMs,
    ...(reason === null ? {} : { reason: reason.code }),
  };
  const why = reason === null ? '' : `: ${reason.message}`;
  log.debug(fields, `The ${operation} of ${kind} ${key} is ${state}${why === '' ? '.' : why}`);
}
