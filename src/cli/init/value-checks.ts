import { country } from '../../pipeline/mapping/functions/country.ts';
import { date } from '../../pipeline/mapping/functions/date.ts';
import { decimal } from '../../pipeline/mapping/functions/decimal.ts';
import { gtin } from '../../pipeline/mapping/functions/gtin.ts';
import { unit } from '../../pipeline/mapping/functions/unit.ts';
import { MappingError } from '../../pipeline/mapping/mapping-error.ts';
import { argumentText } from '../../pipeline/mapping/values.ts';
import type { Column, Scalar } from './columns.ts';

/** How many values of a column a function accepts. */
export interface Taken {
  taken: number;
  of: number;
  /** Some values that the function does not accept. */
  refused: readonly string[];
}

/** An expression around the value of a column, with its effect on the values. */
export interface CheckedExpression extends Taken {
  /** Makes the expression for a value from the expression for its column. */
  expression: (access: string) => string;
  /** Makes the condition under which the column has a value, if the expression fails without one. */
  condition?: (access: string) => string;
  /** A description of the values, such as `decimal numbers with a comma`. */
  words: string;
}

const VALUES_MAX = 5_000;
const REFUSED_SHOWN = 3;

/** Checks how many values of a column the mapping function `country` accepts. */
export function asCountry(column: Column): CheckedExpression {
  return { ...taken(column, country), expression: (access) => `country(${access})`, words: 'countries' };
}

export function asGtin(column: Column): CheckedExpression {
  return { ...taken(column, gtin), expression: (access) => `gtin(${access})`, words: 'GTINs with a right check digit' };
}

export function asUnit(column: Column): CheckedExpression {
  return { ...taken(column, (value) => unit(value)), expression: (access) => `unit(${access})`, words: 'known units' };
}

/** The notation of decimal numbers that accepts the most values. Whole numbers are the same in all notations. */
export function asDecimal(column: Column): CheckedExpression {
  const ways: CheckedExpression[] = [
    {
      ...taken(column, (value) => decimal(value)),
      expression: (access) => `decimal(${access})`,
      words: 'plain numbers',
    },
    {
      ...taken(column, (value) => decimal(value, ',')),
      expression: (access) => `decimal(${access}, ",")`,
      words: 'decimal numbers with a comma',
    },
    {
      ...taken(column, (value) => decimal(value, '.')),
      expression: (access) => `decimal(${access}, ".")`,
      words: 'decimal numbers with a point and grouped digits',
    },
  ];
  return most(ways);
}

/** True for numbers such as `1.234`, which may be less than two or more than a thousand. */
export function isAmbiguousDecimal({ given }: Column): boolean {
  // A number of JSON always has a point as decimal mark.
  const texts = given.slice(0, VALUES_MAX).filter((value) => typeof value === 'string');
  const marked = texts.map((value) => value.trim()).filter((value) => /[.,]/.test(value));
  return marked.length > 0 && marked.every((value) => /^[+-]?[1-9]\d{0,2}(?:\.\d{3})+$/.test(value));
}

/** The format of dates that accepts the most values. */
export function asDate(column: Column): CheckedExpression {
  const formats = ['DD.MM.YYYY', 'D.M.YYYY', 'DD/MM/YYYY', 'MM/DD/YYYY', 'DD-MM-YYYY'];
  return most([
    { ...taken(column, (value) => date(value)), expression: (access) => `date(${access})`, words: 'dates' },
    ...formats.map((format) => ({
      ...taken(column, (value) => date(value, format)),
      expression: (access: string) => `date(${access}, "${format}")`,
      words: `dates as ${format}`,
    })),
  ]);
}

/** A field for text also takes a number, but neither true nor false. */
export function asText(column: Column): CheckedExpression {
  return { ...taken(column, requireText), expression: (access) => access, words: 'texts' };
}

function requireText(value: Scalar): void {
  if (typeof value !== 'string') argumentText('printable', value);
}

/** Converts numbers in percent to fractions. `double` fails for null. */
export function fromPercent({ hasNull, hasText }: Column, decimals: CheckedExpression): CheckedExpression {
  if (hasText) {
    return {
      ...decimals,
      expression: (access) => `double(${decimals.expression(access)}) / 100`,
      condition: (access) => `${decimals.expression(access)} != null`,
    };
  }
  const numbers: CheckedExpression = { ...decimals, expression: (access) => `double(${access}) / 100` };
  return hasNull ? { ...numbers, condition: (access) => `${access} != null` } : numbers;
}

function most(ways: readonly CheckedExpression[]): CheckedExpression {
  const [first, ...others] = ways;
  if (first === undefined) throw new RangeError('There is no way to choose from.');
  return others.reduce((best, way) => (way.taken > best.taken ? way : best), first);
}

function taken({ given }: Column, read: (value: Scalar) => unknown): Taken {
  const looked = given.slice(0, VALUES_MAX);
  const refused = new Set<string>();
  let count = 0;
  for (const value of looked) {
    try {
      read(value);
      count += 1;
    } catch (error) {
      if (!(error instanceof MappingError)) throw error;
      if (refused.size < REFUSED_SHOWN) refused.add(String(value).trim().slice(0, 40));
    }
  }
  return { taken: count, of: looked.length, refused: [...refused] };
}

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
