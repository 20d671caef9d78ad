import { OPERATIONS, type Operation } from '../../domain/delivery/operation.ts';
import { codesWith } from '../../domain/delivery/reason.ts';
import { type Scope, writesThatTake } from '../../domain/delivery/scope.ts';
import { unconfirmedPolicy } from '../../domain/delivery/unconfirmed-policy.ts';
import type { SuspendedWork } from '../../domain/ports/due.ts';
import type { Profile } from '../../domain/profile.ts';

/**
 * The deliveries that are suspended while the API refuses these scopes: it would only refuse them again.
 *
 * @param paused operations that are suspended for another reason
 */
export function suspendedBy(
  refused: Iterable<Scope>,
  profile: Profile,
  paused: readonly Operation[] = [],
): SuspendedWork {
  const scopes = [...refused];
  const readBack = OPERATIONS.filter((operation) => unconfirmedPolicy(operation, profile) === 'read_back');
  return {
    operations: [...new Set([...writesThatTake(scopes), ...paused])],
    unconfirmed: scopes.includes('read')
      ? { operations: readBack, reasons: codesWith('needs_reading') }
      : { operations: [], reasons: [] },
  };
}
