// The ledger's port. Every method is one whole transaction; none hands one out, so that SQLite and PostgreSQL can both
// stand behind it. What a method promises, it has made durable when its promise resolves.

import type { JsonValue } from '../../lib/json.ts';
import type { ApiWait } from '../api-wait.ts';
import type { Reason } from '../delivery.ts';
import type { PassportAnswer, UnpublishedPage } from '../passport.ts';
import type { ClaimedRequest, DeliveryName } from './claim.ts';
import type { RequestSettlement, Settled } from './decision.ts';
import type { Denials, DueDelivery, LeftAway, SuspendedWork, WorkOf } from './due.ts';
import type { ContactLedger } from './first-contact.ts';
import type {
  Accepted,
  MappedRecord,
  PageToStage,
  PendingRecord,
  RunResult,
  RunStart,
  StagedPage,
  StageSummary,
  StartedRun,
  StreamEnd,
} from './intake.ts';
import type { PassportReplay, ReplayCandidate, ReplayOutcome, ReplaySelection } from './replay.ts';
import type { ListableKind } from './target.ts';
import type { MissingSelection, NamedDelivery, NamedSelection, UnconfirmedDelivery } from './unconfirmed.ts';

export interface Ledger extends ContactLedger {
  /**
   * Voids leases of processes that are gone: what was `sending` is in doubt now, and may be looked at after the delay.
   * Changes of products that were staged under another `productUpdate` of the profile are staged anew. Call once after
   * taking the lock.
   */
  recover(settlingDelayMs: number): Promise<{ voided: number }>;

  startRun(start: RunStart): Promise<StartedRun>;
  /** Stores the records of a page that are new or changed, together with the cursor, and counts the page. */
  stagePage(page: PageToStage): Promise<StagedPage>;
  /** Marks what a complete read did not see as missing, unless the guard takes the read for broken. */
  endStream(end: StreamEnd): Promise<{ missing: number; guarded: string | null }>;
  endRun(end: { runId: number; result: RunResult; error?: string }): Promise<void>;
  /**
   * A person accepts what is blocked or guarded for these sources. Of a guarded read the figures are accepted: the next read
   * counts as whole if it misses no more records and has no fewer rows.
   */
  accept(request: { sources: readonly string[] }): Promise<Accepted>;

  /** Records that wait to be mapped, oldest first, after `afterId`. */
  pendingRecords(request: { source: string; afterId: number; limit: number }): Promise<PendingRecord[]>;
  /** Turns mapped records into desired payloads and deliveries. A record that has changed since is left alone. */
  stage(records: readonly MappedRecord[]): Promise<StageSummary>;

  /** Due deliveries in the order of their ids after `afterId`; those whose time has not come, or that are held, are left out. */
  dueDeliveries(request: { afterId: number; limit: number; held?: SuspendedWork }): Promise<DueDelivery[]>;
  /**
   * One of them from anywhere: `place` in [0, 1) says how far on, by the order of their ids. Null where none is found there.
   */
  someDueDelivery(request: { place: number; held?: SuspendedWork }): Promise<DueDelivery | null>;
  /** Those of them that a person has asked for and may be waiting for. */
  dueByHand(request: { limit: number; held?: SuspendedWork }): Promise<DueDelivery[]>;
  /**
   * When the next delivery becomes due, or the next doubt may be looked at, but for what is held: 0 for something that has
   * been due all along, null when nothing is scheduled. With `after`, what was due at that time is left out.
   */
  nextDueAt(request?: { after?: number; held?: SuspendedWork; of?: WorkOf | undefined }): Promise<number | null>;
  /**
   * What is left to be sent of which the API has not been able to take anything since before a time; null where anything
   * else is scheduled that is not held.
   */
  leftAway(request: { before: number; held?: SuspendedWork; of?: WorkOf | undefined }): Promise<LeftAway | null>;
  /** How many of these deliveries are claimed and have not ended. */
  countSending(of: WorkOf): Promise<number>;
  /** Whether one of these creates is suspended until a list of the platform was read. */
  hasSuspended(of: WorkOf): Promise<boolean>;
  /** Whether a delivery could be claimed at the moment, unlike most others after a claim of several at once. */
  isDue(deliveryId: number): Promise<boolean>;
  /** What the API has said of a delivery's scope before. */
  denialsOf(deliveryId: number): Promise<Denials>;
  /** How much is held. */
  countSuspended(held: SuspendedWork): Promise<{ due: number; inDoubt: number }>;
  /**
   * Marks deliveries as sending. Each list becomes one request: the deliveries of a bulk import as many as fit, and any other
   * write alone. What is not due under the named revision, or may not be sent now, is left out, and a list of which nothing is
   * left gives no request. Call it before any network I/O; grouped with other claims and settles into one fsync.
   */
  claim(requests: readonly (readonly DeliveryName[])[]): Promise<ClaimedRequest[]>;
  /**
   * Commits what became of deliveries, stages what is desired by now, and releases what waited for their items. Gives one
   * entry for each settlement, in their order.
   */
  settle(requests: readonly RequestSettlement[]): Promise<Settled[]>;
  /** Takes out of the way what cannot be attempted, for a person: what may have been sent is in doubt, the rest rejected. */
  putAside(request: { deliveryId: number; reason: Reason }): Promise<void>;
  /** Doubts whose next look is due, but for those that are held. */
  unconfirmedDeliveries(request: { limit: number; held?: SuspendedWork }): Promise<UnconfirmedDelivery[]>;
  /** What a person may settle of the items with this key, or with this natural key where none has the key. */
  deliveriesNamed(name: string): Promise<NamedDelivery[]>;
  /** How many deliveries a selection holds, and those after an id. */
  countSelected(selection: NamedSelection): Promise<number>;
  selectedDeliveries(request: NamedSelection & { afterId: number; limit: number }): Promise<NamedDelivery[]>;
  /**
   * A person accepts that items are gone from their sources: items with this key or natural key, or all of a kind and a
   * source. Returns their number; with `dryRun` it only counts.
   */
  acceptMissing(request: MissingSelection & { dryRun?: boolean }): Promise<number>;
  /** The key of the item that is bound to this remote id, or null. */
  boundTo(kind: ListableKind, remoteId: JsonValue): Promise<string | null>;

