import type { ProgressEvent } from '../domain/ports/progress.ts';
import type { Logger } from '../lib/logging/logging.ts';

/** Logs the result of each delivery, at the level `debug` only: a night may have a million results. */
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
