import { Fault, type FaultDetails } from '../lib/errors.ts';
import type { QueueName } from './ports/queues.ts';
import { FAULT_CASES, FAULTS } from './words/faults.ts';

type FaultCode = keyof typeof FAULTS;

/** Makes a registered error. The caller throws it. */
export function fault(code: FaultCode, message: string, details: FaultDetails = {}): Fault {
  return new Fault(code, FAULTS[code].exit, message, details);
}

/** True if the ledger cannot be written or read for now. Any other error of a ledger is a defect. */
export function isLedgerFault(error: unknown): error is Fault {
  return error instanceof Fault && error.code.startsWith('ledger.');
}

/** True if the queue is out of reach or takes no jobs for now. The work of its jobs is in the ledger. */
export function isQueueFault(error: unknown): error is Fault {
  return error instanceof Fault && error.code === 'queue.unreachable';
}

/** Why jobs wait although the queue can be reached: a person has paused these queues. Null if no queue is paused. */
export function pausedFault([name, ...others]: readonly QueueName[]): Fault | null {
  if (name === undefined) return null;
  const which = others.length === 0 ? `The queue ${name} is` : `The queues ${[name, ...others].join(' and ')} are`;
  return fault('queue.paused', `${which} paused, so jobs wait.`, {
    suggestion: FAULTS['queue.paused'].cure,
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
    suggestion: FAULT_CASES['queue.unreachable'].loses_jobs.cure,
  });
}