  /** Stored records behind what a selection names, in pages by record id. */
  replayCandidates(request: { selection: ReplaySelection; afterId: number; limit: number }): Promise<ReplayCandidate[]>;
  /**
   * Stages mapped records anew as new revisions, even where the payload is the same: what was refused is asked again
   * under a new key. Where the item has moved on by itself nothing is staged, and a delivery in doubt is left alone. With
   * `dryRun` all of it is undone again: only what it came to is told.
   */
  replay(request: { records: readonly MappedRecord[]; dryRun: boolean }): Promise<ReplayOutcome>;
  /**
   * Sends deliveries in doubt again on a person's word, also those whose record is gone. Gives how many there are; with
   * `dryRun` nothing else.
   */
  forceUnconfirmed(request: { selection: ReplaySelection; dryRun: boolean }): Promise<number>;

  /**
   * Judges the passports of a page of products, in the order of their keys: stages what the policy wants of those that are
   * complete, asks again for those that got stuck and of which something was delivered since, and withdraws those of
   * missing products. Gives how many deliveries that staged, and the last key, null at the end.
   */
  evaluatePassports(request: {
    afterKey: string | null;
    limit: number;
  }): Promise<{ staged: number; lastKey: string | null }>;
  /**
   * A page of products whose passports are not published, in the order of their keys; products that are gone from their
   * sources are left out. `withdrawn` counts those that a person has withdrawn. `lastKey` is null at the end.
   */
  unpublishedPassports(request: { afterKey: string | null; limit: number }): Promise<UnpublishedPage>;
  /** Asks for passports to be published or withdrawn on a person's word, by keys or natural keys of their products. */
  askForPassports(request: {
    products: readonly string[];
    status: 'published' | 'unpublished';
  }): Promise<PassportAnswer[]>;
  /**
   * Asks again for passports that got stuck, as new revisions, where their products are complete or they are to be
   * withdrawn. With `dryRun` it only tells.
   */
  replayPassports(request: { selection: ReplaySelection; dryRun: boolean }): Promise<PassportReplay>;

  /**
   * Asks again for what a gate has blocked and whose time has come, as new revisions; passports only where their products
   * are complete. Gives how many deliveries that staged, and whether more are left to look at.
   */
  recheckBlocked(request: { limit: number }): Promise<{ staged: number; more: boolean }>;

  /**
   * Creates of a kind that were sent after a time and acknowledged: those that were staged shortly before the delivery that
   * is named or after it, and no more than can be looked through at once.
   */
  acknowledgedCreates(request: {
    kind: ListableKind;
    sentAfter: number;
    besideId: number;
  }): Promise<{ remoteId: JsonValue; sentAt: number }[]>;

  /** Kinds of which the API may hold items that a ledger restored from a backup does not know. */
  unprovenKinds(): Promise<ListableKind[]>;
  /** Whether one of these natural keys belongs to no item that has a remote id. */
  hasUnbound(kind: ListableKind, naturalKeys: readonly string[]): Promise<boolean>;
  /** A complete listing held nothing unknown: new items of the kind are sent without a look from now on. */
  endProof(kind: ListableKind): Promise<void>;

  /** Keeps the wait that the API has asked for, so that others can see it; null when it is over. */
  noteApiWait(wait: ApiWait | null): Promise<void>;

  /** Prunes the history of items, runs and events. */
  prune(): Promise<void>;
  /**
   * Commits a small write, to find out whether the ledger can be written.
   *
   * @throws Fault `ledger.unwritable`
   */
  touch(): Promise<void>;
  close(): Promise<void>;
}
