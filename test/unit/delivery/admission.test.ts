import { describe, expect, it } from 'vitest';
import { type Admitted, createAdmission } from '../../../src/delivery/admission/admission.ts';
import { type ApiHealth, createApiHealth } from '../../../src/delivery/admission/api-health.ts';
import { createLoneWrites, createScopeProbe } from '../../../src/delivery/admission/sent-alone.ts';
import { createDeliveryWindow } from '../../../src/delivery/delivery-window.ts';
import { createLearntRate, type LearntRate } from '../../../src/delivery/rate/learnt-rate.ts';
import { OPERATIONS, type Operation } from '../../../src/domain/delivery/operation.ts';
import type { Outcome } from '../../../src/domain/delivery/outcome.ts';

import { Profile } from '../../../src/domain/profile.ts';

import { type Clock, createWake } from '../../../src/lib/clock.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';
import { createVirtualTime } from '../../support/time/virtual-time.ts';

const ACCEPTED: Outcome = { kind: 'accepted', evidence: 'echo', remoteId: 1 };
const NO_ANSWER: Outcome = { kind: 'ambiguous', cause: 'reset', detail: { status: null, message: 'No answer.' } };
const throttled = (retryAfterMs: number): Outcome => ({
  kind: 'throttled',
  retryAfterMs,
  detail: { status: 429, message: 'Come back later.' },
});
const away = (retryAfterMs: number): Outcome => ({
  kind: 'unavailable',
  sent: true,
  retryAfterMs,
  detail: { status: 503, message: 'Away.' },
});

/** A rate controller that admits everything, as far as so many requests are under way. */
function freely(concurrency: number, observe: LearntRate['observe'] = () => undefined): LearntRate {
  const setCeiling = () => undefined;
  return {
    admit: () => 0,
    waitMs: () => 0,
    take: () => undefined,
    isStopped: () => false,
    sees503s: () => false,
    isStoppedBy503: () => false,
    closedForMs: () => 0,
    sentBeside: () => undefined,
    wait: () => null,
    setCeiling,
    concurrency: () => concurrency,
    rate: () => Number.POSITIVE_INFINITY,
    observe,
  };
}

const unasked = (): Promise<Outcome> => Promise.reject(new Error('Nobody is to ask.'));
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** The admission over its real parts; an answer ends each request that it admits. */
function given({
  clock,
  rate = createLearntRate(null, () => 0),
  ping = unasked,
  connections = 8,
  importMax = 100,
  form = 'alone',
  isDue = async () => true,
  asked = [],
  tried = OPERATIONS,
}: {
  clock: Clock;
  rate?: LearntRate;
  ping?: () => Promise<Outcome>;
  connections?: number;
  importMax?: number;
  form?: 'alone' | 'import';
  isDue?: (id: number) => Promise<boolean>;
  asked?: (readonly number[])[];
  tried?: readonly Operation[];
}) {
  const wakes = { engine: createWake(clock), admission: createWake(clock) };
  const window = createDeliveryWindow({ importMembers: () => importMax, wakes, clock });
  const target = { ping };
  const health = createApiHealth({ target, rate, ownPublishKey: false, clock, random: () => 0, emit: () => undefined });
  for (const access of tried) health.observe({ outcome: ACCEPTED, access, subject: null }, null);
  const dropped: number[] = [];
  const paused: Operation[] = [];
  const admission = createAdmission({
    window: {
      ...window,
      end(ids) {
        dropped.push(...ids);
        window.end(ids);
      },
    },
    connections,
    wakes,
    health,
    probe: createScopeProbe({ authorization: health, ledger: { denialsOf: () => unasked() as never } }),
    alone: createLoneWrites({ health, profile: Profile.parse({}) }),
    ledger: {
      async dueAmong(ids) {
        asked.push(ids);
        const due = new Set<number>();
        for (const id of ids) if (await isDue(id)) due.add(id);
        return due;
      },
    },
    paused: () => paused,
    bulk: {
      prepare: async () => undefined,
      fewest: () => 1,
      sizeMax: (operation) => (operation === 'product.create' && form === 'alone' ? 0 : importMax),
      begin: () => undefined,
    },
    clock,
  });
  const abort = new AbortController();
  const out: number[][] = [];

  function receive(id: number, { operation = 'product.create' as Operation, urgent = false } = {}): void {
    window.receive([{ id, revision: 1, operation }], urgent);
  }
  function end(one: Admitted, outcome: Outcome): void {
    admission.freeSlot(one);
    const { id } = one.deliveries[0];
    health.observe({ outcome, access: 'product.create', subject: id }, clock.ticks() - one.begunAt);
    admission.end(one);
    wakes.admission.wake();
  }
  /** Admits deliveries until it is stopped; `answer` says how each request ends, or null for one that hangs. */
  async function run(answer: (id: number) => Outcome | null | Promise<Outcome | null>): Promise<void> {
    while (!abort.signal.aborted) {
      for (const one of await admission.next(abort.signal)) {
        out.push(one.deliveries.map(({ id }) => id));
        const outcome = await answer(one.deliveries[0].id);
        if (outcome !== null) end(one, outcome);
      }
    }
  }
  async function stop(): Promise<void> {
    abort.abort();
    wakes.admission.wake();
    await settled();
  }
  return { admission, health, rate, window, abort, out, dropped, paused, receive, end, run, stop };
}

