/** The effect of a number format on values. */
export type NumberFormat =
  | { kind: 'plain' }
  /** `days`: shows a date. `time`: shows a time of day. `elapsed`: counts hours beyond a day. */
  | { kind: 'date'; days: boolean; time: boolean; elapsed: boolean }
  /** Shows whole numbers with leading zeros and perhaps fixed text: `0000000`, `"MAT-"00000`. */
  | { kind: 'padded'; prefix: string; groups: readonly string[]; digits: number };

/** The format of a cell that has no format. */
export const PLAIN_NUMBER_FORMAT: NumberFormat = { kind: 'plain' };

const DAY: NumberFormat = { kind: 'date', days: true, time: false, elapsed: false };
const TIME: NumberFormat = { kind: 'date', days: false, time: true, elapsed: false };
const DAY_AND_TIME: NumberFormat = { kind: 'date', days: true, time: true, elapsed: false };
const ELAPSED: NumberFormat = { kind: 'date', days: false, time: true, elapsed: true };

/**
 * The formats that are not written into the file, by their ids (ECMA-376 part 1, 18.8.30). The formats from 27 to 58
 * are dates or times in East Asian locales, and are unused in other locales.
 */
export function builtInNumberFormat(id: number): NumberFormat {
  if ((id >= 14 && id <= 17) || (id >= 27 && id <= 31) || id === 36 || (id >= 50 && id <= 54)) return DAY;
  if (id >= 57 && id <= 58) return DAY;
  if ((id >= 18 && id <= 21) || (id >= 32 && id <= 35) || (id >= 55 && id <= 56) || id === 45 || id === 47) return TIME;
  if (id === 22) return DAY_AND_TIME;
  return id === 46 ? ELAPSED : PLAIN_NUMBER_FORMAT;
}

/** Quoted text, a character after a backslash, a space of some width, a fill, and text in brackets. */
const LITERAL = /"[^"]*"|\\.|_.|\*.|\[[^\]]*\]/gs;

/** Reads a format code such as `yyyy-mm-dd`, `00000` or `#,##0.00`. */
export function parseNumberFormat(code: string): NumberFormat {
  const [first = ''] = sectionsOf(code);
  const elapsed = /\[(?:h+|m+|s+)\]/i.test(first);
  const tokens = first.replace(LITERAL, '');
  if (elapsed) return ELAPSED;
  if (/^general$/i.test(tokens.trim())) return PLAIN_NUMBER_FORMAT;
  const bare = tokens.replace(/AM\/PM|A\/P/gi, '');
  const time = /[hs]/i.test(bare);
  const days = /[yd]/i.test(bare) || (/m/i.test(bare) && !time);
  if ((days || time) && !/[#?]/.test(bare)) return { kind: 'date', days, time, elapsed: false };
  return paddedFormat(first) ?? PLAIN_NUMBER_FORMAT;
}

/** The parts for positive numbers, negative ones, zero and text. A semicolon in quotes is not a separator. */
function sectionsOf(code: string): string[] {
  const sections = [''];
  for (const [part] of code.matchAll(/"[^"]*"|\\.|\[[^\]]*\]|[^"\\[;]+|;|./gs)) {
    if (part === ';') sections.push('');
    else sections[sections.length - 1] += part;
  }
  return sections;
}

/**
 * A format that pads whole numbers with zeros. Null for a format with decimals, a percent sign, thousands or a
 * condition, which does not show the number itself, and for a single zero, which pads nothing.
 */
function paddedFormat(section: string): NumberFormat | null {
  if (/\[[<>=]/.test(section)) return null;
  const shown = section
    .replace(/\[[^\]]*\]|_.|\*./gs, '')
    .replace(/"([^"]*)"|\\(.)/gs, (_all, quoted?: string, escaped?: string) => toPrivate(quoted ?? escaped ?? ''));
  const match = /^([^0#?.,%E@]*)(0[^#?.,%E@]*)$/.exec(shown);
  if (match === null) return null;
  const [, prefix = '', body = ''] = match;
  const groups = body.split('0').slice(1);
  return groups.length < 2
    ? null
    : { kind: 'padded', prefix: fromPrivate(prefix), groups: groups.map(fromPrivate), digits: groups.length };
}

/**
 * While the code searches for placeholders, characters of fixed text are moved to this range, so that a quoted 0 does
 * not count as a placeholder.
 */
const PRIVATE = 0xe000;

function toPrivate(text: string): string {
  return text.replace(/[\0-\x7f]/g, (character) => String.fromCharCode(PRIVATE + character.charCodeAt(0)));
}

function fromPrivate(text: string): string {
  return text.replace(/[\ue000-\ue07f]/g, (character) => String.fromCharCode(character.charCodeAt(0) - PRIVATE));
}

/** The text of a whole number in a padded format: with `000-000`, 1234 is `001-234`. */
export function padNumber(digits: string, format: NumberFormat & { kind: 'padded' }): string {
  const padded = digits.padStart(format.digits, '0');
  const extra = padded.length - format.digits;
  const rest = format.groups.map((fixed, index) => `${padded[extra + index] ?? ''}${fixed}`).join('');
  return `${format.prefix}${padded.slice(0, extra)}${rest}`;
}
