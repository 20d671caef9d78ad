// The ledger's port. Every method is one whole transaction; none hands one out, so that SQLite and PostgreSQL can both
// stand behind it. What a method promises, it has made durable when its promise resolves.

import type { JsonObject, JsonValue } from '../../lib/json.ts';
import type { Operation, Reason } from '../delivery.ts';
import type { Issue } from '../issue.ts';
import type { SubjectKind } from '../item.ts';
import type { MapResult } from '../mapping.ts';
import type { NaturalKey } from '../natural-key.ts';
import type { PassportAnswer } from '../passport.ts';
import type { IncomingRecord, Place } from '../record.ts';
import type { EncodedImport, EncodedWrite, ListableKind, Write } from './target.ts';

/** What started a run. */
export type RunTrigger = 'cli' | 'schedule' | 'retry';

/** A stream of a run, as its source reads it. */
export interface RunStream {
  name: string;
  /** True when a read gives everything there is, so that what was not seen is missing. */
  snapshot: boolean;
}

export interface RunStart {
  source: string;
  trigger: RunTrigger;
  streams: RunStream[];
  /** Under another revision than the stored records were mapped with, all of them are mapped anew. */
  mappingRevision: string;
}

export interface StartedRun {
  runId: number;
  /** Where each stream resumes; null for the beginning. */
  cursors: Record<string, JsonValue>;
}

export interface PageToStage {
  runId: number;
  source: string;
  stream: string;
  records: readonly IncomingRecord[];
  /** What this run has seen so far; the page's records are added to it once they are stored. */
  seen: SeenRecords;
  /**
   * True where records have no key, so that a changed row is a new record, and the old one is known to be gone only when
   * the read is complete: mapping waits until then.
   */
  hold: boolean;
  /** Stored with the page (I1). Absent where the connector gives none. */
  cursor?: JsonValue;
  /**
   * Unchanged records of earlier pages that are not counted yet, to be counted with this one. Where it is given, a page that
   * changes nothing may be left to be counted later as well: that spares a write for each page of an unchanged export.
   */
  uncounted?: number;
}

export interface StagedPage {
  /** Records that go on to be mapped. */
  changed: number;
  /** False where nothing was written, not even the count. */
  counted: boolean;
}

/** The record ids that a run has seen in a stream: what tells repeated rows apart, and what is missing at the end. */
export interface SeenRecords {
  has(id: number): boolean;
  add(id: number): void;
  size(): number;
}

/** Limits within which records may vanish before a read is taken for a broken export. Fractions from 0 to 1. */
export interface MissingGuard {
  maxMissing: number;
  maxDrop: number;
}

export interface StreamEnd {
  runId: number;
  source: string;
  stream: string;
  /** Null where the stream does not give everything there is, so that nothing can be missing. */
  seen: SeenRecords | null;
  /** Whether the items of missing records are marked as missing too. */
  flagItems: boolean;
  guard: MissingGuard;
  /** Unchanged records that are not counted yet. */
  uncounted?: number;
}

export type RunResult = 'complete' | 'failed' | 'interrupted';

/** A record that waits to be mapped. */
export interface PendingRecord {
  id: number;
  /** Moves with every change of the record: staging under an old version changes nothing. */
  version: number;
  source: string;
  stream: string;
  fields: JsonObject;
  place: Place;
  /** What the connector found wrong; such a record is quarantined without being mapped. */
  issues: Issue[];
}

export interface MappedRecord {
  id: number;
  version: number;
  result: MapResult;
}

/** What staging did, for progress and metrics. */
export interface StageSummary {
  mapped: number;
  excluded: number;
  quarantined: number;
  /** Deliveries that came to be, by the state they begin in. */
  due: number;
  waiting: number;
  blocked: number;
}

/** A delivery as the feeder rings for it. */
export interface DueDelivery {
  id: number;
  kind: SubjectKind;
  key: string;
  operation: Operation;
  source: string;
}

/** A claimed delivery: it is `sending`, and its path, bytes and key are durable (I2). */
export interface ClaimedDelivery extends DueDelivery, EncodedWrite {
  idempotencyKey: string;
  revision: number;
  attempts: number;
  /** True when this revision has gone out before. */
  again: boolean;
  /** True when nobody knows whether an earlier attempt took effect. */
  uncertain: boolean;
  /** Since when the API has said that it is at work on this very request; null where that was not its last answer. */
  busySince: number | null;
  /**
   * Since when the API has not been able to take this delivery; null where something else came of it last, but for waits that
   * it asked for.
   */
  awaySince: number | null;
  /** For a `product.import` alone: all that goes out in the same request, itself included. */
  import?: ClaimedImport;
}

/**
 * Deliveries that were claimed together, to go out as one request. Path, bytes and key of the claimed delivery are those of
 * the import; `again` says that this very import has gone out before.
 */
export interface ClaimedImport {
  /** In the order of the body. */
  members: ImportMember[];
  /** How often the import has gone out, this time included. */
  sends: number;
}

