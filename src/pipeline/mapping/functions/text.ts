import { decodeHTML } from 'entities/decode';
import { RE2JS, RE2JSSyntaxException } from 're2js';
import type { CheckedFunction } from '../../../domain/words/issues.ts';
import { err, ok, type Result } from '../../../lib/errors.ts';
import { withoutOddCharacters } from '../../../lib/text/safe-text.ts';
import { MappingError } from '../mapping-error.ts';
import type { Meter } from '../meter.ts';
import { kindOf, requireNumberText, shown } from '../values.ts';

/**
 * A regular expression for `matches`. Returns true if some part of the text matches. CEL prescribes the patterns of
 * RE2, which take time in proportion to the text. The engine of JavaScript backtracks, so one crafted value could stop
 * the daemon.
 *
 * @param spend called with the number of steps before they are taken; it may throw. Each character may take as many
 *   steps as the compiled pattern has instructions
 */
export type LinearPattern = (text: string, spend: (steps: number) => void) => boolean;

const PATTERN_LENGTH_MAX = 500;
/** A short pattern with nested repetitions can compile to a large one. */
const INSTRUCTIONS_MAX = 2000;

/** Compiles a pattern; the error is a full sentence. */
export function compileLinearPattern(pattern: string): Result<LinearPattern, string> {
  if (pattern.length > PATTERN_LENGTH_MAX) {
    return err(`The pattern is ${pattern.length} characters long; at most ${PATTERN_LENGTH_MAX} are allowed.`);
  }
  const compiled = compile(pattern);
  if (!compiled.ok) return compiled;
  const program = compiled.value;
  const instructions = program.programSize();
  if (instructions > INSTRUCTIONS_MAX)
    return err('The pattern is too large. Use fewer repetitions, or check only a part of the text.');
  return ok((text, spend) => {
    spend((text.length + 1) * instructions);
    return program.test(text);
  });
}

function compile(pattern: string): Result<RE2JS, string> {
  try {
    // People write `\u00e4` as in JavaScript. RE2 has `\x{00e4}` for it.
    return ok(RE2JS.compile(RE2JS.translateRegExp(pattern)));
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error;
    const part = error.getPattern();
    const at = part === null || part === '' ? '' : ` (${part})`;
    return err(`The pattern cannot be read: ${HINTS[error.getDescription()] ?? error.getDescription()}${at}.`);
  }
}

/** Explanations for messages of the engine that are not clear enough. */
const HINTS: Readonly<Record<string, string>> = {
  'invalid or unsupported Perl syntax': 'look-around and other extensions of Perl are not known',
  'invalid escape sequence': 'an escape that is not known; back references are not known either',
  'missing closing )': 'a group is never closed',
  'unexpected )': 'there is one `)` too many',
  'missing argument to repetition operator': 'a repetition has nothing before it to repeat',
  'invalid repeat count': 'a repetition with a limit that is too high, or whose first limit is above the second',
  'missing closing ]': 'a class is never closed',
};

/** The library's methods whose work can grow faster than their input. */
export const BOUNDED_METHODS = new Set(['matches', 'contains', 'indexOf', 'lastIndexOf', 'split']);

/**
 * The prefix of the functions that replace these methods: `contains` is compiled to `bounded_contains`. Such a function
 * counts its steps before it begins.
 */
export const BOUNDED = 'bounded_';

/**
 * A search of a text in a text may compare each character of one text with each character of the other. Four
 * comparisons count as one step.
 */
const COMPARED_IN_A_STEP = 4;

