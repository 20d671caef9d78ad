import { type JsonValue, parseExactly } from '../../src/sdk/index.ts';

/** Parses the JSON of a column; see `parseExactly`. Text that is not JSON stays text. */
export function jsonOf(text: string): JsonValue {
  try {
    return parseExactly(text);
  } catch {
    return text;
  }
}

/** The shortest decimal that is this number in single precision: 0.1 and not 0.10000000149011612. */
export function singleText(value: number): string {
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === Math.fround(value)) return String(short);
  }
  return String(value);
}

/** The text of a value from a driver, which is text or an exact number. */
export function textOf(value: unknown): string {
  return typeof value === 'object' && value !== null
    ? JSON.stringify(value)
    : String(value as string | number | bigint);
}
