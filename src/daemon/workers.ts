import type { Engine } from '../delivery/engine.ts';
import { closeInOrder } from '../lib/close-in-order.ts';
import type { Mapping } from '../pipeline/create-mapping.ts';
import type { MapQueue } from '../pipeline/map-queue.ts';

/** The workers of the queues that map and deliver. */
export function createWorkers({ mapQueue, pendingSources }: Mapping, engine: Engine) {
  let started: Promise<void> | null = null;
  let stopped: Promise<void> | null = null;

  async function startAll(): Promise<void> {
    await mapQueue.start();
    await engine.start();
  }

  const start = (): Promise<void> => {
    started ??= startAll();
    return started;
  };

  return {
    /** Opens the queue, and begins to map and deliver. Further calls do nothing. */
    start,
    /** Begins nothing new, and waits for the work in progress. Further calls do nothing. */
    stop(): Promise<void> {
      // `stop` ignores a failed start, because the caller of `start` has reported it.
      stopped ??= Promise.allSettled([started]).then(() => closeInOrder([() => mapQueue.stop(), () => engine.stop()]));
      return stopped;
    },
    /** The `map` queue for a pull. Its workers are started when there is something to map. */
    mapQueue: {
      room: mapQueue.room,
      async mapPage(...page: Parameters<MapQueue['mapPage']>) {
        await start();
        return await mapQueue.mapPage(...page);
      },
      async mapStored(source: string) {
        if (!pendingSources().includes(source)) return;
        await start();
        await mapQueue.mapStored(source);
      },
    },
  };
}

export type Workers = ReturnType<typeof createWorkers>;