describe('the admission', () => {
  it('the admission admits at once all deliveries that nothing stands against, as one group', async () => {
    const world = given({ clock: createManualClock(), rate: freely(100) });
    for (const id of [1, 2, 3]) world.receive(id);
    const admitted = await world.admission.next(world.abort.signal);
    expect(admitted.map(({ deliveries }) => deliveries.map(({ id }) => id))).toEqual([[1], [2], [3]]);
    expect([world.window.count('received'), world.window.count('admitted')]).toEqual([0, 3]);
  });

  it('the admission admits no more than can be handed to a connection at once', async () => {
    const world = given({ clock: createManualClock(), rate: freely(100), connections: 2 });
    for (const id of [1, 2, 3]) world.receive(id);
    expect(await world.admission.next(world.abort.signal)).toHaveLength(2);
    const next = world.admission.next(world.abort.signal);
    await settled();
    expect(world.window.count('received')).toBe(1);
    await world.stop();
    expect(await next).toEqual([]);
  });

  it('the admission drops a delivery that is not due any more, and spends no slot of the rate on it', async () => {
    const clock = createManualClock();
    const due = new Set([1, 2, 5]);
    const rate = createLearntRate(1, () => 0);
    const world = given({ clock, rate, isDue: async (id) => due.has(id) });
    for (const id of [1, 2, 3, 4, 5]) world.receive(id);
    void world.run(() => ACCEPTED);
    for (let second = 0; second < 2; second += 1) {
      await clock.sleepers(1);
      clock.advance(1000);
      await settled();
    }
    expect([world.out, world.dropped]).toEqual([
      [[1], [2], [5]],
      [3, 4],
    ]);
    await world.stop();
  });

  it('the admission asks the ledger once about all deliveries that wait for too long', async () => {
    const clock = createManualClock();
    const asked: (readonly number[])[] = [];
    const world = given({ clock, rate: freely(100), asked });
    for (const id of [1, 2, 3, 4, 5]) world.receive(id);
    clock.advance(250);
    void world.run(() => ACCEPTED);
    await settled();
    expect([world.out, asked]).toEqual([[[1], [2], [3], [4], [5]], [[1, 2, 3, 4, 5]]]);
    await world.stop();
  });

  it('the admission admits urgent deliveries before those that wait already, and the others in their order', async () => {
    const clock = createManualClock();
    const world = given({ clock, rate: createLearntRate(1, () => 0) });
    world.receive(1);
    void world.run(() => ACCEPTED);
    await settled();
    world.receive(2, { operation: 'bom_item.create' });
    world.receive(3);
    await clock.sleepers(1);
    world.receive(4, { operation: 'passport.publish', urgent: true });
    world.receive(5, { operation: 'passport.publish' });
    world.receive(6, { operation: 'passport.init', urgent: true });
    for (let second = 0; second < 5; second += 1) {
      await clock.sleepers(1);
      clock.advance(1000);
      await settled();
    }
    expect(world.out.flat()).toEqual([1, 4, 6, 2, 3, 5]);
    await world.stop();
  });

  it('the admission drops deliveries of a refused scope and of operations that are paused', async () => {
    const world = given({ clock: createManualClock(), rate: freely(100) });
    const detail = { status: 403, message: 'No.' };
    world.health.observe(
      { outcome: { kind: 'denied', by: 'scope', detail }, access: 'passport.publish', subject: null },
      null,
    );
    world.paused.push('material.create');
    world.receive(1, { operation: 'passport.publish' });
    world.receive(2, { operation: 'material.create' });
    world.receive(3);
    const admitted = await world.admission.next(world.abort.signal);
    expect(admitted.map(({ deliveries }) => deliveries[0].id)).toEqual([3]);
    expect(world.dropped).toEqual([1, 2]);
  });

  it('the admission chooses another scope probe at once where the first is not due any more', async () => {
    const clock = createManualClock();
    const world = given({ clock, rate: freely(100), isDue: async (id) => id !== 1, tried: [] });
    for (const id of [1, 2]) world.receive(id);
    clock.advance(250);
    void world.run(() => null);
    await settled();
    expect([world.dropped, world.out]).toEqual([[1], [[2]]]);
    await world.stop();
  });

  it('the admission drops a delivery whose scope was refused while the ledger was asked whether it is due', async () => {
    const clock = createManualClock();
    const detail = { status: 403, message: 'No.' };
    const refuse = async () => {
      world.health.observe(
        { outcome: { kind: 'denied', by: 'scope', detail }, access: 'product.create', subject: null },
        null,
      );
      return true;
    };
    const world = given({ clock, rate: freely(100), isDue: refuse });
    world.receive(1);
    clock.advance(250);
    void world.run(() => null);
    await settled();
    expect([world.dropped, world.out]).toEqual([[1], []]);
    await world.stop();
  });

  it('the admission drops a delivery whose operation was paused while the ledger was asked whether it is due', async () => {
    const clock = createManualClock();
    const pause = async () => {
      world.paused.push('product.create');
      return true;
    };
    const world = given({ clock, rate: freely(100), isDue: pause });
    world.receive(1);
    clock.advance(250);
    void world.run(() => null);
    await settled();
    expect([world.dropped, world.out]).toEqual([[1], []]);
    await world.stop();
  });

  it('the admission admits nothing that left the queue while the ledger was asked whether it is due', async () => {
    const clock = createManualClock();
    const stop = async () => {
      world.window.stop();
      return true;
    };
    const world = given({ clock, rate: freely(100), isDue: stop });
    world.receive(1);
    clock.advance(250);
    void world.run(() => null);
    await settled();
    expect(world.out).toEqual([]);
    await world.stop();
  });

  it('the admission drops a delivery whose operation was paused while the API was asked whether it can be reached', async () => {
    const clock = createManualClock();
    const ping = async () => {
      world.paused.push('product.create');
      return ACCEPTED;
    };
    const world = given({ clock, ping });
    for (let subject = 0; subject < 30; subject += 1) {
      world.health.observe({ outcome: NO_ANSWER, access: 'product.create', subject }, null);
    }
    clock.advance(5000);
    expect(world.health.admit()).toBeGreaterThan(0);
    world.receive(1);
    void world.run(() => null);
    await clock.sleepers(1);
    clock.advance(1000);
    await settled();
    expect([world.dropped, world.out]).toEqual([[1], []]);
    await world.stop();
  });

  it('the admission gathers the members of a bulk import for 2 ms, and as many as one takes', async () => {
    const clock = createManualClock();
    const world = given({ clock, rate: freely(100), importMax: 3 });
    const operation = 'product.import';
    for (const id of [1, 2]) world.receive(id, { operation });
    const first = world.admission.next(world.abort.signal);
    await clock.sleepers(1);
    clock.advance(1);
    await settled();
    expect(world.window.count('received')).toBe(2);
    clock.advance(1);
    expect((await first).map(({ deliveries }) => deliveries.map(({ id }) => id))).toEqual([[1, 2]]);
    for (const id of [3, 4, 5, 6]) world.receive(id, { operation });
    const full = await world.admission.next(world.abort.signal);
    expect(full.map(({ deliveries }) => deliveries.map(({ id }) => id))).toEqual([[3, 4, 5]]);
  });

  it('the admission has no more requests in flight than the rate allows, and continues when one comes back', async () => {
    const world = given({ clock: createManualClock(), rate: freely(2) });
    for (const id of [1, 2, 3, 4, 5]) world.receive(id);
    const [first] = await world.admission.next(world.abort.signal);
    if (first === undefined) expect.unreachable();
    expect(world.window.count('admitted')).toBe(2);
    const next = world.admission.next(world.abort.signal);
    await settled();
    expect(world.window.count('received')).toBe(3);
    world.end(first, ACCEPTED);
    expect((await next).map(({ deliveries }) => deliveries[0].id)).toEqual([3]);
  });

  it('the admission keeps the few slots that a rate needs for requests that come back', async () => {
    const clock = createManualClock();
    const world = given({ clock, rate: freely(2), connections: 5 });
    for (let id = 0; id < 9; id += 1) world.receive(id);
    void world.run(() => null);
    const counts: number[] = [];
    for (let second = 0; second < 4; second += 1) {
      await settled();
      counts.push(world.out.length);
      clock.advance(1000);
    }
    expect(counts).toEqual([2, 4, 5, 5]);
    await world.stop();
  });

  it('the admission reports to the rate controller how long a request was in flight', async () => {
    const clock = createManualClock();
    const observed: number[] = [];
    const rate = freely(2, (_observation, latencyMs) => void observed.push(latencyMs));
    const world = given({ clock, rate });
    world.receive(1);
    const [one] = await world.admission.next(world.abort.signal);
    if (one === undefined) expect.unreachable();
    clock.advance(40);
    world.end(one, ACCEPTED);
    expect(observed).toEqual([40]);
  });

  it('the admission admits deliveries that have not failed before those that have, while the API is not well', async () => {
    const clock = createManualClock();
    const world = given({ clock, ping: async () => ACCEPTED, connections: 1 });
    for (let subject = 0; subject < 30; subject += 1) {
      world.health.observe({ outcome: NO_ANSWER, access: 'product.create', subject }, null);
    }
    clock.advance(5000);
    expect(world.health.admit()).toBeGreaterThan(0);
    for (const id of [1, 2, 100, 101]) world.receive(id);
    void world.run(() => NO_ANSWER);
    while (world.out.length < 4) {
      await clock.sleepers(1);
      clock.advance(250);
      await settled();
    }
    expect(world.out.flat()).toEqual([100, 101, 1, 2]);
    await world.stop();
  });
});

