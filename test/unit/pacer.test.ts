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

it('lets deliveries that have not failed go before those that have while the API is not well', async () => {
  const clock = createManualClock();
  const breaker = createBreaker(() => 0);
  const answered = async () => ({ kind: 'answered' as const, by: 'read' as const });
  const controller = createRateController(null, () => 0);
  const pacer = createPacer({ controller, breaker, ping: answered, concurrency: 1, clock });
  for (let subject = 0; subject < 30; subject += 1) {
    breaker.observe({ kind: 'failed', subject, retryAfterMs: null }, clock.ticks());
  }
  clock.advance(5000);
  expect(breaker.admit(clock.ticks())).toBeGreaterThan(0);
  const { signal: abort } = new AbortController();
  const sent: number[] = [];
  const run = (delivery: number) =>
    pacer.run(
      async () => {
        sent.push(delivery);
        return { value: delivery, signal: { kind: 'failed' as const, subject: delivery, retryAfterMs: null } };
      },
      { delivery, abort, wanted: async () => true },
    );
  const all = [1, 2, 100, 101].map(run);
  while (sent.length < 4) {
    await clock.sleepers(1);
    clock.advance(250);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(all);
  expect(sent).toEqual([100, 101, 1, 2]);
});

it('holds up the others for a 503 with a time, and not where that is about one delivery alone', () => {
  const clock = createManualClock();
  const controller = createRateController(null, () => 0);
  const ping = () => Promise.reject(new Error('Nobody is to ask.'));
  const pacer = createPacer({ controller, breaker: createBreaker(() => 0), ping, concurrency: 1, clock });
  const away = { kind: 'failed' as const, subject: 1, away: true as const, retryAfterMs: 3_600_000 };
  pacer.heard(away);
  expect(controller.admit(clock.ticks())).toBe(60_000);
  clock.advance(60_000);
  pacer.heard({ kind: 'answered', by: 'write' });
  pacer.heard(away);
  expect(controller.admit(clock.ticks())).toBe(0);
});
