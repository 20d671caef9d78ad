import { beforeEach, describe, expect, it } from 'vitest';
import { dueNamesOf } from '../../../src/delivery/delivery-jobs.ts';
import { createDispatcher, type Dispatcher } from '../../../src/delivery/dispatcher.ts';
import { createReceivedQueue, type ReceivedQueue } from '../../../src/delivery/received-queue.ts';
import type { DueDelivery } from '../../../src/domain/ports/due.ts';
import type { WakeUpJob } from '../../../src/domain/ports/queues.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';

const due = (id: number, revision = 1): DueDelivery => ({
  id,
  revision,
  kind: 'product',
  key: `P${id}`,
  operation: 'product.create',
  source: 'erp',
});
const range = (count: number, from = 1): DueDelivery[] => Array.from({ length: count }, (_, at) => due(from + at));
const never = new AbortController().signal;

describe('the dispatcher', () => {
  let stored: DueDelivery[];
  let byHand: DueDelivery[];
  let jobs: WakeUpJob[];
  let queue: ReceivedQueue;
  let dispatcher: Dispatcher;
  let needsSample: boolean;
  let asked: number;
  /** Where the next sample is drawn, in [0, 1). */
  let place: number;

  beforeEach(() => {
    stored = [];
    byHand = [];
    jobs = [];
    asked = 0;
    place = 0.5;
    needsSample = false;
    queue = createReceivedQueue();
    dispatcher = createDispatcher({
      ledger: {
        dueDeliveries: async ({ afterId, limit, suspended }) =>
          stored
            .filter(({ id, operation }) => id > afterId && suspended?.operations.includes(operation) !== true)
            .slice(0, limit),
        dueByHand: async ({ limit }) => byHand.slice(0, limit),
        someDueDelivery: async ({ place }) => stored[Math.floor(place * stored.length)] ?? null,
      },
      queues: { enqueue: async (_name, added) => void jobs.push(...added) },
      queue,
      suspended: () => ({ operations: [], unconfirmed: { operations: [], kinds: [], reasons: [] } }),
      health: { needsSample: () => needsSample, failedLately: (id) => id <= 10 },
      importMax: 10,
      importsMax: () => 1,
      onReceived: () => undefined,
      onRoom: () => {
        asked += 1;
      },
      clock: createManualClock(),
      random: () => place,
    });
  });
  const received = () => [...queue.inOrder()].map(({ id }) => id);
  const clearQueue = () => void queue.clear();

  it('the dispatcher enqueues a bounded number of due deliveries, and more once there is room', async () => {
    stored = range(3000);
    expect(await dispatcher.fill()).toBe(1500);
    expect([jobs.length, dispatcher.outstanding(), dispatcher.enqueued()]).toEqual([6, 1500, 1500]);
    expect(await dispatcher.fill()).toBe(0);
    dispatcher.done(range(499).map(({ id }) => id));
    expect(await dispatcher.fill()).toBe(0);
    dispatcher.done([500]);
    stored = stored.slice(500);
    expect(await dispatcher.fill()).toBe(500);
  });

  it('the dispatcher keeps places for other deliveries while there are many new products, and the other way round', async () => {
    const creates = range(3000).map((one) => ({ ...one, operation: 'product.create' as const }));
    const parts = range(6000).slice(3000);
    stored = [...creates, ...parts.map((one) => ({ ...one, operation: 'bom_item.create' as const }))];
    expect(await dispatcher.fill()).toBe(2000);
    expect(jobs.flatMap(dueNamesOf).filter(({ id }) => id <= 3000)).toHaveLength(1500);
    dispatcher.done(range(1500).map(({ id }) => id));
    stored = stored.filter(({ id }) => id > 3000);
    expect(await dispatcher.fill()).toBe(1000);
    expect(dispatcher.outstanding()).toBe(1500);
  });

  it('the dispatcher begins with the first deliveries again once it has come to the end', async () => {
    stored = range(3);
    expect(await dispatcher.fill()).toBe(3);
    dispatcher.done([1]);
    expect(await dispatcher.fill()).toBe(1);
  });

  it('the dispatcher forgets deliveries that it could not enqueue', async () => {
    stored = range(3);
    const failing = createDispatcher({
      ledger: {
        dueDeliveries: async ({ suspended }) =>
          stored.filter(({ operation }) => suspended?.operations.includes(operation) !== true),
        dueByHand: async () => [],
        someDueDelivery: async () => null,
      },
      queues: { enqueue: () => Promise.reject(new Error('The queue is away.')) },
      queue,
      suspended: () => ({ operations: [], unconfirmed: { operations: [], kinds: [], reasons: [] } }),
      health: { needsSample: () => false, failedLately: () => false },
      importMax: 10,
      importsMax: () => 1,
      onReceived: () => undefined,
      onRoom: () => undefined,
      clock: createManualClock(),
      random: () => 0,
    });
    await expect(failing.fill()).rejects.toThrow('The queue is away.');
    expect(failing.outstanding()).toBe(0);
  });

  it('the dispatcher receives the deliveries that a job names, in its revision, and only once', async () => {
    stored = range(3);
    await dispatcher.fill();
    const names = [due(1), due(2, 7), due(9)];
    expect(await dispatcher.receive(names, never)).toBe(1);
    expect(await dispatcher.receive(names, never)).toBe(0);
    expect(received()).toEqual([1]);
    expect(dispatcher.enqueued()).toBe(2);
  });

  it('the dispatcher receives a bounded number, and continues a job as deliveries end', async () => {
    stored = range(400);
    await dispatcher.fill();
    const job = dispatcher.receive(stored, never);
    await Promise.resolve();
    expect(received()).toHaveLength(320);
    dispatcher.done([1, 2, 3]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(received()).toHaveLength(323);
    const stopping = new AbortController();
    const other = dispatcher.receive(stored.slice(390), stopping.signal);
    stopping.abort();
    dispatcher.done(range(100).map(({ id }) => id));
    expect(await other).toBe(0);
    expect(await job).toBe(400);
  });

  it('the dispatcher asks for more once none is in flight, and now and then before', async () => {
    stored = range(300);
    await dispatcher.fill();
    await dispatcher.receive(stored, never);
    dispatcher.done(range(199).map(({ id }) => id));
    expect(asked).toBe(0);
    dispatcher.done([200]);
    expect(asked).toBe(1);
    dispatcher.done(range(100, 201).map(({ id }) => id));
    expect(asked).toBe(2);
  });

  it('the dispatcher receives by-hand deliveries at once and first, while there is no room for others', async () => {
    stored = range(330);
    await dispatcher.fill();
    void dispatcher.receive(stored, never);
    byHand = range(2, 1001);
    await dispatcher.fillAtOnce();
    await dispatcher.fillAtOnce();
    expect(received().slice(0, 3)).toEqual([1001, 1002, 1]);
    expect(received()).toHaveLength(322);
  });

  it('the dispatcher takes by-hand deliveries out of the jobs that wait', async () => {
    stored = range(2);
    await dispatcher.fill();
    byHand = [due(2)];
    await dispatcher.fillAtOnce();
    expect(await dispatcher.receive(stored, never)).toBe(1);
    expect(received()).toEqual([2, 1]);
  });

  it('the dispatcher has a bounded number of by-hand deliveries in flight', async () => {
    byHand = range(100);
    await dispatcher.fillAtOnce();
    expect(received()).toHaveLength(64);
    dispatcher.done([1, 2]);
    byHand = byHand.slice(2);
    await dispatcher.fillAtOnce();
    expect(received()).toHaveLength(66);
  });

  it('the dispatcher receives one sample at a time, which has not failed', async () => {
    stored = range(100);
    needsSample = true;
    await dispatcher.fillAtOnce();
    place = 0.7;
    await dispatcher.fillAtOnce();
    expect(received()).toEqual([51]);
    dispatcher.done([51]);
    clearQueue();
    stored = range(10);
    await dispatcher.fillAtOnce();
    expect(received()).toEqual([]);
  });

  it('the dispatcher enqueues again what the queue has lost, and nothing that it has received', async () => {
    stored = range(3);
    await dispatcher.fill();
    await dispatcher.receive([due(1)], never);
    dispatcher.lost();
    expect([dispatcher.enqueued(), dispatcher.outstanding()]).toEqual([0, 1]);
    expect(await dispatcher.fill()).toBe(2);
  });

  it('the dispatcher knows what is claimed, also members of an import that no job named', async () => {
    stored = range(2);
    await dispatcher.fill();
    await dispatcher.receive(stored, never);
    dispatcher.claimed([due(1), due(2), due(7)]);
    expect(dispatcher.outstanding()).toBe(3);
    stored = [due(7)];
    expect(await dispatcher.fill()).toBe(0);
    dispatcher.done([1, 2, 7]);
    expect(dispatcher.outstanding()).toBe(0);
  });

  it('the dispatcher that is stopped forgets what was enqueued or received and not sent', async () => {
    stored = range(330);
    await dispatcher.fill();
    const stopping = new AbortController();
    const job = dispatcher.receive(stored.slice(0, 325), stopping.signal);
    stopping.abort();
    dispatcher.stop();
    expect(await job).toBe(320);
    expect([received(), dispatcher.outstanding()]).toEqual([[], 0]);
  });

  it('the dispatcher forgets the deliveries of a job that is stopped before they found room', async () => {
    stored = range(330);
    await dispatcher.fill();
    const stopping = new AbortController();
    const job = dispatcher.receive(stored.slice(0, 325), stopping.signal);
    stopping.abort();
    dispatcher.done([1]);
    expect(await job).toBe(320);
    // The received deliveries without the ended one, and the deliveries of other jobs.
    expect([dispatcher.enqueued(), dispatcher.outstanding()]).toEqual([5, 324]);
  });
});
