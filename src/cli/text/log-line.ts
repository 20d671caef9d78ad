import { isJsonObject } from '../../lib/json.ts';
import { printable } from './style.ts';

const LEVELS: Record<string, string> = { 10: 'trace', 20: 'debug', 30: 'info', 40: 'warn', 50: 'error' };

/** The form of a log line for people in a terminal: `warn: What happened. (source=erp)`. */
export function formatLogLine(line: string): string {
  const entry: unknown = JSON.parse(line);
  if (!isJsonObject(entry)) return line;
  const { level, time: _, msg, ...fields } = entry;
  const pairs = Object.entries(fields).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const text = typeof msg === 'string' ? msg : JSON.stringify(msg);
  const detail = pairs.length === 0 ? '' : ` (${pairs.join(', ')})`;
  return printable(`${LEVELS[JSON.stringify(level)] ?? 'log'}: ${text}${detail}`);
}
