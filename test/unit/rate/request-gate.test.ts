import { describe, expect, it } from 'vitest';
import { createLearntRate } from '../../../src/delivery/rate/learnt-rate.ts';
import { createRequestGate, type RequestGate } from '../../../src/delivery/rate/request-gate.ts';
import type { Outcome } from '../../../src/domain/delivery/outcome.ts';
import { createVirtualTime, type VirtualTime } from '../../support/time/virtual-time.ts';

const ACCEPTED: Outcome = { kind: 'accepted', evidence: 'bare', remoteId: null };
const throttled = (retryAfterMs: number | null): Outcome => ({
  kind: 'throttled',
  retryAfterMs,
  detail: { status: 429, message: 'The month is used up.' },
});
const LATENCY_MS = 20;

function given(maxRate: number | null) {
  const time = createVirtualTime();
  const gate = createRequestGate(
    createLearntRate(maxRate, () => 0.5),
    time,
  );
  const abort = new AbortController();
  const startedAt = time.ticks();
  return { time, gate, abort, at: () => time.ticks() - startedAt };
}

/** Sends requests one after the other through `turn`, as a list is read. @returns when they were sent */
function readPages({ time, gate, abort, at }: ReturnType<typeof given>, answer: (at: number) => Outcome): number[] {
  const sent: number[] = [];
  void (async () => {
    while (!abort.signal.aborted) {
      const turn = await gate.turn(abort.signal);
      if (!turn.granted) return;
      sent.push(at());
      await time.sleep(LATENCY_MS);
      turn.ended(answer(at()), null);
    }
  })();
  return sent;
}

/** Sends deliveries as the admission does: as many at once as the rate allows, then it rests. */
function deliver({ time, gate, abort, at }: ReturnType<typeof given>, untilMs = Number.POSITIVE_INFINITY): number[] {
  const sent: number[] = [];
  let inFlight = 0;
  void (async () => {
    while (!abort.signal.aborted && at() < untilMs) {
      const now = time.ticks();
      const isFull = inFlight >= gate.concurrency(now);
      const waitMs = isFull ? 1 : gate.admit(now);
      if (waitMs > 0) {
        await time.sleep(Math.ceil(waitMs), abort.signal);
        continue;
      }
      sent.push(at());
      inFlight += 1;
      void time.sleep(LATENCY_MS).then(() => {
        inFlight -= 1;
        observe(gate, time, now);
      });
    }
  })();
  return sent;
}

function observe(gate: RequestGate, time: VirtualTime, sentAt: number): void {
  gate.observe({ kind: 'answered', by: 'write' }, time.ticks() - sentAt, time.ticks());
}

const within = (sent: readonly number[], from: number, to: number): number =>
  sent.filter((at) => at >= from && at < to).length;

describe('the gate for all requests', () => {
  it('the gate gives pages of a list and deliveries the same share while both wait', async () => {
    const world = given(20);
    const pages = readPages(world, () => ACCEPTED);
    const deliveries = deliver(world);
    await world.time.pass(10_000);
    world.abort.abort();
    expect(within(pages, 0, 10_000)).toBeGreaterThan(95);
    expect(within(deliveries, 0, 10_000)).toBeGreaterThan(95);
    expect(pages.length + deliveries.length).toBeLessThanOrEqual(202);
  });

  it('the gate gives one kind of request the whole rate while the other does not wait', async () => {
    const world = given(20);
    const deliveries = deliver(world, 5000);
    const pages = readPages(world, () => ACCEPTED);
    await world.time.pass(10_000);
    world.abort.abort();
    expect(within(pages, 5200, 10_000)).toBeGreaterThan(93);
    expect(within(deliveries, 0, 5000)).toBeGreaterThan(48);
  });

  it.each([1, 5, 50])('the gate keeps every request below a ceiling of %d a second', async (maxRate) => {
    const world = given(maxRate);
    const all = [readPages(world, () => ACCEPTED), readPages(world, () => ACCEPTED), deliver(world)];
    await world.time.pass(20_000);
    world.abort.abort();
    const sent = all.flat().toSorted((a, b) => a - b);
    // A request may be up to 50 ms late, and the requests after it make up for the delay.
    for (const at of sent) expect(within(sent, at, at + 1000)).toBeLessThanOrEqual(Math.ceil(1.05 * maxRate) + 1);
  });

  it('the gate lets nobody send before the wait is over that the API has asked a page for', async () => {
    const world = given(null);
    const pages = readPages(world, (at) => (at < 1000 ? ACCEPTED : throttled(at < 1050 ? 7000 : null)));
    const deliveries = deliver(world);
    await world.time.pass(7500);
    world.abort.abort();
    expect(within(pages, 1000 + LATENCY_MS, 7990)).toBe(0);
    expect(within(deliveries, 1000 + LATENCY_MS, 7990)).toBe(0);
  });

  it('the gate refuses a request at once while the API asks for a wait of more than a minute', async () => {
    const world = given(null);
    const first = await world.gate.turn();
    if (first.granted) first.ended(throttled(3_600_000), null);
    expect(await world.gate.turn()).toEqual({
      granted: false,
      waitMs: 3_600_000,
      message: 'The month is used up.',
    });
  });

  it('the gate forgets a request whose caller has stopped it', async () => {
    const world = given(1);
    expect((await world.gate.turn()).granted).toBe(true);
    const stopped = new AbortController();
    const turn = world.gate.turn(stopped.signal);
    const next = world.gate.turn();
    stopped.abort();
    expect(await turn).toMatchObject({ granted: false, waitMs: null });
    await world.time.pass(1000);
    expect((await next).granted).toBe(true);
    expect((await world.gate.turn(stopped.signal)).granted).toBe(false);
  });
});