export interface ImportMember {
  id: number;
  kind: SubjectKind;
  key: string;
  /** Of what is sent; null where it has none. */
  naturalKey: string | null;
  /** What the ledger knows the product by. */
  remoteId: JsonValue;
  attempts: number;
  /** As of a claimed delivery. */
  awaySince: number | null;
}

/** Why a delivery could not be claimed: it has moved on, or a ref is not there yet. */
export type Claim = { status: 'claimed'; delivery: ClaimedDelivery } | { status: 'gone' } | { status: 'waiting' };

/** What becomes of a delivery after an attempt, a read-back or a person's word. */
export type Verdict =
  /**
   * The write took effect. With `contentKnown: false` only the item's presence is known (a create met one that was there
   * before): it is bound, and its content is written as an update.
   */
  | { kind: 'delivered'; remoteId: JsonValue; contentKnown: boolean; by: 'answer' | 'read_back' | 'person' }
  /**
   * The same revision goes out again at `dueAt`; `spend` says whether it uses an attempt. With `uncertain` an earlier send
   * of it turns out to have arrived, so that it has to be followed to its end.
   */
  | { kind: 'retry'; dueAt: number; spend: boolean; uncertain?: true; reason: Reason }
  /** `nextLookAt` is when a read-back may begin; null when nothing but a person can tell. */
  | { kind: 'doubt'; nextLookAt: number | null; spend: boolean; reason: Reason }
  /**
   * `absent` says that the write is proven not to have taken effect; otherwise sending it again is only safe. `refund`
   * gives back the attempt that the doubt has cost: the API was away for all.
   */
  | { kind: 'resend'; dueAt: number; absent: boolean; refund?: boolean; reason: Reason }
  /** `recheckAt` is when it is asked again by itself; left out for what no time can change. */
  | { kind: 'blocked'; recheckAt?: number; reason: Reason }
  /** `absent` says that the write is proven not to have taken effect, whatever was open before. */
  | { kind: 'rejected'; reason: Reason; absent?: true }
  /** With `open` an attempt may have taken effect, and a new revision may take its place all the same. */
  | { kind: 'parked'; reason: Reason; open?: true };

export interface Settlement {
  deliveryId: number;
  verdict: Verdict;
  /** What the clock showed when the verdict was reached. It may be set before the verdict is stored, and waits go by this. */
  judgedAt?: number;
}

/** What becomes of all members of an import, in one transaction: none of them may move on without the others. */
export interface ImportSettlement {
  settlements: readonly Settlement[];
  /**
   * Whether the import stays what it is, to go out again with the same bytes and key once its members are due. Only while
   * nobody knows whether it arrived; otherwise its members find new company at their next claim.
   */
  keep: boolean;
  /** How many may share an import with each of these members from now on; null for as many as before. */
  groupMax: number | null;
}

export interface Settled {
  deliveryId: number;
  /** Deliveries that became due: the follower, and those that waited for this item. */
  released: number;
  /** False when the delivery had moved on and the verdict changed nothing. */
  applied: boolean;
}

/** What stays as it is, however long it is due, while the API refuses what it takes. */
export interface Held {
  /** Deliveries of these operations. */
  operations: readonly Operation[];
  /** Doubts that only reading could settle: those of these operations, and those with these reasons. */
  doubts: { operations: readonly Operation[]; reasons: readonly string[] };
}

/** How the API has refused a scope to a delivery before. */
export interface Denials {
  /** When it did so last, where that was its last answer; else null. */
  at: number | null;
  /** Whether it is asked again for what was found to be refused to this item alone. */
  isAskedAgain: boolean;
}

/** Deliveries that the API does not take, although it answers. */
export interface LeftAway {
  count: number;
  /** The one that has waited for longest. */
  first: DueDelivery & { reason: Reason; dueAt: number };
}

/** A delivery in doubt whose next look is due. */
export interface DoubtfulDelivery extends DueDelivery, EncodedWrite {
  /** As the item has it now; of a passport its product's. */
  naturalKey: string | null;
  /** What the API can know the item by, as it was sent. */
  sentKey: NaturalKey | null;
  /** For a passport: the remote id of its product. */
  productId: JsonValue;
  reason: Reason;
  /** When it was last sent or looked at in vain. */
  since: number;
  attempts: number;
  /** The import that it may have arrived in, where that goes out again as it is. */
  importId: number | null;
  /** For a `product.import` alone. */
  sent: SentProduct | null;
}

/** What an import carried of a product, to be compared with what the API shows of it. */
export interface SentProduct {
  /** The whole of it, null for fields to clear. */
  payload: JsonObject;
  /** The fields that were to change; null where it is not known what the API had before. */
  changed: string[] | null;
  remoteId: JsonValue;
}

/** A delivery in doubt, whether or not it may be looked at by now. */
export interface NamedDoubt extends DueDelivery {
  /** Of what was sent; of a passport its product's. */
  naturalKey: string | null;
  reason: Reason;
}

