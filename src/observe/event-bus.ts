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
