import type { Mapper, MapResult } from '../domain/mapping.ts';
import type { MappedRecord, PendingRecord } from '../domain/ports/intake.ts';
import type { IntakeLedger } from '../domain/ports/ledger/intake-ledger.ts';
import type { Emit } from '../domain/ports/progress.ts';
import { entriesOf, mapRecords, type ReadEntries } from './map-records.ts';
import { emitMapped } from './page-jobs.ts';

/** How many records are mapped and staged at once. An answer of the API waits for no more than this many records. */
const BATCH = 100;

/**
 * Maps stored records: records of streams without keys, records that were mapped with an earlier mapping or an earlier
 * lookup entry, and contenders for an item that has changed.
 */
export function createStoredRecordMapper(options: {
  ledger: Pick<IntakeLedger, 'pendingRecords' | 'stage' | 'findLookups'>;
  mapperOf: (source: string) => Mapper | null;
  emit: Emit;
}) {
  const { ledger, mapperOf, emit } = options;
  const running = new Map<string, { again: boolean; done: Promise<void> }>();

  async function mapOnce(source: string, mapper: Mapper, abort: AbortSignal): Promise<void> {
    let afterId = 0;
    while (!abort.aborted) {
      const records = await ledger.pendingRecords({ source, afterId, limit: BATCH });
      const last = records.at(-1);
      if (!last) return;
      afterId = last.id;
      const mapped = mapStoredRecords(mapper, records, entriesOf(ledger));
      const { held = [], ...summary } = await ledger.stage(mapped instanceof Promise ? await mapped : mapped);
      emitMapped(emit, source, summary);
      for (const stream of held) emit({ type: 'guard_held', ...stream });
    }
  }

  async function mapUntilQuiet(source: string, state: { again: boolean }, abort: AbortSignal): Promise<void> {
    try {
      while (state.again && !abort.aborted) {
        state.again = false;
        const mapper = mapperOf(source);
        if (mapper) await mapOnce(source, mapper, abort);
      }
    } finally {
      running.delete(source);
    }
  }

  return {
    /**
     * Maps and stages every record of a source that waits for the mapping. A call during the mapping of the same source
     * makes the mapping run once more at its end, so records that begin to wait meanwhile are mapped too.
     */
    mapSource(source: string, abort: AbortSignal): Promise<void> {
      const present = running.get(source);
      if (present) {
        present.again = true;
        return present.done;
      }
      const state = { again: true, done: Promise.resolve() };
      running.set(source, state);
      state.done = mapUntilQuiet(source, state, abort);
      return state.done;
    },
  };
}

export type StoredRecordMapper = ReturnType<typeof createStoredRecordMapper>;

/** Maps stored records. */
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
