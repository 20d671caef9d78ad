import type { Operation } from '../../domain/delivery/operation.ts';
import { hasTrait, type Reason } from '../../domain/delivery/reason.ts';
import type { Decision, NamedDelivery, RequestSettlement } from '../../domain/ports/deliveries.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import type { JsonValue } from '../../lib/json.ts';

/** A manual resolution: what a person found at the platform. */
export type ManualResolution = { said: 'delivered'; remoteId: JsonValue } | { said: 'rejected' } | { said: 'ignored' };

/**
 * Decides the next state of a delivery after a manual resolution. A write that did not arrive is rejected, so that
 * nothing is sent without the person's knowledge. A change of the row, or a replay, sends it as a new revision.
 */
export function manualDecision(
  { kind, reason }: Pick<NamedDelivery, 'kind' | 'reason'>,
  resolution: ManualResolution,
): Decision {
  if (resolution.said === 'rejected') return { kind: 'rejected', reason: NOT_ARRIVED, absent: true };
  if (resolution.said === 'ignored') return { kind: 'ignored', reason: ignoredReason(reason) };
  // An item that existed before this write, or that was written since the backup, may have other content at the
  // platform. A BOM item has no content that could be written again.
  const mayDiffer = (kind === 'product' || kind === 'material') && hasTrait(reason, 'content_unknown');
  return { kind: 'delivered', remoteId: resolution.remoteId, contentKnown: !mayDiffer, by: 'person' };
}

/** The settlement of a delivery by a manual resolution. `delivery` has the values that the person saw. */
export function manualSettlement(delivery: NamedDelivery, resolution: ManualResolution): RequestSettlement {
  const { id, revision } = delivery;
  const decision = manualDecision(delivery, resolution);
  return { claim: null, settlements: [{ id, revision, decision, seen: delivery }], keep: false, groupMax: null };
}

/**
 * The kind of item whose id the ledger needs after a create, because other items refer to it; null for other writes.
 */
export function kindToBind(operation: Operation): ListableKind | null {
  if (operation === 'product.create') return 'product';
  return operation === 'material.create' ? 'material' : null;
}

const NOT_ARRIVED: Reason = {
  code: 'person',
  message:
    'A person has reported that the write did not arrive. The item is sent again when its row changes, or by a replay.',
};

function ignoredReason({ message }: Reason): Reason {
  const before = message === '' ? '' : ` Before that: ${message}`;
  return {
    code: 'ignored',
    message: `A person has decided to leave the platform as it is. The write is sent again when its row changes, or by a replay that names it.${before}`,
  };
}
