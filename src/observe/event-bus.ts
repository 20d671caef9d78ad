import type { ProgressEvent } from '../domain/ports/progress.ts';
import type { Logger } from '../lib/logging/logging.ts';

/** Passes the engine's events to all listeners. */
export function createEventBus({ log }: { log: Logger }) {
  const listeners = new Set<(event: ProgressEvent) => void>();
  /**
   * The listeners that have thrown. They are remembered because thousands of events a second must not log an error
   * each.
   */
  const failing = new Set<(event: ProgressEvent) => void>();
  return {
    /**
     * Never throws: a failing listener must not undo the change that the event reports. Its first error is logged, and
     * the other listeners still get the event.
     */
    emit: (event: ProgressEvent): void => {
      for (const listener of listeners) {
        try {
          listener(event);
        } catch (error) {
          if (failing.has(listener)) continue;
          failing.add(listener);
          log.error(
            { err: error, event: event.type },
            'A listener failed at an event. Further failures of this listener are not logged.',
          );
        }
      }
    },
    /** Returns the function that ends the subscription. */
    subscribe(listener: (event: ProgressEvent) => void): () => void {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
        failing.delete(listener);
      };
    },
  };
}

export type EventBus = ReturnType<typeof createEventBus>;

/** Requests to the API since the process began. */
export interface RequestCounts {
  sent: number;
  throttled: number;
  retried: number;
}

/** Counts requests to the API; subscribe `observe` to an event bus. */
export function createRequestCounts(): { counts: RequestCounts; observe: (event: ProgressEvent) => void } {
  const counts: RequestCounts = { sent: 0, throttled: 0, retried: 0 };
  return {
    counts,
    observe(event) {
      if (event.type !== 'request') return;
      counts.sent += 1;
      if (event.outcome === 'throttled') counts.throttled += 1;
      if (event.retry) counts.retried += 1;
    },
  };
}

/** True if a delivery failed: it was rejected, blocked or given up, and not only once more for the same reason. */
export function hasFailed({ state, failedAgain }: ProgressEvent & { type: 'settled' }): boolean {
  return (state === 'rejected' || state === 'blocked' || state === 'parked') && !failedAgain;
}

/** True if a read-back has found nothing about a delivery, which stays unconfirmed: nothing was sent, and nothing has changed. */
export function isStillUnconfirmed({ state, times }: ProgressEvent & { type: 'settled' }): boolean {
  return state === 'in_doubt' && times === null;
}

/** Computes how many rows each page of a run has read, because an event reports the sum of the stream. */
export function createRowsRead() {
  const readBefore = new Map<string, Map<string, number>>();
  return {
    of({ source, stream, read }: ProgressEvent & { type: 'page' }): number {
      const streams = readBefore.get(source) ?? new Map<string, number>();
      const rows = Math.max(0, read - (streams.get(stream) ?? 0));
      readBefore.set(source, streams.set(stream, read));
      return rows;
    },
    /** Call it when a run has ended, because the next run counts from 0. */
    ended: (source: string) => void readBefore.delete(source),
  };
}
