import { describe, expect, it } from 'vitest';
import { createBreaker } from '../../src/delivery/admission/breaker.ts';
import { createPacer } from '../../src/delivery/admission/pacer.ts';
import type { Signal } from '../../src/delivery/admission/signal.ts';
import { createRateController, type RateSignal } from '../../src/delivery/rate/rate-controller.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { createVirtualTime } from '../support/virtual-time.ts';

it('keeps no request waiting its turn that nobody wants any more, and spends no turn on it', async () => {
  const clock = createManualClock();
  const controller = createRateController(1, () => 0);
  const pacer = createPacer({ controller, breaker: createBreaker(() => 0), ping: unasked, concurrency: 8, clock });
  const { signal: abort } = new AbortController();
  let claimed = false;
  const sent: string[] = [];
  const send = (name: string) => async () => {
    sent.push(name);
    claimed = true;
    return { value: name, signal: { kind: 'answered' as const, by: 'write' as const } };
  };
  const always = async () => true;
  await pacer.run(send('before'), { delivery: 1, abort, wanted: always });
  claimed = false;
  const together = ['a', 'b', 'c', 'd'].map((name) =>
    pacer.run(send(name), { delivery: 1, abort, wanted: async () => !claimed }),
  );
  const other = pacer.run(send('other'), { delivery: 1, abort, wanted: always });
  await clock.sleepers(1);
  clock.advance(1000);
  await clock.sleepers(1);
  clock.advance(1000);
  expect(await Promise.all(together)).toEqual(['a', null, null, null]);
  expect(await other).toBe('other');
  expect(sent).toEqual(['before', 'a', 'other']);
});

it('lets an urgent request go before those that wait already', async () => {
  const clock = createManualClock();
  const controller = createRateController(1, () => 0);
  const pacer = createPacer({ controller, breaker: createBreaker(() => 0), ping: unasked, concurrency: 8, clock });
  const { signal: abort } = new AbortController();
  const sent: string[] = [];
  const run = (name: string, urgent = false) =>
    pacer.run(
      async () => {
        sent.push(name);
        return { value: name, signal: { kind: 'answered' as const, by: 'write' as const } };
      },
      { delivery: 1, abort, wanted: async () => true, urgent },
    );
  await run('first');
  const bulk = [run('bulk 1'), run('bulk 2')];
  await clock.sleepers(1);
  const urgent = run('urgent', true);
  for (let second = 0; second < 3; second += 1) {
    await clock.sleepers(1);
    clock.advance(1000);
    await settled();
  }
  await Promise.all([...bulk, urgent]);
  expect(sent).toEqual(['first', 'urgent', 'bulk 1', 'bulk 2']);
});

it('says of nothing that it may be read while the API has asked to wait', async () => {
  const clock = createManualClock();
  const controller = createRateController(null, () => 0);
  const pacer = createPacer({ controller, breaker: createBreaker(() => 0), ping: unasked, concurrency: 8, clock });
  const { signal: abort } = new AbortController();
  expect(await pacer.answers(null, abort)).toBe(true);
  await pacer.run(
    async () => ({
      value: null,
      signal: { kind: 'throttled' as const, retryAfterMs: 60_000 },
    }),
    { delivery: 1, abort, wanted: () => true },
  );
  clock.advance(59_000);
  expect(await pacer.answers(null, abort)).toBe(false);
  clock.advance(1001);
  expect(await pacer.answers(null, abort)).toBe(true);
});

