import type { Emit, ProgressEvent } from '../domain/ports/progress.ts';

/** Passes the engine's events to all listeners. */
export interface EventBus {
  emit: Emit;
  /** Returns the function that ends the subscription. */
  subscribe(listener: (event: ProgressEvent) => void): () => void;
}

export function createEventBus(): EventBus {
  const listeners = new Set<(event: ProgressEvent) => void>();
  return {
    emit(event) {
      for (const listener of listeners) listener(event);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
