import type { Emit, ProgressEvent } from '../domain/ports/progress.ts';
import type { Logger } from '../lib/logging/logging.ts';

/** Passes the engine's events to all listeners. */
export interface EventBus {
  /**
   * Never throws: a failing listener must not undo the change that the event reports. Its first error is logged, and
   * the other listeners still get the event.
   */
  emit: Emit;
  /** Returns the function that ends the subscription. */
  subscribe(listener: (event: ProgressEvent) => void): () => void;
}

export function createEventBus({ log }: { log: Pick<Logger, 'error'> }): EventBus {
  const listeners = new Set<(event: ProgressEvent) => void>();
  /**
   * The listeners that have thrown. They are remembered because thousands of events a second must not log an error
   * each.
   */
  const failing = new Set<(event: ProgressEvent) => void>();
  return {
    emit(event) {
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
    subscribe(listener) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
        failing.delete(listener);
      };
    },
  };
}
