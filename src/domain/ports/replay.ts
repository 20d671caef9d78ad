// What the ledger is asked to send anew, and what came of it.

import type { PendingRecord } from './intake.ts';

export interface ReplaySelection {
  /**
   * Empty lists do not narrow the selection. Delivery states to replay, `quarantined` for records that could not be mapped,
   * and `superseded` for items whose last write a person has ended.
   */
  states: readonly ReplayState[];
  sources: readonly string[];
  /** Item keys, natural keys or record keys. */
  keys: readonly string[];
  /** The records of these deliveries' items, whatever else is named. */
  deliveryIds: readonly number[];
}

export const REPLAY_STATES = ['blocked', 'rejected', 'parked', 'in_doubt', 'quarantined', 'superseded'] as const;
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
