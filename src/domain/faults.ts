import { Fault, type FaultDetails } from '../lib/errors.ts';
import type { QueueName } from './ports/queues.ts';

/**
 * Every code that a `Fault` can carry, with the exit code it ends a command with: 1 failed while running, 2 bad usage or
 * config, 3 the environment is out of reach or refuses, 4 records need a person.
 */
export const FAULT_EXIT_CODES = {
  usage: 2,
  'config.missing': 2,
  'config.invalid': 2,
  'mapping.invalid': 2,
  'ledger.target': 2,
  'ledger.held': 3,
  'ledger.lock_lost': 3,
  'ledger.lost': 3,
  'ledger.reader_lost': 3,
  'ledger.linked': 3,
  'ledger.network': 2,
  'ledger.sqlite': 3,
  'ledger.unreadable': 3,
  'ledger.newer': 3,
  'ledger.older': 3,
  'ledger.restored': 3,
  'ledger.unwritable': 3,
  'daemon.lost': 3,
  'daemon.stopped': 3,
  'daemon.busy': 3,
  'daemon.version': 3,
  'queue.unreachable': 3,
  'queue.paused': 3,
  'queue.unsupported': 2,
  'source.unreadable': 3,
  'source.refused': 4,
  'machine.limit': 3,
  'api.unreachable': 3,
  'api.key': 3,
  'api.plan': 3,
  'api.token': 3,
  'api.refused': 1,
  'api.answer': 1,
  'api.doubt': 1,
  'item.unknown': 2,
  'lookup.unknown': 2,
  'alerts.channel': 3,
  'sandbox.control': 3,
  'sandbox.refused': 2,
  'item.changed': 1,
  interrupted: 1,
  internal: 1,
} as const satisfies Record<string, 1 | 2 | 3 | 4>;

export type FaultCode = keyof typeof FAULT_EXIT_CODES;

/** Makes a registered error. The caller throws it. */
export function fault(code: FaultCode, message: string, details: FaultDetails = {}): Fault {
  return new Fault(code, FAULT_EXIT_CODES[code], message, details);
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
