import { MappingError } from '../mapping-error.ts';
import type { Meter } from '../meter.ts';
import { shown } from '../values.ts';

/** The library's methods whose work can grow faster than their input. */
export const BOUNDED_METHODS = new Set(['matches', 'contains', 'indexOf', 'lastIndexOf', 'split']);

/**
 * The prefix of the functions that replace these methods: `contains` is compiled to `bounded_contains`. Such a function
 * counts its steps before it begins.
 */
export const BOUNDED = 'bounded_';

/**
 * A search of a text in a text may compare each character of one text with each character of the other. Four
 * comparisons count as one step.
 */
const COMPARED_IN_A_STEP = 4;

export function createSearch(meter: Meter) {
  const look = (text: string, part: string) => meter.spend((text.length * part.length) / COMPARED_IN_A_STEP);

  function from(text: string, part: string, start: bigint, find: (at: number) => number): bigint {
    if (part === '') return start;
    const at = Number(start);
    if (at < 0 || at >= text.length) {
      throw new MappingError('expression.failed', `The text has no character ${at} to begin at.`);
    }
    look(text, part);
    return BigInt(find(at));
  }

  return {
    contains: (text: string, part: string): boolean => {
      look(text, part);
      return text.includes(part);
    },
    indexOf: (text: string, part: string): bigint => {
      look(text, part);
      return BigInt(text.indexOf(part));
    },
    indexOfFrom: (text: string, part: string, start: bigint) => from(text, part, start, (at) => text.indexOf(part, at)),
    lastIndexOf: (text: string, part: string): bigint => {
      look(text, part);
      return BigInt(text.lastIndexOf(part));
    },
    lastIndexOfFrom: (text: string, part: string, start: bigint) =>
      from(text, part, start, (at) => text.lastIndexOf(part, at)),
    split: (text: string, separator: string): string[] => {
      look(text, separator);
      return text.split(separator);
    },
    /**
     * Splits into at most `most` parts, of which the last one is the rest of the text. Splits into all parts if `most`
     * is negative.
     */
    splitInto: (text: string, separator: string, most: bigint): string[] => {
      const count = Number(most);
      if (count === 0) return [];
      look(text, separator);
      const parts = text.split(separator);
      if (count < 0 || parts.length <= count) return parts;
      return [...parts.slice(0, count - 1), parts.slice(count - 1).join(separator)];
    },
  };
}

const DURATION = /^[+-]?(?:(?:\d{1,15}(?:\.\d{0,15})?|\.\d{1,15})(?:ns|us|µs|ms|s|m|h)){1,7}$/;

/**
 * Returns the text if it is a duration. For thousands of digits the library needs time that grows with the cube of
 * their number, so `duration(x)` is compiled to `duration(bounded_duration(x))`.
 */
export function requireDurationText(text: string): string {
  if (DURATION.test(text)) return text;
  throw new MappingError('duration.format', `"${shown(text)}" is not a duration such as 1h30m.`);
}
