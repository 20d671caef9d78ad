import type { Runtime } from '../daemon/runtime.ts';
import type { DeliveryState } from '../domain/delivery/delivery.ts';
import type { ApiWait } from '../domain/delivery/outcome.ts';
import type { Reason } from '../domain/delivery/stored-reason.ts';
import type { ContactList } from '../domain/ports/ledger/contact-ledger.ts';
import type { ProgressEvent } from '../domain/ports/progress.ts';
import type { Clock } from '../lib/clock.ts';
import { leftToSend, soonSent } from '../observe/standing.ts';

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
  /** Writes that are left to be sent, also those that are not staged yet. */
  left: number;
  /** Deliveries that wait for other items. */
  waiting: number;
  /** Deliveries that were sent and have no answer yet. */
  unconfirmed: number;
  /** Passports that are wanted and wait for a complete product. */
  incomplete: number;
  /** Why the API refuses writes. */
  paused: Reason | null;
  /** Set while the API gives no usable answers. With `writesAlone` only writes fail, and reads are answered. */
  outage: { writesAlone: boolean } | null;
  /** The wait beyond a minute that the API asks for. */
  apiWait: ApiWait | null;
}

/** How often the progress is reported. */
const EVERY_MS = 200;
/** The least and the longest pause between two counts of what is left. */
const COUNT_PAUSE_MS = { min: 250, max: 5000 };
const NOTHING = { left: 0, waiting: 0, unconfirmed: 0, incomplete: 0 };
const SETTLED: ReadonlySet<DeliveryState> = new Set(['delivered', 'blocked', 'rejected', 'parked']);

/**
 * Calls back with the progress of a runtime until it is stopped, and once more then. Its memory only depends on the
 * number of streams.
 */
export function watchWork(
  { runtime, clock }: { runtime: Runtime; clock: Clock },
  onProgress: (progress: WorkProgress) => void,
): { stop: () => Promise<void> } {
  const { bus, api } = runtime;
  const streams = new Map<string, WorkProgress['streams'][number]>();
  const lists = new Map<ContactList, WorkProgress['lists'][number]>();
  const authorization = api.authorization();
  let paused = authorization.open ? null : authorization.reason;
  let outage = api.unreachableSince() === null ? null : { writesAlone: api.failsAtWrites() !== null };
  let apiWait = api.longWait();
  let settled = 0;
  let open: Pick<WorkProgress, 'left' | 'waiting' | 'unconfirmed' | 'incomplete'> = NOTHING;
  let countAt = 0;
  let soonest = 0;

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
        // More may have been staged since the last count, so that only a new count can say that nothing is left.
        if (open.left === 1) countAt = Math.min(countAt, soonest);
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
   * Counts what is left. Counting takes long while much is left, so it takes about a hundredth of the time, and the counts are
   * at most some seconds old.
   */
  async function count(): Promise<void> {
    const now = clock.ticks();
    if (now < countAt) return;
    countAt = Number.POSITIVE_INFINITY;
    const begin = performance.now();
    try {
      const left = await leftToSend(runtime);
      const { waiting, unconfirmed, incomplete } = left;
      open = { left: soonSent(left), waiting, unconfirmed, incomplete };
    } catch {
      // If the ledger cannot be read, the work itself fails and reports the error. The last count is kept.
    }
    const lasted = performance.now() - begin;
    const { min, max } = COUNT_PAUSE_MS;
    soonest = now + Math.max(min, 4 * lasted);
    countAt = now + Math.min(max, Math.max(min, lasted * 100));
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
