// What a check shows when a setting that a stream needs is removed from its config.

import assert from 'node:assert/strict';
import { rest } from '../../../connectors/rest/index.ts';
import { type RestFixtures, restChecks } from '../../../src/sdk/testing/index.ts';

export interface Failure {
  /** The name of the check. */
  check: RegExp;
  message: RegExp;
}

export const WHOLE = /^gives each row once$/;
export const UNORDERED: Failure = {
  check: WHOLE,
  message: /does not have the last row of the page before|are not in the order of different values/,
};
export const UNCOUNTED: Failure = { check: WHOLE, message: /do not state the number of all rows/ };

/** The message of the one check with such a name; null if it passes. */
export async function failureOf(fixtures: RestFixtures, { check }: Failure): Promise<string | null> {
  const [found, ...others] = restChecks(rest, fixtures).filter(({ name }) => check.test(name));
  assert.ok(found !== undefined && others.length === 0, `There is not one check with a name like ${check.source}.`);
  return found.run().then(
    () => null,
    (error: Error) => error.message,
  );
}
