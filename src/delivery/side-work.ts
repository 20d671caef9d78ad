import type { Clock } from '../lib/clock.ts';
import { messageOf } from '../lib/errors.ts';

/** Work beside the deliveries, one run at a time. An error is kept as trouble, and the run is repeated later. */
export interface SideWork {
  /** Begins a run unless one is running. */
  begin(): void;
  /** Why the last run failed; null if it succeeded. */
  trouble(): Error | null;
  /** Resolves when no run is running. */
  ended(): Promise<void>;
}

export function createSideWork(options: {
  /** Resolves to true if deliveries may have become due. */
  work: (abort: AbortSignal) => Promise<boolean>;
  onMoved: () => void;
  onTrouble: (error: Error) => void;
  /** The wait after a failed run, in milliseconds. */
  again: number;
  clock: Clock;
  abort: AbortSignal;
}): SideWork {
  const { work, onMoved, onTrouble, again, clock, abort } = options;
  let running: Promise<void> | null = null;
  let trouble: Error | null = null;

  async function run(): Promise<void> {
    try {
      const moved = await work(abort);
      trouble = null;
      if (moved) onMoved();
    } catch (error) {
      trouble = error instanceof Error ? error : new Error(messageOf(error));
      onTrouble(trouble);
      await clock.sleep(again, abort);
    } finally {
      running = null;
    }
  }

  return {
    begin() {
      running ??= run();
    },
    trouble: () => trouble,
    async ended() {
      await running;
    },
  };
}
