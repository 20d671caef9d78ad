// Checks the promises of every connector for the rest connector, on a server of the test. test/conformance/rest-kit.test.ts checks what
// is special about REST.

import { afterAll, beforeAll, describe, it } from 'vitest';
import { rest } from '../../connectors/rest/index.ts';
import { connectorChecks } from '../../src/sdk/testing/index.ts';
import { restFixtures, startSamples } from './support/rest-fixtures.ts';

describe('the rest connector', () => {
  let samples: Awaited<ReturnType<typeof startSamples>>;
  beforeAll(async () => {
    samples = await startSamples();
  });
  afterAll(() => samples.close());

  // The names of the checks do not depend on the address.
  for (const [at, { name }] of connectorChecks(rest, restFixtures('http://127.0.0.1')).entries()) {
    it(name, async () => {
      await connectorChecks(rest, restFixtures(samples.base))[at]?.run();
    });
  }
});
