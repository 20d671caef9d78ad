import { AsyncLocalStorage } from 'node:async_hooks';
import { pino } from 'pino';
import { plainJson } from '../text/safe-text.ts';
import type { SecretStore } from './secrets.ts';

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** Structured logging. The first argument has fields, the second is a full sentence. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Returns a copy, because pino may change the object that it gets. */
const mixin = (): object => ({ ...logFields() });
/** The fields of the line replace the fields of the work around it. */
const mixinMergeStrategy = (fields: object, ofWork: object): object => ({ ...ofWork, ...fields });

/**
 * A logger that writes JSON lines to stderr, so that stdout stays free for results. Each line passes through the secret
 * store before it leaves the process (I7).
 */
export function createLogger(options: {
  level: LogLevel;
  secrets: SecretStore;
  write?: (line: string) => void;
}): Logger {
  const write = options.write ?? ((line: string) => void process.stderr.write(line));
  return pino(
    { level: options.level, base: null, timestamp: pino.stdTimeFunctions.isoTime, mixin, mixinMergeStrategy },
    { write: (line: string) => write(plainJson(options.secrets.scrub(line))) },
  );
}

// Fields that every line of the log has during some work, such as the source and the run. They also apply in the
// promises of the work, so the lines of a connector have them too.

type Fields = Record<string, string | number>;

const storage = new AsyncLocalStorage<Fields>();

/** Does the work with these fields on each line, besides those of the work around it. */
export function withLogFields<T>(fields: Fields, work: () => T): T {
  const around = storage.getStore();
  // Then fields that the inner work adds later are also on the lines of the outer work, because both are about the
  // same.
  const isSame = around !== undefined && Object.entries(fields).every(([name, value]) => around[name] === value);
  return isSame ? work() : storage.run({ ...around, ...fields }, work);
}

/** Does work that is about more than the work in progress: its lines have none of the fields. */
export function withoutLogFields<T>(work: () => T): T {
  return storage.exit(work);
}

/** Adds fields to all further lines of the work in progress. Does nothing outside of such work. */
export function addLogFields(fields: Fields): void {
  const around = storage.getStore();
  if (around !== undefined) Object.assign(around, fields);
}

/** The fields of the work in progress. */
export function logFields(): Fields {
  return storage.getStore() ?? {};
}
