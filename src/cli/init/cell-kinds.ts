// Recognises the kind of a single value.

const NUMBER = /^[+-]?[\d.,'’\s]*\d[\d.,'’\s]*[-%]?$/;
const DATE = /^\d{1,4}[-./]\d{1,2}[-./]\d{1,4}(?:[T ].*)?$/;
const AMOUNT = /^[+-]?\d[\d\s.,'’]*[.,]\d{1,4}$/;
const CODE = /^(?=.*\d)[\p{L}\d][\p{L}\d._/-]*$/u;
const GUID = /^\{?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\}?$/i;

export function isEmptyText(text: string): boolean {
  return text.trim() === '';
}

/** True for a number, a date or a generated id, which cannot be the name of a column. */
export function looksLikeValue(text: string): boolean {
  const trimmed = text.trim();
  return NUMBER.test(trimmed) || DATE.test(trimmed) || GUID.test(trimmed);
}

/** True if all are numbers, and some of them have decimals, like prices and weights. */
export function areAmounts(values: readonly string[]): boolean {
  return values.every((value) => NUMBER.test(value)) && values.some((value) => AMOUNT.test(value));
}

/** True if all are codes such as `LMP-007`, or digits of one length. Amounts and dates are not codes. */
export function areCodes(values: readonly string[]): boolean {
  if (!values.every((value) => CODE.test(value) && !DATE.test(value)) || areAmounts(values)) return false;
  const [first = ''] = values;
  return values.every((value) => /\p{L}/u.test(value)) || values.every((value) => value.length === first.length);
}
