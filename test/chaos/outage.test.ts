import { afterEach, describe, expect, it } from 'vitest';
import type { Outcome } from '../../src/domain/delivery/outcome.ts';
import { covers } from '../support/docs/reliability.ts';
import { bomItem, material, product } from '../support/ledger/items.ts';
import { IS_FULL, scaled } from '../support/runner/chaos.ts';
import { createVirtualWorld, type ModelFailure, type VirtualWorld } from '../support/time/virtual-world.ts';

const detail = (status: number | null) => ({ detail: { status, message: 'Away.' } });
const REFUSED: Outcome = { kind: 'unavailable', sent: false, retryAfterMs: null, ...detail(null) };
const UNAVAILABLE: Outcome = { kind: 'unavailable', sent: true, retryAfterMs: null, ...detail(503) };
/** A 503 that does not prove that the request was not processed. */
const UNCLEAR_503: Outcome = { kind: 'ambiguous', cause: 'timeout', retryAfterMs: 1000, ...detail(503) };
const BAD_GATEWAY: Outcome = { kind: 'ambiguous', cause: 'server_error', ...detail(502) };
const GATEWAY_TIMEOUT: Outcome = { kind: 'ambiguous', cause: 'timeout', ...detail(504) };
const REQUEST_TIMEOUT: Outcome = { kind: 'ambiguous', cause: 'timeout', ...detail(408) };
const PAGE: Outcome = { kind: 'ambiguous', cause: 'unreadable_answer', ...detail(200) };
const RESET: Outcome = { kind: 'ambiguous', cause: 'reset', ...detail(null) };
const SERVER_ERROR: Outcome = { kind: 'ambiguous', cause: 'server_error', ...detail(500) };
const HOUR_MS = 3_600_000;
/** How long a delivery takes without an outage. */
const OWN_MS = 100;

// A day of virtual time takes some minutes of real time.
let world: VirtualWorld;
afterEach(() => world.remove());

const keys = (count: number, name = 'P') => Array.from({ length: count }, (_, index) => `${name}${index}`);
const deliveredAll = (count: number) => () => world.states()['delivered'] === count;
const attemptsOf = (key: string) => world.attempts()[key];
/** Keys of the deliveries that have not used exactly one attempt. */
const spent = () =>
  Object.entries(world.attempts())
    .filter(([, attempts]) => attempts !== 1)
    .map(([key]) => key);
const since = (at: number, what: 'write' | 'list' | 'ping') =>
  world.requests.filter((request) => request.at >= at && request.what === what).length;
/** After this many writes every request fails. */
function awayAfter(writes: number, failure: ModelFailure): void {
  let left = writes;
  world.failing = ({ what }) => {
    if (what === 'write') left -= 1;
    return left >= 0 ? null : failure;
  };
}