export function createSearch(meter: Meter) {
  const look = (text: string, part: string) => meter.spend((text.length * part.length) / COMPARED_IN_A_STEP);

  function from(text: string, part: string, start: bigint, find: (at: number) => number): bigint {
    if (part === '') return start;
    const at = Number(start);
    if (at < 0 || at >= text.length) {
      throw new MappingError('expression.failed', `The text has no character ${at} to begin at.`);
    }
    look(text, part);
    return BigInt(find(at));
  }

  return {
    contains: (text: string, part: string): boolean => {
      look(text, part);
      return text.includes(part);
    },
    indexOf: (text: string, part: string): bigint => {
      look(text, part);
      return BigInt(text.indexOf(part));
    },
    indexOfFrom: (text: string, part: string, start: bigint) => from(text, part, start, (at) => text.indexOf(part, at)),
    lastIndexOf: (text: string, part: string): bigint => {
      look(text, part);
      return BigInt(text.lastIndexOf(part));
    },
    lastIndexOfFrom: (text: string, part: string, start: bigint) =>
      from(text, part, start, (at) => text.lastIndexOf(part, at)),
    split: (text: string, separator: string): string[] => {
      look(text, separator);
      return text.split(separator);
    },
    /**
     * Splits into at most `most` parts, of which the last one is the rest of the text. Splits into all parts if `most`
     * is negative.
     */
    splitInto: (text: string, separator: string, most: bigint): string[] => {
      const count = Number(most);
      if (count === 0) return [];
      look(text, separator);
      const parts = text.split(separator);
      if (count < 0 || parts.length <= count) return parts;
      return [...parts.slice(0, count - 1), parts.slice(count - 1).join(separator)];
    },
  };
}

const DURATION = /^[+-]?(?:(?:\d{1,15}(?:\.\d{0,15})?|\.\d{1,15})(?:ns|us|µs|ms|s|m|h)){1,7}$/;

/**
 * Returns the text if it is a duration. For thousands of digits the library needs time that grows with the cube of
 * their number, so `duration(x)` is compiled to `duration(bounded_duration(x))`.
 */
export function requireDurationText(text: string): string {
  if (DURATION.test(text)) return text;
  throw new MappingError('duration.format', `"${shown(text)}" is not a duration such as 1h30m.`);
}

/**
 * Returns a packed text such as `colour=red,size=XL` as a map. Names and values are trimmed; an empty text is an empty
 * map.
 *
 * @throws MappingError for a part without the second separator, and for a name that has two values
 */
export function pairs(value: unknown, between: string, within: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const part of split(value, between)) {
    const at = part.indexOf(within);
    if (at < 0) {
      throw new MappingError(
        'pairs.format',
        `"${shown(part)}" has no "${within}" between a name and a value.`,
        'Name the separators of the column: pairs(row.X, ";", ":") reads name:value;name:value.',
      );
    }
    const name = part.slice(0, at).trim();
    const text = part.slice(at + within.length).trim();
    const before = found.get(name);
    if (before !== undefined && before !== text) {
      throw new MappingError(
        'pairs.twice',
        `The name "${shown(name)}" has two values: "${shown(before)}" and "${shown(text)}".`,
      );
    }
    found.set(name, text);
  }
  return found;
}

