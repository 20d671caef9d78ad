import { styleText } from 'node:util';
import { isJsonObject } from '../../lib/json.ts';
import { counted } from '../../lib/text/amounts.ts';
import { withHiddenShown } from '../../lib/text/safe-text.ts';
import type { Sentence } from '../../operations/results.ts';

export type Colour = 'green' | 'red' | 'yellow' | 'cyan' | 'dim' | 'bold';
/** Colours a text, or returns it unchanged if colours are off. */
export type Paint = (colour: Colour, text: string) => string;

export function createPaint(enabled: boolean): Paint {
  return enabled ? (colour, text) => styleText(colour, text, { validateStream: false }) : (_, text) => text;
}

/** True for a terminal whose environment does not refuse colours (https://no-color.org). */
export function wantsColour(stream: { isTTY?: boolean }, env: Readonly<Record<string, string | undefined>>): boolean {
  return stream.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
}

/**
 * Makes a text from a source or from the API safe for one line of a terminal. Control characters could move the cursor or
 * change the screen.
 */
export function printable(text: string): string {
  return withHiddenShown(text.replaceAll(/\r?\n/g, '⏎').replaceAll('\t', ' ')).replaceAll('\r', '\\u000d');
}

/** Cuts a text to a number of characters. */
export function shorten(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, Math.max(0, length - 1))}…`;
}

/** Cuts a text in its middle to a number of characters, so that its beginning and its end stay visible. */
export function shortenMiddle(text: string, length: number): string {
  if (text.length <= length) return text;
  const end = Math.floor((length - 1) / 2);
  return `${text.slice(0, Math.max(0, length - 1 - end))}…${end > 0 ? text.slice(-end) : ''}`;
}

/** Divides the text into lines of at most this many characters, between words. A longer word has a separate line. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

/** Formats a size: `840 bytes`, `57.2 kB`, `3.4 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return counted(bytes, 'byte');
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Formats a length of time: `840 ms`, `3.2 s`, `4 min 10 s`. */
export function formatDuration(durationMs: number): string {
  if (durationMs < 1000) return `${Math.round(durationMs)} ms`;
  if (durationMs < 60_000) return `${(durationMs / 1000).toFixed(1)} s`;
  const seconds = Math.round(durationMs / 1000);
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Formats a time in the machine's time zone: `2026-03-01 14:05:09`. */
export function formatTime(at: number): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

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

/** The commands that show the lists. */
const COMMANDS: Record<NonNullable<Sentence['list']>, string> = {
  quarantine: 'dpp-sync quarantine',
  unconfirmed: 'dpp-sync items --state in_doubt',
  incomplete: 'dpp-sync items --state incomplete',
};

/** The sentences about a result, one a line, each with the command that shows more about it. */
export function sentenceLines(sentences: readonly Sentence[]): string[] {
  return sentences.flatMap(({ text, list }) => [
    printable(text),
    ...(list === undefined ? [] : [`  ${COMMANDS[list]}`]),
  ]);
}
