import type { Engine } from '../delivery/engine.ts';
import { closeInOrder } from '../lib/errors.ts';
import type { Mapping, MapQueue } from '../pipeline/map-queue.ts';

/** The workers of the queues that map and deliver. They start when there is something to map, or when they are started. */
export function createWorkers({ mapQueue, pendingSources }: Mapping, engine: Engine) {
  let started: Promise<void> | null = null;
  let stopped: Promise<void> | null = null;

  async function startAll(): Promise<void> {
    await mapQueue.start();
    await engine.start();
  }

  async function stopAll(): Promise<void> {
    // A failed start is ignored here, because the caller of `start` has reported it.
    await Promise.allSettled([started]);
    await closeInOrder([() => mapQueue.stop(), () => engine.stop()]);
  }

  /** Opens the queues, and begins to map and deliver. Further calls do nothing. */
  function start(): Promise<void> {
    started ??= startAll();
    return started;
  }

  /** Begins nothing new, and waits for the work in progress. Further calls do nothing. */
  function stop(): Promise<void> {
    stopped ??= stopAll();
    return stopped;
  }

  return {
    start,
    stop,
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
