import { describe, expect, it } from 'vitest';
import { keptAnswer } from '../../../src/daemon/observe-daemon.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';

/** Answers 1, 2, 3 and so on, each after a time on the clock. */
function counter(clock: ReturnType<typeof createManualClock>, tookMs = 0) {
  let count = 0;
  return () => {
    clock.advance(tookMs);
    count += 1;
    return count;
  };
}

describe('an answer that is kept', () => {
  const keptFor = (tookMs: number) => {
    const clock = createManualClock();
    const count = counter(clock, tookMs);
    const ask = keptAnswer(async () => count(), 2000, clock);
    return { clock, ask };
  };

  it('a kept answer has the time for which it stays the same', async () => {
    const { clock, ask } = keptFor(0);
    expect(await ask()).toEqual({ value: 1, renewableInMs: 0 });
    expect(await ask()).toEqual({ value: 1, renewableInMs: 2000 });
    clock.advance(1500);
    expect(await ask()).toEqual({ value: 1, renewableInMs: 500 });
    clock.advance(500);
    expect(await ask()).toEqual({ value: 2, renewableInMs: 0 });
  });

  it('a kept answer stays for twenty times as long as it took', async () => {
    const { clock, ask } = keptFor(1000);
    await ask();
    expect(await ask()).toEqual({ value: 1, renewableInMs: 20_000 });
    clock.advance(19_999);
    expect(await ask()).toEqual({ value: 1, renewableInMs: 1 });
  });

  it('a kept answer is computed again after half a minute, however long it took', async () => {
    const clock = createManualClock();
    const ask = keptAnswer(async () => counter(clock, 10_000)(), 2000, clock);
    await ask();
    expect(await ask()).toEqual({ value: 1, renewableInMs: 30_000 });
  });

  it('a kept answer is computed once for all who wait, of whom only the first knows that it is new', async () => {
    const clock = createManualClock();
    const count = counter(clock);
    const ask = keptAnswer(async () => count(), 2000, clock);
    expect(await Promise.all([ask(), ask(), ask()])).toEqual([
      { value: 1, renewableInMs: 0 },
      { value: 1, renewableInMs: 2000 },
      { value: 1, renewableInMs: 2000 },
    ]);
  });

  it('a kept answer is asked for again after a failure', async () => {
    const clock = createManualClock();
    let isAway = true;
    const ask = keptAnswer(
      async () => {
        if (isAway) throw new Error('away');
        return 1;
      },
      2000,
      clock,
    );
    await expect(Promise.all([ask(), ask()])).rejects.toThrow('away');
    isAway = false;
    expect(await ask()).toEqual({ value: 1, renewableInMs: 0 });
  });
});
