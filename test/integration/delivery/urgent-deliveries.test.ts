import { beforeEach, expect, it } from 'vitest';
import { createDeliveryWindow, type DeliveryWindow } from '../../../src/delivery/delivery-window.ts';
import { createDispatcher, type Dispatcher, dueNamesOf } from '../../../src/delivery/dispatcher.ts';
import type { WakeUpJob } from '../../../src/domain/ports/queues.ts';
import { createWake } from '../../../src/lib/clock.ts';
import { deliverAll } from '../../support/ledger/deliveries.ts';
import { items, product, text } from '../../support/ledger/items.ts';
import { useLedger } from '../../support/ledger/ledger.ts';
import { pullAndMap, row } from '../../support/ledger/records.ts';
import { createPlainQueues } from '../../support/time/plain-queues.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';

const DELIVERED = 70;
/** More than the queue takes at once. */
const BULK = 2500;

const fixture = useLedger();
let enqueued: WakeUpJob[];
let window: DeliveryWindow;
let dispatcher: Dispatcher;

const keys = (from: number, count: number) => Array.from({ length: count }, (_, at) => `P${from + at}`);

beforeEach(async () => {
  enqueued = [];
  const enqueue = async (_queue: string, bells: readonly WakeUpJob[]) => void enqueued.push(...bells);
  const { clock } = fixture;
  const wakes = { engine: createWake(clock), admission: createWake(clock) };
  window = createDeliveryWindow({ importMembers: () => 800, wakes, clock });
  dispatcher = createDispatcher({
    ledger: fixture.ledger,
    queues: { ...createPlainQueues(), enqueue },
    window,
    failedJobs: null,
    suspended: () => ({ operations: [], unconfirmed: { operations: [], kinds: [], reasons: [] } }),
    health: { needsSample: () => false, failedLately: () => false },
    random: () => 0,
    clock,
    log: createRecordingLog(),
  });
  const pull = async (all: readonly string[]) => {
    await pullAndMap(
      fixture.ledger,
      all.map((key) => row(key)),
      ({ id }) => items(product(text(id))),
    );
  };
  await pull(keys(0, DELIVERED));
  await deliverAll(fixture.ledger);
  await pull(keys(0, DELIVERED + BULK));
});

const received = () => [...window.received.inOrder()].map(({ id, operation, urgent }) => ({ id, operation, urgent }));

it('an urgent passport is sent beside thousands of deliveries that were due before, and again only once that attempt is over', async () => {
  await fixture.ledger.askForPassports({ products: ['P0'], status: 'published' });
  // The passport has a job of its own among the other deliveries, which comes after those of 1,500 new products.
  await dispatcher.fill();
  expect(enqueued.flatMap(dueNamesOf)).toHaveLength(1501);
  expect(JSON.stringify(enqueued.at(-1))).toContain('passport');

  await dispatcher.fillAtOnce();
  const [first, ...others] = received();
  expect([first, others]).toMatchObject([{ operation: 'passport.init', urgent: true }, []]);
  await dispatcher.fillAtOnce();
  expect(received()).toHaveLength(1);
  window.end([first?.id ?? 0]);
  await dispatcher.fillAtOnce();
  expect(received()).toEqual([first]);
});

it('a bounded number of urgent deliveries is in flight beside the bulk', async () => {
  await fixture.ledger.askForPassports({ products: keys(0, DELIVERED), status: 'published' });
  await dispatcher.fillAtOnce();
  const first = received();
  expect(first).toHaveLength(64);
  await dispatcher.fillAtOnce();
  expect(received()).toHaveLength(64);
  for (const one of window.received.inOrder()) window.admit(one);
  window.end(first.slice(0, 2).map(({ id }) => id));
  await dispatcher.fillAtOnce();
  expect(received()).toHaveLength(2);
});
