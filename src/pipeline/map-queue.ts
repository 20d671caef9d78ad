import { isLedgerFault, isQueueFault } from '../domain/faults.ts';
import type { Consumer, Queues } from '../domain/ports/queues.ts';
import type { Fault } from '../lib/errors.ts';
import type { MapWorker } from './map.ts';

/** Rings the `map` queue and hears it. One doorbell drains a whole source, so one per source is enough at a time. */
export interface MapQueue {
  start(): Promise<void>;
  /** There is something to map in this source. Where the queue is out of reach, the watch rings for it later. */
  enqueue(source: string): Promise<void>;
  /** Rings for sources that wait although nobody works on them: their doorbell was lost. */
  watch(pendingSources: readonly string[]): Promise<void>;
  /** Why mapping cannot go on at the moment, or null: the ledger cannot be written. */
  trouble(): Fault | null;
  /** True while a doorbell is in the queue or being heard. */
  busy(): boolean;
  stop(): Promise<void>;
}

/** A doorbell that was enqueued this many watches ago and not heard is taken for lost. */
const LOST_AFTER_WATCHES = 2;

export function createMapQueue({ queues, worker }: { queues: Queues; worker: MapWorker }): MapQueue {
  const abort = new AbortController();
  /** Watches since a source's doorbell was enqueued; it leaves the map when it is heard. */
  const enqueued = new Map<string, number>();
  const hearing = new Set<string>();
  let trouble: Fault | null = null;
  let consumer: Consumer | null = null;

  async function enqueueOrThrow(source: string): Promise<void> {
    if (enqueued.has(source)) return;
    enqueued.set(source, 0);
    try {
      await queues.enqueue('map', [{ name: `map ${source}`, data: { source } }]);
    } catch (error) {
      enqueued.delete(source);
      throw error;
    }
  }

  return {
    async enqueue(source) {
      try {
        await enqueueOrThrow(source);
      } catch (error) {
        // The page is in the ledger: a pull does not end for want of a doorbell.
        if (!isQueueFault(error)) throw error;
      }
    },
    async start() {
      await queues.clearWaiting('map');
      consumer = await queues.consume('map', { concurrency: 2 }, async ({ data }) => {
        const source = typeof data['source'] === 'string' ? data['source'] : '';
        // From here on a page that is stored rings again: this drain may have passed it already.
        enqueued.delete(source);
        hearing.add(source);
        try {
          await worker.drain(source, abort.signal);
          trouble = null;
        } catch (error) {
          if (!isLedgerFault(error)) throw error;
          // What waits to be mapped still waits; the watch rings for it again.
          trouble = error;
          return { status: 'done', note: error.message };
        } finally {
          hearing.delete(source);
        }
        return { status: 'done' };
      });
    },
    async watch(pendingSources) {
      // A doorbell that was lost with nothing left to map would make the queue look busy for ever.
      for (const [source, watches] of enqueued) {
        if (pendingSources.includes(source) || hearing.has(source)) continue;
        if (watches < LOST_AFTER_WATCHES) enqueued.set(source, watches + 1);
        else enqueued.delete(source);
      }
      for (const source of pendingSources) {
        if (hearing.has(source)) continue;
        const watches = enqueued.get(source);
        if (watches !== undefined && watches < LOST_AFTER_WATCHES) {
          enqueued.set(source, watches + 1);
          continue;
        }
        // What still waits is not lost: the queue may be paused for hours.
        if (watches !== undefined && (await queues.counts('map')).waiting > 0) continue;
        enqueued.delete(source);
        await enqueueOrThrow(source);
      }
    },
    trouble: () => trouble,
    busy: () => enqueued.size > 0 || hearing.size > 0,
    async stop() {
      abort.abort();
      await consumer?.close();
    },
  };
}
