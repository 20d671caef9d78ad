import { ISSUES, type IssueCode } from '../domain/words/issues.ts';
import { normalizeDecimal } from '../lib/decimal.ts';

/** The stored parts of a cell of a sheet, in the format of Office Open XML (ECMA-376 part 1, 18.3.1.4). */
export interface SpreadsheetCell {
  /** The number of the column, from 0. */
  column: number;
  /** `s`, `str`, `inlineStr`, `n`, `b`, `e` or `d`; any other type counts as a number. */
  type: string;
  /** The number of the cell's style, for `styles`. */
  style: number;
  /** The text in `v`, or the inline text; null if there is neither. */
  text: string | null;
  /** True for a cell that is calculated. */
  formula: boolean;
}

/** A problem of a cell: an issue without its field. */
export interface CellProblem {
  code: IssueCode;
  /** The part of the message that follows the name of the cell, such as `Cell C3 of the sheet Parts`. */
  message: string;
  value: string;
  cure: string;
}

/** The parts of a workbook that its cells refer to. */
export interface SpreadsheetContext {
  /** The shared texts, from 0. */
  strings: { get(index: number): string | undefined };
  /** The number format of each style; see `parseNumberFormat` and `builtInNumberFormat`. */
  styles: { formatOf(style: number): NumberFormat };
  /** True if the workbook counts days from 1904. */
  is1904: boolean;
  /** Error values that stand for an empty cell, such as `#N/A`. */
  emptyErrors: ReadonlySet<string>;
  maxCellCharacters: number;
}

/** The most digits of a whole number that Excel can store. If a number has more, its last digits are lost. */
const DIGITS_MAX = 15;
/** The form in which Excel shows a long number in a narrow column, and writes it into a CSV file: `4.00638E+12`. */
const SHOWN_SHORT = /^[+-]?\d(?:[.,]\d+)?E\+\d{2,3}$/;

/**
 * The value of a cell: text, or true and false. An empty cell is empty text. A number is the text of its stored value,
 * so that an article number does not change. A date is ISO text.
 *
 * @returns the value, or the problem of the cell: it has lost digits, holds an error or a formula without its result,
 *   or is too long. Never throws.
 */
export function cellValue(cell: SpreadsheetCell, context: SpreadsheetContext): string | boolean | CellProblem {
  const { type, text, formula } = cell;
  // Programs that do not calculate write no `v`, or an empty one. An empty text as a result has the type `str`.
  if (formula && type !== 'str' && (text === null || text.trim() === '')) return noResult();
  if (text === null) return '';
  switch (type) {
    case 's': {
      const shared = context.strings.get(Number(text));
      return shared === undefined ? noSharedText(text) : checkedText(shared, context);
    }
    case 'inlineStr':
      return checkedText(text, context);
    case 'str':
      return checkedText(unescapeCellText(text), context);
    case 'b':
      return text === '1' || text === 'true';
    case 'e':
      return context.emptyErrors.has(text) ? '' : errorValue(text);
    case 'd':
      return text;
    default:
      return numberValue(text, context.styles.formatOf(cell.style), context.is1904);
  }
}

function checkedText(text: string, { maxCellCharacters }: SpreadsheetContext): string | CellProblem {
  if (text.length > maxCellCharacters) {
    return {
      code: 'row.length',
      message: `holds a text of more than ${maxCellCharacters} characters.`,
      value: text.slice(0, 200),
      cure: 'Shorten the text, or raise `maxCellCharacters`.',
    };
  }
  return SHOWN_SHORT.test(text) ? shortened(text) : text;
}

/** A short whole number. Most numbers have this form, and no rule below changes them. */
const SHORT_WHOLE = /^\d{1,15}$/;

function numberValue(text: string, format: NumberFormat, is1904: boolean): string | CellProblem {
  if (format.kind === 'plain' && SHORT_WHOLE.test(text)) return text;
  const exact = normalizeDecimal(text);
  if (exact === null) return text.trim() === '' ? '' : noNumber(text);
  if (format.kind === 'date') return dateText(Number(text), format, is1904) ?? noDate(text);
  const isScientific = /e/i.test(text);
  const typed = exact.includes('.') ? asTyped(exact) : exact;
  if (typed.includes('.')) return isScientific || typed !== exact ? typed : text.trim();
  const digits = typed.replace(/^-/, '');
  if (isScientific && mantissaDigits(text) < digits.length) return shortened(text);
  if (digits.length > DIGITS_MAX) return tooLong(text);
  if (format.kind === 'padded' && !typed.startsWith('-')) return padNumber(digits, format);
  return isScientific || typed !== exact ? typed : text.trim();
}

function mantissaDigits(text: string): number {
  return text.replace(/e.*$/i, '').replace(/\D/g, '').replace(/^0+/, '').length;
}

/**
 * The text of a fraction that a person typed. Excel stores a binary fraction and writes up to 17 digits of it
 * (`0.86999999999999999`), but knows and shows 15 of them (`0.87`).
 */
