import { describe, test } from 'vitest';

/** What a suite needs of the machine. */
export interface Need {
  isThere: boolean;
  /** The text behind `needs` in the list of tests that were left out: what is missing, and how to install it. */
  what: string;
  /** The environment variable that makes it a failure, where it is 1, that it is not there. */
  requiredBy?: string;
}

/** A `describe` that is skipped, saying what it needs, where that is not there. */
export function describeWhere({ isThere, what, requiredBy }: Need): (name: string, body: () => void) => void {
  const words = requiredBy === undefined ? what : `${what}; ${requiredBy}=1 makes this a failure`;
  return (name, body) => {
    if (isThere) describe(name, body);
    else if (requiredBy === undefined || process.env[requiredBy] !== '1') {
      // Not every machine has it, or may have it: there the other tests still say something, and the run's list of what was
      // left out says what does not hold by it. Where all has to be tested, `requiredBy` turns this into a failure.
      describe.skip(`${name} (needs ${words})`, body);
    } else {
      describe(name, () => {
        test('has what it needs', () => {
          throw new Error(`This suite needs ${words}.`);
        });
      });
    }
  };
}
