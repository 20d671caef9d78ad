import type { JsonObject } from '../../lib/json.ts';
import type { Expression } from './expression.ts';
import { keyText, rounded } from './values.ts';

/** Turns the value of an expression into the text of a key or ref, without the noise of calculated fractions. */
export function keyTextOf(expression: Expression): (value: unknown) => string {
  return (value) => keyText(expression.calculates && typeof value === 'number' ? rounded(value) : value);
}

/** The key that an expression gives of a row; null where it gives none, for whatever reason. */
export function readKey(expression: Expression, row: JsonObject): string | null {
  try {
    const text = keyTextOf(expression)(expression.evaluate(row));
    return text === '' ? null : text;
  } catch {
    // Whoever asks has the failure among the issues already.
    return null;
  }
}