export interface ReplaySelection {
  /** Empty lists do not narrow the selection. Delivery states to replay, and `quarantined` for records that could not be mapped. */
  states: readonly ReplayState[];
  sources: readonly string[];
  /** Item keys, natural keys or record keys. */
  keys: readonly string[];
  /** The records of these deliveries' items, whatever else is named. */
  deliveryIds: readonly number[];
}

export const REPLAY_STATES = ['blocked', 'rejected', 'parked', 'in_doubt', 'quarantined'] as const;
export type ReplayState = (typeof REPLAY_STATES)[number];

/** A stored record that a selection found, to be mapped anew. */
export type ReplayCandidate = PendingRecord;

export interface ReplayOutcome {
  /** Deliveries that were staged anew. */
  staged: number;
  /** Records that still fail. */
  quarantined: number;
  /** In-doubt deliveries that were left alone, because only `force` sends them again. */
  heldInDoubt: number;
}

/** What a replay came to for passports that got stuck. */
export interface PassportReplay {
  /** Asked for again. */
  asked: number;
  /** Left alone, since their products are not complete. */
  incomplete: number;
  /** In doubt and left alone, because only `force` sends them again. */
  heldInDoubt: number;
}

/** What the API is asked to encode at a claim. Pure; called inside the transaction that commits its answer. */
export type Encode = (write: Write) => EncodedWrite;

/** The same for members of an import: their whole payloads, of which as many are taken as fit. */
export type EncodeImport = (members: readonly JsonObject[]) => EncodedImport;

export interface Ledger {
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

  /** Records that wait to be mapped, oldest first, after `afterId`. */
  pendingRecords(request: { source: string; afterId: number; limit: number }): Promise<PendingRecord[]>;
  /** Turns mapped records into desired payloads and deliveries. A record that has changed since is left alone. */
  stage(records: readonly MappedRecord[]): Promise<StageSummary>;

  /** Due deliveries in the order of their ids after `afterId`; those whose time has not come, or that are held, are left out. */
  dueDeliveries(request: { afterId: number; limit: number; held?: Held }): Promise<DueDelivery[]>;
  /**
   * When the next delivery becomes due, or the next doubt may be looked at, but for what is held: 0 for something that has
   * been due all along, null when nothing is scheduled. With `after`, what was due at that time is left out.
   */
  nextDueAt(request?: { after?: number; held?: Held }): Promise<number | null>;
  /**
   * What is left to be sent of which the API has not been able to take anything since before a time; null where anything
   * else is scheduled that is not held.
   */
  leftAway(request: { before: number; held?: Held }): Promise<LeftAway | null>;
  /** What a delivery that could be claimed at the moment does; null for others, like most after a claim of several at once. */
  dueOperation(deliveryId: number): Promise<Operation | null>;
  /** What the API has said of a delivery's scope before. */
  denialsOf(deliveryId: number): Promise<Denials>;
  /** How much is held. */
  countHeld(held: Held): Promise<{ due: number; inDoubt: number }>;
  /**
   * Marks a delivery as sending, and with a `product.import` the others that go out in the same request. Call it before any
   * network I/O; grouped with other claims and settles into one fsync.
   */
  claim(deliveryId: number): Promise<Claim>;
  /** Commits what became of a delivery, stages what is desired by now, and releases what waited for its item. */
  settle(settlement: Settlement): Promise<Settled>;
  /** Does so for all members of an import at once. */
  settleImport(settlement: ImportSettlement): Promise<Settled[]>;
  /** Takes out of the way what cannot be attempted, for a person: what may have been sent is in doubt, the rest rejected. */
  putAside(request: { deliveryId: number; reason: Reason }): Promise<void>;
  /** Doubts whose next look is due, but for those that are held. */
  doubtfulDeliveries(request: { limit: number; held?: Held }): Promise<DoubtfulDelivery[]>;
  /** Doubts of the items with this key, or with this natural key where none has the key. */
  doubtsOf(name: string): Promise<NamedDoubt[]>;
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
  forceDoubts(request: { selection: ReplaySelection; dryRun: boolean }): Promise<number>;

  /**
   * Judges the passports of a page of products, in the order of their keys: stages what the policy wants of those that are
   * complete, asks again for those that got stuck and of which something was delivered since, and withdraws those of
   * missing products. Gives how many deliveries that staged, and the last key, null at the end.
   */
  judgePassports(request: {
    afterKey: string | null;
    limit: number;
  }): Promise<{ staged: number; lastKey: string | null }>;
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

  /** Kinds of which the API may hold items that a ledger restored from a backup does not know. */
  unprovenKinds(): Promise<ListableKind[]>;
  /** Whether one of these natural keys belongs to no item that has a remote id. */
  hasUnbound(kind: ListableKind, naturalKeys: readonly string[]): Promise<boolean>;
  /** A complete listing held nothing unknown: new items of the kind are sent without a look from now on. */
  endProof(kind: ListableKind): Promise<void>;

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
