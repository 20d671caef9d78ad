import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { createAttemptLimit } from '../../../src/web/attempt-limit.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

it('wrong guesses for many long names take little memory', () => {
  const limit = createAttemptLimit(createManualClock());
  collectGarbage();
  const before = process.memoryUsage();
  for (let at = 0; at < 10_000; at += 1) {
    // Each name is a text of its own, as it is when it comes from a request.
    expect(limit.failed(Buffer.from(`name ${at}`.padEnd(10_000, 'x')).toString('latin1'))).toBe(0);
  }
  collectGarbage();
  const after = process.memoryUsage();
  expect(after.heapUsed + after.external - before.heapUsed - before.external).toBeLessThan(5_000_000);
});