describe('an outage', () => {
  it.each<[string, ModelFailure]>([
    ['refused connections', { outcome: REFUSED }],
    ['a 503 that says that nothing was worked on', { outcome: UNAVAILABLE }],
    ['any other 503, after which half of the writes have landed', { outcome: UNCLEAR_503, landed: true }],
    ['a 502 of a gateway', { outcome: BAD_GATEWAY }],
    ['a 504 after a minute', { outcome: GATEWAY_TIMEOUT, tookMs: 60_000 }],
    ['a 408', { outcome: REQUEST_TIMEOUT }],
    ['a page of maintenance with a 200', { outcome: PAGE }],
    ['resets, after which half of the writes have landed', { outcome: RESET, landed: true }],
  ])(
    'an outage of a day by %s parks nothing, spends no attempt and doubles nothing',
    covers('api-down', 'I4', 'I5', 'I6'),
    async (_, failure) => {
      world = await createVirtualWorld({});
      const count = 200;
      awayAfter(100, failure);
      await world.stage(keys(count));
      const hours = scaled(1 / 6, 24);
      const begun = world.time.now();
      await world.time.pass(hours * HOUR_MS);
      const states = world.states();
      expect([states['parked'], states['rejected'], states['blocked']]).toEqual([undefined, undefined, undefined]);
      // The accepted writes, the writes in flight, and the failures that show the outage. After that only questions are sent.
      expect(since(begun, 'write')).toBeLessThanOrEqual(100 + 32 + 10 + 20);
      expect(since(begun, 'ping')).toBeLessThanOrEqual(hours * 150 + 10);
      expect(since(begun, 'list')).toBeLessThanOrEqual(5);
      world.failing = () => null;
      await world.time.pass(HOUR_MS, deliveredAll(count));
      expect(world.states()).toEqual({ delivered: count });
      expect(spent()).toEqual([]);
      expect(keys(count).filter((key) => world.created.get(key) !== 1)).toEqual([]);
    },
  );

  it(
    'an outage of an hour by 503s leaves no more BOM items to a person than were sent before it was known, and one for each later probe',
    covers('api-down', 'I5', 'I6'),
    async () => {
      world = await createVirtualWorld({});
      world.itemOf = (key) => {
        if (key === 'P' || key === 'M') return key === 'P' ? product(key) : material(key);
        return { ...bomItem(key, 'P', 'M'), payload: { quantity: '1', position: key } };
      };
      await world.stage(['P', 'M', ...keys(50, 'early')]);
      const states = () => world.ledger.views.itemCounts().bom_item ?? {};
      await world.time.pass(60_000, () => states()['delivered'] === 50);
      let away: 'all' | 'writes' | null = 'all';
      world.failing = ({ what }) =>
        away === 'all' || (away === 'writes' && what === 'write') ? { outcome: UNCLEAR_503 } : null;
      const begun = world.time.now();
      await world.stage(keys(1000, 'B'));
      await world.time.pass(scaled(1 / 6, 1) * HOUR_MS);
      // Ten failures in a row with the writes in flight beside them, a few writes in the next five seconds, and then
      // questions. After ten failed questions a write is sent, then after twenty more, and so on.
      const stranded = states()['in_doubt'] ?? 0;
      expect(stranded).toBeLessThanOrEqual(10 + 32 + 20 + scaled(3, 5));
      expect(since(begun, 'write')).toBe(stranded);
      // While the platform can be read, each probe sends a write: several in the first seconds, and then two a minute.
      away = 'writes';
      const readable = world.time.now();
      await world.time.pass(scaled(1 / 6, 1) * HOUR_MS);
      const probes = since(readable, 'write');
      expect(probes).toBeLessThanOrEqual(30 + scaled(1 / 6, 1) * 60 * 3);
      expect(states()).toMatchObject({ in_doubt: stranded + probes, due: 1000 - stranded - probes });
      away = null;
      await world.time.pass(HOUR_MS, () => states()['delivered'] === 1050 - stranded - probes);
      expect(states()).toEqual({ delivered: 1050 - stranded - probes, in_doubt: stranded + probes });
    },
  );

  it(
    '500 rows that always fail and come before others are not taken for an outage: the others are sent',
    covers('server-error', 'I5', 'I6'),
    async () => {
      world = await createVirtualWorld({});
      world.failing = ({ what, sku }) => (what === 'write' && sku?.startsWith('X') ? { outcome: SERVER_ERROR } : null);
      await world.stage([...keys(300), ...keys(500, 'X'), ...keys(500, 'Y')]);
      const isTaken = () => (world.states()['delivered'] ?? 0) >= 800;
      const begun = world.time.now();
      await world.time.pass(60_000, isTaken);
      expect(world.states()['delivered']).toBe(800);
      expect(world.time.now() - begun).toBeLessThan(30_000);
      expect(world.states()['parked']).toBeUndefined();
      expect(keys(500, 'X').filter((key) => world.created.has(key))).toEqual([]);
    },
  );

  it('500 rows that always fail and are the last look like an outage: the report says what was accepted before', async () => {
    world = await createVirtualWorld({});
    world.failing = ({ what, sku }) => (what === 'write' && sku?.startsWith('X') ? { outcome: SERVER_ERROR } : null);
    await world.stage([...keys(300), ...keys(500, 'X')]);
    const begun = world.time.now();
    await world.time.pass(60_000);
    expect([world.states()['delivered'], world.health.takesOnlyReads()]).toEqual([300, true]);
    const { failed = 0, takenAt = null } = world.health.failsAtWrites() ?? {};
    expect(failed).toBeGreaterThanOrEqual(30);
    expect(takenAt).toBeGreaterThanOrEqual(begun);
    // Deliveries that are staged now are sent nevertheless, because they have not failed.
    const more = keys(500, 'Z');
    await world.stage(more);
    await world.time.pass(120_000, () => more.every((key) => world.created.has(key)));
    expect(more.filter((key) => world.created.get(key) !== 1)).toEqual([]);
  });

  it("an outage of this machine alone is not the API's: one request a second tries, and no attempt is spent", async () => {
    world = await createVirtualWorld({});
    awayAfter(100, { outcome: { ...REFUSED, local: true, ...detail(null) } });
    const count = 200;
    await world.stage(keys(count));
    const begun = world.time.now();
    await world.time.pass(600_000);
    expect(world.states()).toEqual({ delivered: 100, due: 100 });
    expect(world.health.openSince()).toBeNull();
    expect((await world.engine.status()).trouble).toMatchObject({ code: 'machine.limit', exitCode: 3 });
    expect(since(begun, 'write')).toBeLessThanOrEqual(100 + 32 + 600);
    world.failing = () => null;
    await world.time.pass(60_000, deliveredAll(count));
    expect([world.states(), spent(), (await world.engine.status()).trouble]).toEqual([{ delivered: count }, [], null]);
  });

  it('an outage of an hour costs a tenth more requests at most', covers('api-down', 'I5'), async () => {
    world = await createVirtualWorld({});
    awayAfter(100, { outcome: BAD_GATEWAY });
    const count = scaled(1100, 2100);
    await world.stage(keys(count));
    const begun = world.time.now();
    await world.time.pass(scaled(1 / 6, 1) * HOUR_MS);
    world.failing = () => null;
    await world.time.pass(HOUR_MS, deliveredAll(count));
    expect(world.states()).toEqual({ delivered: count });
    expect(since(begun, 'write') + since(begun, 'ping') + since(begun, 'list')).toBeLessThanOrEqual(count * 1.1);
  });

  it(
    'an outage of writes alone is distinguished from deliveries that are at fault, and spends no attempt either',
    covers('server-error', 'I4', 'I5', 'I6'),
    async () => {
      world = await createVirtualWorld({});
      let away = true;
      world.failing = ({ what }) => (away && what === 'write' ? { outcome: SERVER_ERROR } : null);
      await world.stage(keys(100));
      const begun = world.time.now();
      await world.time.pass(scaled(1 / 6, 24) * HOUR_MS);
      expect(world.states()['parked']).toBeUndefined();
      expect(since(begun, 'write')).toBeLessThanOrEqual(32 + 10 + 20 + scaled(1 / 6, 24) * 150 + 10);
      away = false;
      await world.time.pass(HOUR_MS, deliveredAll(100));
      expect(world.states()).toEqual({ delivered: 100 });
      expect(spent()).toEqual([]);
    },
  );

  it(
    'an outage of the question alone keeps no write from being sent for long',
    covers('server-error', 'I5'),
    async () => {
      world = await createVirtualWorld({});
      let away = true;
      world.failing = ({ what }) =>
        away ? { outcome: UNAVAILABLE } : what === 'ping' ? { outcome: SERVER_ERROR } : null;
      await world.stage(keys(50));
      await world.time.pass(60_000);
      away = false;
      await world.time.pass(5 * 60_000, deliveredAll(50));
      expect([world.states(), world.health.openSince()]).toEqual([{ delivered: 50 }, null]);
      // dpp-sync has learnt that the question can fail while the API accepts deliveries. So a delivery finds out that the API is
      // back.
      away = true;
      await world.stage(keys(20, 'Q'));
      await world.time.pass(10_000);
      away = false;
      await world.time.pass(60_000, deliveredAll(70));
      expect(world.states()).toEqual({ delivered: 70 });
    },
  );

  it(
    'an outage of a list alone keeps nothing from being sent, and is asked for ever more seldom',
    covers('server-error', 'I5', 'I6'),
    async () => {
      world = await createVirtualWorld({});
      let away = true;
      world.failing = ({ what, sku }) => {
        if (what === 'list' && away) return { outcome: SERVER_ERROR };
        return what === 'write' && sku === 'lost' ? { outcome: RESET, landed: true } : null;
      };
      await world.stage(['lost']);
      await world.time.pass(HOUR_MS);
      // Six reads within the first minutes, and from then on one read every five minutes.
      expect(since(0, 'list')).toBeLessThanOrEqual(8 + 12);
      const stagedAt = world.time.now();
      await world.stage(keys(3));
      await world.time.pass(5000);
      expect(keys(3).map((key) => (world.createdAt.get(key) ?? 0) - stagedAt < 1000)).toEqual([true, true, true]);
      expect(world.states()).toEqual({ delivered: 3, in_doubt: 1 });
      away = false;
      await world.time.pass(300_000, deliveredAll(4));
      expect([world.states(), world.created.get('lost'), since(0, 'write')]).toEqual([{ delivered: 4 }, 1, 4]);
    },
  );

  it('an outage does not use up the attempts of a single delivery', covers('api-down', 'I5', 'I6'), async () => {
    world = await createVirtualWorld({ profile: { idempotency: 'honoured' } });
    world.failing = () => ({ outcome: RESET });
    await world.stage(['P1']);
    await world.time.pass(scaled(1 / 6, 24) * HOUR_MS);
    expect(world.states()).toEqual({ in_doubt: 1 });
    expect(since(0, 'write')).toBe(1);
    world.failing = () => null;
    await world.time.pass(HOUR_MS, deliveredAll(1));
    expect([attemptsOf('P1'), world.created.get('P1')]).toEqual([1, 1]);
  });
});

