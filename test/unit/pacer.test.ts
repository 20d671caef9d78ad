import { expect, it } from 'vitest';
import { createBreaker } from '../../src/delivery/breaker.ts';
import { createPacer } from '../../src/delivery/pacer.ts';
import { createRateController } from '../../src/delivery/rate-controller.ts';
import { createManualClock } from '../support/manual-clock.ts';

it('keeps no request waiting its turn that nobody wants any more, and spends no turn on it', async () => {
  const clock = createManualClock();
  const controller = createRateController(1, () => 0);
  const unasked = () => Promise.reject(new Error('Nobody is to ask.'));
  const pacer = createPacer({ controller, breaker: createBreaker(() => 0), ping: unasked, concurrency: 8, clock });
  const { signal: abort } = new AbortController();
  let claimed = false;
  const sent: string[] = [];
  const send = (name: string) => async () => {
    sent.push(name);
    claimed = true;
    return { value: name, signal: { kind: 'answered' as const, by: 'write' as const } };
  };
  // After a rest two may go out at once.
  const always = async () => true;
  await pacer.run(send('before'), { delivery: 1, abort, wanted: always });
  claimed = false;
  const together = ['a', 'b', 'c', 'd'].map((name) =>
    pacer.run(send(name), { delivery: 1, abort, wanted: async () => !claimed }),
  );
  const other = pacer.run(send('other'), { delivery: 1, abort, wanted: always });
  await clock.sleepers(1);
  clock.advance(1000);
  expect(await Promise.all(together)).toEqual(['a', null, null, null]);
  expect(await other).toBe('other');
  expect(sent).toEqual(['before', 'a', 'other']);
});
