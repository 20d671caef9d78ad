import { OPERATIONS, type Operation } from '../../domain/delivery/operation.ts';
import { codesWith } from '../../domain/delivery/reason.ts';
import { type Access, LIST_ACCESSES, type ListAccess } from '../../domain/delivery/scope.ts';
import { unconfirmedPolicy } from '../../domain/delivery/unconfirmed-policy.ts';
import type { SubjectKind } from '../../domain/item.ts';
import type { SuspendedWork } from '../../domain/ports/due.ts';
import type { Profile } from '../../domain/profile.ts';
import { accessOf, listShowing } from '../unconfirmed/list-reads.ts';

/** The kind of the deliveries whose effect each list shows. */
const SHOWN: Record<ListAccess, SubjectKind> = {
  'product.list': 'product',
  'material.list': 'material',
  'publication.list': 'passport',
};

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
  const lists = LIST_ACCESSES.filter((list) => accesses.includes(list));
  const isReadBack = (operation: Operation): boolean => {
    const list = listShowing(operation);
    return list !== null && lists.includes(accessOf(list)) && unconfirmedPolicy(operation, profile) === 'read_back';
  };
  return {
    operations: [...new Set([...OPERATIONS.filter((operation) => accesses.includes(operation)), ...paused])],
    unconfirmed: {
      operations: OPERATIONS.filter(isReadBack),
      kinds: lists.map((list) => SHOWN[list]),
      reasons: codesWith('needs_reading'),
    },
  };
}
