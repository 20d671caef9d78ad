import { OPERATIONS, type Operation } from '../../domain/delivery/operation.ts';
import { codesWith } from '../../domain/delivery/reason.ts';
import type { Access } from '../../domain/delivery/scope.ts';
import { unconfirmedPolicy } from '../../domain/delivery/unconfirmed-policy.ts';
import type { SuspendedWork } from '../../domain/ports/due.ts';
import type { Profile } from '../../domain/profile.ts';

/**
 * The deliveries that are suspended while the API refuses this: it would only refuse them again.
 *
 * @param paused operations that are suspended for another reason
 */
export function suspendedBy(
  refused: Iterable<Access>,
  profile: Profile,
  paused: readonly Operation[] = [],
): SuspendedWork {
  const accesses = [...refused];
  const readBack = OPERATIONS.filter((operation) => unconfirmedPolicy(operation, profile) === 'read_back');
  return {
    operations: [...new Set([...accesses.filter((access) => access !== 'read'), ...paused])],
    unconfirmed: accesses.includes('read')
      ? { operations: readBack, reasons: codesWith('needs_reading') }
      : { operations: [], reasons: [] },
  };
}
