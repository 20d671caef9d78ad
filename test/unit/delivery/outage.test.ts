import { beforeEach, describe, expect, it } from 'vitest';
import { createOutage, type Outage } from '../../../src/delivery/admission/outage.ts';
import { type Observation, observationOf } from '../../../src/delivery/observation.ts';
import type { Outcome } from '../../../src/domain/delivery/outcome.ts';
import { covers } from '../../support/docs/reliability.ts';

const READ: Observation = { kind: 'answered', by: 'read' };
const WRITTEN: Observation = { kind: 'answered', by: 'write' };
const AWAY: Observation = { kind: 'failed', subject: null, retryAfterMs: null };
const failed = (subject: number): Observation => ({ kind: 'failed', subject, retryAfterMs: null });

describe('an outage', () => {
  let outage: Outage;
  let now: number;
  beforeEach(() => {
    outage = createOutage(() => 1);
    now = 1_000_000;
  });
  const observe = (...observations: Observation[]) => {
    for (const observation of observations) outage.observe(observation, now);
  };
  const times = (count: number, observation: Observation) => Array.from({ length: count }, () => observation);
  const different = (count: number) => Array.from({ length: count }, (_, index) => failed(index));
  const admit = () => outage.admit(now);
  /** Opens it by ten failures and five seconds. */
  function open(failures: Observation[] = times(10, AWAY)): void {
    observe(...failures);
    now += 5000;
    admit();
    expect(outage.openSince()).toBe(1_000_000);
  }
  /** Sends probes as soon as they may be sent, each with this end, and gives how far apart they were. */
  function probes(count: number, end: Observation): number[] {
    return Array.from({ length: count }, () => {
      const before = now;
      for (let waitMs = admit(); waitMs > 0; waitMs = admit()) now += waitMs;
      observe(end);
      return now - before;
    });
  }

  it('an outage opens after ten failures in a row and five seconds without an answer, and not before', () => {
    observe(...times(9, AWAY));
    now += 10_000;
    expect([admit(), admit(), outage.openSince()]).toEqual([0, 0, null]);
    observe(READ, ...times(10, AWAY));
    now += 4999;
    admit();
    expect(outage.openSince()).toBeNull();
    now += 1;
    expect([admit(), outage.openSince()]).toEqual([1000, 1_010_000]);
  });

  it('a 503 to one delivery counts as one of the API until another request was answered', () => {
    const away: Observation = { kind: 'failed', subject: 7, away: true, retryAfterMs: null };
    open(times(10, away));
    observe(READ, ...times(50, away));
    expect([outage.isExcused(7), outage.openSince(), outage.isWell()]).toEqual([true, null, true]);
    expect(outage.hasTakenSince(0)).toBe(false);
    observe(WRITTEN);
    expect([outage.hasTakenSince(now), outage.hasTakenSince(now + 1)]).toEqual([true, false]);
  });

  it('only a trickle is sent between the tenth failure and the opening of an outage', () => {
    observe(...times(10, AWAY));
    let sent = 0;
    for (; outage.openSince() === null; now += admit()) if (admit() === 0) sent += 1;
    expect(sent).toBeLessThanOrEqual(20);
    expect(now).toBe(1_005_000 + 1000);
  });

  it('an outage sends one half-open probe at a time, from a second up to every half minute', () => {
    open();
    expect(probes(8, AWAY)).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
    now += 30_000;
    expect(admit()).toBe(0);
    now += 500_000;
    expect([admit(), admit()]).toEqual([100, 100]);
  });

  it('an outage spreads the half-open probes of many processes, and none of them waits for longer', () => {
    outage = createOutage(() => 0);
    open();
    expect(probes(6, AWAY)).toEqual([800, 1600, 3200, 6400, 12_800, 24_000]);
  });

  it('an outage closes with the first answer, and the next one begins with a second again', () => {
    open();
    probes(4, AWAY);
    probes(1, READ);
    expect([admit(), admit(), outage.openSince()]).toEqual([0, 0, null]);
    now = 1_000_000;
    open();
    expect(probes(1, AWAY)).toEqual([1000]);
  });

  it(
    'an outage counts a delivery once, however often it fails, since it may be at fault by itself',
    covers('bad-row', 'I5'),
    () => {
      for (let round = 0; round < 100; round += 1) {
        observe(...different(9));
        now += 1000;
        expect(admit()).toBe(0);
      }
      expect(outage.openSince()).toBeNull();
    },
  );

  it('an outage does not end where the platform can be read and accepts no writes', () => {
    observe(...different(30));
    now += 3000;
    observe(READ);
    now += 2000;
    admit();
    expect([outage.openSince(), outage.failsAtWrites()]).toEqual([1_000_000, true]);
    probes(1, READ);
    // It is the write behind the question that counts.
    expect([outage.openSince(), admit()]).toEqual([1_000_000, 100]);
    observe(WRITTEN);
    expect([outage.openSince(), outage.failsAtWrites(), admit(), admit()]).toEqual([null, false, 0, 0]);
  });

  it(
    'a few writes that fail count as the ones at fault, as soon as any request is answered',
    covers('bad-row', 'I5'),
    () => {
      observe(...different(29));
      expect(outage.isWell()).toBe(false);
      now += 5000;
      admit();
      expect(outage.openSince()).toBe(1_000_000);
      probes(1, READ);
      expect([outage.openSince(), admit(), admit()]).toEqual([null, 0, 0]);
      // There was no outage, so the failures use attempts. They are not a sign of an outage any more.
      expect(outage.wasOut(1_000_000)).toBe(false);
      observe(WRITTEN, ...different(29));
      expect([outage.isWell(), outage.failedLately(28), outage.failedLately(29)]).toEqual([true, true, false]);
    },
  );

  it('an outage does not count a delivery that fails again while others succeed', covers('bad-row', 'I5'), () => {
    const wells = Array.from({ length: 4 }, () => {
      observe(...different(30), READ);
      const well = outage.isWell();
      observe(WRITTEN);
      return well;
    });
    expect(wells).toEqual([false, false, true, true]);
    observe(...Array.from({ length: 30 }, (_, index) => failed(100 + index)), READ);
    expect(outage.isWell()).toBe(false);
  });

  it('an outage counts a list that cannot be read once, however often it fails', () => {
    observe(...times(100, { kind: 'failed', subject: 'product', retryAfterMs: null }));
    expect(outage.isWell()).toBe(true);
    observe(...times(9, AWAY));
    expect(outage.isWell()).toBe(false);
  });

  it('an outage explains no failure of writes after it has lasted for longer than a day', () => {
    open(different(30));
    const day = 24 * 3_600_000;
    expect([day, 2 * day].map((later) => outage.wasOut(1_000_000 + later))).toEqual([true, false]);
  });

  it('an outage admits the next half-open probe where one was admitted and then not sent', () => {
    open();
    now += 1000;
    expect([admit(), admit()]).toEqual([0, 100]);
    observe({ kind: 'unused' });
    expect(admit()).toBe(0);
  });

  it('an outage leaves a platform that only limits the rate to the rate controller', () => {
    open();
    now += 1000;
    admit();
    observe({ kind: 'throttled', retryAfterMs: 5000 });
    expect([outage.openSince(), admit(), admit()]).toEqual([null, 0, 0]);
  });

  it('an outage knows which requests fell into it, from its first failure to its end', () => {
    now += 500;
    observe(WRITTEN);
    now += 500;
    observe(...times(10, AWAY));
    now += 6000;
    admit();
    expect([1_000_999, 1_001_000, 9_000_000].map((at) => outage.wasOut(at))).toEqual([false, true, true]);
    observe(WRITTEN);
    expect([1_007_000, 1_007_001].map((at) => outage.wasOut(at))).toEqual([true, false]);
    expect([1_007_000, 1_007_001].map((at) => outage.hasAnsweredSince(at))).toEqual([true, false]);
  });
});

