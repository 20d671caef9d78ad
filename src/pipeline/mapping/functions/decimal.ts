import { normalizeDecimal } from '../../../lib/decimal.ts';
import { MappingError } from '../mapping-error.ts';
import { argumentText, shown } from '../values.ts';

const LENGTH_MAX = 100;
const PLAIN = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:E[+-]?\d+)?$/i;

/** The marks that `decimal(x, mark)` takes, each with the signs that may then separate groups of three digits. */
const GROUPED = {
  ',': /^[+-]?\d{1,3}(?:([.' \u00a0\u2009\u202f\u2019])\d{3})(?:\1\d{3})*(?:,\d*)?$/,
  '.': /^[+-]?\d{1,3}(?:([,' \u00a0\u2009\u202f\u2019])\d{3})(?:\1\d{3})*(?:\.\d*)?$/,
} as const;

const UNGROUPED = {
  ',': /^[+-]?(?:\d+(?:,\d*)?|,\d+)$/,
  '.': /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)$/,
} as const;

type DecimalMark = keyof typeof GROUPED;

export function isDecimalMark(mark: unknown): mark is DecimalMark {
  return mark === ',' || mark === '.';
}

/**
 * A decimal number as text in its normal form. The mark is never guessed, because `1.234` may be meant as 1234: without
 * a mark only plain numbers are accepted (`1234.56`). With the mark `,` or `.` the text may also have groups of three
 * digits. A minus may come after the number, as SAP writes it.
 *
 * @returns null for an empty value
 * @throws MappingError with code `decimal.ambiguous` or `decimal.format`
 */
export function decimal(value: unknown, mark?: unknown): string | null {
  const text = argumentText('decimal', value);
  if (text === null) return null;
  if (mark !== undefined && !isDecimalMark(mark)) {
    throw new MappingError('decimal.mark', 'The second argument of decimal() is "," or ".".');
  }
  const signed = /^[^+-].*-$/.test(text) ? `-${text.slice(0, -1).trimEnd()}` : text;
  // A number of JSON always has a point, so the mark only applies to text.
  const normal = typeof value === 'string' ? read(signed, mark) : normalizeDecimal(signed);
  if (normal !== null) return normal;
  throw failure(text, signed, mark);
}

function read(text: string, mark: DecimalMark | undefined): string | null {
  if (text.length > LENGTH_MAX) return null;
  if (mark === undefined) return PLAIN.test(text) ? normalizeDecimal(text) : null;
  if (UNGROUPED[mark].test(text)) return normalizeDecimal(text.replace(',', '.'));
  if (!GROUPED[mark].test(text)) return null;
  const [whole = '', fraction = ''] = text.split(mark);
  return normalizeDecimal(`${whole.replace(/[^\d+-]/g, '')}.${fraction}`);
}

function failure(text: string, signed: string, mark: DecimalMark | undefined): MappingError {
  const others = (['.', ','] as const).filter((other) => other !== mark && read(signed, other) !== null);
  const [other] = others;
  if (mark === undefined && other !== undefined) {
    const call = others.length === 1 ? `decimal(x, "${other}")` : 'decimal(x, ",") or decimal(x, ".")';
    return new MappingError(
      'decimal.ambiguous',
      `"${shown(text)}" is not a plain decimal number such as 1234.56, and dpp-sync does not guess.`,
      `Name the decimal mark: ${call}.`,
    );
  }
  const hint = mark === undefined ? 'such as 1234.56' : `with "${mark}" as decimal mark`;
  return new MappingError(
    'decimal.format',
    `"${shown(text)}" is not a decimal number ${hint}.`,
    other === undefined
      ? `Correct the value in the source${cutOff(text, mark)}.`
      : `If the value is right, the decimal mark is "${other}".`,
  );
}

/** A number and a unit behind it. */
const WITH_UNIT = /^(?<number>[^\p{L}%]*\d)\s*(?<unit>[\p{L}%][^\d"\\]{0,19})$/u;

/** How to read a number with a unit behind it; an empty text for all other values. */
function cutOff(text: string, mark: DecimalMark | undefined): string {
  const { number = '', unit = '' } = WITH_UNIT.exec(text)?.groups ?? {};
  const marks = mark === undefined ? ([undefined, ',', '.'] as const) : [mark];
  const fitting = marks.filter((one) => read(number, one) !== null);
  if (fitting.length === 0) return '';
  const second = fitting[0] === undefined ? '' : `, "${fitting[0]}"`;
  return `, or cut the unit off in the mapping: decimal(x.split("${unit}")[0]${second})`;
}
