import type { Clock } from '../lib/clock.ts';
import { messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging/logging.ts';
import { isEcho, redisTroubleOf } from './redis-trouble.ts';

const QUIET_MS = { first: 60_000, factor: 2, last: 3_600_000 };
const KINDS_MAX = 50;
/**
 * When Redis has lost its jobs, BullMQ reports each ending job as missing. Without the ids of the jobs, these reports
 * are one kind of error.
 */
const JOB_ID = /\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/g;

/**
 * Handles the errors that BullMQ and its connections emit. The process continues after each error, because the
 * connections recover.
 */
export type ErrorSink = (origin: string, error: unknown) => void;

/** An error in the form in which it is logged. */
interface LoggedError {
  kind: string;
  message: string;
}

/**
 * Logs each kind of error once, and then the number of repeated errors: a lost connection repeats the same error many
 * times a second. The kind is logged again after a minute, and then half as often each time, down to once an hour.
 *
 * @param redis where Redis is, without its password; errors of all connections with the same cause are one kind
 */
export function createErrorLog(log: Logger, clock: Clock, redis: string | null = null): ErrorSink {
  const kinds = new Map<string, { loggedAt: number; quietMs: number; leftOut: number }>();

  function describe(origin: string, error: unknown): LoggedError {
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
    // The connection itself reports the same error, and that report is logged.
    if (redis !== null && isEcho(error)) return;
    const { kind, message } = describe(origin, error);
    const now = clock.ticks();
    const seen = kinds.get(kind);
    if (seen !== undefined && now - seen.loggedAt < seen.quietMs) {
      seen.leftOut += 1;
      return;
    }
    // I9: messages may contain ids, so the number of different messages has no bound. The oldest one is dropped.
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
