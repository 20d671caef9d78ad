// The errors of the queue and of Redis: how each kind is logged, and what people can do about it.

import type { Clock } from '../lib/clock.ts';
import { localTroubleOf, messageOf, sentence, systemCodeOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging/logging.ts';

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

/** Describes for an operator what is wrong with Redis. */
interface RedisTrouble {
  /** The same text for all errors with one cause. */
  kind: string;
  /** The end of a sentence that begins with "Redis cannot be used: ". */
  what: string;
  /** A full sentence. */
  cure: string;
}

/** The answer of Redis to a wrong password or a user without rights: waiting does not help then. */
const REFUSAL = /^(?:NOAUTH|WRONGPASS|NOPERM|ERR AUTH|ERR invalid password)/;

const CLUSTER = {
  what: 'it is a node of a Redis Cluster, which cannot hold the queues.',
  cure: 'In `queue`, name a Redis that is no cluster. Due deliveries stay due.',
};
const OTHER_SERVER = {
  what: 'it does not know the commands of the queues. It may be a Sentinel, or a server that is only similar to Redis.',
  cure: 'In `queue`, name the Redis itself, usually with the port 6379, and not its Sentinel. Due deliveries stay due.',
};

/** Errors of a Redis that answers, by their first word. */
const WORDS: Readonly<Record<string, { what: string; cure: string }>> = {
  OOM: {
    what: 'it is out of memory.',
    cure: 'Free memory in Redis, or raise `maxmemory` of Redis. The work then continues automatically.',
  },
  MISCONF: {
    what: 'it cannot write its data to disk.',
    cure: 'Check the log and the disk of Redis. When the cause is fixed, the work continues automatically.',
  },
  READONLY: {
    what: 'it is a replica, which accepts no writes.',
    cure: 'In `queue`, name the Redis that accepts writes. If a failover has just ended, the work continues automatically when the name leads to the new primary.',
  },
  MASTERDOWN: {
    what: 'it is a replica that has lost its primary.',
    cure: 'In `queue`, name the Redis that accepts writes.',
  },
  NOREPLICAS: {
    what: 'too few of its replicas can be reached for a write.',
    cure: 'Check the replicas of Redis, or lower `min-replicas-to-write` of Redis. The work then continues automatically.',
  },
  MOVED: CLUSTER,
  ASK: CLUSTER,
  TRYAGAIN: CLUSTER,
  CROSSSLOT: CLUSTER,
  CLUSTERDOWN: CLUSTER,
  LOADING: {
    what: 'it is still reading its data.',
    cure: 'The work continues automatically when Redis has read its data.',
  },
};

const PASSWORD = {
  what: 'it does not accept the user or the password.',
  cure: 'Put the present user and password of Redis into `queue` and start dpp-sync again. Due deliveries stay due.',
};
const UNREACHABLE_CURE =
  'Check that Redis runs and can be reached from here, and that host and port in `queue` are right. The work continues automatically when Redis is back.';

/** The beginnings of those messages of ioredis that report a missing or lost connection and have no code. */
const LOST = /^(?:Connection is closed|Socket |Command timed out|connect ETIMEDOUT|Reached the max retries|no answer)/;
/** The message of ioredis for a command without a connection. */
const UNWRITABLE = /^Stream isn't writeable/;
const UNKNOWN_COMMAND = /^ERR unknown command\b/i;
/** An error within a script, as Redis before version 7 reports it. The word follows a dash. */
const IN_SCRIPT = /^ERR Error running script\b.*?-([A-Z]{3,}) /s;
const ECHO = /^(?:Stream isn't writeable|Connection is closed)/;

export function isRefusal(error: unknown): boolean {
  return REFUSAL.test(messageOf(error));
}

/** True for the error of a command that failed because the connection was lost before. The connection's own error has the cause. */
export function isEcho(error: unknown): boolean {
  return ECHO.test(messageOf(error));
}

export function redisTroubleOf(error: unknown): RedisTrouble {
  const message = messageOf(error);
  const what = sentence(message.trim());
  return knownTroubleOf(error) ?? { kind: message, what, cure: UNREACHABLE_CURE };
}

/** Null for an error that may have nothing to do with Redis. */
export function knownTroubleOf(error: unknown): RedisTrouble | null {
  const local = localTroubleOf(error);
  if (local !== null) return { kind: 'local', ...local };
  const message = messageOf(error);
  if (REFUSAL.test(message)) return { kind: 'password', ...PASSWORD };
  if (UNWRITABLE.test(message)) return { kind: 'unreachable', what: 'it cannot be reached.', cure: UNREACHABLE_CURE };
  if (UNKNOWN_COMMAND.test(message)) return { kind: OTHER_SERVER.what, ...OTHER_SERVER };
  const word = IN_SCRIPT.exec(message)?.[1] ?? message.split(' ', 1)[0] ?? '';
  const known = Object.hasOwn(WORDS, word) ? WORDS[word] : undefined;
  if (known !== undefined) return { kind: known.what, ...known };
  const code = systemCodeOf(error);
  if (code !== undefined || LOST.test(message)) {
    return { kind: 'unreachable', what: `it cannot be reached (${code ?? message}).`, cure: UNREACHABLE_CURE };
  }
  return null;
}
