// The read side of the ledger, for people: the CLI, the dashboard, metrics. It never waits for a writer.

import type { JsonObject, JsonValue } from '../../../lib/json.ts';
import type { Advice } from '../../advice.ts';
import type { WaitingRun } from '../../approval.ts';
import type { UnprovenWrites } from '../../attention.ts';
import type { ImportProofs } from '../../delivery/import-proof.ts';
import type { Operation } from '../../delivery/operation.ts';
import type { ApiWait } from '../../delivery/outcome.ts';
import type { Reason } from '../../delivery/stored-reason.ts';
import type { Issue, Place } from '../../issue.ts';
import type { ItemKind, ItemRef, SubjectKind } from '../../item.ts';
import type { LookupEntry, LookupKey } from '../../lookup.ts';
import type { PassportDesire, PassportState, PassportStatus } from '../../passport.ts';
import type { StreamIdentity } from '../../record.ts';
import type { GuardedRead, RefusedRead } from '../guarded-intake.ts';
import type { RunResult, RunTrigger } from '../intake.ts';
import type { DaemonNotes } from './care-ledger.ts';
import type { AdoptedChanges, Suspended } from './contact-ledger.ts';
import type {
  Attention,
  Deferred,
  EmptyStream,
  FailedRun,
  ItemCounts,
  ItemState,
  ItemsInOtherForm,
  LedgerStanding,
  OpenDeliveries,
  StandingAsked,
  StuckDelivery,
  StuckItems,
  WaitingGroup,
} from './ledger-standing.ts';

export interface PassportView {
  state: PassportState;
  /** The status that the API has acknowledged; null before the first initialisation. */
  acknowledged: PassportStatus | null;
  desired: PassportDesire | null;
  /** The reason of the passport's open delivery. */
  reason: Reason | null;
  /** Why the passport cannot be initialised or published yet. */
  blockers: string[];
}

/** The account of one stream in one run; `read` is the sum of the four counts that follow it. */
export interface StreamAccount {
  source: string;
  stream: string;
  read: number;
  unchanged: number;
  changed: number;
  quarantined: number;
  excluded: number;
  missing: number;
  /** Why nothing was marked as missing, if the guard treated the read as broken. */
  guarded: string | null;
  /**
   * How many new or changed records the snapshot of this run found that reads of changes had not given; null if there
   * was no snapshot to compare with.
   */
  missedByChanges: number | null;
  /** What people should know about the read although it went on, in full sentences. */
  warnings: string[];
}

export interface RunView {
  id: number;
  source: string;
  trigger: RunTrigger;
  /** Who asked for the run; null for a scheduled run. */
  askedBy: string | null;
  startedAt: number;
  endedAt: number | null;
  /** Null while the run continues. */
  result: RunResult | null;
  error: string | null;
  streams: StreamAccount[];
}

export interface QuarantinedRecord {
  id: number;
  source: string;
  stream: string;
  key: string;
  place: Place;
  fields: JsonObject;
  issues: Issue[];
}

/** A stored row with the issues that its connector has found. */
export type StoredRecord = Omit<QuarantinedRecord, 'id'>;

export interface ItemSummary {
  kind: SubjectKind;
  key: string;
  naturalKey: string | null;
  name: string | null;
  source: string | null;
  state: ItemState;
  remoteId: JsonValue;
  /** True if the source no longer has the item. */
  missing: boolean;
  /** True for an item that no record makes any more, until the guard has decided whether it is missing. */
  released: boolean;
  reason: Reason | null;
  dueAt: number | null;
}

export interface ItemFilter {
  /**
   * `incomplete`: products whose passports wait until they are complete. `missing`: missing items about which nobody has
   * decided. `missing_decided`: those about which a person or the config has decided. `held`: items of the records that a read lacks,
   * and items that no record makes any more, while the guard holds that read.
   */
  state?: ItemState | 'missing' | 'missing_decided' | 'incomplete' | 'held';
  kind?: SubjectKind;
  source?: string;
  /** Part of a key, a natural key or a name. */
  search?: string;
}

