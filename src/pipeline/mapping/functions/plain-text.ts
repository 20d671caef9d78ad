import { decodeHTML } from 'entities/decode';
import type { CheckedFunction } from '../../../domain/words/issues.ts';
import { withoutOddCharacters } from '../../../lib/text/odd-character.ts';
import { MappingError } from '../mapping-error.ts';
import { kindOf, requireNumberText } from '../values.ts';

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
export function textOf(name: CheckedFunction, value: unknown): string | null {
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
