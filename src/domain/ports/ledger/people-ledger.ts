import type { JsonObject } from '../../../lib/json.ts';

/** A value that a person has given for a key of a lookup table. */
export interface ValueByHand {
  /** The name of the table. */
  lookup: string;
  key: string;
  value: string;
}

/** What people leave in the ledger besides replays and manual resolutions. Each method is one whole transaction. */
export interface PeopleLedger {
  /** Writes an entry of the audit log before the action begins, and gives its id. */
  beginAction(action: {
    who: string;
    via: 'web' | 'api' | 'command';
    action: string;
    detail: JsonObject;
  }): Promise<number>;
  /** Writes the result of the action, in one sentence. */
  endAction(id: number, outcome: string): Promise<void>;
  /** Replaces the note on a cause; an empty text and an empty owner remove it. */
  noteCause(cause: string, note: { text: string; owner: string; by: string }): Promise<void>;
  /**
   * Adds or changes a value of a lookup table by hand. It wins over the entry of the table's file or stream, in all tables of
   * this name. Returns how many records have used the key and wait for the mapping now.
   *
   * @throws Fault `lookup.unknown` where no table has this name, or where a table of this name gives several columns
   */
  setLookupValue(value: { lookup: string; key: string; value: string; by: string }): Promise<{ records: number }>;
  /** All values that people have given. */
  valuesByHand(): Promise<ValueByHand[]>;
  removeLookupValue(lookup: string, key: string): Promise<{ records: number }>;
}
