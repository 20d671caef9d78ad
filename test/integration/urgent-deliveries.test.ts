import { beforeEach, expect, it } from 'vitest';
import { createBreaker } from '../../src/delivery/admission/breaker.ts';
import { createFeeder, type Feeder } from '../../src/delivery/feeder.ts';
import { createInHand } from '../../src/delivery/in-hand.ts';
import type { Queues, WakeUpJob } from '../../src/domain/ports/queues.ts';
import { deliverAll, items, mapRows, product, pullRows, row, text, useLedger } from '../support/ledger.ts';

const DELIVERED = 70;
/** More than the queue takes at once. */
const BULK = 2500;

const fixture = useLedger();
let rung: WakeUpJob[];
let feeder: Feeder;

const keys = (from: number, count: number) => Array.from({ length: count }, (_, at) => `P${from + at}`);

beforeEach(async () => {
  rung = [];
  const enqueue = async (_queue: string, bells: readonly WakeUpJob[]) => void rung.push(...bells);
  const held = () => ({ operations: [], doubts: { operations: [], reasons: [] } });
  feeder = createFeeder({
    ledger: fixture.ledger,
    queues: { enqueue } as Partial<Queues> as Queues,
    held,
    breaker: createBreaker(() => 0),
    random: () => 0,
  });
  const pull = async (all: readonly string[]) => {
    await pullRows(fixture.ledger, { rows: all.map((key) => row(key)) });
    await mapRows(fixture.ledger, ({ id }) => items(product(text(id))));
  };
  await pull(keys(0, DELIVERED));
  await deliverAll(fixture.ledger);
  await pull(keys(0, DELIVERED + BULK));
});

it('asks for a passport beside thousands that were due before, and again only once that attempt is over', async () => {
  await fixture.ledger.askForPassports({ products: ['P0'], status: 'published' });
  expect(await feeder.fill()).toBe(2000);
  expect(JSON.stringify(rung)).not.toContain('passport');

  const [id = 0, ...others] = await feeder.byHand();
  expect(others).toEqual([]);
  expect(feeder.heard(id)).toMatchObject({ operation: 'passport.init', urgent: true });
  expect(await feeder.byHand()).toEqual([]);
  feeder.done([id]);
  expect(await feeder.byHand()).toEqual([id]);
});

it('has a bounded number of them under way beside the bulk', async () => {
  await fixture.ledger.askForPassports({ products: keys(0, DELIVERED), status: 'published' });
  const first = await feeder.byHand();
  expect(first).toHaveLength(64);
  for (const id of first) feeder.heard(id);
  expect(await feeder.byHand()).toEqual([]);
  feeder.done(first.slice(0, 2));
  expect(await feeder.byHand()).toHaveLength(2);
});

it('begins what is urgent while there is no room for anything else', async () => {
  const { promise: never, resolve: end } = Promise.withResolvers<void>();
  const begun: number[] = [];
  const attempt = (id: number) => {
    begun.push(id);
    return never;
  };
  const inHand = createInHand({ countMax: 2, attempt, onEnd: () => undefined });
  const taken = inHand.take([1, 2, 3], new AbortController().signal);
  inHand.begin(7);
  inHand.begin(7);
  inHand.begin(1);
  expect(begun).toEqual([1, 2, 7]);
  end();
  await taken;
  await inHand.ended();
  expect(begun).toEqual([1, 2, 7, 3]);
});
