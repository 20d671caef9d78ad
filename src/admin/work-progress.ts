import type { Runtime } from '../daemon/runtime.ts';
import type { DeliveryState } from '../domain/delivery/delivery.ts';
import type { ApiWait } from '../domain/delivery/outcome.ts';
import type { Reason } from '../domain/delivery/stored-reason.ts';
import type { ContactList } from '../domain/ports/ledger/contact-ledger.ts';
import type { OpenDeliveries } from '../domain/ports/ledger/ledger-views.ts';
import type { ProgressEvent } from '../domain/ports/progress.ts';
import type { Clock } from '../lib/clock.ts';

/**
 * The progress of a process. Each progress replaces the one before, so a client may miss any progress except the last.
 */
export interface WorkProgress {
  /** Streams that were read since the watch began. */
  streams: { source: string; stream: string; read: number; done: number | null; total: number | null }[];
  /** Lists of the platform that were read since the watch began. */
  lists: { list: ContactList; read: number; done: boolean }[];
  /** Deliveries that have ended since the watch began. */
  settled: number;
  /** Deliveries that are left to be sent. */
  left: number;
  /** Deliveries that wait for other items. */
  waiting: number;
  /** Why the API refuses writes. */
  paused: Reason | null;
  /** Set while the API gives no usable answers. With `writesAlone` only writes fail, and reads are answered. */
  outage: { writesAlone: boolean } | null;
  /** The wait beyond a minute that the API asks for. */
  apiWait: ApiWait | null;
}

/** How often the progress is reported. */
const EVERY_MS = 200;
const SETTLED: ReadonlySet<DeliveryState> = new Set(['delivered', 'blocked', 'rejected', 'parked']);

/**
 * Calls back with the progress of a runtime until it is stopped, and once more then. Its memory only depends on the
 * number of streams.
 */
export function watchWork(
  { runtime, clock }: { runtime: Runtime; clock: Clock },
  onProgress: (progress: WorkProgress) => void,
): { stop: () => Promise<void> } {
  const { reads, bus, api } = runtime;
  const streams = new Map<string, WorkProgress['streams'][number]>();
  const lists = new Map<ContactList, WorkProgress['lists'][number]>();
  const authorization = api.authorization();
  let paused = authorization.open ? null : authorization.reason;
  let outage = api.unreachableSince() === null ? null : { writesAlone: api.failsAtWrites() !== null };
  let apiWait = api.longWait();
  let settled = 0;
  let open: OpenDeliveries = { left: 0, waiting: 0 };
  let countAt = 0;

  function observe(event: ProgressEvent): void {
    switch (event.type) {
      case 'page': {
        const { source, stream, read, done, total } = event;
        streams.set(`${source}/${stream}`, { source, stream, read, done, total });
        break;
      }
      case 'listing':
        lists.set(event.list, { list: event.list, read: event.read, done: event.done });
        break;
      case 'settled':
        if (!SETTLED.has(event.state)) break;
        settled += 1;
        open = { ...open, left: Math.max(0, open.left - 1) };
        break;
      case 'paused':
        paused = event.reason;
        break;
      case 'resumed':
        paused = null;
        break;
      case 'outage':
        outage = event.away ? { writesAlone: event.writesAlone } : null;
        break;
      case 'api_wait':
        apiWait = event.wait;
        break;
      case 'run_ended':
      case 'reload':
      case 'backup':
      case 'guard_held':
      case 'mapped':
      case 'request':
      case 'adopted':
        break;
    }
  }

  /**
   * Counts the deliveries that are left. Counting takes long while many are left, so it may take at most a hundredth of
   * the time.
   */
  async function count(): Promise<void> {
    const now = clock.ticks();
    if (now < countAt) return;
    countAt = Number.POSITIVE_INFINITY;
    const begin = performance.now();
    try {
      open = await reads.openDeliveries();
    } catch {
      // If the ledger cannot be read, the work itself fails and reports the error. The last count is kept.
    }
    countAt = now + Math.max(250, (performance.now() - begin) * 100);
  }

  function give(): void {
    const progress = { streams: [...streams.values()], lists: [...lists.values()], settled, ...open };
    onProgress({ ...progress, paused, outage, apiWait });
  }

  const unsubscribe = bus.subscribe(observe);
  const timer = setInterval(() => {
    void count();
    give();
  }, EVERY_MS);
  return {
    async stop() {
      clearInterval(timer);
      unsubscribe();
      countAt = Number.NEGATIVE_INFINITY;
      await count();
      give();
    },
  };
}
