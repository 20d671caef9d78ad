import { pino } from 'pino';
import { plainJson } from '../text/odd-character.ts';
import { logFields } from './log-context.ts';
import type { LogLevel } from './log-levels.ts';
import type { SecretStore } from './secrets.ts';

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
