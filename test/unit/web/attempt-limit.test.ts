import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { createAttemptLimit } from '../../../src/web/limits.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

it('wrong guesses for many long names take little memory', () => {
  const limit = createAttemptLimit(createManualClock());
  // Each name is a text of its own, as it is when it comes from a request.
  const nameOf = (at: number) => Buffer.from(`name ${at}`.padEnd(10_000, 'x')).toString('latin1');
  const guess = (count: number) => {
    for (let at = 0; at < count; at += 1) limit.take(nameOf(at));
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const before = guess(100);
  expect(guess(10_000) - before).toBeLessThan(20_000_000);
  // Only a limit that is still in use shows how much memory it takes.
  for (let more = 0; more < 8; more += 1) limit.take(nameOf(50));
  expect(limit.waitMs(nameOf(50))).toBe(30_000);
});
