import type { JsonObject } from '../../../lib/json.ts';

/** A value that a person has given for a key of a lookup table. */
export interface ValueByHand {
  /** The name of the table. */
  lookup: string;
  key: string;
  value: string;
}

/**
 * Stores what people enter besides replays and manual resolutions: the audit log, notes, and values of lookup tables.
 * Each method is one whole transaction.
 */
export interface PeopleLedger {
  /** Writes an entry of the audit log before the action begins, and returns its id. */
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
   * Adds or changes a value of a lookup table by hand. The value replaces the entry of the table's file or stream, in
   * all tables with this name. Returns how many records have used the key and now wait for the mapping.
   *
   * @throws Fault `lookup.unknown` if no table has this name, or if a table with this name gives several columns
   */
  setLookupValue(value: { lookup: string; key: string; value: string; by: string }): Promise<{ records: number }>;
  /** All values that people have given. */
  valuesByHand(): Promise<ValueByHand[]>;
  removeLookupValue(lookup: string, key: string): Promise<{ records: number }>;
}