/** The parts of a text between separators, trimmed and without empty ones. An empty text has no parts. */
export function split(value: unknown, separator: string): string[] {
  if (separator === '') throw new MappingError('split.separator', 'split() needs a separator that is not empty.');
  const text = textOf('split', value);
  if (text === null) return [];
  return text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** The first entry of a list, null for an empty list and for null. A value that is not a list is returned unchanged. */
export function first(value: unknown): unknown {
  return Array.isArray(value) ? (value[0] ?? null) : (value ?? null);
}

/** Returns any value as a list: null as an empty list, and a single value as a list with one entry. */
export function asList(value: unknown): unknown[] {
  if (value === null || value === undefined || value === '') return [];
  return Array.isArray(value) ? value : [value];
}

/** Checks and returns the text of a separator. */
export function separatorOf(value: unknown, name: CheckedFunction): string {
  if (typeof value === 'string') return value;
  throw new MappingError(`${name}.separator`, `The separator of ${name}() is a text, not ${kindOf(value)}.`);
}

/** The steps for each character of the text, because these functions read each character a few times. */
export const STEPS_PER_CHARACTER = 8;

/** Elements that begin a new line. */
const BLOCKS = new Set(
  'address article aside blockquote br dd div dl dt figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table td th tr ul'.split(
    ' ',
  ),
);
/** Elements whose content is not shown to people. */
const HIDDEN = new Set(['script', 'style', 'template', 'title']);

/**
 * The text that a browser would show of a piece of HTML: without tags, comments, scripts and styles, with entities
 * decoded, and with a line for each block. Of a text without tags, only entities and white space change.
 *
 * @returns null for an empty value
 */
export function htmlText(value: unknown): string | null {
  const html = textOf('html_text', value);
  if (html === null) return null;
  const text = decodeHTML(withoutTags(html))
    .replace(/[^\S\n]+/gu, ' ')
    .replace(/ ?\n[ \n]*/g, '\n')
    .trim();
  return text === '' ? null : text;
}

/**
 * The text with entities such as `&amp;` and `&#228;` decoded. Tags stay.
 *
 * @returns null for an empty value
 */
export function decodeEntities(value: unknown): string | null {
  const text = textOf('decode_entities', value);
  return text === null ? null : decodeHTML(text);
}

/**
 * The text without control characters (tabs and line ends stay), half surrogate pairs and code points that are no characters.
 *
 * @returns null for an empty value
 */
export function printable(value: unknown): string | null {
  const text = textOf('printable', value);
  const kept = text === null ? '' : withoutOddCharacters(text);
  return kept.trim() === '' ? null : kept;
}

/** The text of an argument of any length; null for null and for blank text. */
function textOf(name: CheckedFunction, value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'number' || typeof value === 'bigint') return requireNumberText(value);
  if (typeof value !== 'string') throw new MappingError(`${name}.type`, `${name}() takes text, not ${kindOf(value)}.`);
  return value.trim() === '' ? null : value;
}

/** Reads from tag to tag, so that the time is in proportion to the length of the text. */
function withoutTags(html: string): string {
  const parts: string[] = [];
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf('<', at);
    if (open < 0) break;
    parts.push(oneLine(html.slice(at, open)));
    const tag = tagAt(html, open);
    if (tag === null) {
      parts.push('<');
      at = open + 1;
    } else {
      if (BLOCKS.has(tag.name)) parts.push('\n');
      at = tag.end;
    }
  }
  parts.push(oneLine(html.slice(at)));
  return parts.join('');
}

/** A line break in the source of HTML is a blank. */
function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ');
}

const TAG_NAME = /\/?([a-z][a-z0-9:-]*)(?=[\s/>])/iy;

/** The tag or comment that begins at a place, and where the text after it begins. Null if none begins there. */
function tagAt(html: string, open: number): { name: string; end: number } | null {
  if (html.startsWith('<!--', open)) return { name: '', end: after(html, '-->', open + 4) };
  if (html.startsWith('<!', open) || html.startsWith('<?', open)) return { name: '', end: after(html, '>', open) };
  TAG_NAME.lastIndex = open + 1;
  const name = TAG_NAME.exec(html)?.[1]?.toLowerCase();
  if (name === undefined) return null;
  const end = endOfTag(html, open + 1);
  const hidden = HIDDEN.has(name) && html[open + 1] !== '/';
  return { name, end: hidden ? endOfHidden(html, name, end) : end };
}

function after(html: string, text: string, from: number): number {
  const found = html.indexOf(text, from);
  return found < 0 ? html.length : found + text.length;
}

/** Attributes may have the character `>` within quotes. */
function endOfTag(html: string, from: number): number {
  let quote = '';
  for (let at = from; at < html.length; at += 1) {
    const character = html[at];
    if (quote !== '') {
      if (character === quote) quote = '';
    } else if (character === '"' || character === "'") quote = character;
    else if (character === '>') return at + 1;
  }
  return html.length;
}

function endOfHidden(html: string, name: string, from: number): number {
  const closing = new RegExp(`</${name}\\b[^>]*>`, 'gi');
  closing.lastIndex = from;
  return closing.exec(html) === null ? html.length : closing.lastIndex;
}
