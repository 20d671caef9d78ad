import type { Logger } from '../../../src/lib/logging/logging.ts';

export interface LogLine {
  level: 'debug' | 'info' | 'warn' | 'error';
  fields: object;
  message: string;
}

/** A logger that keeps its lines, so that a test can read them. */
export interface RecordingLog extends Logger {
  lines: LogLine[];
}

export function createRecordingLog(): RecordingLog {
  const lines: LogLine[] = [];
  const record = (level: LogLine['level']) => (fields: object, message: string) => {
    lines.push({ level, fields, message });
  };
  return { lines, debug: record('debug'), info: record('info'), warn: record('warn'), error: record('error') };
}