function asTyped(exact: string): string {
  const significant = exact.replace(/^-?0?\.?0*/, '').replace('.', '').length;
  if (significant <= DIGITS_MAX) return exact;
  return normalizeDecimal(Number(exact).toPrecision(DIGITS_MAX)) ?? exact;
}

function problem(code: keyof typeof ISSUES, message: string, value: string): CellProblem {
  return { code, message, value: value.slice(0, 200), cure: ISSUES[code].cure };
}

function noResult(): CellProblem {
  return problem('cell.formula', 'holds a formula, and its result is not stored.', '');
}

function errorValue(text: string): CellProblem {
  return problem('cell.error', `holds the error value ${text}.`, text);
}

function noSharedText(text: string): CellProblem {
  const name = text.slice(0, 20);
  return problem('cell.text', `refers to the shared text ${name}, which the workbook does not have.`, text);
}

function shortened(text: string): CellProblem {
  return problem('cell.shortened', `holds ${text}, which has lost the last digits of a longer number.`, text);
}

function tooLong(text: string): CellProblem {
  return problem(
    'cell.shortened',
    `holds the number ${text}, of which a spreadsheet keeps ${DIGITS_MAX} digits only.`,
    text,
  );
}

function noNumber(text: string): CellProblem {
  return problem('cell.number', `is marked as a number and holds ${JSON.stringify(text.slice(0, 200))}.`, text);
}

function noDate(text: string): CellProblem {
  const number = text.slice(0, 40);
  return problem('cell.date', `is formatted as a date, but its number ${number} is not a valid day.`, text);
}

const DAY_MS = 86_400_000;
/** 1899-12-30, so that day 61 is 1900-03-01, as in Excel. */
const EPOCH_1900 = Date.UTC(1899, 11, 30);
const EPOCH_1904 = Date.UTC(1904, 0, 1);
/** The last day, 9999-12-31, in each of the two systems. */
const LAST_DAY = { false: 2_958_465, true: 2_957_003 };

/**
 * The ISO text of a day number, with the parts that its format shows: `2024-03-01`, `2024-03-01T08:30:00`, `08:30:00`,
 * and `36:30:00` for hours that are counted beyond a day.
 *
 * The 1900 system treats 1900 as a leap year: its day 60 is 29 February 1900, which did not exist, so the days before
 * it need another offset.
 *
 * @returns null if the number is no date
 */
function dateText(value: number, format: NumberFormat & { kind: 'date' }, is1904: boolean): string | null {
  if (!Number.isFinite(value) || value < 0) return null;
  // Excel keeps 15 digits, which is exact to the millisecond.
  const ms = Math.round(value * DAY_MS);
  if (!format.days) {
    const whole = format.elapsed ? ms : ms % DAY_MS;
    const hours = Math.floor(whole / 3_600_000);
    return (
      String(hours).padStart(2, '0') +
      new Date(whole % 3_600_000)
        .toISOString()
        .slice(13, 23)
        .replace(/\.000$/, '')
    );
  }
  const days = Math.floor(ms / DAY_MS);
  if (days > LAST_DAY[`${is1904}`] || (!is1904 && (days === 0 || days === 60))) return null;
  const epoch = is1904 ? EPOCH_1904 : days < 60 ? EPOCH_1900 + DAY_MS : EPOCH_1900;
  const text = new Date(epoch + ms).toISOString();
  return format.time ? text.slice(0, 23).replace(/\.000$/, '') : text.slice(0, 10);
}

/** The escapes of Office for characters that XML cannot hold: `_x000D_` (ECMA-376 part 1, 22.9.2.19). */
const ESCAPED = /_x([0-9A-Fa-f]{4})_/g;

/** The text of a cell that a person sees in Excel: `_x000D_` becomes the character that it stands for. */
export function unescapeCellText(text: string): string {
  return text.includes('_x')
    ? text.replace(ESCAPED, (_all, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    : text;
}

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
function padNumber(digits: string, format: NumberFormat & { kind: 'padded' }): string {
  const padded = digits.padStart(format.digits, '0');
  const extra = padded.length - format.digits;
  const rest = format.groups.map((fixed, index) => `${padded[extra + index] ?? ''}${fixed}`).join('');
  return `${format.prefix}${padded.slice(0, extra)}${rest}`;
}

/** The column of letters such as `AB`, from 0. */
export function columnOfLetters(letters: string): number {
  let column = 0;
  for (const letter of letters) column = column * 26 + letter.charCodeAt(0) - 64;
  return column - 1;
}

/** The letters of a column that is counted from 0: `A`, `Z`, `AA`. */
export function columnLettersOf(column: number): string {
  let rest = column + 1;
  let letters = '';
  while (rest > 0) {
    letters = String.fromCharCode(65 + ((rest - 1) % 26)) + letters;
    rest = Math.floor((rest - 1) / 26);
  }
  return letters;
}