/** A ref, and the state of its item; null if no source has given such an item. */
export interface RefStanding extends ItemRef {
  state: ItemState | null;
}

export interface TimelineEntry {
  at: number;
  what: string;
  operation: Operation | null;
  revision: number | null;
  detail: string | null;
}

export interface ItemView extends ItemSummary {
  /** True if a person has accepted that the source no longer has the item. */
  missingAccepted: boolean;
  /**
   * True for a missing item about which nothing has to be decided any more: a person has accepted that it is missing, or
   * a person or the config wanted the withdrawal of its passport, and the passport is not public.
   */
  missingDecided: boolean;
  /** True for a missing item that the platform never got, so that nothing has to be done about it. */
  neverArrived: boolean;
  /**
   * Why the item is missing: its row is gone, or its row is there and no longer makes the item. Null for an item that
   * is not missing.
   */
  missingBecause: 'row_gone' | 'row_changed' | null;
  desired: JsonObject;
  baseline: JsonObject | null;
  /** The fields that were sent in another form than the profile has now. */
  inOtherForm: string[];
  refs: RefStanding[];
  /** The stored record that makes the item. */
  record: { source: string; stream: string; place: Place; fields: JsonObject; quarantined: Issue[] | null } | null;
  revision: number;
  attempts: number;
  timeline: TimelineEntry[];
  /** What keeps a due item without a reason from its first attempt; null if nothing does. */
  heldBy: Reason | null;
  /** What the state of the item means, and what to do about it. */
  advice: Advice;
}

/** The counts of the ledger for the metrics, by source. Counts of zero are left out. */
export interface SourceCounts {
  items: { source: string; kind: SubjectKind; state: ItemState; count: number }[];
  passports: { source: string; state: PassportState; count: number }[];
  quarantined: { source: string; stream: string; count: number }[];
  missing: { source: string; kind: ItemKind; count: number }[];
  /** Since when the oldest unsent delivery is due, in milliseconds since the epoch. */
  dueSince: { source: string; at: number }[];
}

/** The runs of a source. Times are in milliseconds since the epoch. */
export interface SourceRuns {
  source: string;
  lastRun: RunView | null;
  /** The last run that has ended; the same as `lastRun` while no run is under way. */
  lastEnded: RunView | null;
  /** When the last complete run ended; null if there was none. */
  completeAt: number | null;
  /** Set if the last run that has ended has failed. */
  failed: FailedRun | null;
}

