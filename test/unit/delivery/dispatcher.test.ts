import { beforeEach, describe, expect, it } from 'vitest';
import { createDeliveryWindow, type DeliveryWindow } from '../../../src/delivery/delivery-window.ts';
import { createDispatcher, type Dispatcher, dueNamesOf } from '../../../src/delivery/dispatcher.ts';
import type { DueDelivery } from '../../../src/domain/ports/deliveries.ts';
import type { WakeUpJob } from '../../../src/domain/ports/queues.ts';
import { createWake } from '../../../src/lib/clock.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';
import { createPlainQueues } from '../../support/time/plain-queues.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';

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
  let window: DeliveryWindow;
  let dispatcher: Dispatcher;
  let parts: Omit<Parameters<typeof createDispatcher>[0], 'ledger' | 'queues'>;
  let needsSample: boolean;
  /** Where the next sample is drawn, in [0, 1). */
  let place: number;

  beforeEach(() => {
    stored = [];
    byHand = [];
    jobs = [];
    place = 0.5;
    needsSample = false;
    const clock = createManualClock();
    const wakes = { engine: createWake(clock), admission: createWake(clock) };
    window = createDeliveryWindow({ importMembers: () => 10, wakes, clock });
    parts = {
      window,
      failedJobs: null,
      suspended: () => ({ operations: [], unconfirmed: { operations: [], kinds: [], reasons: [] } }),
      health: { needsSample: () => needsSample, failedLately: (id: number) => id <= 10 },
      random: () => place,
      clock,
      log: createRecordingLog(),
    };
    dispatcher = createDispatcher({
      ...parts,
      ledger: {
        dueDeliveries: async ({ afterId, limit, suspended }) =>
          stored
            .filter(({ id, operation }) => id > afterId && suspended?.operations.includes(operation) !== true)
            .slice(0, limit),
        dueByHand: async ({ limit }) => byHand.slice(0, limit),
        someDueDelivery: async ({ place }) => stored[Math.floor(place * stored.length)] ?? null,
      },
      queues: { ...createPlainQueues(), enqueue: async (_name, added) => void jobs.push(...added) },
    });
  });
  /** Fills the queue. Returns how many deliveries the new jobs name. */
  async function fill(): Promise<number> {
    const before = jobs.length;
    await dispatcher.fill();
    return jobs.slice(before).flatMap(dueNamesOf).length;
  }
  const received = () => [...window.received.inOrder()].map(({ id }) => id);

  it('the dispatcher enqueues a bounded number of due deliveries, and more once there is room', async () => {
    stored = range(3000);
    expect(await fill()).toBe(1500);
    expect([jobs.length, window.size(), window.count('enqueued')]).toEqual([6, 1500, 1500]);
    expect(await fill()).toBe(0);
    window.end(range(499).map(({ id }) => id));
    expect(await fill()).toBe(0);
    window.end([500]);
    stored = stored.slice(500);
    expect(await fill()).toBe(500);
  });

  it('the dispatcher keeps places for other deliveries while there are many new products, and the other way round', async () => {
    const creates = range(3000).map((one) => ({ ...one, operation: 'product.create' as const }));
    const parts = range(6000).slice(3000);
    stored = [...creates, ...parts.map((one) => ({ ...one, operation: 'bom_item.create' as const }))];
    expect(await fill()).toBe(2000);
    expect(jobs.flatMap(dueNamesOf).filter(({ id }) => id <= 3000)).toHaveLength(1500);
    window.end(range(1500).map(({ id }) => id));
    stored = stored.filter(({ id }) => id > 3000);
    expect(await fill()).toBe(1000);
    expect(window.size()).toBe(1500);
  });

  it('the dispatcher begins with the first deliveries again once it has come to the end', async () => {
    stored = range(3);
    expect(await fill()).toBe(3);
    window.end([1]);
    expect(await fill()).toBe(1);
  });

  it('the dispatcher forgets deliveries that it could not enqueue', async () => {
    stored = range(3);
    const failing = createDispatcher({
      ...parts,
      ledger: {
        dueDeliveries: async ({ suspended }) =>
          stored.filter(({ operation }) => suspended?.operations.includes(operation) !== true),
        dueByHand: async () => [],
        someDueDelivery: async () => null,
      },
      queues: { ...createPlainQueues(), enqueue: () => Promise.reject(new Error('The queue is away.')) },
    });
    await expect(failing.fill()).rejects.toThrow('The queue is away.');
    expect(window.size()).toBe(0);
  });

  it('the dispatcher receives by-hand deliveries at once and first, while there is no room for others', async () => {
    stored = range(330);
    await fill();
    void window.receiveNamed(stored, never);
    byHand = range(2, 1001);
    await dispatcher.fillAtOnce();
    await dispatcher.fillAtOnce();
    expect(received().slice(0, 3)).toEqual([1001, 1002, 1]);
    expect(received()).toHaveLength(322);
  });

  it('the dispatcher takes by-hand deliveries out of the jobs that wait', async () => {
    stored = range(2);
    await fill();
    byHand = [due(2)];
    await dispatcher.fillAtOnce();
    expect(await window.receiveNamed(stored, never)).toBe(1);
    expect(received()).toEqual([2, 1]);
  });

  it('the dispatcher has a bounded number of by-hand deliveries in flight', async () => {
    byHand = range(100);
    await dispatcher.fillAtOnce();
    expect(received()).toHaveLength(64);
    window.end([1, 2]);
    byHand = byHand.slice(2);
    await dispatcher.fillAtOnce();
    expect(received().slice(-3)).toEqual([64, 65, 66]);
  });

  it('the dispatcher receives one sample at a time, which has not failed', async () => {
    stored = range(100);
    needsSample = true;
    await dispatcher.fillAtOnce();
    place = 0.7;
    await dispatcher.fillAtOnce();
    expect(received()).toEqual([51]);
    window.end([51]);
    stored = range(10);
    await dispatcher.fillAtOnce();
    expect(received()).toEqual([]);
  });

  it('the dispatcher enqueues again what the queue has lost, and nothing that it has received', async () => {
    stored = range(3);
    await fill();
    await window.receiveNamed([due(1)], never);
    expect(await dispatcher.noticeLostJobs()).toBe(true);
    expect([window.count('enqueued'), window.size()]).toEqual([0, 1]);
    expect(await fill()).toBe(2);
  });

  it('the dispatcher knows what is claimed, also members of an import that no job named', async () => {
    stored = range(2);
    await fill();
    await window.receiveNamed(stored, never);
    window.claim([due(1), due(2), due(7)]);
    expect(window.size()).toBe(3);
    stored = [due(7)];
    expect(await fill()).toBe(0);
    window.end([1, 2, 7]);
    expect(window.size()).toBe(0);
  });
});
