import { MappingError } from '../mapping-error.ts';
import { argumentText, shown } from '../values.ts';

const LENGTHS = new Set([8, 12, 13, 14]);

/**
 * Returns a GTIN as 14 digits, and verifies its check digit. Takes GTIN-8, -12 (UPC), -13 (EAN) and -14, with spaces or
 * dashes between the digits.
 *
 * @returns null for an empty value
 * @throws MappingError with code `gtin.rounded`, `gtin.format` or `gtin.check`
 */
export function gtin(value: unknown): string | null {
  const text = argumentText('gtin', value);
  if (text === null) return null;
  if (/^\d(?:[.,]\d+)?E\+?\d+$/i.test(text)) {
    throw new MappingError(
      'gtin.rounded',
      `"${shown(text)}" is a GTIN that a spreadsheet has rounded; its last digits are lost.`,
    );
  }
  const digits = text.replace(/[\s\u2010-\u2015-]/g, '');
  if (!/^\d+$/.test(digits) || !LENGTHS.has(digits.length) || /^0+$/.test(digits)) {
    throw new MappingError(
      'gtin.format',
      `"${shown(text)}" is not a GTIN: a GTIN has 8, 12, 13 or 14 digits, and they are not all zero.`,
    );
  }
  const padded = digits.padStart(14, '0');
  const expected = checkDigitOf(padded.slice(0, 13));
  if (padded.endsWith(expected)) return padded;
  throw new MappingError(
    'gtin.check',
    `The check digit of GTIN ${digits} is ${digits.slice(-1)} and should be ${expected}.`,
  );
}

/**
 * The check digit of 13 digits: the digits are weighted with 3 and 1 in turns from the left, and the check digit
 * completes their sum to a multiple of ten. Source: GS1 General Specifications, 7.9.
 */
function checkDigitOf(digits: string): string {
  let sum = 0;
  for (let index = 0; index < digits.length; index++) sum += Number(digits[index]) * (index % 2 === 0 ? 3 : 1);
  return String((10 - (sum % 10)) % 10);
}
