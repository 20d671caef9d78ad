import type { Operation } from '../../../domain/delivery/operation.ts';
import type { Decision } from '../../../domain/ports/decision.ts';

/**
 * True if the decision shows that the id belongs to the item. The answer to a change of a material has the id of its
 * own request and, without the code, does not show whose id it is. An id that was taken without proof then stays one.
 */
export function showsId(
  operation: Operation,
  { remoteId, by }: Pick<Extract<Decision, { kind: 'delivered' }>, 'remoteId' | 'by'>,
): boolean {
  return remoteId !== null && !(operation === 'material.update' && by === 'answer');
}
