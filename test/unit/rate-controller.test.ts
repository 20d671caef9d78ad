import { describe, expect, it } from 'vitest';
import { createRateController, type RateController } from '../../src/delivery/rate-controller.ts';

const LATENCY_MS = 20;

/** Sends as fast as the controller lets it, until `end`; a request takes 20 ms. Gives when requests went out. */
function drive(controller: RateController, from: number, end: number, answer: (at: number) => Answer): number[] {
  const sent: number[] = [];
  const back: { at: number; sentAt: number; is: Answer }[] = [];
  for (let now = from; now < end; now += 1) {
    while (back[0] !== undefined && back[0].at <= now) {
      const one = back.shift();
      if (one) controller.observe(one.is, now - one.sentAt, now);
    }
    while (back.length < controller.concurrency(now) && controller.admit(now) === 0) {
      sent.push(now);
      back.push({ at: now + LATENCY_MS, sentAt: now, is: answer(now) });
    }
  }
  return sent;
}

type Answer = Parameters<RateController['observe']>[0];
const OK: Answer = { kind: 'ok' };
const refused = (retryAfterMs: number | null): Answer => ({ kind: 'throttled', retryAfterMs });
const steady = () => 0.5;

/** Takes so many in each second. */
function perSecond(limit: number): (at: number) => Answer {
  let second = -1;
  let used = 0;
  return (at) => {
    if (Math.floor(at / 1000) !== second) {
      second = Math.floor(at / 1000);
      used = 0;
    }
    used += 1;
    return used <= limit ? OK : refused(null);
  };
}

describe('the rate controller', () => {
  it('paces nothing before it has met a limit', () => {
    const controller = createRateController(null, steady);
    const sent = drive(controller, 0, 5000, () => OK);
    expect(sent.filter((at) => at >= 4000).length).toBeGreaterThan(5000);
  });

  it('never exceeds the ceiling that it was given', () => {
    const controller = createRateController(20, steady);
    const sent = drive(controller, 0, 10_000, () => OK);
    expect(sent.length).toBeLessThanOrEqual(201);
    expect(sent.length).toBeGreaterThan(195);
  });

  it('sends nothing before a Retry-After has passed, then one request, and the others when that has come back', () => {
    const controller = createRateController(null, steady);
    drive(controller, 0, 200, () => OK);
    controller.observe(refused(7000), LATENCY_MS, 220);
    const sent = drive(controller, 221, 8500, () => OK);
    expect(sent[0]).toBe(7220);
    expect(sent[1]).toBeGreaterThanOrEqual(7220 + LATENCY_MS);
  });

  it('stays shut for the longest of the times that were asked for', () => {
    const controller = createRateController(null, steady);
    for (let request = 0; request < 3; request += 1) controller.admit(0);
    controller.observe(refused(5000), LATENCY_MS, 20);
    controller.observe(refused(9000), LATENCY_MS, 21);
    controller.observe(refused(2000), LATENCY_MS, 22);
    expect(controller.admit(5100)).toBe(9021 - 5100);
  });

  it('waits longer each time the canary is refused and nobody says for how long', () => {
    const controller = createRateController(null, steady);
    const sent = drive(controller, 0, 60_000, () => refused(null));
    const canaries = sent.filter((at) => at > 50);
    const gaps = canaries.slice(1).map((at, index) => at - (canaries[index] ?? 0));
    expect(canaries.length).toBeLessThan(30);
    expect(gaps).toEqual(gaps.toSorted((a, b) => a - b));
    expect(gaps.at(-1)).toBeLessThan(10_000);
  });

  it('takes a Retry-After of zero for none', () => {
    const controller = createRateController(null, steady);
    expect(drive(controller, 0, 10_000, () => refused(0)).length).toBeLessThan(20);
  });

  it('lets the next canary go when one was not sent', () => {
    const controller = createRateController(null, steady);
    controller.admit(0);
    controller.observe(refused(1000), LATENCY_MS, 20);
    expect(controller.admit(1020)).toBe(0);
    expect(controller.admit(1021)).toBeGreaterThan(0);
    controller.observe({ kind: 'unused' }, 5, 1025);
    expect(controller.admit(1026)).toBe(0);
  });

  it('does not take refusals of what was under way for further evidence', () => {
    const rates = [1, 20].map((refusals) => {
      const controller = createRateController(null, steady);
      drive(controller, 0, 1000, perSecond(1000));
      for (let one = 0; one < refusals; one += 1) controller.observe(refused(null), LATENCY_MS, 1010);
      return drive(controller, 1011, 3000, perSecond(1000)).length;
    });
    expect(rates[1]).toBe(rates[0]);
  });

  it('begins at the rate that the API states, and believes a change of it that three answers agree on', () => {
    const controller = createRateController(null, steady);
    const stating = (advisedRate: number) => () => ({ kind: 'ok' as const, advisedRate });
    expect(drive(controller, 0, 1000, stating(100)).length).toBeLessThan(130);
    expect(drive(controller, 1000, 2000, stating(10)).length).toBeLessThan(40);
    controller.observe({ kind: 'ok', advisedRate: 1000 }, LATENCY_MS, 2001);
    expect(drive(controller, 2002, 3000, () => OK).length).toBeLessThan(20);
  });

  it('keeps the rate over an hour in which there was nothing to send', () => {
    const controller = createRateController(null, steady);
    const server = perSecond(50);
    drive(controller, 0, 60_000, server);
    const sent = drive(controller, 3_660_000, 3_670_000, server);
    expect(sent.length / 10).toBeGreaterThan(42);
    expect(sent.length / 10).toBeLessThan(56);
  });

  it('does not take an outage amid a stop for the length of a window', () => {
    const controller = createRateController(null, steady);
    const server = perSecond(50);
    drive(controller, 0, 30_000, server);
    controller.observe(refused(null), 1, 30_001);
    let canary = 30_001;
    while (controller.admit(canary) > 0 && canary < 40_000) canary += 1;
    controller.observe({ kind: 'unused' }, 5000, canary + 5000);
    const sent = drive(controller, canary + 60_000, canary + 80_000, server);
    expect(sent.length / 20).toBeGreaterThan(42);
  });

  it('has as many requests under way as rate and latency ask for, and no more', () => {
    const slow = createRateController(40, steady);
    const server = perSecond(40);
    drive(slow, 0, 20_000, server);
    expect(slow.concurrency(20_000)).toBeLessThan(12);
    const free = createRateController(null, steady);
    drive(free, 0, 20_000, () => OK);
    expect(free.concurrency(20_000)).toBe(256);
  });
});
