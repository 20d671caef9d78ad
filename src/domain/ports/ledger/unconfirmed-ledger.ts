import type { JsonValue } from '../../../lib/json.ts';
import type { SuspendedWork } from '../due.ts';
import type { ListableKind } from '../target.ts';
import type { UnconfirmedDelivery } from '../unconfirmed.ts';

/** What is needed to look up unconfirmed writes. Each method is one whole transaction. */
export interface UnconfirmedLedger {
  /** Unconfirmed deliveries that may be looked up by now, without the suspended ones. */
  unconfirmedDeliveries(request: { limit: number; suspended?: SuspendedWork }): Promise<UnconfirmedDelivery[]>;
  /**
   * Creates of a kind that were sent after a time and acknowledged: only creates that were staged after the named
   * delivery or shortly before it, and at most as many as one read can search.
   */
  acknowledgedCreates(request: {
    kind: ListableKind;
    sentAfter: number;
    besideId: number;
  }): Promise<{ remoteId: JsonValue; sentAt: number }[]>;
  /** Kinds of which the API may have items that a ledger restored from a backup does not know. */
  unprovenKinds(): Promise<ListableKind[]>;
  /** True if the ledger has no remote id for one of these natural keys. */
  hasUnbound(kind: ListableKind, naturalKeys: readonly string[]): Promise<boolean>;
  /** A complete listing showed nothing unknown: new items of the kind are sent without a lookup from now on. */
  endProof(kind: ListableKind): Promise<void>;
}