describe('the health of the API', () => {
  it.each(['mayProbe', 'answers'] as const)('the API health is asked again where %s threw', async (ask) => {
    const clock = createManualClock();
    let asked = 0;
    const ping = async () => {
      asked += 1;
      if (asked === 1) throw new Error('A defect.');
      return ACCEPTED;
    };
    const { health, abort } = given({ clock, ping });
    for (let subject = 0; subject < 30; subject += 1) {
      health.observe({ outcome: NO_ANSWER, access: 'product.create', subject }, null);
    }
    clock.advance(5000);
    expect(health.admit()).toBeGreaterThan(0);
    clock.advance(1000);
    const probe = async () => {
      if (ask === 'answers') return health.answers(null, abort.signal);
      return health.admit() === 0 && health.mayProbe(abort.signal);
    };
    await expect(probe()).rejects.toThrow('A defect.');
    clock.advance(1000);
    expect(await probe()).toBe(true);
  });

  it('the API may not be asked by readers while it has asked to wait', async () => {
    const clock = createManualClock();
    const { health, abort } = given({ clock });
    expect(await health.answers(null, abort.signal)).toBe(true);
    expect(health.admit()).toBe(0);
    health.observe({ outcome: throttled(60_000), access: 'product.create', subject: 1 }, 0);
    clock.advance(59_000);
    expect(await health.answers(null, abort.signal)).toBe(false);
    clock.advance(1001);
    expect(await health.answers(null, abort.signal)).toBe(true);
  });

  it('a 503 with a time holds up the others, and not where it is about one delivery alone', () => {
    const clock = createManualClock();
    const { health, rate } = given({ clock });
    const answer = { outcome: away(3_600_000), access: 'product.create', subject: 1 } as const;
    health.observe(answer, 0);
    expect(rate.admit(clock.ticks())).toBe(60_000);
    clock.advance(60_000);
    health.observe({ outcome: ACCEPTED, access: 'product.create', subject: 2 }, 0);
    health.observe(answer, 0);
    expect(rate.admit(clock.ticks())).toBe(0);
  });

  it('the API health does not take an API for away that was asked for nothing since its 503', async () => {
    const clock = createManualClock();
    let isBack = false;
    let asked = 0;
    const ping = async (): Promise<Outcome> => {
      asked += 1;
      return isBack ? ACCEPTED : NO_ANSWER;
    };
    const { health, rate, abort } = given({ clock, ping });
    const isAway = (): Promise<boolean> => health.isAway(begunAt + 20_000, abort.signal);
    const begunAt = clock.ticks();
    health.observe({ outcome: away(30_000), access: 'product.create', subject: 1 }, 0);
    clock.advance(25_000);
    // The 503 asked for half a minute, so nothing was sent.
    expect([await isAway(), asked]).toEqual([false, 0]);
    clock.advance(10_000);
    isBack = true;
    expect([await isAway(), asked]).toEqual([false, 1]);
    isBack = false;
    expect([await isAway(), asked]).toEqual([true, 2]);
    // A request has failed late enough, so no further one is needed.
    expect([await isAway(), asked]).toEqual([true, 2]);
    expect(rate.closedForMs(clock.ticks())).toBe(0);
  });

  it('a 503 to a delivery that is at fault by itself does not count as silence of the API', () => {
    const { health } = given({ clock: createManualClock() });
    const answer = { outcome: away(1000), access: 'product.create', subject: 1 } as const;
    health.observe(answer, null);
    expect(health.unreachableSince()).not.toBeNull();
    health.observe({ outcome: ACCEPTED, access: 'product.create', subject: 2 }, null);
    health.observe(answer, null);
    expect(health.unreachableSince()).toBeNull();
  });

  it('a read that had its own turn is not reported to the rate a second time', () => {
    const observed: unknown[] = [];
    const rate = freely(2, (observation) => void observed.push(observation));
    const { health } = given({ clock: createManualClock(), rate });
    health.observe({ outcome: NO_ANSWER, access: 'read', subject: 'product' }, null);
    expect(observed).toEqual([]);
    health.observe({ outcome: throttled(1000), access: 'read', subject: 'product' }, null);
    expect(observed).toEqual([]);
  });
});

