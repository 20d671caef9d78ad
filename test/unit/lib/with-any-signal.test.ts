import { getEventListeners } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { withAnySignal } from '../../../src/lib/with-any-signal.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** A signal that lives as long as its process. */
const endless = new AbortController().signal;

describe('work with any of several signals', () => {
  it('work with any of several signals is stopped by each of them, with its reason', async () => {
    for (const which of [0, 1]) {
      const controllers = [new AbortController(), new AbortController()];
      const work = withAnySignal(
        controllers.map(({ signal }) => signal),
        async (signal) => {
          controllers[which]?.abort(`signal ${which}`);
          await systemClock.sleep(1e9, signal);
          return signal.reason as unknown;
        },
      );
      expect(await work).toBe(`signal ${which}`);
    }
  });

  it('work with any of several signals begins with a stopped signal after one of them was stopped', async () => {
    const reason = await withAnySignal([endless, AbortSignal.abort('over')], async ({ aborted, reason }) =>
      aborted ? (reason as unknown) : 'not stopped',
    );
    expect(reason).toBe('over');
  });

  it('work with any of several signals leaves nothing with a signal that lives on, also after an error', async () => {
    await expect(withAnySignal([endless], () => Promise.reject(new Error('It failed.')))).rejects.toThrow('It failed.');
    expect(getEventListeners(endless, 'abort')).toEqual([]);

    const works = async (count: number) => {
      for (let at = 0; at < count; at += 1)
        await withAnySignal([endless, new AbortController().signal], async () => {});
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    await works(10_000);
    const before = await works(1000);
    expect((await works(50_000)) - before).toBeLessThan(500_000);
  });
});