/** What the ledger answers to people and programs, each at one moment. */
export interface LedgerViews {
  itemCounts(sources?: readonly string[]): ItemCounts;
  standing(asked: StandingAsked): LedgerStanding;
  /** The runs of these sources, in their order. */
  sourceRuns(sources: readonly string[]): SourceRuns[];
  /** @param sources the sources whose deliveries count; an empty list stands for all */
  attention(sources: readonly string[]): Attention;
  openDeliveries(): OpenDeliveries;
  /** The versions of the ledger's format and of the database. */
  versions(): { ledger: string; sqlite: string };
  /** Runs that read a source, the newest first. Uploads of corrected rows are not among them. */
  lastRuns(request: { source?: string; limit: number }): RunView[];
  run(id: number): RunView | null;
  /** Streams of these sources whose last complete read the guard took for broken, and that no person has accepted. */
  guardedReads(sources?: readonly string[]): GuardedRead[];
  /** Runs of these sources that exceed their bounds and wait for a person. */
  heldRuns(sources: readonly string[]): WaitingRun[];
  /** @param sources the sources for which it is asked whether items are being sent */
  stuckItems(sources: readonly string[]): StuckItems;
  emptyStreams(): EmptyStream[];
  /** The reads of a source that people have refused, the newest first. */
  refusedReads(source: string): RefusedRead[];
  /** Sources that have records which are not mapped yet: they wait to be mapped, or for the end of their run. */
  unmappedSources(): string[];
  /** How many products are known only from rows in quarantine, so that the ledger does not have them. */
  productsInQuarantine(): number;
  quarantinedCount(sources?: readonly string[]): number;
  quarantined(request: { source?: string; afterId: number; limit: number }): QuarantinedRecord[];
  /** The quarantined row with this key, with the key of a product that it would make, or with this value; null if there is none. */
  quarantinedRow(name: string): Pick<QuarantinedRecord, 'source' | 'stream' | 'place'> | null;
  /**
   * The stored rows that a name stands for: those with this key; if there are none, those of the items with this key or
   * natural key; if there are none either, the rows with an error that would make such a product.
   */
  recordsNamed(asked: { name: string; source?: string | undefined; stream?: string | undefined }): StoredRecord[];
  /** The present entries of lookup tables. */
  lookupEntries(keys: readonly LookupKey[]): (LookupEntry & LookupKey)[];
  itemsAfter(request: ItemFilter & { afterId: number; limit: number }): { items: ItemSummary[]; lastId: number };
  /** An item, by its key or natural key. */
  item(kind: SubjectKind, key: string): ItemView | null;
  /** The passport of the product with this key or natural key. Null if there is no such product. */
  passport(product: string): PassportView | null;
  /** The passports of the products with these keys or natural keys, by these names. A name without a product is left out. */
  passportsOf(products: readonly string[]): ReadonlyMap<string, PassportView>;
  /** Why no passport can be initialised or published now, such as a source that the guard holds; empty if nothing keeps all of them. */
  passportBlockers(): string[];
  /**
   * Deliveries that need a person, newest first: blocked, rejected and parked ones, and unconfirmed ones that cannot be
   * looked up.
   */
  stuck(limit: number, sources?: readonly string[]): StuckDelivery[];
  /** The same deliveries, of those with the same kind, state and reason only the newest one, and how many they are. */
  stuckCauses(limit: number, sources?: readonly string[]): (StuckDelivery & { count: number })[];
  /** Due deliveries at whose last attempt the API was away; null if there are none. */
  deferred(): Deferred | null;
  delivery(id: number): (StuckDelivery & { needsPerson: boolean }) | null;
  /** The items that deliveries of these sources wait for. The item with the most deliveries comes first. */
  waitingFor(limit: number, sources?: readonly string[]): WaitingGroup[];
  /** Kinds of which creates of these sources are suspended until the platform's list was read. */
  suspended(sources?: readonly string[]): Suspended[];
  /** Changes of adopted items of these sources that wait for a person. */
  adoptedChanges(sources?: readonly string[]): AdoptedChanges[];
  /**
   * Items that were sent in another form than the profile has now, by kind. Without those that a person has decided to
   * leave as they are.
   */
  otherForms(): ItemsInOtherForm[];
  /** What identifies the rows of a stream; null if no run has stored it. */
  streamIdentity(source: string, stream: string): StreamIdentity | null;
  /** BOM items of adopted products for which a person has to answer whether the platform has them. */
  unansweredParts(sources?: readonly string[]): { products: number; bomItems: number };
  /** Items and passports of these sources whose last acknowledged write was taken without proof, by kind and cause. */
  unproven(sources?: readonly string[]): UnprovenWrites[];
  /** The wait beyond a minute that the API has last asked for, or null; it may have passed since. */
  apiWait(): ApiWait | null;
  /** A note of the last daemon; null if it left none. */
  daemonNote<Name extends keyof DaemonNotes>(name: Name): DaemonNotes[Name] | null;
  /** Whether bulk imports are used for new products, and for changed ones. */
  importProofs(): ImportProofs;
  /** Products that contain themselves, as paths of keys; each path ends with its first key. */
  bomCycles(limit: number): string[][];
}
