// The selection of what is sent again by a replay, and the result.

import type { ItemKind } from '../item.ts';
import type { PendingRecord } from './intake.ts';

export interface ReplaySelection {
  /**
   * An empty list does not narrow the selection. The delivery states to replay, `quarantined` for records that could
   * not be mapped, and `superseded` for items whose last write a person has ended.
   */
  states: readonly ReplayState[];
  sources: readonly string[];
  /** Item keys, natural keys or record keys. */
  keys: readonly string[];
  /** The ids of deliveries. The records of their items are selected, whatever else is named. */
  deliveryIds: readonly number[];
  /** The id of a cause. Only its members are selected, whatever else is named. */
  cause?: string | undefined;
}

export const REPLAY_STATES = ['blocked', 'rejected', 'parked', 'in_doubt', 'quarantined', 'superseded'] as const;
export type ReplayState = (typeof REPLAY_STATES)[number];

/** A stored record that a selection found, to be mapped again. */
export type ReplayCandidate = PendingRecord;

export interface ReplayOutcome {
  /** Deliveries that were staged again. */
  staged: number;
  /** Records that still fail. */
  quarantined: number;
  /** Unconfirmed deliveries that were not sent, because only `force` sends them again. */
  leftUnconfirmed: number;
}

/** The result of a replay for stuck passports. */
export interface PassportReplay {
  /** How many passports are sent again. */
  asked: number;
  /** How many are not sent because their products are not complete. */
  incomplete: number;
  /** How many are unconfirmed and not sent, because only `force` sends them again. */
  leftUnconfirmed: number;
}

/** A page of the items that the platform has in another form than the profile now has. */
export interface FormReplay {
  /** An empty list does not narrow the selection. */
  sources: readonly string[];
  /** Item keys or natural keys. An empty list does not narrow the selection. */
  keys: readonly string[];
  kinds: readonly ItemKind[];
  /** Where the page begins: a form by its number, and the id of an item. Both are 0 for the first page. */
  after: FormPlace;
  dryRun: boolean;
}

interface FormPlace {
  form: number;
  id: number;
}

export type KindCounts = Partial<Record<ItemKind, number>>;

export interface FormReplayOutcome {
  /** Items that are sent again. */
  staged: KindCounts;
  /** Items that the API cannot update. They are blocked if their keys or kinds are named, and are only counted otherwise. */
  unsupported: KindCounts;
  /** Items whose present delivery is open. It sends all fields in the present form. */
  open: KindCounts;
}

export interface FormReplayPage extends FormReplayOutcome {
  /** Null after the last page. */
  next: FormPlace | null;
}
