import type { Clock } from '../lib/clock.ts';
import { messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging.ts';
import { isEcho, redisTroubleOf } from './redis-trouble.ts';

const QUIET_MS = { first: 60_000, factor: 2, last: 3_600_000 };
const KINDS_MAX = 50;
/** When Redis has lost its jobs, each that ends is reported missing: one word on them is enough. */
const JOB_ID = /\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/g;

/** Takes the errors that BullMQ and its connections emit. None of them ends the process: they recover by themselves. */
export type ErrorSink = (origin: string, error: unknown) => void;

/** An error as it is logged. */
interface Told {
  kind: string;
  message: string;
}

/**
 * Logs each kind of error once with the number of those left out, since a lost connection repeats the same one many times a
 * second: again after a minute, and then half as often each time, down to once an hour.
 *
 * @param redis where Redis is, without its password; all of its connections fail for the same reason, which is one kind then
 */
export function createErrorLog(log: Logger, clock: Clock, redis: string | null = null): ErrorSink {
  const kinds = new Map<string, { loggedAt: number; quietMs: number; leftOut: number }>();

  function tell(origin: string, error: unknown): Told {
    const message = messageOf(error);
    const trouble = redis === null ? null : redisTroubleOf(error);
    if (trouble === null || trouble.kind === message) {
      return {
        kind: `${origin}: ${message.replaceAll(JOB_ID, '…')}`,
        message: `The queue reports an error: ${message}`,
      };
    }
    return { kind: trouble.kind, message: `Redis at ${redis} cannot be used: ${trouble.what} ${trouble.cure}` };
  }

  return (origin, error) => {
    // What the connection itself reports is logged.
    if (redis !== null && isEcho(error)) return;
    const { kind, message } = tell(origin, error);
    const now = clock.ticks();
    const seen = kinds.get(kind);
    if (seen !== undefined && now - seen.loggedAt < seen.quietMs) {
      seen.leftOut += 1;
      return;
    }
    // Messages may hold other ids, so the number of kinds has no bound of its own: the oldest gives way.
    kinds.delete(kind);
    const oldest = kinds.keys().next().value;
    if (kinds.size >= KINDS_MAX && oldest !== undefined) kinds.delete(oldest);
    const leftOut = seen?.leftOut ?? 0;
    const goesOn = seen !== undefined && leftOut > 0;
    const quietMs = goesOn ? Math.min(QUIET_MS.last, seen.quietMs * QUIET_MS.factor) : QUIET_MS.first;
    kinds.set(kind, { loggedAt: now, quietMs, leftOut: 0 });
    log.warn({ origin, error: messageOf(error), leftOut }, message);
  };
}
