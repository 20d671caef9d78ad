import type { Clock } from '../lib/clock.ts';
import { messageOf } from '../lib/errors.ts';

/** Work beside the deliveries, one run at a time. What it throws is kept as trouble, and it is tried again. */
export interface SideWork {
  /** Begins a run, unless one is under way. */
  begin(): void;
  /** Why the last run failed; null where it did not. */
  trouble(): Error | null;
  /** Resolves once no run is under way. */
  ended(): Promise<void>;
}

export function createSideWork(options: {
  /** True where deliveries may have become due by it. */
  work: (abort: AbortSignal) => Promise<boolean>;
  onMoved: () => void;
  onTrouble: (error: Error) => void;
  /** How soon a run that failed may be followed by the next one, in milliseconds. */
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
