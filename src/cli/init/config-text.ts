import { stringify } from 'yaml';
import { visibleText } from '../../lib/text/odd-character.ts';
import { printable, wrap } from '../text/style.ts';

/** The longest line with a comment. A longer line gets its comment above it. */
const LINE_MAX = 110;

/** A line of YAML with a comment. */
export function yamlLine(indent: number, text: string, comment = ''): string[] {
  const blanks = ' '.repeat(indent);
  if (comment === '') return [`${blanks}${text}`];
  const line = `${blanks}${text} # ${printable(comment)}`;
  return line.length <= LINE_MAX ? [line] : [...commentLines(indent, comment), `${blanks}${text}`];
}

/** A comment on separate lines, as many as it needs. */
export function commentLines(indent: number, comment: string): string[] {
  return wrap(printable(comment), LINE_MAX - indent - 2).map((line) => `${' '.repeat(indent)}# ${line}`);
}

/** A value as YAML on one line. A `${` in the value is escaped. */
export function yamlValue(value: unknown): string {
  const escaped = withoutPlaceholders(value);
  if (typeof escaped === 'string' && /[\w"]/.test(escaped) && visibleText(escaped) === escaped) {
    return stringify(escaped, { lineWidth: 0, defaultStringType: 'PLAIN', blockQuote: false }).trimEnd();
  }
  return jsonOf(escaped);
}

/** The form of a name in a list in brackets. */
export function yamlName(name: string): string {
  const isPlain = /^[A-Za-z_][\w-]*$/.test(name) && !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(name);
  return isPlain ? name : jsonOf(withoutPlaceholders(name));
}

/** JSON is YAML, and has no line breaks in it. An escape shows each character that people cannot see. */
function jsonOf(value: unknown): string {
  return visibleText(JSON.stringify(value));
}

function withoutPlaceholders(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('${', () => '$${');
  return Array.isArray(value) ? value.map(withoutPlaceholders) : value;
}
