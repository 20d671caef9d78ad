import type { Fault } from '../../lib/errors.ts';
import { fault } from '../faults.ts';
import type { QueueName } from '../ports/queues.ts';

/** Why jobs wait although the queue can be reached: a person has paused these queues. Null if no queue is paused. */
export function pausedFault([name, ...others]: readonly QueueName[]): Fault | null {
  if (name === undefined) return null;
  const which = others.length === 0 ? `The queue ${name} is` : `The queues ${[name, ...others].join(' and ')} are`;
  return fault('queue.paused', `${which} paused, so jobs wait.`, {
    suggestion: "Resume paused queues in the daemon's dashboard, on the page /queues. Due deliveries stay due.",
  });
}
