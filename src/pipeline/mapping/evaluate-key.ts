import type { JsonObject } from '../../lib/json.ts';
import type { Expression } from './expression.ts';
import { keyText, rounded } from './values.ts';

/** Turns the value of an expression into the text of a key or ref. Calculated fractions are rounded. */
export function keyTextOf(expression: Expression): (value: unknown) => string {
  return (value) => keyText(expression.calculates && typeof value === 'number' ? rounded(value) : value);
}

/** The key that an expression computes from a row; null if it computes none, for whatever reason. */
export function readKey(expression: Expression, row: JsonObject): string | null {
  try {
    const text = keyTextOf(expression)(expression.evaluate(row));
    return text === '' ? null : text;
  } catch {
    // The caller has reported the failure already.
    return null;
  }
}
