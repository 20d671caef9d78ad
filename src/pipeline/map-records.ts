import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LookupEntry, LookupKey } from '../domain/lookup.ts';
import type { MappableRecord, Mapper, MapResult } from '../domain/mapping.ts';
import type { MappedRecord, PendingRecord } from '../domain/ports/intake.ts';
import type { IntakeLedger } from '../domain/ports/ledger/intake-ledger.ts';

/** Reads entries of lookup tables. */
export type ReadEntries = (keys: readonly LookupKey[]) => Promise<readonly (LookupEntry & LookupKey)[]>;

/** How many records are mapped at once. An answer of the API waits for no more than this many records. */
const RECORDS_AT_ONCE = 100;

/** An entry may lead to another lookup. After this many rounds, a record gets the issue that an entry was not read. */
const ROUNDS_MAX = 20;

/** The ledger's entries of lookup tables. */
export function entriesOf(ledger: Pick<IntakeLedger, 'findLookups'>): ReadEntries {
  return (keys) => ledger.findLookups(keys);
}

/**
 * Maps records outside any transaction. After each hundred records other work can run. A mapping is a pure function of
 * the record and of the entries that it looks up. A record is mapped once to learn which entries it needs. These
 * entries are then read for many records at once, and the record is mapped again. A few records without lookups are
 * mapped at once, without a promise.
 */
export function mapRecords(
  mapper: Mapper,
  records: readonly MappableRecord[],
  read: ReadEntries,
): MapResult[] | Promise<MapResult[]> {
  const looksUp = mapper.lookups?.some(({ stream }) => stream !== null) === true;
  if (!looksUp && records.length <= RECORDS_AT_ONCE) return records.map((record) => mapper.map(record));
  return mapInBatches(mapper, records, read);
}

/** Maps stored records, and keeps the id and the version of each with its result. */
export function mapStoredRecords(
  mapper: Mapper,
  records: readonly PendingRecord[],
  read: ReadEntries,
): MappedRecord[] | Promise<MappedRecord[]> {
  const withIds = (results: readonly MapResult[]): MappedRecord[] =>
    records.flatMap(({ id, version }, at) => {
      const result = results[at];
      return result === undefined ? [] : [{ id, version, result }];
    });
  const results = mapRecords(mapper, records, read);
  return results instanceof Promise ? results.then(withIds) : withIds(results);
}

async function mapInBatches(
  mapper: Mapper,
  records: readonly MappableRecord[],
  read: ReadEntries,
): Promise<MapResult[]> {
  const results: MapResult[] = [];
  for (let at = 0; at < records.length; at += RECORDS_AT_ONCE) {
    if (at > 0) await nextTurn();
    const batch = createBatch(mapper, records.slice(at, at + RECORDS_AT_ONCE));
    let asked = batch.map();
    for (let round = 0; asked.length > 0 && round < ROUNDS_MAX; round += 1) {
      batch.add(await read(asked));
      asked = batch.map();
    }
    results.push(...batch.results());
  }
  return results;
}

/** Records that are mapped together, and the entries that were read for them. */
function createBatch(mapper: Mapper, records: readonly MappableRecord[]) {
  const entries = new Map<string, LookupEntry>();
  const results = new Map<MappableRecord, MapResult>();
  let asked = new Map<string, LookupKey>();
  let open = records;
  let hasAsked = false;

  const find = (key: LookupKey): LookupEntry | undefined => {
    const name = nameOf(key);
    const entry = entries.get(name);
    if (entry === undefined) {
      asked.set(name, key);
      hasAsked = true;
    }
    return entry;
  };

  return {
    /** Maps the records that still lacked entries before. Returns the entries that they still need. */
    map(): LookupKey[] {
      asked = new Map();
      open = open.filter((record) => {
        hasAsked = false;
        results.set(record, mapper.map(record, find));
        return hasAsked;
      });
      return [...asked.values()];
    },
    add(read: readonly (LookupEntry & LookupKey)[]): void {
      for (const entry of read) entries.set(nameOf(entry), entry);
    },
    results: () => records.flatMap((record) => results.get(record) ?? []),
  };
}

function nameOf({ table, key }: LookupKey): string {
  return `${table} ${key}`;
}
