import type { HeardDoorbell, Hearing } from '../../src/domain/ports/queues.ts';

/** A hearing function that keeps what it heard and lets a test wait for it. */
export interface Listener {
  heard: HeardDoorbell[];
  hear: (bell: HeardDoorbell) => Promise<Hearing>;
  /** Resolves as soon as so many doorbells were heard, repeated ones counted. */
  until(count: number): Promise<void>;
}

/** @param answer how each hearing ends; done, where nothing is given */
export function createListener(
  answer: (bell: HeardDoorbell) => Hearing | Promise<Hearing> = () => ({ status: 'done' }),
): Listener {
  const heard: HeardDoorbell[] = [];
  const waiting = new Set<{ count: number; resolve: () => void }>();
  return {
    heard,
    async hear(bell) {
      heard.push(bell);
      for (const waiter of waiting) {
        if (heard.length < waiter.count) continue;
        waiting.delete(waiter);
        waiter.resolve();
      }
      return await answer(bell);
    },
    until(count) {
      if (heard.length >= count) return Promise.resolve();
      return new Promise((resolve) => waiting.add({ count, resolve }));
    },
  };
}
