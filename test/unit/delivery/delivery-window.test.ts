import { beforeEach, describe, expect, it } from 'vitest';
import { createDeliveryWindow, type DeliveryWindow, type Stage } from '../../../src/delivery/delivery-window.ts';
import { createWake } from '../../../src/lib/clock.ts';
import { createManualClock, type ManualClock } from '../../support/time/manual-clock.ts';

const due = (id: number, revision = 1) => ({ id, revision, operation: 'product.create' as const });
const range = (count: number, from = 1) => Array.from({ length: count }, (_, at) => due(from + at));
const never = new AbortController().signal;

describe('the window of deliveries', () => {
  let clock: ManualClock;
  let window: DeliveryWindow;
  let asked: number;
  beforeEach(() => {
    asked = 0;
    clock = createManualClock();
    const engine = createWake(clock);
    const wake = () => {
      asked += 1;
    };
    const wakes = { engine: { ...engine, wake }, admission: createWake(clock) };
    window = createDeliveryWindow({ importMembers: () => 10, wakes, clock });
  });
  const received = () => [...window.received.inOrder()].map(({ id }) => id);

  const one = due(1);
  /** Brings a new delivery into each stage. */
  const INTO: Record<Stage, () => void> = {
    due: () => undefined,
    enqueued: () => window.enqueue([one]),
    received: () => window.receive([one], false),
    admitted() {
      window.receive([one], false);
      window.admit(one);
    },
    inFlight: () => window.claim([one]),
  };
  /** Each move, and where it leads from due, enqueued, received, admitted and in flight. */
  const MOVES: readonly [move: string, make: () => void, to: readonly Stage[]][] = [
    ['enqueue', () => window.enqueue([one]), ['enqueued', 'enqueued', 'received', 'admitted', 'inFlight']],
    ['receive', () => window.receive([one], false), ['received', 'received', 'received', 'admitted', 'inFlight']],
    ['admit', () => window.admit(one), ['due', 'enqueued', 'admitted', 'admitted', 'inFlight']],
    ['putBack', () => window.putBack([one]), ['due', 'enqueued', 'received', 'received', 'inFlight']],
    ['claim', () => window.claim([one]), ['inFlight', 'inFlight', 'inFlight', 'inFlight', 'inFlight']],
    ['lose', () => window.lose(), ['due', 'due', 'received', 'admitted', 'inFlight']],
    ['end', () => window.end([1]), ['due', 'due', 'due', 'due', 'due']],
    ['stop', () => window.stop(), ['due', 'due', 'due', 'admitted', 'inFlight']],
  ];
  const CELLS = MOVES.flatMap(([name, make, to]) =>
    (['due', 'enqueued', 'received', 'admitted', 'inFlight'] as const).map((from, at) => ({
      name,
      make,
      from,
      to: to[at],
    })),
  );

  it.each(CELLS)('the window moves a delivery by $name from $from to $to', ({ make, from, to }) => {
    INTO[from]();
    expect(window.stageOf(1)).toBe(from);
    make();
    expect(window.stageOf(1)).toBe(to);
    const none = { due: 0, enqueued: 0, received: 0, admitted: 0, inFlight: 0 };
    expect(window.stages(1)).toMatchObject({ ...none, [to as string]: 1 });
    expect([received().length, window.count('received')]).toEqual(to === 'received' ? [1, 1] : [0, 0]);
    expect(window.size()).toBe(to === 'due' ? 0 : 1);
  });

  it('the window knows since when the first delivery is in flight', () => {
    const begunAt = clock.now();
    for (const id of [1, 2]) {
      window.receive([due(id)], false);
      clock.advance(5);
      window.claim([due(id)]);
    }
    expect(window.stages(2).inFlightSince).toBe(begunAt + 5);
    window.end([1]);
    expect(window.stages(2).inFlightSince).toBe(begunAt + 10);
    window.end([2]);
    expect(window.stages(2).inFlightSince).toBe(null);
  });

  it('the window gives deliveries that were put back first, in their former order', () => {
    window.receive(range(4), false);
    for (const id of [1, 2]) window.admit(due(id));
    window.putBack([due(1), due(2)]);
    expect(received()).toEqual([1, 2, 3, 4]);
  });

  it('the window gives a member of an import that was claimed with others to no second request', () => {
    window.receive(range(2), false);
    window.claim([due(2)]);
    expect(received()).toEqual([1]);
  });

  it('the window receives the deliveries that a job names, in its revision, and only once', async () => {
    window.enqueue(range(3));
    const names = [due(1), due(2, 7), due(9)];
    expect(await window.receiveNamed(names, never)).toBe(1);
    expect(await window.receiveNamed(names, never)).toBe(0);
    expect(received()).toEqual([1]);
    expect(window.count('enqueued')).toBe(2);
  });

  it('the window receives a bounded number, and continues a job as deliveries end', async () => {
    const stored = range(400);
    window.enqueue(stored);
    const job = window.receiveNamed(stored, never);
    await Promise.resolve();
    expect(received()).toHaveLength(320);
    window.end([1, 2, 3]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(received().slice(-4)).toEqual([320, 321, 322, 323]);
    const stopping = new AbortController();
    const other = window.receiveNamed(stored.slice(390), stopping.signal);
    stopping.abort();
    window.end(range(100).map(({ id }) => id));
    expect(await other).toBe(0);
    expect(await job).toBe(400);
  });

  it('the window asks for more once none is in flight, and now and then before', async () => {
    const stored = range(300);
    window.enqueue(stored);
    await window.receiveNamed(stored, never);
    window.end(range(199).map(({ id }) => id));
    expect(asked).toBe(0);
    window.end([200]);
    expect(asked).toBe(1);
    window.end(range(100, 201).map(({ id }) => id));
    expect(asked).toBe(2);
  });

  it('the window that is stopped forgets what was enqueued or received and not sent', async () => {
    const stored = range(330);
    window.enqueue(stored);
    const stopping = new AbortController();
    const job = window.receiveNamed(stored.slice(0, 325), stopping.signal);
    stopping.abort();
    window.stop();
    expect(await job).toBe(320);
    expect([received(), window.size()]).toEqual([[], 0]);
  });

  it('the window forgets the deliveries of a job that is stopped before they found room', async () => {
    const stored = range(330);
    window.enqueue(stored);
    const stopping = new AbortController();
    const job = window.receiveNamed(stored.slice(0, 325), stopping.signal);
    stopping.abort();
    window.end([1]);
    expect(await job).toBe(320);
    // The received deliveries without the ended one, and the deliveries of other jobs.
    expect([window.count('enqueued'), window.size()]).toEqual([5, 324]);
  });
});