describe('a write that nobody can look up', () => {
  const CLOSED: Outcome = { kind: 'ambiguous', cause: 'timeout', detail: { status: 503, message: 'Unavailable.' } };

  it('BOM items go one at a time while 503s come, and other deliveries do not', async () => {
    const clock = createManualClock();
    const world = given({ clock });
    world.health.observe({ outcome: CLOSED, access: 'product.create', subject: 99 }, 0);
    const operation = 'bom_item.create' as const;
    for (const id of [1, 2]) world.receive(id, { operation });
    for (const id of [3, 4]) world.receive(id);
    const first = await world.admission.next(world.abort.signal);
    expect(first.map(({ deliveries }) => deliveries[0].id)).toEqual([3, 1, 4]);
    const [, bom] = first;
    if (bom !== undefined) world.end(bom, ACCEPTED);
    expect((await world.admission.next(world.abort.signal)).map(({ deliveries }) => deliveries[0].id)).toEqual([2]);
    clock.advance(10_000);
    for (const id of [5, 6]) world.receive(id, { operation });
    expect(await world.admission.next(world.abort.signal)).toHaveLength(2);
  });

  it('a BOM item does not find out whether a limit of 503s accepts requests again', async () => {
    const time = createVirtualTime();
    const asked: number[] = [];
    const ping = async (): Promise<Outcome> => {
      asked.push(time.ticks());
      return asked.length < 3 ? CLOSED : ACCEPTED;
    };
    const world = given({ clock: time, ping });
    for (let subject = 0; subject < 20; subject += 1) {
      world.health.observe(
        { outcome: subject % 2 === 0 ? ACCEPTED : CLOSED, access: 'product.create', subject: 100 + subject },
        0,
      );
    }
    expect(world.health.isStoppedBy503()).toBe(true);
    world.receive(1, { operation: 'bom_item.create' });
    void world.run(() => ACCEPTED);
    await time.pass(10_000);
    expect(asked).toHaveLength(3);
    expect(world.out).toEqual([[1]]);
    await world.stop();
  });
});

