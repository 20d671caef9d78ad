import type { JsonValue } from '../../../lib/json.ts';
import type { Operation } from '../../delivery/operation.ts';
import type { SuspendedWork } from '../due.ts';
import type { ListableKind } from '../target.ts';
import type { UnconfirmedDelivery } from '../unconfirmed.ts';

/** The methods for looking up unconfirmed writes. Each method is one whole transaction. */
export interface UnconfirmedLedger {
  /** Unconfirmed deliveries that may be looked up now, without the suspended ones. */
  unconfirmedDeliveries(request: { limit: number; suspended?: SuspendedWork }): Promise<UnconfirmedDelivery[]>;
  /**
   * Makes unconfirmed deliveries due whose list is read when the run's other writes are done (`atRest` in their reason),
   * if no write of these operations is due or being sent.
   */
  endRest(operations: readonly Operation[]): Promise<void>;
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
  /**
   * Call it when a complete listing showed only known items. From then on, new items of the kind are sent without a
   * lookup.
   */
  endProof(kind: ListableKind): Promise<void>;
}