describe('a poison item', () => {
  it.each<[string, NonNullable<ModelFailure>]>([
    ['gets 500 each time', { outcome: SERVER_ERROR }],
    ['times out each time', { outcome: { ...GATEWAY_TIMEOUT, ...detail(null) }, tookMs: 30_000 }],
  ])(
    'a poison item that %s delays no other by more than a second, and is parked by its own limit',
    covers(['bad-row', 'server-error'], 'I5', 'I6'),
    async (_, failure) => {
      world = await createVirtualWorld({});
      world.failing = ({ sku }) => (sku === 'poison' ? failure : null);
      await world.stage(['poison']);
      const late: string[] = [];
      for (let count = 0; world.states()['parked'] !== 1; count += 1) {
        expect(count).toBeLessThan(1000);
        const key = `P${count}`;
        const stagedAt = world.time.now();
        await world.stage([key]);
        await world.time.pass(5000);
        if ((world.createdAt.get(key) ?? Number.POSITIVE_INFINITY) - stagedAt > 1000 + OWN_MS) late.push(key);
      }
      expect(late).toEqual([]);
      expect(attemptsOf('poison')).toBe(8);
      expect(world.requests.filter(({ sku }) => sku === 'poison')).toHaveLength(8);
    },
  );

  it.each([10, 15])(
    'poison items are parked by their own limit where there are %i of them and nothing else',
    covers(['bad-row', 'server-error'], 'I5', 'I6'),
    async (count) => {
      world = await createVirtualWorld({});
      world.failing = ({ what }) => (what === 'write' ? { outcome: SERVER_ERROR } : null);
      await world.stage(keys(count, 'poison'));
      await world.time.pass(HOUR_MS, () => world.states()['parked'] === count);
      expect(world.states()).toEqual({ parked: count });
      expect(spent()).toHaveLength(count);
      expect(new Set(Object.values(world.attempts()))).toEqual(new Set([8]));
      expect(world.health.openSince()).toBeNull();
    },
  );

  it.each<[number, number]>([
    [10, 0],
    [15, 0],
    // More poison items look like an API that accepts no writes, until good items were accepted between them twice.
    ...(IS_FULL ? [[60, 4] satisfies [number, number]] : []),
  ])(
    'poison items delay no other by more than a second where there are %i of them, or %i at most',
    covers(['bad-row', 'server-error'], 'I5', 'I6'),
    async (count, lateMax) => {
      world = await createVirtualWorld({});
      world.failing = ({ what, sku }) =>
        what === 'write' && sku?.startsWith('poison') ? { outcome: SERVER_ERROR } : null;
      await world.stage(keys(count, 'poison'));
      await world.time.pass(10 * 60_000);
      const late: number[] = [];
      for (let round = 0; world.states()['parked'] !== count; round += 1) {
        expect(round).toBeLessThan(1000);
        const key = `P${round}`;
        const stagedAt = world.time.now();
        await world.stage([key]);
        await world.time.pass(60_000, () => world.createdAt.has(key));
        const tookMs = (world.createdAt.get(key) ?? Number.POSITIVE_INFINITY) - stagedAt;
        if (tookMs > 1000 + OWN_MS) late.push(tookMs);
        await world.time.pass(5000);
      }
      expect(late.length).toBeLessThanOrEqual(lateMax);
      const sends = world.requests.filter(({ sku }) => sku?.startsWith('poison')).length;
      if (lateMax === 0) expect(sends).toBe(8 * count);
    },
  );

  it('a poison item is parked by its own limit without other work', covers('server-error', 'I5', 'I6'), async () => {
    world = await createVirtualWorld({ profile: { idempotency: 'honoured' } });
    world.failing = ({ sku }) => (sku === 'poison' ? { outcome: SERVER_ERROR } : null);
    await world.stage(['poison']);
    await world.time.pass(HOUR_MS);
    expect(attemptsOf('poison')).toBe(8);
    // The list of products shows that none of the attempts took effect.
    expect(world.ledger.views.item('product', 'poison')).toMatchObject({
      state: 'parked',
      reason: { code: 'exhausted' },
    });
    expect(world.health.openSince()).toBeNull();
  });
});

