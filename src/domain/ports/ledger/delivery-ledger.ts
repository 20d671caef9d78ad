import type { JsonValue } from '../../../lib/json.ts';
import type { ImportProof, ImportProofs, ImportUse } from '../../delivery/import-proof.ts';
import type { Operation } from '../../delivery/operation.ts';
import type { Reason } from '../../delivery/stored-reason.ts';
import type { PassportAnswer, UnpublishedPage } from '../../passport.ts';
import type {
  DeliveryName,
  Denials,
  DueDelivery,
  IntendedWrite,
  LeftAway,
  LeftItem,
  NewClaim,
  PublicProduct,
  RequestSettlement,
  Settled,
  SuspendedWork,
  ToClaim,
  UnconfirmedDelivery,
  WorkOf,
} from '../deliveries.ts';
import type { ListableKind } from '../target.ts';

export interface DeadLetterRequest {
  deliveryId: number;
  revision: number;
  reason: Reason;
  isOneOfMany: boolean;
}

/** Due deliveries, claims and settlements. Each method is one whole transaction. */
export interface DeliveryLedger {
  /**
   * Deliveries that may be sent now and have an id above `afterId`, in the order of their ids. Suspended deliveries are
   * left out.
   */
  dueDeliveries(request: { afterId: number; limit: number; suspended?: SuspendedWork }): Promise<DueDelivery[]>;
  /**
   * One due delivery from any place: `place` in [0, 1) is the share of ids to skip. Null if no delivery is found there.
   */
  someDueDelivery(request: { place: number; suspended?: SuspendedWork }): Promise<DueDelivery | null>;
  /** Due deliveries that a person has asked for and may be waiting for. */
  dueByHand(request: { limit: number; suspended?: SuspendedWork }): Promise<DueDelivery[]>;
  /**
   * When the next delivery becomes due, or the next unconfirmed delivery may be looked up; suspended deliveries do not
   * count. 0 if a delivery is due now, null if nothing is scheduled. With `after`, deliveries that were due by then are
   * left out.
   */
  nextDueAt(request?: { after?: number; suspended?: SuspendedWork; of?: WorkOf | undefined }): Promise<number | null>;
  /**
   * The remaining deliveries, if the API has not been able to accept any of them since before a time. Null if another
   * delivery is scheduled and not suspended.
   */
  leftAway(request: { before: number; suspended?: SuspendedWork; of?: WorkOf | undefined }): Promise<LeftAway | null>;
  /** How many of these deliveries are being sent. */
  countSending(of: WorkOf): Promise<number>;
  /** Whether one of these creates is suspended until a list of the platform was read. */
  hasSuspended(of: WorkOf): Promise<boolean>;
  /** Those of these deliveries that could be claimed now: they are due, and no other process or claim has taken them. */
  dueAmong(deliveryIds: readonly number[]): Promise<ReadonlySet<number>>;
  /** What these deliveries ask for, by their ids. */
  intendedWrites(deliveryIds: readonly number[]): Promise<ReadonlyMap<number, IntendedWrite>>;
  /** A page of the items that need a person (`stuck`) or other items (`waiting`), in the order of their ids. */
  leftItems(request: { of: 'stuck' | 'waiting'; afterId: number; limit: number }): Promise<LeftItem[]>;
  /** The products whose public passports show one of these items. */
  publicProductsOf(itemIds: readonly number[]): Promise<PublicProduct[]>;
  /** How the API has refused the scopes of these deliveries before, by their ids. */
  denialsOf(deliveryIds: readonly number[]): Promise<ReadonlyMap<number, Denials>>;
  /** How many deliveries are suspended. */
  countSuspended(suspended: SuspendedWork): Promise<{ due: number; unconfirmed: number }>;
  /**
   * Marks deliveries as sending. A delivery that is not due under the named revision, or may not be sent now, is left out.
   * A list without deliveries gives no request. The members of an import that is sent again may be in other lists, or in
   * none. Call it before any network I/O. Claims and settles share their fsyncs.
   */
  claim(lists: readonly ToClaim[]): Promise<NewClaim[]>;
  /**
   * Commits the new states of deliveries, stages newer payloads, and releases deliveries that waited for these items.
   * Returns one entry for each settlement, in the same order.
   */
  settle(requests: readonly RequestSettlement[]): Promise<Settled[]>;
  /** The operations whose answers have repeated what was sent, under the present profile. */
  echoedOperations(): Promise<Operation[]>;
  /** Notes that an answer to this operation has repeated what was sent. */
  storeEcho(operation: Operation): Promise<void>;
  /**
   * Dead-letters a delivery that throws. It becomes unconfirmed if it may have been sent, else rejected. An item with
   * another revision is not changed. With `isOneOfMany` it is unknown which delivery of a bulk import is at fault, so
   * the delivery is first tried alone.
   */
  deadLetter(request: DeadLetterRequest): Promise<void>;
  /**
   * Stages blocked deliveries whose time has come again, as new revisions. A passport is only staged if its product is
   * complete. Returns how many deliveries were staged, and whether more blocked deliveries are left.
   */
  recheckBlocked(request: { limit: number }): Promise<{ staged: number; more: boolean }>;
}

/** The facts of the ledger about bulk imports of products. Each method is one whole transaction. */
export interface ImportLedger {
  /** The proofs under the present profile: another form of imports has to be proven again. */
  importProofs(): Promise<ImportProofs>;
  /** Stores a proof. If changed products may be imported again, the changes that were blocked before become due. */
  storeImportProof(use: ImportUse, proof: ImportProof): Promise<void>;
  /** The imports of an earlier process whose products wait for a list, with these products. */
  lostImports(use: ImportUse): Promise<DeliveryName[][]>;
  /** True if this revision is still due, in flight or unconfirmed. */
  isOpen(delivery: DeliveryName): Promise<boolean>;
  /**
   * How many products of one use are due, at most `dueMax`, and how many entries the platform's list of products is
   * known to have. These numbers show whether imports save requests.
   */
  importGain(request: { use: ImportUse; dueMax: number }): Promise<{ due: number; listed: number }>;
}

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

/** Stages deliveries of passports, as the policy or people want. Each method is one whole transaction. */
export interface PassportLedger {
  /**
   * Evaluates the passports of a page of products, in the order of their keys. It stages what the policy wants for
   * complete products, sends stuck passports again after a part of their product was delivered, and withdraws passports
   * of missing products. Returns how many deliveries were staged, and the last key; null at the end.
   */
  evaluatePassports(request: {
    afterKey: string | null;
    limit: number;
  }): Promise<{ staged: number; lastKey: string | null }>;
  /**
   * A page of products whose passports are not published, in the order of their keys; products that are gone from their
   * sources are left out. `withdrawn` counts the passports that a person has withdrawn. `lastKey` is null at the end.
   */
  unpublishedPassports(request: { afterKey: string | null; limit: number }): Promise<UnpublishedPage>;
  /** Publishes or withdraws passports at a person's request, by keys or natural keys of their products. */
  askForPassports(request: {
    products: readonly string[];
    status: 'published' | 'unpublished';
  }): Promise<PassportAnswer[]>;
}
