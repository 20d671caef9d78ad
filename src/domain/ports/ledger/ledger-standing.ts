// How a ledger stands: counts of what is left to do, and what needs a person.

import type { WaitingRun } from '../../approval.ts';
import type { MissingCounts, MissingGroup, PaddedKeys, UnprovenWrites } from '../../attention.ts';
import type { DeliveryState } from '../../delivery/delivery.ts';
import type { Operation } from '../../delivery/operation.ts';
import type { Reason } from '../../delivery/stored-reason.ts';
import type { Place } from '../../issue.ts';
import type { ItemKind, SubjectKind } from '../../item.ts';
import type { PassportCounts } from '../../passport.ts';
import type { GuardedRead } from '../guarded-intake.ts';
import type { AdoptedChanges, Suspended } from './contact-ledger.ts';

/**
 * The state of an item: the state of its open delivery; `superseded` if a person has ended its last write although the
 * platform does not have it; otherwise `delivered`.
 */
export type ItemState = DeliveryState;

export type ItemCounts = Record<ItemKind, Partial<Record<ItemState, number>>>;

/** A delivery that needs a person. */
export interface StuckDelivery {
  id: number;
  kind: SubjectKind;
  key: string;
  revision: number;
  naturalKey: string | null;
  operation: Operation;
  source: string | null;
  state: DeliveryState;
  reason: Reason;
}

/** Items that were sent in another form than the profile has now, so that the platform may have understood them otherwise. */
export interface ItemsInOtherForm {
  kind: ItemKind;
  items: number;
  /** The fields that are sent in another form now. */
  fields: string[];
}

/** The last run of a source, if it has failed. */
export interface FailedRun {
  source: string;
  error: string;
}

/** What to count, by ids of sources. */
export interface StandingAsked {
  sources: readonly string[];
  /** Those of `sources` whose missing items are counted: all without `onMissing: ignore`. */
  watched: readonly string[];
  /** All sources of the config. */
  configured: readonly string[];
}

/** How a ledger stands for some sources: what `status`, the metrics, the overview, alerts and exit codes say. */
export interface LedgerStanding {
  /** The items of all sources. */
  items: ItemCounts;
  passports: PassportCounts;
  /** Writes of passports that are unconfirmed and are looked up without a person. */
  unconfirmedPassports: number;
  quarantined: number;
  guarded: readonly GuardedRead[];
  /** Runs that exceed the bounds of their sources and wait for a person. */
  held: readonly WaitingRun[];
  failedRuns: readonly FailedRun[];
  /** Items that are missing from their sources and about which no person has decided. */
  missing: MissingCounts;
  /** All missing items, by what becomes of them. */
  missingOutcomes: readonly MissingGroup[];
  /** Kinds of which no item is created before the platform's list was read. */
  suspended: readonly Suspended[];
  /** Due deliveries that are not sent because the API refuses them. */
  refused: readonly RefusedWork[];
  /** Items that were sent in another form than the profile has now. */
  otherForms: readonly ItemsInOtherForm[];
  /** Items that the platform has under a key with padding. */
  paddedKeys: readonly PaddedKeys[];
  /** Sources that the config no longer has, that were not ended by an empty export, and whose items are at the platform. */
  formerSources: readonly string[];
}

/** What a person has to know about items that no list has shown, or that a list has shown before they were created. */
export interface ContactAttention {
  /** Changes of items that were at the platform before. */
  adopted: AdoptedChanges[];
  /** BOM items of products that were at the platform before. */
  parts: { products: number; bomItems: number };
  /** Writes whose answers prove too little and that no list has confirmed. They count as done. */
  unproven: UnprovenWrites[];
}

/** A state that needs a person, other than unconfirmed. */
export type StuckState = 'rejected' | 'parked' | 'blocked';

/** The items that are in a state that needs a person, without passports. All of it is of one moment. */
export interface StuckItems {
  counts: { source: string; state: StuckState; count: number }[];
  /** Of the sources that were asked about, those of which items are due, being sent or looked up. */
  sending: string[];
}

/** A stream whose last complete read gave no rows, and that has no records. */
export interface EmptyStream {
  source: string;
  stream: string;
  /** True if this read took records away, and no person has accepted their loss. */
  isNew: boolean;
}

/** Rows that make an item with the same content as another row. They change nothing, but people can see them. */
export interface Duplicates {
  count: number;
  /** How many of these rows make no other item. Each of the remaining rows also makes another item. */
  whole: number;
  /** The first of the rows that make no other item. */
  examples: { kind: ItemKind; key: string; source: string; stream: string; place: Place; first: Place }[];
}

/** The deliveries that wait for one item, and the state of that item. */
export interface WaitingGroup {
  kind: ItemKind;
  key: string;
  /** The state of the item that is waited for; null if no source has given it. */
  state: ItemState | null;
  count: number;
  /** True if the deliveries wait for a product or a material with this key. */
  either?: true;
}

/** What a person needs to know about the deliveries of some sources. */
export interface Attention extends ContactAttention {
  /** Items that deliveries wait for and that are not being delivered, the item with the most deliveries first. */
  waitingFor: WaitingGroup[];
  /** Deliveries that need a person: the newest one of each cause, and how many have this cause. */
  stuck: (StuckDelivery & { count: number })[];
  /** Unconfirmed items that do not need a person, and when the first of them is looked up. */
  awaitingReadBack: { count: number; nextLookAt: number | null };
  /** Rows that make the same items as other rows. */
  duplicates: Duplicates;
}

/** Due deliveries that are not sent because the API has refused their operation, the key or the plan. */
export interface RefusedWork {
  operation: Operation;
  count: number;
  reason: Reason;
}

/** Counts of deliveries that have not ended, those of passports too, and of passports whose delivery is not staged yet. */
export interface OpenDeliveries {
  due: number;
  sending: number;
  /** Those that wait for other items, perhaps for ever. */
  waiting: number;
  /** Those that were sent and have no answer yet. */
  unconfirmed: number;
  /** Publications that follow without a person, once the platform has initialised the passport. */
  following: number;
  /** Passports that a person or the config wants, and that have no delivery yet because their product is not complete. */
  incomplete: number;
}

/** Deliveries that are due again after the API was away at their last attempt. */
export interface Deferred {
  count: number;
  /** When the first of these deliveries began to fail. */
  since: number;
  /** The error of the delivery that has failed for the longest time. */
  message: string;
}
