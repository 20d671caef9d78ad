import type { Clock } from '../lib/clock.ts';
import { messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging.ts';

const QUIET_MS = 60_000;
const KINDS_MAX = 50;
/** When Redis has lost its jobs, each that ends is reported missing: one word on them is enough. */
const JOB_ID = /\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/g;

/** Takes the errors that BullMQ and its connections emit. None of them ends the process: they recover by themselves. */
export type ErrorSink = (origin: string, error: unknown) => void;

/**
 * Logs each kind of error once a minute with the number of those left out, since a lost connection repeats the same one
 * many times a second.
 */
export function createErrorLog(log: Logger, clock: Clock): ErrorSink {
  const kinds = new Map<string, { loggedAt: number; leftOut: number }>();
  return (origin, error) => {
    const message = messageOf(error);
    const kind = `${origin}: ${message.replaceAll(JOB_ID, '…')}`;
    const now = clock.ticks();
    const seen = kinds.get(kind);
    if (seen !== undefined && now - seen.loggedAt < QUIET_MS) {
      seen.leftOut += 1;
      return;
    }
    // Messages may hold other ids, so the number of kinds has no bound of its own: the oldest gives way.
    kinds.delete(kind);
    const oldest = kinds.keys().next().value;
    if (kinds.size >= KINDS_MAX && oldest !== undefined) kinds.delete(oldest);
    kinds.set(kind, { loggedAt: now, leftOut: 0 });
    log.warn({ origin, error: message, leftOut: seen?.leftOut ?? 0 }, `The queue reports an error: ${message}`);
  };
}