describe('the end of a request', () => {
  const detail = (status: number | null) => ({ detail: { status, message: '' } });
  const away = (sent: boolean): Outcome => ({
    kind: 'unavailable',
    sent,
    retryAfterMs: 7,
    ...detail(sent ? 503 : null),
  });

  it.each<[string, Outcome, Observation]>([
    ['never sent', away(false), { kind: 'failed', subject: null, retryAfterMs: 7 }],
    ['a 503', away(true), { kind: 'failed', subject: 3, away: true, is503: true, retryAfterMs: 7 }],
    ['no answer', { kind: 'ambiguous', cause: 'reset', ...detail(null) }, failed(3)],
    ['a 502', { kind: 'ambiguous', cause: 'server_error', ...detail(502) }, failed(3)],
    ['a 504', { kind: 'ambiguous', cause: 'timeout', ...detail(504) }, failed(3)],
    ['a 408', { kind: 'ambiguous', cause: 'timeout', ...detail(408) }, failed(3)],
    ['a page in place of an answer', { kind: 'ambiguous', cause: 'unreadable_answer', ...detail(200) }, failed(3)],
    [
      'a list that is not complete',
      { kind: 'ambiguous', cause: 'unreadable_answer', atWork: true, ...detail(null) },
      WRITTEN,
    ],
    ['a 201 without an id', { kind: 'ambiguous', cause: 'unreadable_answer', atWork: true, ...detail(201) }, WRITTEN],
    ['a 400', { kind: 'refused', ...detail(400) }, WRITTEN],
    ['a gate', { kind: 'gated', ...detail(409) }, WRITTEN],
    ['a 401', { kind: 'denied', by: 'key', ...detail(401) }, WRITTEN],
    ['a 429', { kind: 'throttled', retryAfterMs: 9, ...detail(429) }, { kind: 'throttled', retryAfterMs: 9 }],
  ])('a request with the end `%s` gives its observation', (_, outcome, expected) => {
    expect(observationOf(outcome, 3)).toEqual(expected);
  });
});
