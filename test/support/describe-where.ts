import { describe, test } from 'vitest';

/** What a suite needs of the machine. */
export interface Need {
  isThere: boolean;
  /** What a run that has left it out says, to follow `needs`: what it is, and how to have it. */
  what: string;
  /** The environment variable that makes it a failure, where it is 1, that it is not there. */
  requiredBy?: string;
}

/** A `describe` that is skipped, saying what it needs, where that is not there. */
export function describeWhere({ isThere, what, requiredBy }: Need): (name: string, body: () => void) => void {
  const words = requiredBy === undefined ? what : `${what}; ${requiredBy}=1 makes this a failure`;
  return (name, body) => {
    if (isThere) describe(name, body);
    else if (requiredBy === undefined || process.env[requiredBy] !== '1')
      describe.skip(`${name} (needs ${words})`, body);
    else {
      describe(name, () => {
        test('has what it needs', () => {
          throw new Error(`This suite needs ${words}.`);
        });
      });
    }
  };
}
