import { describe, expect, it } from 'vitest';
import { createRateController, type RateController } from '../../../src/delivery/rate/rate-controller.ts';
import { slidingWindow } from '../../bench/rate/simulation/limiters.ts';

const LATENCY_MS = 20;

/** Sends as fast as the controller admits, until `end`. A request takes 20 ms. @returns when requests were sent */
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
const OK: Answer = { kind: 'answered', by: 'write' };
const refused = (retryAfterMs: number | null): Answer => ({ kind: 'throttled', retryAfterMs });
const steady = () => 0.5;

/** A server that accepts so many requests in each second. */
function perSecond(limit: number, retryAfterMs: number | null = null): (at: number) => Answer {
  let second = -1;
  let used = 0;
  return (at) => {
    if (Math.floor(at / 1000) !== second) {
      second = Math.floor(at / 1000);
      used = 0;
    }
    used += 1;
    return used <= limit ? OK : refused(retryAfterMs);
  };
}

/** Counts the answers of a server, and the accepted requests among them. */
function counted(answer: (at: number) => Answer): {
  answer: (at: number) => Answer;
  accepted: () => number;
  all: () => number;
} {
  let accepted = 0;
  let all = 0;
  return {
    accepted: () => accepted,
    all: () => all,
    answer(at) {
      const one = answer(at);
      all += 1;
      if (one.kind === 'answered') accepted += 1;
      return one;
    },
  };
}

