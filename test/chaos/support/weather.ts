import { vi } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { seededRandom } from '../../support/runner/chaos.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import type { TcpProxy, Toxic } from '../../support/servers/tcp-proxy.ts';

/** A kind of network fault that comes and goes. */
export interface Weather {
  what: string;
  toxic: Toxic;
  /** The average time that the fault lasts, and the average time without it. */
  onMs: number;
  offMs: number;
}

const until = (condition: () => boolean) => vi.waitUntil(condition, { timeout: WAIT_MS, interval: 2 });

/** False for a fault that only delays data. */
export function harms({ kind }: Toxic): boolean {
  return kind !== 'latency' && kind !== 'slicer' && kind !== 'bandwidth' && kind !== 'slow-close';
}

/**
 * Does the work while the network has this fault a few times. The first fault begins when there are requests that it
 * can affect.
 */
export async function through<T>(
  { toxic, onMs, offMs }: Weather,
  work: () => Promise<T>,
  { proxy, bouts, seed, isAtWork }: { proxy: TcpProxy; bouts: number; seed: number; isAtWork: () => boolean },
): Promise<T> {
  const random = seededRandom(seed);
  const over = new AbortController();
  const weather = (async () => {
    await until(() => isAtWork() || over.signal.aborted);
    for (let bout = 0; bout < bouts && !over.signal.aborted; bout += 1) {
      await proxy.set(toxic);
      await systemClock.sleep(onMs * (0.5 + random()), over.signal);
      // On a busy machine, nothing may have been sent in this time.
      if (harms(toxic)) await until(() => proxy.harmed() > 0 || over.signal.aborted);
      await proxy.set();
      await systemClock.sleep(offMs * (0.5 + random()), over.signal);
    }
  })();
  try {
    return await work();
  } finally {
    over.abort();
    await weather;
  }
}
