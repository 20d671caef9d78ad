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

/** One lost job is enqueued again without a word. This many in a row mean that the queue keeps none. */
const LOST_IN_A_ROW = 3;

/**
 * Why jobs are not done although the queue accepts them: it loses them before a worker takes them. Null while few were
 * lost.
 *
 * @param losses how often jobs were lost since a worker has last taken one
 */
export function lostJobsFault(name: QueueName, losses: number): Fault | null {
  if (losses < LOST_IN_A_ROW) return null;
  return fault('queue.unreachable', `The queue ${name} loses its jobs before a worker takes them.`, {
    suggestion:
      'Give Redis enough memory, set its `maxmemory-policy` to noeviction, and let no other program use its keys. Nothing is lost: the ledger has all the work.',
  });
}