describe('a delivery that the API says it cannot take, while it takes others', () => {
  const sendsOf = (key: string, from = 0) => world.requests.filter(({ sku, at }) => sku === key && at >= from).length;

  it.each<[string, number | null]>([
    ['no word of when', null],
    ['the word to come back in an hour', 3_600_000],
  ])(
    'a delivery that the API refuses with a 503 and %s, while it takes others, is asked ever less often, and holds up no other for long',
    covers(['bad-row', 'api-down'], 'I5'),
    async (_, retryAfterMs) => {
      world = await createVirtualWorld({});
      world.failing = ({ sku }) => (sku === 'poison' ? { outcome: { ...UNAVAILABLE, retryAfterMs } } : null);
      await world.stage(['poison', 'first']);
      // The first 503 may count as an outage and delay all deliveries, for a minute at most.
      await world.time.pass(61_000, () => world.createdAt.has('first'));
      expect(world.createdAt.has('first')).toBe(true);
      let opened = 0;
      const hourAt = world.time.now();
      for (let round = 0; round < scaled(15, 60); round += 1) {
        const key = `P${round}`;
        const stagedAt = world.time.now();
        await world.stage([key]);
        await world.time.pass(60_000);
        expect((world.createdAt.get(key) ?? Number.POSITIVE_INFINITY) - stagedAt).toBeLessThan(1000 + OWN_MS);
        if (world.health.openSince() !== null) opened += 1;
      }
      expect(opened).toBe(0);
      expect(sendsOf('poison', hourAt)).toBeLessThanOrEqual(120);
      const tenMinutes = world.time.now();
      await world.time.pass(600_000);
      expect(sendsOf('poison', tenMinutes)).toBeLessThanOrEqual(12);
      expect(attemptsOf('poison')).toBe(0);
      expect(world.ledger.views.item('product', 'poison')).toMatchObject({
        state: 'due',
        reason: { code: 'unavailable', status: 503 },
      });
    },
  );

  // These hours cannot be shortened. `test/unit/delivery/decide.test.ts` tests the decision alone.
  if (IS_FULL) {
    it('a delivery refused with 503 stays due for a day, and is parked later', covers('bad-row', 'I5'), async () => {
      world = await createVirtualWorld({});
      world.failing = ({ sku }) => (sku === 'poison' ? { outcome: UNAVAILABLE } : null);
      await world.stage(['poison']);
      for (let hour = 0; hour < 30 && world.states()['parked'] !== 1; hour += 1) {
        if (hour <= 24) expect(world.states()).toEqual({ due: 1, ...(hour > 0 && { delivered: hour }) });
        await world.stage([`P${hour}`]);
        await world.time.pass(HOUR_MS);
      }
      expect(world.states()).toMatchObject({ parked: 1 });
      expect(world.ledger.views.item('product', 'poison')).toMatchObject({
        reason: { code: 'exhausted', status: 503 },
      });
    });
  }

  it('a delivery refused with a 503 is due as long as no other one is accepted', covers('api-down', 'I5'), async () => {
    world = await createVirtualWorld({});
    world.failing = ({ what }) => (what === 'write' ? { outcome: UNAVAILABLE } : null);
    await world.stage(keys(5));
    await world.time.pass(scaled(1 / 2, 30) * HOUR_MS);
    expect([world.states(), attemptsOf('P0')]).toEqual([{ due: 5 }, 0]);
    // Each wait is five minutes at most, and half of that on average.
    expect(world.requests.length).toBeLessThanOrEqual(5 * (60 + scaled(1 / 2, 30) * 30));
    world.failing = () => null;
    await world.time.pass(300_000, deliveredAll(5));
    expect(world.states()).toEqual({ delivered: 5 });
  });
});

