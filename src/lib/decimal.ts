/** Matches a number that is already in the normal form, like most numbers of real systems. */
const NORMAL = /^(?:0|-?(?:[1-9]\d*|0(?=\.))(?:\.\d*[1-9])?)$/;
const PLAIN = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?$/;

/**
 * Brings a decimal number, given as text, into its one normal form: no exponent, no superfluous zeros, no plus sign, no
 * negative zero. `"01.50"` becomes `"1.5"`, `".5"` becomes `"0.5"`. Digits are never rounded, because the value is
 * never converted to a binary number.
 *
 * @returns null when the text is not a decimal number, or when an exponent would write more than 200 digits.
 */
export function normalizeDecimal(text: string): string | null {
  if (NORMAL.test(text)) return text;
  const match = PLAIN.exec(text.trim());
  if (!match) return null;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  if (whole === '' && fraction === '') return null;
  const shift = Number(exponent);
  if (Math.abs(shift) > 200) return null;
  let digits = whole + fraction;
  let point = whole.length + shift;
  if (point < 0) {
    digits = '0'.repeat(-point) + digits;
    point = 0;
  }
  if (point > digits.length) digits += '0'.repeat(point - digits.length);
  const integer = digits.slice(0, point).replace(/^0+(?=\d)/, '') || '0';
  const rest = digits.slice(point).replace(/0+$/, '');
  const value = rest === '' ? integer : `${integer}.${rest}`;
  return sign === '-' && value !== '0' ? `-${value}` : value;
}

/** Adds two normalised decimals exactly. The sum is normalised too. */
export function addDecimals(a: string, b: string): string {
  const places = Math.max(fractionLength(a), fractionLength(b));
  const sum = String(scaled(a, places) + scaled(b, places));
  const digits = sum.replace('-', '').padStart(places + 1, '0');
  const point = digits.length - places;
  return normalizeDecimal(`${sum.startsWith('-') ? '-' : ''}${digits.slice(0, point)}.${digits.slice(point)}`) ?? sum;
}

function fractionLength(decimal: string): number {
  const point = decimal.indexOf('.');
  return point < 0 ? 0 : decimal.length - point - 1;
}

/** The decimal times 10 to the power of `places`. */
function scaled(decimal: string, places: number): bigint {
  return BigInt(decimal.replace('.', '') + '0'.repeat(places - fractionLength(decimal)));
}

/** Compares two normalised decimals: negative when a < b, 0 when equal, positive when a > b. */
export function compareDecimals(a: string, b: string): number {
  const negativeA = a.startsWith('-');
  const negativeB = b.startsWith('-');
  if (negativeA !== negativeB) return negativeA ? -1 : 1;
  return negativeA ? compareMagnitudes(b.slice(1), a.slice(1)) : compareMagnitudes(a, b);
}

function compareMagnitudes(a: string, b: string): number {
  const wholeA = wholeLength(a);
  const wholeB = wholeLength(b);
  if (wholeA !== wholeB) return wholeA - wholeB;
  // Both have the same number of digits before the point, so comparing the texts compares the numbers.
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function wholeLength(magnitude: string): number {
  const point = magnitude.indexOf('.');
  return point < 0 ? magnitude.length : point;
}
