import { pausedFault } from '../../domain/faults.ts';
import type { Queues } from '../../domain/ports/queues.ts';
import type { Fault } from '../../lib/errors.ts';

/**
 * Notices that a person has paused a queue in a dashboard. Call `look` at intervals. The `pull` queue does not count,
 * because its jobs have not begun.
 */
export function createPauseWatch(queues: Pick<Queues, 'paused'>): {
  look(): Promise<void>;
  /** The fault of the queues that were paused at the last look; null if no queue was paused. */
  fault(): Fault | null;
} {
  let paused: Fault | null = null;
  return {
    async look() {
      paused = pausedFault((await queues.paused()).filter((name) => name !== 'pull'));
    },
    fault: () => paused,
  };
}
