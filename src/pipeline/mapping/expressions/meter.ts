import { MappingError } from '../mapping-error.ts';

/** The steps for all expressions of one row, about a tenth of a second. */
export const ROW_STEPS_MAX = 20_000_000;
/**
 * The steps that each further expression gets when the row's steps are used up. So only the costly expressions are
 * reported, and not all expressions after them.
 */
const REMAINDER_STEPS = 100_000;

/** The steps of a call, an operator, or a column access. */
export const OPERATION_STEPS = 16;
/** The steps of an element of a list or a member of an object. */
export const ELEMENT_STEPS = 64;

/**
 * Counts the work of expressions in steps, so that no value can block the daemon. A step takes some nanoseconds. With a
 * limit in time, the same row could be quarantined on a busy machine and mapped on an idle one.
 */
export function createMeter() {
  let rowLeft = ROW_STEPS_MAX;
  let left = ROW_STEPS_MAX;
  let exceeded: MappingError | null = null;

  /** Counts steps. Call it before work that may take long. */
  function spend(steps: number): void {
    left -= steps;
    if (left < 0) throw (exceeded ??= costly());
  }

  function assertWithin(): void {
    if (exceeded !== null) throw exceeded;
  }

  /** Counts the whole content of a value, repeated parts included: a comparison may read all of it. */
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
    /** Resets the count for the next row. */
    startRow() {
      rowLeft = ROW_STEPS_MAX;
    },
    /**
     * Runs one evaluation.
     *
     * @throws MappingError `expression.costly` if it takes more steps than are left for the row
     */
    run(evaluate: () => unknown): unknown {
      const given = Math.max(rowLeft, REMAINDER_STEPS);
      left = given;
      exceeded = null;
      try {
        const value = evaluate();
        weigh(value);
        return value;
      } finally {
        rowLeft -= given - left;
        // The operators `all`, `exists`, `&&` and `||` continue after an error and may hide it, so the limit is checked
        // again here.
        assertWithin();
      }
    },
  };
}

export type Meter = ReturnType<typeof createMeter>;

function costly(): MappingError {
  return new MappingError(
    'expression.costly',
    `The values of the row are so long that its expressions would take more than ${ROW_STEPS_MAX.toLocaleString('en-US')} steps.`,
    'Shorten the value in the source, use only a part of it with substring(), or write the mapping as a TypeScript module.',
  );
}
