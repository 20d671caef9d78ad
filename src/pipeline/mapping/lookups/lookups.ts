// The lookup tables of one source, as its mappings use them.

import { type FindEntry, type LookupEntry, type LookupTable, type LookupUse, stampOf } from '../../../domain/lookup.ts';
import type { JsonValue } from '../../../lib/json.ts';

/** A table with the name that mappings use for it. */
export interface NamedTable {
  table: LookupTable;
  /** The name of the table in messages: `lookup file "colours.csv"`. */
  title: string;
  /** The column that has the values, if the config names one. */
  column?: string;
}

/** A value that an expression has found in a table. */
export interface FoundValue {
  value: JsonValue;
  /** Where the value is, for messages: `lookup file "colours.csv", column DE, key "9005"`. */
  place: string;
}

/** Returns the value that a person has given for a key of all tables with this name; undefined if there is none. */
export type FindValueByHand = (lookup: string, key: string) => string | undefined;

/** Finds entries, and notes which keys a row has used. */
export function createLookupTables(findByHand: FindValueByHand = () => undefined) {
  const byName = new Map<string, NamedTable>();
  let used = new Map<string, LookupUse>();
  let findEntry: FindEntry | undefined;
  let traced: FoundValue[] | null = null;

  return {
    /** Begins the next row. Without `find` only files can be looked up. */
    startRow(find?: FindEntry) {
      findEntry = find;
      if (used.size > 0) used = new Map();
    },
    /** Undefined if there is no such table. */
    named: (name: string): NamedTable | undefined => byName.get(name),
    add: (name: string, table: NamedTable) => void byName.set(name, table),
    /** The entry for a key; undefined if it was not read from the ledger. */
    find({ id, name, entries }: LookupTable, key: string): LookupEntry | undefined {
      const byHand = findByHand(name, key);
      const entry =
        byHand !== undefined
          ? { values: [byHand], isRead: true }
          : entries === null
            ? findEntry?.({ table: id, key })
            : fileEntry(entries, key);
      if (entry !== undefined) used.set(`${id} ${key}`, { table: id, key, stamp: stampOf(entry) });
      return entry;
    },
    /** Notes a value that was found, while `trace` runs. */
    note(found: FoundValue) {
      traced?.push(found);
    },
    /**
     * Evaluates an expression once more, and returns the values that it has found. Its result and its errors do not count.
     */
    trace: (evaluate: () => unknown): FoundValue[] => {
      const found: FoundValue[] = [];
      traced = found;
      try {
        evaluate();
      } catch {
        // The issue for which the values are looked for reports the failure.
      } finally {
        traced = null;
      }
      return found;
    },
    /** The keys that the row has used. */
    uses: (): LookupUse[] => [...used.values()],
    all: (): readonly LookupTable[] => [...byName.values()].map(({ table }) => table),
  };
}

export type LookupTables = ReturnType<typeof createLookupTables>;

function fileEntry(entries: ReadonlyMap<string, JsonValue>, key: string): LookupEntry {
  const value = entries.get(key);
  return { values: value === undefined ? [] : [value], isRead: true };
}