describe('a wait of a day', () => {
  const DAY_MS = 86_400_000;
  const MINUTE_MS = 60_000;

  /** One delivery is refused, and others wait. Returns what is sent, and when in minutes after the refusal. */
  async function refusedForADay(answers: { ping: (count: number) => Outcome; send: () => Outcome }) {
    const time = createVirtualTime();
    const log: string[] = [];
    let begunAt = time.now();
    let pings = 0;
    const minutes = (): number => Math.round((time.now() - begunAt) / MINUTE_MS);
    const ping = async (): Promise<Outcome> => {
      log.push(`question ${minutes()}`);
      pings += 1;
      return answers.ping(pings);
    };
    const world = given({ clock: time, ping });
    begunAt = time.now();
    expect(world.health.admit()).toBe(0);
    world.health.observe({ outcome: throttled(DAY_MS), access: 'product.create', subject: 1 }, 0);
    void world.run(() => {
      log.push(`delivery ${minutes()}`);
      return answers.send();
    });
    return { ...world, time, log };
  }

  it('an API that asks to wait for a day is asked after a minute and then ever more seldom, by one question that writes nothing', async () => {
    const world = await refusedForADay({ ping: () => throttled(DAY_MS), send: () => throttled(DAY_MS) });
    for (const id of [2, 3]) world.receive(id);
    await world.time.pass(62 * MINUTE_MS);
    expect(world.log).toEqual([1, 3, 7, 15, 30, 45, 60].map((minute) => `question ${minute}`));
    await world.stop();
  });

  it('a wait of a day is over as soon as a question and the delivery after it are answered', async () => {
    const ping = (count: number) => (count < 3 ? throttled(DAY_MS) : ACCEPTED);
    const world = await refusedForADay({ ping, send: () => ACCEPTED });
    for (const id of [2, 3]) world.receive(id);
    await world.time.pass(20 * MINUTE_MS);
    expect(world.log).toEqual(['question 1', 'question 3', 'question 7', 'delivery 7', 'delivery 7']);
    expect(world.health.longWait()).toBeNull();
    await world.stop();
  });

  it('a wait of a day has the same intervals where only writes are refused, one write at a time', async () => {
    const world = await refusedForADay({ ping: () => ACCEPTED, send: () => throttled(DAY_MS) });
    for (let id = 2; id < 12; id += 1) world.receive(id);
    await world.time.pass(20 * MINUTE_MS);
    const both = (minute: number) => [`question ${minute}`, `delivery ${minute}`];
    expect(world.log).toEqual([1, 3, 7, 15].flatMap(both));
    await world.stop();
  });

  it('an API that asks to wait for a day is asked no more often where the question has no answer', async () => {
    const world = await refusedForADay({ ping: () => NO_ANSWER, send: () => ACCEPTED });
    world.receive(2);
    await world.time.pass(20 * MINUTE_MS);
    expect(world.log).toEqual(['question 1', 'question 3', 'question 7', 'question 15']);
    await world.stop();
  });

  it('a wait of a day says what was answered, also if only the rate has learnt of the refusal', () => {
    const clock = createManualClock();
    const rate = createLearntRate(null, () => 0);
    const target = { ping: async () => ACCEPTED };
    const health = createApiHealth({
      target,
      rate,
      ownPublishKey: false,
      clock,
      random: () => 0,
      emit: () => undefined,
    });
    rate.observe({ kind: 'throttled', retryAfterMs: DAY_MS }, 0, clock.ticks());
    expect(health.longWait()).toMatchObject({ message: 'The answer was 429.' });
  });

  it('a wait of a day lets lists be read once a question was answered, though nothing is to be sent', async () => {
    const world = await refusedForADay({ ping: () => ACCEPTED, send: () => throttled(DAY_MS) });
    const mayRead = (health: ApiHealth) => health.answers(null, world.abort.signal);
    await world.time.pass(MINUTE_MS - 1);
    expect(await mayRead(world.health)).toBe(false);
    await world.time.pass(1);
    expect(await mayRead(world.health)).toBe(true);
    expect(world.health.longWait()).toBeNull();
    await world.stop();
  });
});
