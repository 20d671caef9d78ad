import { describe, test } from 'vitest';

/** Something that a suite needs on the machine. */
export interface Need {
  isThere: boolean;
  /** The text after `needs` in the list of skipped tests: the missing thing, and how to install it. */
  what: string;
  /** An environment variable. If it is 1, the suite fails instead of being skipped. */
  requiredBy?: string;
}

/** Makes a `describe`. If the need is missing, the suite is skipped and names the need. */
export function describeWhere({ isThere, what, requiredBy }: Need): (name: string, body: () => void) => void {
  const words = requiredBy === undefined ? what : `${what}; ${requiredBy}=1 makes this a failure`;
  return (name, body) => {
    if (isThere) describe(name, body);
    else if (requiredBy === undefined || process.env[requiredBy] !== '1') {
      // A machine may lack the need, and the other tests are still useful there. The list of skipped tests at the end
      // of the run names the need. If a machine must run all tests, set `requiredBy`, and the missing need is a
      // failure.
      describe.skip(`${name} (needs ${words})`, body);
    } else {
      describe(name, () => {
        test(`${name} has what it needs`, () => {
          throw new Error(`This suite needs ${words}.`);
        });
      });
    }
  };
}
