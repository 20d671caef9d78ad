import { OPERATIONS, type Operation, SHARED_ID } from '../../domain/delivery.ts';
import type { SuspendedWork } from '../../domain/ports/due.ts';
import type { Profile } from '../../domain/profile.ts';
import { type Scope, writesThatTake } from '../../domain/scope.ts';
import { MAY_EXIST } from '../outcome/decide.ts';
import { UNCLEAR } from '../outcome/decide-import.ts';
import { doubtPolicy } from '../unconfirmed/doubt-policy.ts';

/** Answers that say that there is something already, or nothing of what became of it: what there is has to be read. */
export const READ_REASONS: ReadonlySet<string> = new Set([
  'exists',
  'gate',
  'refused',
  'restored',
  SHARED_ID,
  MAY_EXIST,
  UNCLEAR,
]);

/**
 * Deliveries that are suspended while the API refuses these scopes, since they would only be refused again.
 *
 * @param paused operations that are not sent for another reason
 */
export function suspendedBy(
  refused: Iterable<Scope>,
  profile: Profile,
  paused: readonly Operation[] = [],
): SuspendedWork {
  const scopes = [...refused];
  const readBack = OPERATIONS.filter((operation) => doubtPolicy(operation, profile) === 'read_back');
  return {
    operations: [...new Set([...writesThatTake(scopes), ...paused])],
    doubts: scopes.includes('read')
      ? { operations: readBack, reasons: [...READ_REASONS] }
      : { operations: [], reasons: [] },
  };
}
