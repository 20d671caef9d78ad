import { fault } from '../domain/faults.ts';
import type { Fault, FaultDetails } from '../lib/errors.ts';

/**
 * The error a connector throws when a stream cannot be read at all: the message says what happened and where, and the
 * suggestion says what to do.
 */
export function sourceFault(message: string, details: FaultDetails = {}): Fault {
  return fault('source.unreadable', message, details);
}
