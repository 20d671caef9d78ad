import { MappingError } from './mapping-error.ts';

/**
 * Counts what expressions do, in steps, so that no value of a row can stall the daemon: a step takes some nanoseconds, on
 * every machine the same number of them. Time itself would quarantine a row on a busy machine and map it on an idle one.
 */
export interface Meter {
  /** Gives the expressions of the next row their steps. */
  startRow(): void;
  /**
   * Runs one evaluation.
   *
   * @throws MappingError `expression.costly` when it takes more steps than the row has left
   */
  run(evaluate: () => unknown): unknown;
  /** Counts steps. Call it before the work where the work may be long. */
  spend: (steps: number) => void;
  /** Counts all that a value holds, however often it holds the same thing: what a comparison may have to walk through. */
  weigh(value: unknown): void;
}

/** Steps of all expressions of one row together: a tenth of a second or so. */
export const ROW_STEPS_MAX = 20_000_000;
/** What each expression has when the others have used up all: so the costly ones alone are reported, and not all after them. */
const REMAINDER_STEPS = 100_000;

/** A call of a function, an operator, the access to a column. */
export const OPERATION_STEPS = 16;
/** An element of a list or a member of an object. */
export const ELEMENT_STEPS = 64;

export function createMeter(): Meter {
  let rowLeft = ROW_STEPS_MAX;
  let left = ROW_STEPS_MAX;
  let exceeded: MappingError | null = null;

  function spend(steps: number): void {
    left -= steps;
    if (left < 0) throw (exceeded ??= costly());
  }

  function assertWithin(): void {
    if (exceeded !== null) throw exceeded;
  }

  function weigh(value: unknown): void {
    const open = [value];
    while (open.length > 0) {
      const next = open.pop();
      spend(OPERATION_STEPS);
      if (typeof next === 'string') spend(next.length);
      else if (ArrayBuffer.isView(next)) spend(next.byteLength);
      else if (typeof next === 'object' && next !== null) {
        const members: readonly unknown[] = Array.isArray(next)
          ? next
          : next instanceof Map
            ? [...next].flat()
            : Object.entries(next).flat();
        spend(members.length * ELEMENT_STEPS);
        for (const member of members) open.push(member);
      }
    }
  }

  return {
    spend,
    weigh,
    startRow() {
      rowLeft = ROW_STEPS_MAX;
    },
    run(evaluate) {
      const given = Math.max(rowLeft, REMAINDER_STEPS);
      left = given;
      exceeded = null;
      try {
        const value = evaluate();
        weigh(value);
        return value;
      } finally {
        rowLeft -= given - left;
        // `all`, `exists`, `&&` and `||` go on after an error, and may end with a value or with another error.
        assertWithin();
      }
    },
  };
}

function costly(): MappingError {
  return new MappingError(
    'expression.costly',
    `The values of the row are so long that its expressions would take more than ${ROW_STEPS_MAX.toLocaleString('en-US')} steps.`,
    'Shorten the value in the source, look at a part of it alone with substring(), or write the mapping as a TypeScript module.',
  );
}