it('the retry budget limits all retries and loses none', covers('server-error', 'I5', 'I6'), async () => {
  world = await createVirtualWorld({ profile: { retry: { attemptsMax: 100 } } });
  const count = 600;
  const failedOnce = new Set<string>();
  // Every second product fails the first time, so there are never ten failures in a row.
  world.failing = ({ what, sku }) => {
    if (what !== 'write' || sku === null || failedOnce.has(sku) || Number(sku.slice(1)) % 2 === 0) return null;
    failedOnce.add(sku);
    return { outcome: SERVER_ERROR };
  };
  await world.stage(keys(count));
  await world.time.pass(HOUR_MS, deliveredAll(count));
  expect(world.states()).toEqual({ delivered: count });
  const firsts = new Set<string>();
  const retriesAt = world.requests.flatMap(({ what, sku, at }) => {
    if (what !== 'write' || sku === null) return [];
    const isRetry = firsts.has(sku);
    firsts.add(sku);
    return isRetry ? [at] : [];
  });
  expect(retriesAt).toHaveLength(300);
  const most = retriesAt.map((at) => retriesAt.filter((other) => other >= at && other < at + 1000).length);
  // Ten retries a second, and the slots of one second that no retry had taken before.
  expect(Math.max(...most)).toBeLessThanOrEqual(22);
});
