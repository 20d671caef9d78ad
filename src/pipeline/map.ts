import type { Mapper } from '../domain/mapping.ts';
import type { MappedRecord, PendingRecord } from '../domain/ports/intake.ts';
import type { Ledger } from '../domain/ports/ledger.ts';
import type { Emit } from '../domain/ports/progress.ts';

/** How many records are mapped between two looks at the event loop, and staged in one write. Answers wait for no more than that. */
const BATCH = 100;

export interface MapWorker {
  /**
   * Maps and stages every record of a source that waits for it. What comes to wait meanwhile is taken along; a call while
   * the source is being drained makes the drain go round once more.
   */
  drain(source: string, abort: AbortSignal): Promise<void>;
}

export function createMapWorker(options: {
  ledger: Ledger;
  mapperOf: (source: string) => Mapper | null;
  emit: Emit;
}): MapWorker {
  const { ledger, mapperOf, emit } = options;
  const draining = new Map<string, { again: boolean; done: Promise<void> }>();

  async function drainOnce(source: string, mapper: Mapper, abort: AbortSignal): Promise<void> {
    let afterId = 0;
    while (!abort.aborted) {
      const records = await ledger.pendingRecords({ source, afterId, limit: BATCH });
      const last = records.at(-1);
      if (!last) return;
      afterId = last.id;
      const { mapped, excluded, quarantined } = await ledger.stage(records.map((record) => mapRecord(mapper, record)));
      emit({ type: 'mapped', source, mapped, excluded, quarantined });
    }
  }

  async function drainUntilQuiet(source: string, state: { again: boolean }, abort: AbortSignal): Promise<void> {
    try {
      while (state.again && !abort.aborted) {
        state.again = false;
        const mapper = mapperOf(source);
        if (mapper) await drainOnce(source, mapper, abort);
      }
    } finally {
      draining.delete(source);
    }
  }

  return {
    drain(source, abort) {
      const running = draining.get(source);
      if (running) {
        running.again = true;
        return running.done;
      }
      const state = { again: true, done: Promise.resolve() };
      draining.set(source, state);
      state.done = drainUntilQuiet(source, state, abort);
      return state.done;
    },
  };
}

/** Maps one stored record. */
export function mapRecord(mapper: Mapper, record: PendingRecord): MappedRecord {
  return { id: record.id, version: record.version, result: mapper.map(record) };
}
