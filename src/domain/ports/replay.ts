// What the ledger is asked to send again, and the result.

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
  /** The id of a cause: its members alone, whatever else is named. */
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
  /** Sent again. */
  asked: number;
  /** Not sent, since their products are not complete. */
  incomplete: number;
  /** Unconfirmed and not sent, because only `force` sends them again. */
  leftUnconfirmed: number;
}