describe('the rate controller', () => {
  it('the rate controller does not pace requests before the first refusal', () => {
    const controller = createRateController(null, steady);
    const sent = drive(controller, 0, 5000, () => OK);
    expect(sent.filter((at) => at >= 4000).length).toBeGreaterThan(5000);
  });

  it('the rate controller never exceeds the ceiling that it was given', () => {
    const controller = createRateController(20, steady);
    const sent = drive(controller, 0, 10_000, () => OK);
    expect(sent.length).toBeLessThanOrEqual(201);
    expect(sent.length).toBeGreaterThan(195);
  });

  it.each([1, 0.1])('the rate controller keeps to a ceiling of %d a second throughout refusals', (maxRate) => {
    for (const answer of [() => refused(null), (at: number) => (at % 3000 < 1500 ? OK : refused(null))]) {
      const sent = drive(createRateController(maxRate, steady), 0, 60_000, answer);
      const gaps = sent.slice(1).map((at, index) => at - (sent[index] ?? 0));
      expect(Math.min(...gaps)).toBeGreaterThan(1000 / maxRate - 60);
      expect(sent.length).toBeGreaterThan(6);
      expect(sent.filter((at) => at > 0).length).toBeLessThanOrEqual(60 * maxRate);
    }
  });

  it('the rate controller sends nothing before a Retry-After has passed, then one request, and the others after its answer', () => {
    const controller = createRateController(null, steady);
    drive(controller, 0, 200, () => OK);
    controller.observe(refused(7000), LATENCY_MS, 220);
    const sent = drive(controller, 221, 8500, () => OK);
    expect(sent[0]).toBe(7220);
    expect(sent[1]).toBeGreaterThanOrEqual(7220 + LATENCY_MS);
  });

  it('the rate controller stays closed for the longest wait that was asked for', () => {
    const controller = createRateController(null, steady);
    for (let request = 0; request < 3; request += 1) controller.admit(0);
    controller.observe(refused(5000), LATENCY_MS, 20);
    controller.observe(refused(9000), LATENCY_MS, 21);
    controller.observe(refused(2000), LATENCY_MS, 22);
    expect(controller.admit(5100)).toBe(9021 - 5100);
  });

  it.each([
    ['30 seconds', 30_000, [30]],
    ['a minute', 60_000, [60]],
    ['a minute that was rounded up twice', 62_000, [62]],
    ['63 seconds', 63_000, [60, 63]],
    ['an hour', 3_600_000, [60, 180, 420, 900, 1800, 2700, 3600]],
  ])('the rate controller obeys a wait of %s up to a minute, and then probes ever less often', (_, waitMs, seconds) => {
    const controller = createRateController(null, steady);
    controller.admit(0);
    controller.observe(refused(waitMs), LATENCY_MS, LATENCY_MS);
    const endsAt = LATENCY_MS + waitMs;
    const sent = drive(controller, LATENCY_MS + 1, endsAt + 1, (at) => refused(endsAt - at - LATENCY_MS));
    expect(sent.map((at) => Math.floor(at / 1000))).toEqual(seconds);
  });

  it('the rate controller reports a wait beyond a minute, and when the next probe is sent', () => {
    const controller = createRateController(null, steady);
    controller.admit(0);
    controller.observe(refused(86_400_000), LATENCY_MS, 20);
    expect(controller.wait(21)).toEqual({ since: 20, until: 86_400_020, askAgainAt: 60_020 });
    expect(controller.admit(60_020)).toBe(0);
    controller.observe(refused(86_000_000), LATENCY_MS, 60_040);
    expect(controller.wait(60_041)).toEqual({ since: 20, until: 86_060_040, askAgainAt: 180_040 });
    expect(controller.admit(180_040)).toBe(0);
    controller.observe(OK, LATENCY_MS, 180_060);
    expect(controller.wait(180_061)).toBeNull();
  });

  it.each([
    ['refuses for ten minutes and names no time', null],
    ['asks for half a minute again and again', 30_000],
  ])('the rate controller reports a long wait if the API %s', (_, waitMs) => {
    const controller = createRateController(null, steady);
    drive(controller, 0, 60_000, () => refused(waitMs));
    expect(controller.wait(60_000)).toBeNull();
    drive(controller, 60_000, 600_000, () => refused(waitMs));
    expect(controller.wait(600_000)).toMatchObject({ since: LATENCY_MS });
  });

  it.each([60_000, 5000])('the rate controller reports no long wait during one of %d ms or an outage', (waitMs) => {
    const controller = createRateController(null, steady);
    controller.admit(0);
    controller.observe(refused(waitMs), LATENCY_MS, 20);
    controller.observe(refused(waitMs), LATENCY_MS, 900);
    expect([21, 5000, 60_000].map((at) => controller.wait(at))).toEqual([null, null, null]);
    const away = createRateController(null, steady);
    drive(away, 0, 300_000, () => ({ kind: 'failed', subject: null, retryAfterMs: 60_000 }));
    expect(away.wait(300_000)).toBeNull();
  });

  it('the rate controller forgets a wait that has ended without another request', () => {
    const controller = createRateController(null, steady);
    controller.admit(0);
    controller.observe(refused(120_000), LATENCY_MS, 20);
    expect([119_000, 179_000, 181_000].map((at) => controller.wait(at) !== null)).toEqual([true, true, false]);
  });

  it('the rate controller waits longer each time a reopen probe is refused without a time', () => {
    const controller = createRateController(null, steady);
    const sent = drive(controller, 0, 60_000, () => refused(null));
    const probes = sent.filter((at) => at > 50);
    const gaps = probes.slice(1).map((at, index) => at - (probes[index] ?? 0));
    expect(probes.length).toBeLessThan(30);
    expect(gaps).toEqual(gaps.toSorted((a, b) => a - b));
    expect(gaps.at(-1)).toBeLessThan(10_000);
  });

  it('the rate controller treats a Retry-After of zero as none', () => {
    const controller = createRateController(null, steady);
    expect(drive(controller, 0, 10_000, () => refused(0)).length).toBeLessThan(20);
  });

  it('the rate controller admits the next reopen probe if one was not sent', () => {
    const controller = createRateController(null, steady);
    controller.admit(0);
    controller.observe(refused(1000), LATENCY_MS, 20);
    expect(controller.admit(1020)).toBe(0);
    expect(controller.admit(1021)).toBeGreaterThan(0);
    controller.observe({ kind: 'unused' }, 5, 1025);
    expect(controller.admit(1026)).toBe(0);
  });

  it('the rate controller does not take refusals of requests in flight for further evidence', () => {
    const rates = [1, 20].map((refusals) => {
      const controller = createRateController(null, steady);
      drive(controller, 0, 1000, perSecond(10_000));
      for (let one = 0; one < refusals; one += 1) controller.observe(refused(null), LATENCY_MS, 1010);
      return drive(controller, 1011, 3000, perSecond(10_000)).length;
    });
    expect(rates[0]).toBeGreaterThan(1000);
    expect(rates[1]).toBe(rates[0]);
  });

  it('the rate controller begins at the rate that the API states, and believes a change that three answers agree on', () => {
    const controller = createRateController(null, steady);
    const stating = (advisedRate: number) => () => ({ kind: 'answered' as const, by: 'write' as const, advisedRate });
    expect(drive(controller, 0, 1000, stating(100)).length).toBeLessThan(130);
    expect(drive(controller, 1000, 2000, stating(10)).length).toBeLessThan(40);
    controller.observe({ kind: 'answered', by: 'write', advisedRate: 1000 }, LATENCY_MS, 2001);
    expect(drive(controller, 2002, 3000, () => OK).length).toBeLessThan(20);
  });

  it('the rate controller does not follow stated rates that alternate, and believes one that has been the same for a minute', () => {
    const controller = createRateController(null, steady);
    const server = perSecond(50);
    const inTurns = (at: number): Answer => {
      const answer = server(at);
      return answer.kind === 'answered' ? { ...answer, advisedRate: at % 2000 < 1000 ? 10 : 100 } : answer;
    };
    drive(controller, 0, 60_000, inTurns);
    const { answer, accepted } = counted(inTurns);
    drive(controller, 60_000, 120_000, answer);
    expect(accepted() / 60).toBeGreaterThan(45);

    const still = (at: number): Answer => {
      const one = server(at);
      return one.kind === 'answered' ? { ...one, advisedRate: 20 } : one;
    };
    expect(drive(controller, 120_000, 179_000, still).length / 59).toBeGreaterThan(42);
    expect(drive(controller, 181_000, 182_000, still).length).toBeLessThan(35);
  });

  it('the rate controller learns a lower limit after a stop that lasted longer than a short window', () => {
    const controller = createRateController(null, steady);
    drive(controller, 0, 60_000, perSecond(50, 1000));
    drive(controller, 60_000, 70_000, (at) => refused(70_000 - at));
    drive(controller, 70_000, 120_000, perSecond(50, 1000));
    drive(controller, 120_000, 480_000, perSecond(10, 1000));
    const { answer, accepted, all } = counted(perSecond(10, 1000));
    drive(controller, 480_000, 780_000, answer);
    expect(accepted() / 300).toBeGreaterThan(9);
    expect(1 - accepted() / all()).toBeLessThan(0.01);
  });

  it('the rate controller waits as long as an API that is away asks for, and does not take that for its limit', () => {
    const controller = createRateController(null, steady);
    const away: Answer = { kind: 'failed', subject: null, retryAfterMs: 10_000 };
    let from = 0;
    for (let time = 0; time < 3; time += 1) {
      drive(controller, from, from + 30_000, perSecond(50));
      const asked = drive(controller, from + 30_000, from + 60_000, () => away).filter((at) => at > from + 30_100);
      expect(asked.length).toBeLessThanOrEqual(3);
      from += 60_000;
    }
    const { answer, accepted } = counted(perSecond(50));
    drive(controller, from + 10_000, from + 30_000, answer);
    expect(accepted() / 20).toBeGreaterThan(44);
  });

  it.each([null, 1000])(
    'the rate controller does not take maintenance that answers 429 for a long window (Retry-After: %s)',
    (retryAfterMs) => {
      const controller = createRateController(null, steady);
      let from = 0;
      for (let time = 0; time < 3; time += 1) {
        drive(controller, from, from + 150_000, perSecond(50));
        drive(controller, from + 150_000, from + 210_000, () => refused(retryAfterMs));
        from += 210_000;
      }
      const { answer, accepted } = counted(perSecond(50));
      drive(controller, from + 10_000, from + 30_000, answer);
      expect(accepted() / 20).toBeGreaterThan(44);
    },
  );

  it('the rate controller keeps a finite rate if the stated limit has changed during a night without requests', () => {
    const controller = createRateController(null, steady);
    const stating = (advisedRate: number, answer: (at: number) => Answer) => (at: number) => ({
      ...answer(at),
      advisedRate,
    });
    // Other clients use a changing part of the limit.
    const parts = [50, 30, 45, 22, 50, 38].map((limit) => perSecond(limit));
    const shared = (at: number) => parts[Math.floor(at / 9000) % parts.length]?.(at) ?? OK;
    drive(controller, 0, 400_000, stating(50, shared));
    const morning = 400_000 + 8 * 3_600_000;
    drive(
      controller,
      morning,
      morning + 3000,
      stating(20, () => refused(null)),
    );
    drive(controller, morning + 3000, morning + 100_000, stating(20, perSecond(20)));
    const { answer, accepted, all } = counted(stating(20, perSecond(20)));
    drive(controller, morning + 100_000, morning + 200_000, answer);
    expect(accepted()).toBeGreaterThan(1700);
    expect(all() - accepted()).toBeLessThan(50);
  });

  it('the rate controller recovers from a small window of a minute that counts refused requests', () => {
    const limiter = slidingWindow(0.2, 60_000, { countsRefused: true });
    const controller = createRateController(null, steady);
    const server = (at: number) => (limiter.admit(at).allowed ? OK : refused(null));
    drive(controller, 0, 600_000, server);
    const { answer, accepted } = counted(server);
    drive(controller, 600_000, 1_500_000, answer);
    expect(accepted()).toBeGreaterThan(40);
  });

  it('the rate controller does not take a wait of an API that went away during a stop for the cost of a refusal', () => {
    const away: Answer = { kind: 'failed', subject: null, retryAfterMs: 20_000 };
    const waits = [refused(20_000), away].map((amid) => {
      const controller = createRateController(null, steady);
      drive(controller, 0, 30_000, perSecond(50));
      controller.observe(refused(null), 1, 30_100);
      controller.observe(amid, LATENCY_MS, 30_101);
      drive(controller, 30_102, 60_000, perSecond(50));
      controller.observe(refused(null), 1, 60_100);
      return controller.closedForMs(60_100);
    });
    expect(waits[0]).toBe(1000);
    expect(waits[1]).toBeLessThan(900);
  });

  it('the rate controller learns the limit even if answers come before the first admission', () => {
    const controller = createRateController(null, steady);
    for (let at = 0; at < 1000; at += 100) controller.observe(OK, 0, at);
    controller.observe(refused(null), 0, 1000);
    expect(controller.admit(1010)).toBeGreaterThan(0);
    const { answer, accepted, all } = counted(perSecond(50));
    drive(controller, 1010, 41_000, answer);
    expect(1 - accepted() / all()).toBeLessThan(0.02);
    expect(drive(controller, 41_000, 61_000, perSecond(50)).length / 20).toBeGreaterThan(42);
  });

  it('the rate controller reports for how long it is closed without taking a slot', () => {
    const controller = createRateController(null, steady);
    expect(controller.closedForMs(0)).toBe(0);
    controller.admit(0);
    controller.observe(refused(5000), LATENCY_MS, 20);
    expect(controller.closedForMs(1020)).toBe(4000);
    expect(controller.closedForMs(5020)).toBe(0);
    expect(controller.admit(5020)).toBe(0);
    expect(controller.closedForMs(5021)).toBeGreaterThan(0);
    controller.observe(OK, LATENCY_MS, 5040);
    expect(controller.closedForMs(5041)).toBe(0);
  });

  it('the rate controller keeps the rate during an hour without requests', () => {
    const controller = createRateController(null, steady);
    const server = perSecond(50);
    drive(controller, 0, 60_000, server);
    const sent = drive(controller, 3_660_000, 3_670_000, server);
    expect(sent.length / 10).toBeGreaterThan(42);
    expect(sent.length / 10).toBeLessThan(56);
  });

  it('the rate controller does not take an outage during a stop for the length of a window', () => {
    const controller = createRateController(null, steady);
    const server = perSecond(50);
    drive(controller, 0, 30_000, server);
    controller.observe(refused(null), 1, 30_001);
    let probeAt = 30_001;
    while (controller.admit(probeAt) > 0 && probeAt < 40_000) probeAt += 1;
    controller.observe({ kind: 'unused' }, 5000, probeAt + 5000);
    const sent = drive(controller, probeAt + 60_000, probeAt + 80_000, server);
    expect(sent.length / 20).toBeGreaterThan(42);
  });

  it('the rate controller has as many requests in flight as rate and latency need, and no more', () => {
    const slow = createRateController(40, steady);
    const server = perSecond(40);
    drive(slow, 0, 20_000, server);
    expect(slow.concurrency(20_000)).toBeLessThan(12);
    const free = createRateController(null, steady);
    drive(free, 0, 20_000, () => OK);
    expect(free.concurrency(20_000)).toBe(256);
  });
});