describe('a wait of a day', () => {
  const DAY_MS = 86_400_000;
  const MINUTE_MS = 60_000;
  const ANSWERED = { kind: 'answered' as const, by: 'read' as const };

  /** One delivery is refused, and another waits. Gives what goes out when, in minutes since the refusal. */
  function refusedForADay(answers: { ping: (count: number) => Signal; send: (count: number) => Signal }) {
    const time = createVirtualTime();
    const controller = createRateController(null, () => 0);
    const out: string[] = [];
    const counts = { ping: 0, send: 0 };
    let begunAt = 0;
    const minutes = (): number => Math.round((time.now() - begunAt) / MINUTE_MS);
    const ping = async (): Promise<Signal> => {
      out.push(`question ${minutes()}`);
      counts.ping += 1;
      return answers.ping(counts.ping);
    };
    const pacer = createPacer({ controller, breaker: createBreaker(() => 0), ping, concurrency: 8, clock: time });
    const abort = new AbortController();
    const send = async () => {
      out.push(`delivery ${minutes()}`);
      counts.send += 1;
      return { value: null, signal: answers.send(counts.send) };
    };
    const deliver = () => pacer.run(send, { delivery: 1, abort: abort.signal, wanted: () => true });
    const run = async (ms: number): Promise<string[]> => {
      begunAt = time.now();
      await pacer.run(async () => ({ value: null, signal: THROTTLED }), {
        delivery: 1,
        abort: abort.signal,
        wanted: () => true,
      });
      await time.pass(ms);
      return out;
    };
    return { run, deliver, pacer, controller, time, abort };
  }
  const THROTTLED: Signal = { kind: 'throttled', retryAfterMs: DAY_MS };

  it('is asked about after a minute and then ever more seldom, by one question that writes nothing', async () => {
    const world = refusedForADay({ ping: () => THROTTLED, send: () => THROTTLED });
    const running = world.run(62 * MINUTE_MS);
    await world.time.pass(0);
    const sends = [world.deliver(), world.deliver()];
    expect(await running).toEqual([1, 3, 7, 15, 30, 45, 60].map((minute) => `question ${minute}`));
    world.abort.abort();
    await world.time.pass(1000);
    expect(await Promise.all(sends)).toEqual([null, null]);
  });

  it('is over as soon as a question and the delivery after it are answered', async () => {
    const world = refusedForADay({
      ping: (count) => (count < 3 ? THROTTLED : ANSWERED),
      send: () => ({ kind: 'answered', by: 'write' }),
    });
    const running = world.run(20 * MINUTE_MS);
    await world.time.pass(0);
    const sends = [world.deliver(), world.deliver()];
    expect(await running).toEqual(['question 1', 'question 3', 'question 7', 'delivery 7', 'delivery 7']);
    await Promise.all(sends);
    expect(world.controller.wait(world.time.ticks())).toBeNull();
  });

  it('goes on with the same intervals where only writes are refused, one of them at a time', async () => {
    const world = refusedForADay({ ping: () => ANSWERED, send: () => THROTTLED });
    const running = world.run(20 * MINUTE_MS);
    await world.time.pass(0);
    for (let count = 0; count < 10; count += 1) void world.deliver();
    const both = (minute: number) => [`question ${minute}`, `delivery ${minute}`];
    expect(await running).toEqual([1, 3, 7, 15].flatMap(both));
  });

  it('is asked about no more often where the question has no answer', async () => {
    const world = refusedForADay({
      ping: () => ({ kind: 'failed', subject: null, retryAfterMs: null }),
      send: () => ANSWERED,
    });
    const running = world.run(20 * MINUTE_MS);
    await world.time.pass(0);
    void world.deliver();
    expect(await running).toEqual(['question 1', 'question 3', 'question 7', 'question 15']);
  });

  it('lets lists be read once a question was answered, though nothing is to be sent', async () => {
    const world = refusedForADay({ ping: () => ANSWERED, send: () => THROTTLED });
    await world.run(MINUTE_MS - 1);
    expect(await world.pacer.answers(null, world.abort.signal)).toBe(false);
    await world.time.pass(1);
    expect(await world.pacer.answers(null, world.abort.signal)).toBe(true);
    expect(world.controller.wait(world.time.ticks())).toBeNull();
  });
});

it('has no more requests under way than the controller allows, and goes on when one comes back', async () => {
  const clock = createManualClock();
  const controller = {
    admit: () => 0,
    closedForMs: () => 0,
    wait: () => null,
    concurrency: () => 2,
    observe: () => undefined,
  };
  const pacer = createPacer({ controller, breaker: createBreaker(() => 0), ping: unasked, concurrency: 8, clock });
  const { signal: abort } = new AbortController();
  const back: (() => void)[] = [];
  let done = 0;
  for (let request = 0; request < 5; request += 1) {
    const answer = new Promise<void>((resolve) => back.push(resolve));
    const sending = pacer.run(
      async () => {
        await answer;
        return { value: null, signal: { kind: 'answered' as const, by: 'write' as const } };
      },
      { delivery: 1, abort, wanted: async () => true },
    );
    void sending.then(() => (done += 1));
  }
  await settled();
  for (const one of back.slice(2)) one();
  await settled();
  expect(done).toBe(0);
  back[0]?.();
  await settled();
  expect(done).toBe(4);
});

it('keeps the few places that a rate needs for requests that come back', async () => {
  const clock = createManualClock();
  const controller = {
    admit: () => 0,
    closedForMs: () => 0,
    wait: () => null,
    concurrency: () => 2,
    observe: () => undefined,
  };
  const pacer = createPacer({ controller, breaker: createBreaker(() => 0), ping: unasked, concurrency: 5, clock });
  const { signal: abort } = new AbortController();
  let begun = 0;
  for (let request = 0; request < 9; request += 1) {
    const hangs = async () => {
      begun += 1;
      return await new Promise<never>(() => undefined);
    };
    void pacer.run(hangs, { delivery: request, abort, wanted: async () => true });
  }
  const counts: number[] = [];
  for (let second = 0; second < 4; second += 1) {
    await settled();
    counts.push(begun);
    clock.advance(1000);
  }
  expect(counts).toEqual([2, 4, 5, 5]);
});

it('tells the controller how long a request was under way', async () => {
  const clock = createManualClock();
  const heard: number[] = [];
  const controller = {
    admit: () => 0,
    closedForMs: () => 0,
    wait: () => null,
    concurrency: () => 2,
    observe: (_signal: RateSignal, latencyMs: number) => void heard.push(latencyMs),
  };
  const pacer = createPacer({ controller, breaker: createBreaker(() => 0), ping: unasked, concurrency: 8, clock });
  await pacer.run(
    async () => {
      clock.advance(40);
      return { value: null, signal: { kind: 'answered' as const, by: 'write' as const } };
    },
    { delivery: 1, abort: new AbortController().signal, wanted: async () => true },
  );
  expect(heard).toEqual([40]);
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
    await settled();
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
const unasked = () => Promise.reject(new Error('Nobody is to ask.'));
const settled = () => new Promise((resolve) => setImmediate(resolve));
